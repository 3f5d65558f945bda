package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// clusterPageWords is the most words of docs/CLUSTER.md.
const clusterPageWords = 1000

// TestClusterPage runs every command of docs/CLUSTER.md but the demo, which has a test of its own: three nodes, each
// with the addresses of this machine in place of those of the page, requests, and what looks after them.
func TestClusterPage(t *testing.T) {
	if testing.Short() {
		t.Skip("three nodes take some seconds to start")
	}
	for _, program := range []string{"curl", "sh"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "CLUSTER.md"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(strings.Fields(string(page))); n > clusterPageWords {
		t.Errorf("docs/CLUSTER.md has %d words", n)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("CURL_HOME", dir)
	t.Setenv("RIFFLE_TEST_IS_THE_COMMAND", "1")
	if err := os.WriteFile(".curlrc", []byte("fail-with-body\nsilent\nshow-error\nretry = 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	writeCertificate(t, dir, 1) // for this machine, signed by itself
	for name, of := range map[string]string{"n1.pem": "cert.pem", "n1.key": "key.pem", "ca.pem": "cert.pem"} {
		if err := os.Link(of, name); err != nil {
			t.Fatal(err)
		}
	}
	blocks := codeBlocks(strings.ReplaceAll(string(page), "\\\n      ", ""))
	if len(blocks) != 3 || blocks[0] != "riffle cluster demo\n" {
		t.Fatalf("the page has other blocks: %q", blocks)
	}
	addresses := map[string]string{} // of this machine, by those of the page
	here := regexp.MustCompile(`10\.0\.0\.[123]:[0-9]+`)
	local := func(text string) string {
		return here.ReplaceAllStringFunc(text, func(a string) string {
			if addresses[a] == "" {
				addresses[a] = freeAddress(t)
			}
			return addresses[a]
		})
	}
	try := func(line, url string) (string, error) {
		line = strings.ReplaceAll(local(line), "http://localhost:7700", url)
		if riffle, ok := strings.CutPrefix(line, "riffle "); ok {
			line = os.Args[0] + " " + riffle
		}
		out, err := exec.Command("sh", "-e", "-c", line).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%s: %w: %s", line, err, out)
		}
		return string(out), err
	}
	run := func(line, url string) string {
		t.Helper()
		out, err := try(line, url)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	key, serve, _ := strings.Cut(blocks[1], "\n")
	run(key, "")
	nodes := make(chan *process, 3)
	for i := range cap(nodes) {
		// Of each node, all but the routes is its own.
		args := strings.Fields(serve)[2:]
		for j := range args {
			switch {
			case args[j] == "n1":
				args[j] = fmt.Sprint("n", i+1)
			case args[j] == "data":
				args[j] = fmt.Sprint("data", i+1)
			case args[j-min(j, 1)] != "--routes":
				args[j] = strings.Replace(args[j], "10.0.0.1", fmt.Sprint("10.0.0.", i+1), 1)
			}
			args[j] = local(args[j])
		}
		go func() { // a node serves when the others are there
			var p *process
			defer func() { nodes <- p }() // if the test has failed, too
			p = startServe(t, args...)
		}()
	}
	var all []*process
	for range cap(nodes) {
		if p := <-nodes; p != nil {
			all = append(all, p)
		}
	}
	if len(all) != cap(nodes) {
		t.Fatalf("%d nodes serve", len(all))
	}
	commands := regexp.MustCompile(`(?m)^\S.*\n( .*\n)*`).FindAllString(blocks[2], -1)
	if len(commands) != 5 {
		t.Fatalf("the commands are %q", commands)
	}
	var outs []string
	for _, command := range commands[:4] {
		outs = append(outs, run(command, all[0].url))
	}
	// The status has faults, and so exits with 1, until each node is known to all servers and has its replicas.
	var status string
	var fault error
	defer func() {
		if fault != nil {
			t.Log(fault)
		}
	}()
	waitUntil(t, "the status has no faults", func() bool {
		status, fault = try(commands[4], all[0].url)
		return fault == nil
	})
	if !strings.Contains(outs[1], `"token"`) || !strings.Contains(outs[2], "Moby Dick") || !strings.Contains(outs[3], `"hits"`) || !strings.Contains(status, "n3") {
		t.Errorf("the answers are %q and %q", outs, status)
	}
}
