// Package oplogtest has the tests that every oplog.Log must pass.
package oplogtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/riffle-search/riffle/cluster/oplog"
)

// Run tests logs that open returns: empty ones, new for each call. Logs that open returns with a
// limit other than 0 take about so many bytes.
func Run(t *testing.T, open func(t *testing.T, limit int) oplog.Log) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, oplog.Log)
	}{
		{"Empty", empty},
		{"Order", order},
		{"SentAgain", sentAgain},
		{"TooLate", tooLate},
		{"Waits", waits},
		{"Gaps", gaps},
		{"TrimmedLane", trimmedLane},
		{"Refused", refused},
		{"ManyWriters", manyWriters},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t, 0)) })
	}
	t.Run("Full", func(t *testing.T) { full(t, open(t, 1<<16)) })
	t.Run("Identity", func(t *testing.T) {
		if a, b := bounds(t, open(t, 0)), bounds(t, open(t, 0)); a.Identity == b.Identity || a.Identity == "" {
			t.Errorf("two logs have the identities %q and %q", a.Identity, b.Identity)
		}
	})
}

func bounds(t *testing.T, l oplog.Log) oplog.Bounds {
	t.Helper()
	b, err := l.Bounds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func message(id string) oplog.Message { return oplog.Message{ID: id, Data: []byte("data of " + id)} }

// appendAgain appends an entry, for ten seconds if need be: servers may see the last entry of a lane a little later
// than it is acknowledged, and until then it is not known whether they have the next one.
func appendAgain(ctx context.Context, l oplog.Log, lane string, after uint64, m oplog.Message) (uint64, error) {
	n, err := l.Append(ctx, lane, after, m)
	for end := time.Now().Add(10 * time.Second); errors.Is(err, oplog.ErrUnknown) && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
		n, err = l.Append(ctx, lane, after, m)
	}
	return n, err
}

func mustAppend(t *testing.T, l oplog.Log, lane string, after uint64, id string) uint64 {
	t.Helper()
	n, err := appendAgain(t.Context(), l, lane, after, message(id))
	if err != nil {
		t.Fatalf("%s after %d in lane %s: %v", id, after, lane, err)
	}
	return n
}

// read returns n entries from a sequence on.
func read(t *testing.T, l oplog.Log, from uint64, n int) []oplog.Entry {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var entries []oplog.Entry
	for e, err := range l.Read(ctx, from) {
		if err != nil {
			t.Fatalf("after %d entries: %v", len(entries), err)
		}
		if entries = append(entries, e); len(entries) == n {
			break
		}
	}
	return entries
}

func empty(t *testing.T, l oplog.Log) {
	if b := bounds(t, l); b.First != 1 || b.Last != 0 {
		t.Errorf("an empty log holds %d to %d", b.First, b.Last)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for e, err := range l.Read(ctx, 1) {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("reading an empty log: %v, %v", e, err)
		}
	}
}

func order(t *testing.T, l oplog.Log) {
	a1 := mustAppend(t, l, "a", 0, "a1")
	a2 := mustAppend(t, l, "a", a1, "a2")
	b1 := mustAppend(t, l, "b", 0, "b1")
	a3 := mustAppend(t, l, "a", a2, "a3")
	if a1 != 1 || a2 != 2 || b1 != 3 || a3 != 4 {
		t.Fatalf("sequences %d, %d, %d, %d", a1, a2, b1, a3)
	}
	for i, e := range read(t, l, 2, 3) {
		id, lane := []string{"a2", "b1", "a3"}[i], []string{"a", "b", "a"}[i]
		if e.Sequence != uint64(i+2) || e.ID != id || e.Lane != lane || string(e.Data) != "data of "+id {
			t.Errorf("entry %d is %d, %q of lane %q: %q", i+2, e.Sequence, e.ID, e.Lane, e.Data)
		}
	}
	if b := bounds(t, l); b.First != 1 || b.Last != 4 {
		t.Errorf("the log holds %d to %d", b.First, b.Last)
	}
	if e, err := l.Get(t.Context(), 3); err != nil || e.Sequence != 3 || e.ID != "b1" || e.Lane != "b" || string(e.Data) != "data of b1" {
		t.Errorf("entry 3 is %+v: %v", e, err)
	}
}

// sentAgain appends an entry again: it keeps its place, or the writer hears that it has landed.
func sentAgain(t *testing.T, l oplog.Log) {
	first := mustAppend(t, l, "a", 0, "a1")
	mustAppend(t, l, "b", 0, "b1")
	n, err := l.Append(t.Context(), "a", 0, message("a1"))
	lane, refused := errors.AsType[*oplog.LaneError](err)
	switch {
	case refused && lane.Last == first && lane.LastID == "a1":
	case err != nil:
		t.Error(err)
	case n != first:
		t.Errorf("entry %d was sent again and is %d now", first, n)
	}
	if b := bounds(t, l); b.Last != 2 {
		t.Errorf("the log ends with %d", b.Last)
	}
}

// tooLate appends what stood before the last entry of its lane.
func tooLate(t *testing.T, l oplog.Log) {
	a1 := mustAppend(t, l, "a", 0, "a1")
	a2 := mustAppend(t, l, "a", a1, "a2")
	for _, after := range []uint64{0, a1, 99} {
		n, err := l.Append(t.Context(), "a", after, message(fmt.Sprint("late", after)))
		if e, ok := errors.AsType[*oplog.LaneError](err); !ok || e.Last != a2 || e.LastID != "a2" || e.After != after {
			t.Errorf("after %d: entry %d, %v", after, n, err)
		}
	}
	if n, err := l.Append(t.Context(), "new", a2, message("n")); err == nil {
		t.Errorf("a new lane took an entry after %d, and it is %d", a2, n)
	}
	if b := bounds(t, l); b.Last != 2 {
		t.Errorf("the log ends with %d", b.Last)
	}
}

func waits(t *testing.T, l oplog.Log) {
	next, stop := iter.Pull2(l.Read(t.Context(), 1))
	defer stop()
	after := uint64(0)
	for i := range 20 {
		appended := make(chan struct{})
		go func() {
			defer close(appended)
			after = mustAppend(t, l, "a", after, fmt.Sprint("a", i))
		}()
		e, err, _ := next()
		<-appended
		if err != nil || e.Sequence != after {
			t.Fatalf("read entry %d, appended %d: %v", e.Sequence, after, err)
		}
	}
}

func gaps(t *testing.T, l oplog.Log) {
	after := uint64(0)
	for i := range 10 {
		after = mustAppend(t, l, "a", after, fmt.Sprint("a", i))
	}
	if err := l.Trim(t.Context(), 6); err != nil {
		t.Fatal(err)
	}
	b := bounds(t, l)
	if b.Last != 10 || b.First > 6 {
		t.Fatalf("trimmed before 6, the log holds %d to %d", b.First, b.Last)
	}
	for _, want := range []uint64{b.First - 1, 11} {
		e, err := l.Get(t.Context(), want)
		if gap, ok := errors.AsType[*oplog.GapError](err); !ok || gap.Want != want || gap.Last != 10 {
			t.Errorf("getting %d: entry %d, %v", want, e.Sequence, err)
		}
	}
	for _, want := range []uint64{b.First - 1, 12, 100} {
		for e, err := range l.Read(t.Context(), want) {
			gap, ok := errors.AsType[*oplog.GapError](err)
			if !ok || gap.Want != want || gap.First != b.First || gap.Last != 10 {
				t.Errorf("reading from %d: entry %d, %v", want, e.Sequence, err)
			}
			if err == nil {
				break
			}
		}
	}
	if got := read(t, l, b.First, int(11-b.First)); got[0].ID != fmt.Sprint("a", b.First-1) {
		t.Errorf("entry %d is %q", b.First, got[0].ID)
	}
}

func trimmedLane(t *testing.T, l oplog.Log) {
	a := mustAppend(t, l, "a", 0, "a1")
	b := mustAppend(t, l, "b", 0, "b1")
	if err := l.Trim(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if bounds(t, l).First != b {
		t.Skip("the log has not removed the entry")
	}
	_, err := l.Append(t.Context(), "a", a, message("a2"))
	if e, ok := errors.AsType[*oplog.LaneError](err); !ok || e.Last != 0 || e.LastID != "" {
		t.Errorf("after a removed entry: %v", err)
	}
}

func refused(t *testing.T, l oplog.Log) {
	for _, m := range []oplog.Message{
		{}, {ID: "a b"}, {ID: "ä"}, {ID: string(make([]byte, oplog.MaxIDBytes+1))},
		{ID: "large", Data: make([]byte, oplog.MaxMessageBytes+1)},
	} {
		if n, err := l.Append(t.Context(), "a", 0, m); err == nil || errors.Is(err, oplog.ErrUnknown) {
			t.Errorf("a message with id %q and %d bytes: entry %d, %v", m.ID, len(m.Data), n, err)
		}
	}
	large := oplog.Message{ID: "large", Data: make([]byte, oplog.MaxMessageBytes)}
	if _, err := l.Append(t.Context(), "a", 0, large); err != nil {
		t.Errorf("the largest message: %v", err)
	}
}

func full(t *testing.T, l oplog.Log) {
	after := uint64(0)
	for i := range 1000 {
		m := oplog.Message{ID: fmt.Sprint("a", i), Data: make([]byte, 1000)}
		rand.NewChaCha8([32]byte{byte(i)}).Read(m.Data)
		n, err := appendAgain(t.Context(), l, "a", after, m)
		if errors.Is(err, oplog.ErrFull) && !errors.Is(err, oplog.ErrUnknown) {
			if b := bounds(t, l); b.Last != after {
				t.Errorf("the log ends with %d; %d were taken", b.Last, after)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		after = n
	}
	t.Error("a log of 64 KiB took a million bytes")
}

// manyWriters appends to many lanes at once, while several readers read.
func manyWriters(t *testing.T, l oplog.Log) {
	const lanes, each = 8, 50
	var wg sync.WaitGroup
	for i := range lanes {
		wg.Go(func() {
			lane, after := fmt.Sprint("lane", i), uint64(0)
			for n := range each {
				got, err := appendAgain(t.Context(), l, lane, after, message(fmt.Sprintf("%s-%d", lane, n)))
				if err != nil || got <= after {
					t.Errorf("entry %d after %d: %v", got, after, err)
					return
				}
				after = got
			}
		})
	}
	for range 3 {
		wg.Go(func() {
			next := map[string]int{}
			for i, e := range read(t, l, 1, lanes*each) {
				if e.Sequence != uint64(i+1) || e.ID != fmt.Sprintf("%s-%d", e.Lane, next[e.Lane]) {
					t.Errorf("entry %d: sequence %d, id %q; lane %s was at %d", i+1, e.Sequence, e.ID, e.Lane, next[e.Lane])
					return
				}
				next[e.Lane]++
			}
		})
	}
	wg.Wait()
}
