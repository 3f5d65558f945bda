package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestServerPage runs every command of docs/SERVER.md: those of curl with a server for an empty directory, and each
// riffle serve until it listens.
func TestServerPage(t *testing.T) {
	for _, program := range []string{"curl", "sh", "go"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "SERVER.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	t.Setenv("CURL_HOME", dir)
	writeCertificate(t, dir, 1)
	for name, text := range map[string]string{".curlrc": "fail-with-body\nsilent\nshow-error\n", "books.jsonl": `{"id": "1", "text": "one"}` + "\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	must(t, "index", "--db", "books", "books.jsonl")

	requests, lines := 0, []string{} // lines are of riffle
	main := startServe(t, "--dir", "indexes")
	for _, block := range codeBlocks(string(page)) {
		if strings.HasPrefix(block, "riffle ") {
			lines = append(lines, strings.Split(strings.TrimSpace(block), "\n")...)
			continue
		}
		requests++
		out, err := exec.Command("sh", "-e", "-c", strings.ReplaceAll(block, "http://localhost:7700", main.url)).CombinedOutput()
		if _, wants, isError := strings.Cut(block, "# "); isError {
			if want := `"` + strings.Replace(strings.TrimSpace(wants), " ", `":`, 1); err == nil || !strings.Contains(string(out), want) {
				t.Errorf("%s%v: %s, want a problem with %s", block, err, out, want)
			}
		} else if err != nil || strings.Contains(string(out), `"problem"`) {
			t.Errorf("%s%v: %s", block, err, out)
		}
	}
	main.end(t)
	if requests < 4 || len(lines) < 6 {
		t.Errorf("%d blocks of requests and %d lines of riffle: are they found?", requests, len(lines))
	}
	for _, line := range lines {
		line, _, _ = strings.Cut(line, "#")
		args := strings.Fields(line)[1:]
		if args[0] != "serve" {
			must(t, args...)
			continue
		}
		if testing.Short() && args[1] == "--demo" {
			continue
		}
		startServe(t, append(args[1:], "--listen", "127.0.0.1:0")...).end(t)
	}
}

// codeBlocks returns the indented blocks of a page, without the indentation.
func codeBlocks(page string) (blocks []string) {
	inside := false
	for line := range strings.Lines(page) {
		code, ok := strings.CutPrefix(line, "    ")
		if ok && !inside {
			blocks = append(blocks, "")
		}
		if inside = ok; ok {
			blocks[len(blocks)-1] += code
		}
	}
	return blocks
}
