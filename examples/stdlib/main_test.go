package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/riffle-search/riffle"
)

// call runs the program and returns what it printed.
func call(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, log bytes.Buffer
	if err := run(t.Context(), args, &out, &log, false); err != nil {
		t.Fatalf("stdlib %q: %v\n%s", args, err, log.String())
	}
	return out.String(), log.String()
}

// TestStdlib indexes the real standard library, which takes a few seconds.
func TestStdlib(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	dir := filepath.Join(t.TempDir(), "index")
	out, log := call(t, "--db", dir, "context cancel goroutine")
	if !strings.HasPrefix(log, "Indexing go") {
		t.Errorf("the first call says %q", log)
	}
	for _, want := range []string{"context.WithCancel  func", "context/context.go:", "documents match"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	again, log := call(t, "--db", dir, "context", "cancel goroutine")
	if log != "" {
		t.Errorf("the second call says %q", log)
	}
	if hits(again) != hits(out) {
		t.Errorf("the second call prints\n%s\nthe first\n%s", again, out)
	}
	for query, first := range map[string]string{
		"sha256 sum":              "crypto/sha256.Sum256",
		"http server shutdown":    "net/http.Server.Shutdown",
		"SplitSeq":                "SplitSeq",
		"align columns tabwriter": "text/tabwriter",
	} {
		out, _ := call(t, "--db", dir, "-k", "1", query)
		if line, _, _ := strings.Cut(out, "\n"); !strings.Contains(line, first) {
			t.Errorf("%s: first is %q, want %s", query, line, first)
		}
	}
}

// hits returns the output without its last line, which has a duration.
func hits(out string) string {
	return out[:strings.LastIndex(strings.TrimSpace(out), "\n")]
}

// writeGo writes a Go installation of one package.
func writeGo(t *testing.T, version, source string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"VERSION":             version + "\ntime 2026-01-01\n",
		"src/builtin/b.go":    "// Package builtin is built in.\npackage builtin\n",
		"src/fruit/fruit.go":  source,
		"src/fruit/x_test.go": "package fruit\n\nfunc TestGrape() {}\n",
		"src/cmd/go/main.go":  "package main\n\nfunc Melon() {}\n",
	} {
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestAnotherVersionIsIndexedAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	one := writeGo(t, "go9.1", "package fruit\n\n// Peel takes the peel off.\nfunc Peel() {}\n\nfunc Core() {}\n")
	two := writeGo(t, "go9.2", "package fruit\n\n// Peel takes all of the peel off.\nfunc Peel() {}\n\ntype Pear[T any] struct{}\n\nfunc (p *Pear[T]) Eat() {}\n")
	out, _ := call(t, "--db", dir, "--goroot", one, "core")
	if !strings.Contains(out, "fruit.Core") {
		t.Errorf("core: %s", out)
	}
	out, log := call(t, "--db", dir, "--goroot", two, "core")
	if !strings.Contains(log, "is of go9.1; indexing go9.2 again") {
		t.Errorf("the other version says %q", log)
	}
	if !strings.HasPrefix(out, "0 of 4 documents match") {
		t.Errorf("what go9.2 no longer has: %s", out)
	}
	out, log = call(t, "--db", dir, "--goroot", two, "eat")
	if !strings.Contains(out, "fruit.Pear.Eat  method") || !strings.Contains(out, "fruit/fruit.go:8") || log != "" {
		t.Errorf("eat: %s%s", out, log)
	}
	out, _ = call(t, "--db", dir, "--goroot", two, "peel")
	if !strings.Contains(out, "Peel takes all of the peel off.") {
		t.Errorf("peel: %s", out)
	}
	for _, absent := range []string{"grape", "melon"} {
		if out, _ := call(t, "--db", dir, "--goroot", two, absent); !strings.HasPrefix(out, "0 of") {
			t.Errorf("%s: %s", absent, out)
		}
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	empty := t.TempDir()
	good := writeGo(t, "go9.1", "package fruit\n")
	broken := writeGo(t, "go9.1", "package fruit\n\nfunc {\n")
	for _, c := range []struct {
		ctx  context.Context
		args []string
		want string
	}{
		{t.Context(), nil, "no query"},
		{t.Context(), []string{"--goroot", empty, "x"}, "holds no standard library"},
		{t.Context(), []string{"--goroot", broken, "x"}, "fruit.go:3:6"},
		{t.Context(), []string{"--goroot", good, "-k", "-1", "x"}, "SearchOptions.K"},
		{canceled, []string{"--goroot", good, "x"}, "context canceled"},
	} {
		args := append([]string{"--db", filepath.Join(t.TempDir(), "index")}, c.args...)
		err := run(c.ctx, args, new(bytes.Buffer), new(bytes.Buffer), false)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.args, err, c.want)
		}
	}
}

func TestSnippets(t *testing.T) {
	dog := riffle.Fragment{Text: "Two.\n\n\tFour dogs.\nFive.\nSix.", Matches: []riffle.ByteRange{{Start: 12, End: 16}}, Score: 1, Before: true}
	lead := riffle.Fragment{Text: "All of it."}
	for _, c := range []struct {
		doc, source []riffle.Fragment
		want        string
	}{
		{[]riffle.Fragment{dog}, []riffle.Fragment{lead}, "…Two.|    Four <dogs>.|Five."},
		{[]riffle.Fragment{lead}, []riffle.Fragment{dog}, "…Two.|    Four <dogs>.|Five."},
		{[]riffle.Fragment{lead}, []riffle.Fragment{{Text: "src"}}, "All of it."},
		{nil, []riffle.Fragment{{Text: "src"}}, "src"},
		{nil, nil, ""},
	} {
		got := snippet(map[string][]riffle.Fragment{"doc": c.doc, "source": c.source}, style{underlined: "<", off: ">"})
		if strings.Join(got, "|") != c.want {
			t.Errorf("%v, %v: %q, want %q", c.doc, c.source, got, c.want)
		}
	}
}
