package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/cluster"
)

// writeGo writes an installation of Go with a library of one package.
func writeGo(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"VERSION":                "go1.99.0\n",
		"src/builtin/builtin.go": "package builtin\n",
		"src/lines/lines.go":     "// Package lines reads files.\npackage lines\n\n// Read reads a file line by line.\nfunc Read() {}\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestClusterDemo runs the demo, kills a node as it advises, searches again, and ends it.
func TestClusterDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("three nodes take some seconds to start")
	}
	t.Setenv("RIFFLE_TEST_IS_THE_COMMAND", "1") // for the nodes
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, errs lockedBuffer
	done := make(chan int, 1)
	go func() {
		done <- execute(ctx, []string{"cluster", "demo", "--goroot", writeGo(t), "--query", "read file"}, nil, &out, &errs)
	}()
	waitUntil(t, "the demo is ready", func() bool { return strings.Contains(out.String(), "Ctrl-C") || len(done) > 0 })
	said := out.String()
	if !strings.Contains(said, "lines.Read") || !strings.Contains(said, "2 documents of go1.99.0") {
		t.Fatalf("%s%s", said, errs.String())
	}
	find := func(pattern string) string {
		t.Helper()
		m := regexp.MustCompile(pattern).FindStringSubmatch(said)
		if m == nil {
			t.Fatalf("the demo does not say %s: %s", pattern, said)
		}
		return m[1]
	}
	kill, search, nats := find(`kill -9 (\d+)`), find(`curl '(.*)'`), find(`cluster status --nats (\S+)`)
	status := func() (*cluster.Status, int) {
		var out, errs bytes.Buffer
		code := execute(ctx, []string{"cluster", "status", "--json", "--nats", nats}, nil, &out, &errs)
		st := &cluster.Status{}
		if err := json.Unmarshal(out.Bytes(), st); err != nil {
			t.Fatal(err, out.String(), errs.String())
		}
		return st, code
	}
	waitUntil(t, "all is well", func() bool {
		st, code := status()
		return code == exitOK && len(st.Nodes) == 3 && len(st.Indexes) == 1 && len(st.Indexes[0].Shards) == 3
	})
	id, err := strconv.Atoi(kill)
	if err != nil {
		t.Fatal(err)
	}
	process, err := os.FindProcess(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the demo tells of the node", func() bool { return strings.Contains(out.String(), "Node n3 has ended") })
	res, err := http.Get(search)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("a search without the node: %v %v", res, err)
	} else {
		res.Body.Close()
	}
	// On a busy machine the others may be heard late, too.
	waitUntil(t, "the status says that the node is silent", func() bool {
		st, code := status()
		return code == exitFailure && !st.Nodes[2].Up && strings.Contains(strings.Join(st.Faults(), "\n"), "node n3 does not answer")
	})
	waitUntil(t, "the table says so", func() bool {
		table, _, _ := strings.Cut(endsWith(t, exitFailure, "cluster", "status", "--nats", nats), "INDEX")
		return regexp.MustCompile(`(?m)^n3 +silent +0 `).MatchString(table) && regexp.MustCompile(`(?m)^n1 +up +2 `).MatchString(table)
	})
	cancel()
	if code := <-done; code != exitOK {
		t.Errorf("the demo ends with %d: %s", code, errs.String())
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "riffle-*")); err != nil || len(left) > 0 {
		t.Errorf("the demo leaves %v: %v", left, err)
	}
}

// endsWith runs a command line that has to end with a code, and returns its standard output.
func endsWith(t *testing.T, code int, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if got := execute(t.Context(), args, nil, &out, &errs); got != code {
		t.Fatalf("riffle %s: exit code %d: %s", strings.Join(args, " "), got, &errs)
	}
	return out.String()
}
