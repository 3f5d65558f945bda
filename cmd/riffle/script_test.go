package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// commandLine runs a command line in this process.
func commandLine(stdin string, args ...string) (code int, stdout, stderr string) {
	var out, errw bytes.Buffer
	code = execute(context.Background(), args, strings.NewReader(stdin), &out, &errw)
	return code, out.String(), errw.String()
}

// unsteady matches output that differs from run to run, or with every change of a format.
var unsteady = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`("(seconds|took|mb_per_s|index_bytes|disk_bytes|written_bytes|bytes|micros|(mean|p50|p95|p99)_us|qps|wait|index|gpu|write|format|log|seals|merges)":)[0-9.e+-]+`), "${1}#"},
	{regexp.MustCompile(`"writer":"[^"]*"`), `"writer":"#"`},
	{regexp.MustCompile(`(documents, )[0-9.]+.?s on`), "${1}# on"},
	{regexp.MustCompile(`("[a-z_]+_ns":)[0-9]+`), "${1}#"},
	{regexp.MustCompile(`(?m)^((analyse|plan|execute|fetch|  CPU) +)[0-9.]+.?s$`), "${1}#"},
	{regexp.MustCompile(`(mean|p50|p95|p99|queries/s)( +)[0-9.]+`), "${1}${2}#"},
	{regexp.MustCompile(`open \S*riffle-cluster-[0-9]+`), "open #"},
	{regexp.MustCompile(`(documents, )[0-9]+( bytes\n)`), "${1}#${2}"},
	{regexp.MustCompile(`[0-9]+ in segments, [0-9]+ in all files`), "# in segments, # in all files"},
	{regexp.MustCompile(`( log records, )[0-9]+( bytes)`), "${1}#${2}"},
	{regexp.MustCompile(`segments [0-9]+ -> 1, deleted documents [0-9]+ -> 0, bytes [0-9]+ -> [0-9]+`), "segments # -> 1, deleted documents # -> 0, bytes # -> #"},
	{regexp.MustCompile(`("sort":\[[0-9]+\.[0-9]{3})[0-9]+`), "${1}#"}, // distances differ in the last bits between architectures
	{regexp.MustCompile(`"number":[0-9]+`), `"number":#`},
	{regexp.MustCompile(`riffle_[a-z2-7]{26}`), "riffle_#"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "#"},
	{regexp.MustCompile(`(machines reach \S+:)[0-9]+`), "${1}#"},
	{regexp.MustCompile(`(?m)^( +[0-9]+ +[0-9]+ +[0-9]+ +)[0-9]+(  arrival +)[0-9]+$`), "${1}#${2}#"},
}

// TestScripts runs the scripts in testdata, which read like a terminal:
//
//	file name=docs.jsonl       writes a file into the script's directory
//	nodes names=(a,b) up=(a)   starts a cluster, or nodes of it; NATS stands for its URL (startCluster)
//	fill index=books shards=2  creates an index of the cluster and puts documents into it
//	riffle                     runs a command line; DIR stands for the directory
//	----
//	standard output, then standard error behind "! ", then the exit code if not 0
//
// With "stdin=FILE" the command reads that file. CURSOR stands for the last printed cursor.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		dir, cursor := t.TempDir(), ""
		var w *scriptCluster
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "file":
				var name string
				d.ScanArgs(t, "name", &name)
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(d.Input+"\n"), 0o666); err != nil {
					t.Fatal(err)
				}
				return ""
			case "nodes":
				if w == nil {
					w = startCluster(t)
				}
				return w.nodes(t, d)
			case "fill":
				return w.fill(t, d)
			case "riffle":
				if w != nil {
					d.Input = strings.ReplaceAll(d.Input, "NATS", w.url)
				}
				text := runLine(t, dir, &cursor, d)
				if w != nil {
					text = strings.ReplaceAll(text, w.url, "NATS")
				}
				return text
			}
			d.Fatalf(t, "unknown command %q", d.Cmd)
			return ""
		})
	})
}

// aCursor matches a cursor in a command's output.
var aCursor = regexp.MustCompile(`(--after |"next":")([A-Za-z0-9_-]{40,})`)

func runLine(t *testing.T, dir string, cursor *string, d *datadriven.TestData) string {
	var stdin string
	if d.HasArg("stdin") {
		var name string
		d.ScanArgs(t, "stdin", &name)
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		stdin = string(text)
	}
	line := strings.NewReplacer("DIR", dir, "CURSOR", *cursor).Replace(d.Input)
	code, stdout, stderr := commandLine(stdin, strings.Fields(line)...)
	var b strings.Builder
	b.WriteString(stdout)
	for line := range strings.Lines(stderr) {
		b.WriteString("! " + line)
	}
	if code != 0 {
		fmt.Fprintf(&b, "exit code %d\n", code)
	}
	text := strings.ReplaceAll(b.String(), dir, "DIR")
	if found := aCursor.FindStringSubmatch(text); found != nil {
		*cursor = found[2]
		text = aCursor.ReplaceAllString(text, "${1}CURSOR")
	}
	for _, u := range unsteady {
		text = u.pattern.ReplaceAllString(text, u.with)
	}
	return text
}
