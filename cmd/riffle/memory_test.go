package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/internal/jsonl"
	"github.com/riffle-search/riffle/internal/memlimit"
)

// TestMemoryOfChild is the child process of TestMemory: it runs the command line in its environment.
func TestMemoryOfChild(t *testing.T) {
	line := os.Getenv("RIFFLE_TEST_COMMAND")
	if line == "" {
		t.Skip("runs in a child process only")
	}
	if code := execute(context.Background(), strings.Split(line, "\n"), os.Stdin, io.Discard, os.Stderr); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	fmt.Printf("peak %d\n", memlimit.Peak()-ofProgram(t))
}

// ofProgram returns the memory of the program's own pages: of the files that are still mapped when the
// index is closed. A kernel drops them when it must. How many it maps beside one that is needed differs
// from kernel to kernel, by more than ten megabytes.
func ofProgram(t *testing.T) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "RssFile:" {
			kb, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatalf("no RssFile in %q", status)
	return 0
}

// peakOf runs a command line in a process of its own and returns the most memory that it had, without
// the pages of the program.
func peakOf(t *testing.T, in io.Reader, args ...string) int64 {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestMemoryOfChild$")
	c.Env = append(os.Environ(), "GOMEMLIMIT=", "GOGC=", "RIFFLE_TEST_COMMAND="+strings.Join(args, "\n"))
	var errs bytes.Buffer
	c.Stdin, c.Stderr = in, &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", args, err, out, errs.Bytes())
	}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "peak" {
			peak, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return peak
		}
	}
	t.Fatalf("no peak in %q", out)
	return 0
}

// passages writes JSON lines of a kilobyte each, of words as frequent as those of a language.
func passages(w io.Writer, n int) error {
	rng := rand.New(rand.NewPCG(7, 7))
	zipf := rand.NewZipf(rng, 1.1, 5, 200_000)
	words := make([]string, 1<<16)
	for i := range words {
		words[i] = fmt.Sprintf("%c%x ", 'a'+rune(zipf.Uint64()%26), zipf.Uint64())
	}
	b := bufio.NewWriterSize(w, 1<<16)
	for i := range n {
		fmt.Fprintf(b, `{"id":"%d","text":"`, i)
		for range 200 {
			b.WriteString(words[rng.IntN(len(words))])
		}
		b.WriteString("\"}\n")
	}
	return b.Flush()
}

// TestMemory: the process stays within 64 MiB of its budget, whatever the size of the input or of the
// index. The program itself, which is not counted here, takes at least 12 of these.
func TestMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no peak on " + runtime.GOOS)
	}
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		t.Skip("the race detector takes memory of its own")
	}
	sizes := []int{10_000, 30_000}
	if testing.Short() {
		sizes = sizes[:1]
	}
	const mib, beside = 1 << 20, 52 << 20
	dir := t.TempDir()
	topics := filepath.Join(dir, "topics.tsv")
	var lines strings.Builder
	for i := range 200 {
		fmt.Fprintf(&lines, "%d\ta%x b%x c%x\n", i, i%7, i, 3*i)
	}
	if err := os.WriteFile(topics, []byte(lines.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, n := range sizes {
		for _, bulk := range []string{"on", "off"} {
			db := filepath.Join(dir, fmt.Sprint(n, bulk))
			r, w := io.Pipe()
			go func() { w.CloseWithError(passages(w, n)) }()
			peak := peakOf(t, r, "index", "--db", db, "--bulk", bulk, "--memory", "16MiB", "--only", "text", "--store=false", "-")
			t.Logf("index --bulk %s of %d passages: %d MiB", bulk, n, peak/mib)
			if peak > 16*mib+beside {
				t.Errorf("index --bulk %s of %d passages took %d MiB, with a budget of 16", bulk, n, peak/mib)
			}
		}
		db := filepath.Join(dir, fmt.Sprint(n, "on"))
		peak := peakOf(t, nil, "bench", "--db", db, "--field", "text", "--topics", topics, "--cache", "8MiB")
		t.Logf("bench of %d passages: %d MiB", n, peak/mib)
		if peak > 8*mib+beside {
			t.Errorf("bench of %d passages took %d MiB, with a budget of 8", n, peak/mib)
		}
	}
}

// TestMemoryLimit: a command sets a limit, unless there is one, raises it for the window of a decoder
// once, and leaves none behind.
func TestMemoryLimit(t *testing.T) {
	none := debug.SetMemoryLimit(-1)
	l := limitMemory(10 << 20)
	if got, want := memlimit.Go(), int64(10<<20+besideBudget); got != want {
		t.Errorf("the limit is %d, want %d", got, want)
	}
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte(`{"id":"x"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	l.lookAtFiles([]string{plain, "-", "missing"})
	if got, want := memlimit.Go(), int64(10<<20+besideBudget); got != want {
		t.Errorf("after plain input the limit is %d, want %d", got, want)
	}
	for range 2 {
		if _, err := io.ReadAll(l.lookAt(strings.NewReader("\x28\xb5\x2f\xfdmore"))); err != nil {
			t.Fatal(err)
		}
	}
	if got, least := memlimit.Go(), int64(10<<20+besideBudget+jsonl.MaxWindow); got < least || got > least+jsonl.MaxWindow {
		t.Errorf("after Zstandard input the limit is %d, want %d and a bit", got, least)
	}
	inner := limitMemory(5 << 20)
	before := memlimit.Go()
	inner.undo()
	if inner.before != 0 || memlimit.Go() != before {
		t.Error("a limit replaces another")
	}
	l.undo()
	if got := debug.SetMemoryLimit(-1); got != none {
		t.Errorf("the limit stays at %d", got)
	}
	limitMemory(0).undo()
}

// TestBenchCache: with --cache, bench says what was at hand.
func TestBenchCache(t *testing.T) {
	dir := t.TempDir()
	db, topics := filepath.Join(dir, "db"), filepath.Join(dir, "topics.tsv")
	if err := os.WriteFile(topics, []byte("1\ta1 b2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var docs, out bytes.Buffer
	if err := passages(&docs, 500); err != nil {
		t.Fatal(err)
	}
	if execute(context.Background(), []string{"index", "--db", db, "-"}, &docs, io.Discard, os.Stderr) != 0 {
		t.Fatal("no index")
	}
	if execute(context.Background(), []string{"bench", "--db", db, "--field", "text", "--topics", topics, "--cache", "1MiB", "--json"}, nil, &out, os.Stderr) != 0 {
		t.Fatal("no figures")
	}
	var f figures
	if err := json.Unmarshal(out.Bytes(), &f); err != nil {
		t.Fatal(err)
	}
	if c := f.Cache; c == nil || c.HitRate < 0.6 || c.HitRate > 0.7 || c.ByteRate <= 0 || c.Resident.Heads <= 0 || c.Resident.Segments <= 0 {
		t.Errorf("%+v", f.Cache)
	}
}
