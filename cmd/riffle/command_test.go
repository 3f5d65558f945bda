package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/riffle-search/riffle"
)

// must runs a command line that has to succeed and returns its standard output.
func must(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := commandLine("", args...)
	if code != exitOK {
		t.Fatalf("riffle %s: exit code %d: %s", strings.Join(args, " "), code, stderr)
	}
	return stdout
}

// writeFile writes a file into a directory of the test and returns its path.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// corpus returns the folder of a test collection.
func corpus(t *testing.T, name string) string {
	root := os.Getenv("RIFFLE_CORPORA")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared", "corpora")
	}
	dir := filepath.Join(root, name)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no test collection: %v (RIFFLE_CORPORA names the folder)", err)
	}
	return dir
}

// TestRankingQuality compares the whole pipeline (files, analysis, scores, run, measures) with
// Lucene's BM25 on public collections.
func TestRankingQuality(t *testing.T) {
	for set, want := range map[string]map[string]float64{
		"cranfield": {"nDCG@10": 0.4913, "MAP": 0.3960},
		"cisi":      {"nDCG@10": 0.3653},
		"med":       {"nDCG@10": 0.6622},
		"nfcorpus":  {"nDCG@10": 0.3216, "Recall@100": 0.2457},
	} {
		t.Run(set, func(t *testing.T) {
			dir, tmp := corpus(t, set), t.TempDir()
			db, run := filepath.Join(tmp, "db"), filepath.Join(tmp, "run.txt")
			must(t, "index", "--db", db, "--analyzer", "english", "--copy-to", "body=title,text", filepath.Join(dir, "docs.jsonl"))
			must(t, "run", "--db", db, "--field", "body", "--k1", "0.9", "--b", "0.4", "--topics", filepath.Join(dir, "queries.tsv"), "-o", run)
			got := map[string]float64{}
			for line := range strings.Lines(must(t, "eval", "--qrels", filepath.Join(dir, "qrels.tsv"), run)) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
				got[name], _ = strconv.ParseFloat(value, 64)
			}
			for measure, w := range want {
				if g := got[measure]; g < w-0.003 || g > w+0.003 {
					t.Errorf("%s is %.4f, want %.4f", measure, g, w)
				}
			}
		})
	}
}

// TestEveryAlgorithmAnswersAlike uses the checksum of bench, and checks that pruning does less work
// than exhaustive scoring.
func TestEveryAlgorithmAnswersAlike(t *testing.T) {
	dir, db := corpus(t, "nfcorpus"), filepath.Join(t.TempDir(), "db")
	must(t, "index", "--db", db, "--batch", "500", filepath.Join(dir, "docs.jsonl"))
	measure := func(args ...string) (f figures) {
		args = append([]string{"bench", "--db", db, "--topics", filepath.Join(dir, "queries.tsv"), "--reps", "1", "--json"}, args...)
		if err := json.Unmarshal([]byte(must(t, args...)), &f); err != nil {
			t.Fatal(err)
		}
		return f
	}
	for _, mode := range []string{"or", "and", "and+or"} {
		full := measure("--mode", mode, "--algo", "exhaustive", "-k", "3")
		for _, algo := range []string{"auto", "wand", "bmw", "maxscore", "bmm"} {
			got := measure("--mode", mode, "--algo", algo, "-k", "3", "--threads", "2")
			if got.Checksum != full.Checksum {
				t.Errorf("%s by %s has other answers than exhaustive", mode, algo)
			}
			// This does not hold for AND, which scores the shortest list's block before it matches.
			if mode == "or" && got.DocsScored >= full.DocsScored {
				t.Errorf("%s by %s scored %d documents, exhaustive %d", mode, algo, got.DocsScored, full.DocsScored)
			}
		}
		if other := measure("--mode", mode, "-k", "4"); other.Checksum == full.Checksum {
			t.Errorf("%s: the checksum of other answers is the same", mode)
		}
	}
}

// TestLocked: a command refuses an index that another process has open, at once.
func TestLocked(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	docs := writeFile(t, "docs.jsonl", `{"id":"a","text":"one"}`)
	e, err := riffle.Open(db, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, args := range [][]string{{"index", "--db", db, docs}, {"search", "--db", db, "one"}, {"delete", "--db", db, "a"}} {
		code, _, stderr := commandLine("", args...)
		if code != exitFailure || !strings.Contains(stderr, riffle.ErrLocked.Error()) {
			t.Errorf("%v: exit code %d: %s", args, code, stderr)
		}
	}
}

// TestCheckFindsDamage flips a byte in the middle of every table of an index.
func TestCheckFindsDamage(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	var docs strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&docs, `{"id":"%d","text":"word%d word%d common"}`+"\n", i, i%7, i%301)
	}
	must(t, "index", "--db", db, writeFile(t, "docs.jsonl", docs.String()))
	must(t, "compact", "--db", db)
	if out := must(t, "check", "--db", db); !strings.HasPrefix(out, "ok: 3000 documents") {
		t.Fatal(out)
	}
	tables, _ := filepath.Glob(filepath.Join(db, "*.sst"))
	found := 0
	for _, path := range tables {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text[len(text)/2] ^= 1
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"check", "--db", db}, {"check", "--db", db, "--all"}} {
			code, _, stderr := commandLine("", args...)
			if code == exitFailure && strings.Contains(stderr, "corrupt") {
				found++
			} else {
				t.Logf("%s, %v: exit code %d: %s", filepath.Base(path), args, code, stderr)
			}
		}
		text[len(text)/2] ^= 1
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	// The middle of a small table may be padding, but not in a segment's.
	if found < 4 {
		t.Errorf("%d of %d damages were found", found, 2*len(tables))
	}
}

// TestInterrupted: a cancelled run ends with an error, and the documents it has added stay.
func TestInterrupted(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	ctx, cancel := context.WithCancel(context.Background())
	in := &endless{stop: 2000, cancel: cancel}
	var out, errw bytes.Buffer
	code := execute(ctx, []string{"index", "--db", db, "--batch", "100", "-"}, in, &out, &errw)
	if code != exitFailure || !strings.Contains(errw.String(), "interrupted") {
		t.Fatalf("exit code %d: %s", code, errw.String())
	}
	if out.Len() > 0 {
		t.Errorf("a summary of an interrupted run: %s", out.String())
	}
	_, after, _ := strings.Cut(errw.String(), "documents added before that: ")
	added, _ := strconv.Atoi(strings.TrimRight(after, ")\n"))
	if out := must(t, "check", "--db", db); !strings.HasPrefix(out, fmt.Sprintf("ok: %d documents", added)) {
		t.Errorf("%d documents were said to be added, check says %s", added, out)
	}
}

// An endless reader produces documents forever, and cancels a context after a number of them.
type endless struct {
	made, stop int
	cancel     func()
}

func (e *endless) Read(b []byte) (int, error) {
	if e.made++; e.made == e.stop {
		e.cancel()
	}
	return copy(b, fmt.Sprintf(`{"id":"%d","text":"some words"}`+"\n", e.made)), nil
}

func TestCompletion(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	in := `{"id":"1","title":"x","text":"y","the year":1}`
	if code, _, stderr := commandLine(in, "index", "--db", db, "-"); code != 0 {
		t.Fatal(stderr)
	}
	for _, c := range []struct{ args, want string }{
		{"search --mode ", "and+or"},
		{"bench --algo ", "maxscore"},
		{"index --analyzer ", "english"},
		{"index --progress ", "log"},
		{"che", "checkpoint"},
		{"search --exec ", "gpu"},
		{"search --db " + db + " --field ", "title\n"},
		{"bench --db " + db + " --field title,te", "title,text\n"},
		{"search --db " + db + " --filter ti", "title=\n"},
		{"search --db " + db + " +ti", "+title:\n"},
		{"search --db " + db + " (title,t", "(title,text:\n"},
		{"search --db " + db + "/none ti", ":6\n"},
	} {
		args := append([]string{"__complete"}, strings.Split(c.args, " ")...)
		if _, stdout, _ := commandLine("", args...); !strings.Contains(stdout, c.want) {
			t.Errorf("%q completes to %q, without %s", c.args, stdout, c.want)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out := must(t, "completion", shell); len(out) < 1000 {
			t.Errorf("completion for %s is %d bytes", shell, len(out))
		}
	}
}

// TestTruncatedArchiveLeavesNothing: an undecodable file leaves no index, in either way of
// indexing.
func TestTruncatedArchiveLeavesNothing(t *testing.T) {
	var whole bytes.Buffer
	z := gzip.NewWriter(&whole)
	z.Write([]byte(`{"id": "a", "text": "one"}` + "\n"))
	z.Close()
	for _, length := range []int{5, 12} {
		file := filepath.Join(t.TempDir(), "a.jsonl.gz")
		if err := os.WriteFile(file, whole.Bytes()[:length], 0o600); err != nil {
			t.Fatal(err)
		}
		for _, bulk := range []string{"on", "off"} {
			db := filepath.Join(t.TempDir(), "db")
			var out, errw bytes.Buffer
			code := execute(context.Background(), []string{"index", "--db", db, "--bulk", bulk, "--progress", "none", file}, nil, &out, &errw)
			if _, err := os.Stat(db); code != exitFailure || !os.IsNotExist(err) {
				t.Errorf("%d bytes, bulk %s: exit code %d, %s, index: %v", length, bulk, code, &errw, err)
			}
		}
	}
}

// TestStandardInputInBulk: compressed standard input becomes the index that the same file becomes,
// within a memory of a few blocks, and --one-segment is obeyed in both ways of indexing.
func TestStandardInputInBulk(t *testing.T) {
	var docs strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&docs, `{"id":"%d","text":"word%d word%d some words that all documents have, and then %d"}`+"\n", i, i%7, i%301, i)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte(docs.String()))
	z.Close()
	type result struct {
		Docs, Segments int
		TextBytes      int64 `json:"text_bytes"`
		Stages         *struct{}
	}
	index := func(in string, args ...string) (r result) {
		args = append([]string{"index", "--db", filepath.Join(t.TempDir(), "db"), "--memory", "1MiB"}, args...)
		code, stdout, stderr := commandLine(in, args...)
		if code != exitOK {
			t.Fatalf("%v: exit code %d: %s", args, code, stderr)
		}
		if err := json.Unmarshal([]byte(stdout), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	file := index("", writeFile(t, "docs.jsonl", docs.String()))
	piped := index(packed.String(), "-")
	if piped != file || file.Docs != 60_000 || file.Segments < 2 {
		t.Errorf("of standard input %+v, of the file %+v", piped, file)
	}
	if one := index(packed.String(), "--one-segment", "--stages", "-"); one.Segments != 1 || one.Stages == nil {
		t.Errorf("in bulk --one-segment makes %+v", one)
	}
	if one := index(packed.String(), "--one-segment", "--bulk", "off", "-"); one.Segments != 1 || one.Docs != 60_000 {
		t.Errorf("by batches --one-segment makes %+v", one)
	}
}

// TestStatShowsPosition: stat shows how far an index that another program updates has come.
func TestStatShowsPosition(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	e, err := riffle.Open(dir, nil)
	if err == nil {
		err = errors.Join(e.Apply(context.Background(), &riffle.Batch{Position: []byte("log 7\x00")}), e.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{{"", "\nposition     \"log 7\\x00\"\n"}, {"--json", `"position":"bG9nIDcA"`}} {
		if out := must(t, strings.Fields("stat --db "+dir+" "+c.args)...); !strings.Contains(out, c.want) {
			t.Errorf("stat %s lacks %q:\n%s", c.args, c.want, out)
		}
	}
}
