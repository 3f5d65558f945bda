package riffle

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestKill starts a process that writes, and kills it without warning, ten times on the same index.
// Everything that it reported as acknowledged must survive.
func TestKill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	rng := rand.New(rand.NewPCG(seedOf(t), 5))
	rounds := 10
	if testing.Short() {
		rounds = 3
	}
	acked := 0
	for round := range rounds {
		last := runAndKill(t, dir, time.Duration(100+rng.IntN(400))*time.Millisecond)
		acked = max(acked, last)
		e, err := Open(dir, nil)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		st, err := e.Stats()
		if err != nil {
			t.Fatal(err)
		}
		there := killCheck(t, e, acked)
		t.Logf("round %d: %d batches acknowledged, %d there; %d segments, %d log records", round, acked, there, len(st.Segments), st.LogRecords)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if acked < 10*rounds {
		t.Errorf("only %d batches in %d rounds: the child did not get to work", acked, rounds)
	}
}

// runAndKill starts the writer, kills it after a while and returns the last batch that it reported
// as acknowledged. The time runs from its first acknowledgement.
func runAndKill(t *testing.T, dir string, after time.Duration) (last int) {
	t.Helper()
	cmd := childCommand("TestKillChild", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var timer *time.Timer
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		n, ok := strings.CutPrefix(lines.Text(), "acknowledged ")
		if !ok {
			t.Errorf("child: %s", lines.Text())
			continue
		}
		// The kill may leave only the beginning of a number, hence the point at its end.
		if n, ok = strings.CutSuffix(n, "."); !ok {
			continue
		}
		if last, err = strconv.Atoi(n); err != nil {
			t.Fatal(err)
		}
		if timer == nil {
			timer = time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
	}
	if err := cmd.Wait(); err == nil || timer == nil {
		t.Fatalf("the child ended by itself: %v", err)
	}
	return last
}

// Batch i of the child puts documents i.a and i.b, and from batch killWindow on
// deletes those of batch i - killWindow.
const killWindow = 300

// killBatch makes batch i.
func killBatch(i int) *Batch {
	b := &Batch{Position: strconv.AppendInt(nil, int64(i), 10)}
	for _, half := range []string{"a", "b"} {
		b.Put(fmt.Sprintf("%d.%s", i, half), map[string]any{"text": fmt.Sprintf("w1 w%d %s", i%10, half), "num": i})
		if i >= killWindow {
			b.Delete(fmt.Sprintf("%d.%s", i-killWindow, half))
		}
	}
	return b
}

// killCheck checks that an index has the state after one of the batches from acked on, and returns
// which.
func killCheck(t *testing.T, e *Engine, acked int) (last int) {
	t.Helper()
	if err := checkAll(e); err != nil {
		t.Fatal(err)
	}
	for last = acked; ; last++ {
		if _, err := e.Get(ctx, fmt.Sprintf("%d.a", last+1)); err != nil {
			break
		}
	}
	first := max(0, last-killWindow+1)
	if n := lenOf(t, e); n != 2*(last-first+1) {
		t.Fatalf("%d documents after batch %d, want %d", n, last, 2*(last-first+1))
	}
	for i := first; i <= last; i++ {
		for _, half := range []string{"a", "b"} {
			doc, err := e.Get(ctx, fmt.Sprintf("%d.%s", i, half))
			if err != nil || doc["num"] != int64(i) {
				t.Fatalf("document %d.%s of %d batches: %v %v", i, half, last, doc, err)
			}
		}
	}
	if n, err := e.Count(ctx, Match{Field: "text", Text: "w1 a", Mode: ModeAnd}); err != nil || n != last-first+1 {
		t.Fatalf("%d matches, %v, want %d", n, err, last-first+1)
	}
	if err := samePosition(e, strconv.AppendInt(nil, int64(last), 10)); err != nil {
		t.Fatalf("after batch %d: %v", last, err)
	}
	return last
}

// TestKillChild writes batches until it is killed. It begins after the position that it finds.
func TestKillChild(t *testing.T) {
	tu := tuning{memory: tinyMemory, opts: Options{Schema: new(Schema), Merge: MergeOptions{SegmentsPerTier: 2}}}
	e, err := tu.open(dirOfChild(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	last := -1
	if p, err := e.Position(); err != nil {
		t.Fatal(err)
	} else if p != nil {
		if last, err = strconv.Atoi(string(p)); err != nil {
			t.Fatal(err)
		}
	}
	for i := last + 1; ; i++ {
		if err := e.Apply(ctx, killBatch(i)); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(os.Stdout, "acknowledged %d.\n", i) // unbuffered
	}
}
