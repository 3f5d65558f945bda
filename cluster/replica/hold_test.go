package replica_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/riffle-search/riffle/cluster/oplog"
	"github.com/riffle-search/riffle/cluster/oplog/oplogtest"
	"github.com/riffle-search/riffle/cluster/replica"
)

// TestHold takes snapshots at barriers, in the midst of other entries. Both replicas have the same at each.
func TestHold(t *testing.T) {
	s := newShard(t)
	a, b := run(t, s.log, t.TempDir()), run(t, s.log, t.TempDir())
	for n := range 20 {
		lane := fmt.Sprint("check-", n)
		for _, r := range []*running{a, b} {
			r.Hold(lane, time.Minute)
		}
		s.put(fmt.Sprint("before", n), map[string]any{"n": n})
		data, err := (&oplog.Record{Kind: oplog.Barrier}).Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		at, err := s.log.Append(t.Context(), lane, 0, oplog.Message{ID: "1", Data: data})
		if err != nil {
			t.Fatal(err)
		}
		s.put(fmt.Sprint("after", n), map[string]any{"n": n})
		for _, r := range []*running{a, b} {
			snapshot, p, err := r.Held(t.Context(), lane)
			if err != nil || p.Sequence != at {
				t.Fatalf("at %+v, want %d: %v", p, at, err)
			}
			if docs, err := snapshot.Len(); err != nil || docs != 2*n+1 {
				t.Errorf("%d documents, want %d: %v", docs, 2*n+1, err)
			}
			snapshot.Close()
			if _, _, err := r.Held(t.Context(), lane); !errors.Is(err, replica.ErrNoHold) {
				t.Errorf("a second time: %v", err)
			}
		}
	}
}

// TestHoldEnds: a barrier that does not come, and a replica that is closed.
func TestHoldEnds(t *testing.T) {
	s := newShard(t)
	r := run(t, s.log, t.TempDir())
	r.Hold("late", time.Nanosecond)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		_, _, err := r.Held(ctx, "late")
		cancel()
		if errors.Is(err, replica.ErrNoHold) {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	r.Hold("never", time.Minute)
	ended := make(chan error)
	go func() { _, _, err := r.Held(t.Context(), "never"); ended <- err }()
	r.close(t)
	if err := <-ended; !errors.Is(err, replica.ErrNoHold) {
		t.Error(err)
	}
}

// TestMarks: replicas that have read the same have the same marks, however entries came in groups; and the log
// gives the digest of any entry.
func TestMarks(t *testing.T) {
	s := newShard(t)
	a := run(t, s.log, t.TempDir())
	for range 2*replica.MarkEvery + 10 {
		s.append(oplog.Record{Kind: oplog.Barrier})
	}
	b := run(t, s.log, t.TempDir())
	for _, r := range []*running{a, b} {
		r.wait(t, s.last)
		if at, _ := r.Mark(); at != 2*replica.MarkEvery {
			t.Errorf("the last mark is %d", at)
		}
		for _, at := range []uint64{replica.MarkEvery, 2 * replica.MarkEvery, s.last} {
			got, ok := r.DigestAt(at)
			want, err := b.DigestOf(t.Context(), replica.Position{}, at)
			if !ok || err != nil || got != want {
				t.Errorf("entry %d: %x %v, the log has %x: %v", at, got, ok, want, err)
			}
		}
		if _, ok := r.DigestAt(replica.MarkEvery + 1); ok {
			t.Error("a digest that is no mark")
		}
	}
	first, _ := a.DigestAt(replica.MarkEvery)
	if got, err := a.DigestOf(t.Context(), replica.Position{Sequence: replica.MarkEvery, Digest: first}, s.last); err != nil || got != a.Position().Digest {
		t.Errorf("from a mark: %x, %v", got, err)
	}
}

// upgraded is a log as a newer program reads it, to which the version of one message is nothing new.
type upgraded struct {
	oplog.Log
	now bool
}

func (l *upgraded) Read(ctx context.Context, from uint64) iter.Seq2[oplog.Entry, error] {
	return func(yield func(oplog.Entry, error) bool) {
		for e, err := range l.Log.Read(ctx, from) {
			if l.now && err == nil && e.Lane == "newer" {
				e.Data = oplogtest.WithVersion(e.Data, oplog.MessageVersion)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// TestNewerMessage: a message of a newer release stops a replica behind what comes before it, and the replica says why.
// When it is started again by a program that reads the message, it goes on from there.
func TestNewerMessage(t *testing.T) {
	s := newShard(t)
	log := &upgraded{Log: s.log}
	dir := t.TempDir()
	r := run(t, log, dir)
	s.put("a", map[string]any{"n": 1})
	data, err := (&oplog.Record{Kind: oplog.Barrier}).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	newer, err := s.log.Append(t.Context(), "newer", 0, oplog.Message{ID: "1", Data: oplogtest.WithVersion(data, oplog.MessageVersion+1)})
	if err != nil {
		t.Fatal(err)
	}
	last := s.put("b", map[string]any{"n": 2})
	for range 2 { // also when it is started again
		<-r.stopped
		if !errors.Is(r.why, oplog.ErrNewer) || errors.Is(r.why, replica.ErrDamaged) || !strings.Contains(r.why.Error(), fmt.Sprint("entry ", newer)) {
			t.Errorf("stopped because of %v", r.why)
		}
		if n, p := len(r.documents(t)), r.Position(); n != 1 || p.Sequence != newer-1 {
			t.Errorf("%d documents, at entry %d", n, p.Sequence)
		}
		r.close(t)
		r = run(t, log, dir)
	}
	<-r.stopped
	r.close(t)
	log.now = true
	r = run(t, log, dir)
	r.wait(t, last)
	if n := len(r.documents(t)); n != 2 {
		t.Errorf("%d documents after the upgrade", n)
	}
}
