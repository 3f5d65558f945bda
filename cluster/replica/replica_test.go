package replica_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/oplog"
	"github.com/riffle-search/riffle/cluster/replica"
)

// A shard is a log with a writer for tests.
type shard struct {
	t    *testing.T
	log  oplog.Log
	last uint64
}

func newShard(t *testing.T) *shard { return &shard{t: t, log: oplog.NewMemory(0)} }

func (s *shard) append(r oplog.Record) uint64 {
	s.t.Helper()
	data, err := r.Append(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.last, err = s.log.Append(s.t.Context(), "test", s.last, oplog.Message{ID: fmt.Sprint(s.last), Data: data})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.last
}

func (s *shard) apply(b *riffle.Batch) uint64 {
	s.t.Helper()
	changes, err := b.Encode()
	if err != nil {
		s.t.Fatal(err)
	}
	if len(changes) == 0 {
		return s.append(oplog.Record{Kind: oplog.Barrier})
	}
	var body []byte
	for _, c := range changes {
		body = oplog.AppendChange(body, c.Data)
	}
	return s.append(oplog.Record{Kind: oplog.Changes, Body: body})
}

func (s *shard) put(id string, doc map[string]any) uint64 {
	var b riffle.Batch
	b.Put(id, doc)
	return s.apply(&b)
}

// A running is a replica that runs.
type running struct {
	*replica.Replica
	stop    context.CancelFunc
	stopped chan struct{}
	why     error // why Run returned, readable after stopped
	refused atomic.Int64
}

func options(dir string) replica.Options {
	return replica.Options{
		CheckEvery: 10 * time.Millisecond,
		Open: func(schema *riffle.Schema) (*riffle.Engine, error) {
			return riffle.Open(dir, &riffle.Options{Schema: schema, AlterSchema: true, Durability: riffle.SyncNone})
		},
	}
}

// run opens a replica in a directory and runs it until the end of the test or close.
func run(t *testing.T, log oplog.Log, dir string) *running {
	t.Helper()
	x := &running{stopped: make(chan struct{})}
	o := options(dir)
	o.Refused = func(uint64, error) { x.refused.Add(1) }
	var err error
	if x.Replica, err = replica.Open(t.Context(), log, o); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	x.stop = stop
	go func() {
		defer close(x.stopped)
		x.why = x.Run(ctx)
	}()
	t.Cleanup(func() { x.close(t) })
	return x
}

func (x *running) close(t *testing.T) {
	t.Helper()
	x.stop()
	<-x.stopped
	if err := x.Close(); err != nil {
		t.Error(err)
	}
}

func (x *running) wait(t *testing.T, sequence uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := x.Wait(ctx, sequence); err != nil {
		t.Fatal(err)
	}
}

// documents returns the ids of a replica with their field n.
func (x *running) documents(t *testing.T) map[string]any {
	t.Helper()
	docs := map[string]any{}
	err := x.Use(func(e *riffle.Engine) error {
		s, err := e.Snapshot()
		if err != nil {
			return err
		}
		defer s.Close()
		for d, err := range s.Documents("") {
			if err != nil {
				return err
			}
			docs[d.ID] = d.Fields["n"]
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

// TestReplicas lets two replicas read a log of random changes, of which one stops and opens again
// many times. Both end with what a map has, and with the same digest.
func TestReplicas(t *testing.T) {
	s := newShard(t)
	rng := rand.New(rand.NewPCG(1, 2))
	steady := run(t, s.log, filepath.Join(t.TempDir(), "steady"))
	dir := filepath.Join(t.TempDir(), "restless")
	want := map[string]any{}
	for range 20 {
		restless := run(t, s.log, dir)
		for range 1 + rng.IntN(60) {
			var b riffle.Batch
			for range rng.IntN(5) {
				id := fmt.Sprint("d", rng.IntN(50))
				if rng.IntN(4) == 0 {
					b.Delete(id)
					delete(want, id)
				} else {
					n := rng.Int64N(1 << 40)
					b.Put(id, map[string]any{"n": n, "text": strings.Repeat("whale ", rng.IntN(9))})
					want[id] = n
				}
			}
			if rng.IntN(10) == 0 {
				s.append(oplog.Record{Kind: oplog.Barrier})
			}
			s.apply(&b)
		}
		if rng.IntN(2) == 0 {
			restless.wait(t, s.last-uint64(rng.IntN(2)))
		}
		restless.close(t)
		if !errors.Is(restless.why, context.Canceled) {
			t.Fatal(restless.why)
		}
	}
	again := run(t, s.log, dir)
	for name, x := range map[string]*running{"steady": steady, "restless": again} {
		x.wait(t, s.last)
		if got := x.documents(t); !maps.Equal(got, want) {
			t.Errorf("%s has %d documents, want %d", name, len(got), len(want))
		}
		if x.refused.Load() != 0 {
			t.Errorf("%s refused %d changes", name, x.refused.Load())
		}
	}
	if a, b := steady.Position(), again.Position(); a != b {
		t.Errorf("positions %+v and %+v", a, b)
	}
}

// TestRefused: what an index refuses is left out, and the rest of its message is applied.
func TestRefused(t *testing.T) {
	s := newShard(t)
	schema, err := json.Marshal(&riffle.Schema{Fields: map[string]riffle.Field{"n": {Type: riffle.FieldNumber}}})
	if err != nil {
		t.Fatal(err)
	}
	s.append(oplog.Record{Kind: oplog.Schema, Body: schema})
	s.put("a", map[string]any{"n": 1})
	var b riffle.Batch
	b.Put("b", map[string]any{"n": 2})
	b.Put("bad", map[string]any{"n": "two"})
	b.Delete("a")
	s.apply(&b)
	s.append(oplog.Record{Kind: oplog.Changes, Body: []byte("\xffcut off")})
	var c riffle.Batch
	c.Put("c", map[string]any{"n": 3})
	good, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	s.append(oplog.Record{Kind: oplog.Changes, Body: slices.Concat(
		oplog.AppendChange(nil, []byte("Xd")), oplog.AppendChange(nil, good[0].Data), oplog.AppendChange(nil, nil))})
	s.append(oplog.Record{Kind: oplog.Schema, Body: []byte(`{"fields": {"n": {"type": "text"}}}`)})
	s.put("d", map[string]any{"n": 4})
	x := run(t, s.log, t.TempDir())
	x.wait(t, s.last)
	if got, want := slices.Sorted(maps.Keys(x.documents(t))), []string{"b", "c", "d"}; !slices.Equal(got, want) {
		t.Errorf("documents %q, want %q", got, want)
	}
	if n := x.refused.Load(); n != 5 {
		t.Errorf("%d changes refused, want 5", n)
	}
}

// TestSchema: a schema in the log holds for what comes after it, also after the replica opens again.
func TestSchema(t *testing.T) {
	s := newShard(t)
	dir := t.TempDir()
	s.put("before", map[string]any{"code": "A B"})
	schema, err := json.Marshal(&riffle.Schema{Fields: map[string]riffle.Field{"tag": {Type: riffle.FieldKeyword}}})
	if err != nil {
		t.Fatal(err)
	}
	s.append(oplog.Record{Kind: oplog.Schema, Body: schema})
	s.put("after", map[string]any{"tag": "A B"})
	x := run(t, s.log, dir)
	count := func(x *running, value string) (n int) {
		err := x.Use(func(e *riffle.Engine) (err error) {
			n, err = e.Count(t.Context(), riffle.Term{Field: "tag", Value: value})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	x.wait(t, s.last)
	if n := count(x, "A B"); n != 1 {
		t.Errorf("the keyword has %d documents", n)
	}
	x.close(t)
	x = run(t, s.log, dir)
	s.put("later", map[string]any{"tag": "A B"})
	x.wait(t, s.last)
	if n := count(x, "A B"); n != 2 {
		t.Errorf("the keyword has %d documents", n)
	}
}

// A changedLog answers as if a log had been damaged.
type changedLog struct {
	oplog.Log
	bounds func(oplog.Bounds) oplog.Bounds
	entry  func(*oplog.Entry)
	active atomic.Bool
}

func (l *changedLog) Bounds(ctx context.Context) (oplog.Bounds, error) {
	b, err := l.Log.Bounds(ctx)
	if l.active.Load() && l.bounds != nil {
		b = l.bounds(b)
	}
	return b, err
}

func (l *changedLog) Read(ctx context.Context, from uint64) iter.Seq2[oplog.Entry, error] {
	return func(yield func(oplog.Entry, error) bool) {
		for e, err := range l.Log.Read(ctx, from) {
			if l.active.Load() && l.entry != nil {
				e.Data = slices.Clone(e.Data)
				l.entry(&e)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (l *changedLog) Get(ctx context.Context, sequence uint64) (oplog.Entry, error) {
	e, err := l.Log.Get(ctx, sequence)
	if err == nil && l.active.Load() && l.entry != nil {
		e.Data = slices.Clone(e.Data)
		l.entry(&e)
	}
	return e, err
}

// TestDiverged changes a log behind a replica: while it runs, and while it is closed.
func TestDiverged(t *testing.T) {
	other, err := (&oplog.Record{Kind: oplog.Changes, Body: oplog.AppendChange(nil, []byte("D\x01x"))}).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		change *changedLog
		while  bool   // it runs, the change is noticed
		want   string // in the error
	}{
		{"created again", &changedLog{bounds: func(b oplog.Bounds) oplog.Bounds { b.Identity = "other"; return b }}, true, "it is log other, not"},
		{"truncated", &changedLog{bounds: func(b oplog.Bounds) oplog.Bounds { b.Last -= 2; return b }}, true, "it ends with entry 8"},
		{"trimmed", &changedLog{bounds: func(b oplog.Bounds) oplog.Bounds { b.First, b.Last = 12, 20; return b }}, true, "the replica needs 11"},
		{"another message", &changedLog{entry: func(e *oplog.Entry) { e.Data = other }}, false, "the message of its entry 10 has checksum"},
		{"flipped bit", &changedLog{entry: func(e *oplog.Entry) { e.Data[2] ^= 4 }}, false, "its entry 10 is damaged"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newShard(t)
			for i := range 10 {
				s.put(fmt.Sprint("d", i), map[string]any{"n": i})
			}
			l := test.change
			l.Log = s.log
			dir := t.TempDir()
			x := run(t, l, dir)
			x.wait(t, 10)
			if test.while {
				l.active.Store(true)
				<-x.stopped
				if x.why == nil || !strings.Contains(x.why.Error(), test.want) {
					t.Errorf("while it ran: %v", x.why)
				}
			}
			x.close(t)
			l.active.Store(true)
			r, err := replica.Open(t.Context(), l, options(dir))
			if err == nil {
				r.Close()
			}
			_, diverged := errors.AsType[*replica.DivergedError](err)
			if !diverged && !errors.Is(err, replica.ErrTooFarBehind) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("at open: %v", err)
			}
		})
	}
}

// TestOldLeader: an old end of the log that goes away again is no reason to stop.
func TestOldLeader(t *testing.T) {
	s := newShard(t)
	var old atomic.Int64
	l := &changedLog{Log: s.log, bounds: func(b oplog.Bounds) oplog.Bounds {
		if old.Add(-1) >= 0 {
			b.Last = 0
		}
		return b
	}}
	l.active.Store(true)
	x := run(t, l, t.TempDir())
	for i := range 5 {
		s.put(fmt.Sprint("d", i), map[string]any{"n": i})
		x.wait(t, s.last)
		old.Store(2)
		for old.Load() >= 0 {
			time.Sleep(time.Millisecond)
		}
	}
	select {
	case <-x.stopped:
		t.Error(x.why)
	default:
	}
}

// TestUnsure: a server of the log that no quorum follows ends before what a replica has read. The replica
// goes on, and one that opens waits, without saying that the log has diverged.
func TestUnsure(t *testing.T) {
	s := newShard(t)
	for i := range 10 {
		s.put(fmt.Sprint("d", i), map[string]any{"n": i})
	}
	var asked atomic.Int32
	l := &changedLog{Log: s.log, bounds: func(b oplog.Bounds) oplog.Bounds {
		asked.Add(1)
		b.Last -= 2
		b.Sure = false
		return b
	}}
	dir := t.TempDir()
	x := run(t, l, dir)
	x.wait(t, 10)
	l.active.Store(true)
	for asked.Load() < 10 {
		select {
		case <-x.stopped:
			t.Fatalf("it stopped: %v", x.why)
		case <-time.After(time.Millisecond):
		}
	}
	x.close(t)
	_, err := replica.Open(t.Context(), l, options(dir))
	if _, diverged := errors.AsType[*replica.DivergedError](err); diverged || err == nil || !strings.Contains(err.Error(), "not sure") {
		t.Errorf("%v", err)
	}
	l.active.Store(false)
	run(t, l, dir).close(t)
}

// TestDamagedEntry: a replica does not apply what is not what was written.
func TestDamagedEntry(t *testing.T) {
	s := newShard(t)
	s.put("a", map[string]any{"n": 1})
	l := &changedLog{Log: s.log, entry: func(e *oplog.Entry) {
		if e.Sequence == 2 {
			e.Data[len(e.Data)/2] ^= 1
		}
	}}
	l.active.Store(true)
	x := run(t, l, t.TempDir())
	x.wait(t, 1)
	s.put("b", map[string]any{"n": 2})
	<-x.stopped
	if !errors.Is(x.why, replica.ErrDamaged) || x.Position().Sequence != 1 {
		t.Errorf("at %d: %v", x.Position().Sequence, x.why)
	}
}

// TestNewer: a replica stops at what it cannot read yet, and skips nothing.
func TestNewer(t *testing.T) {
	s := newShard(t)
	x := run(t, s.log, t.TempDir())
	s.put("a", map[string]any{"n": 1})
	s.append(oplog.Record{Kind: oplog.Changes, Body: oplog.AppendChange(nil, []byte("\x1fX"))})
	<-x.stopped
	if !errors.Is(x.why, riffle.ErrFormat) || x.Position().Sequence > 1 || x.refused.Load() > 0 {
		t.Errorf("at %d: %v", x.Position().Sequence, x.why)
	}
}

func TestEpoch(t *testing.T) {
	s := newShard(t)
	x := run(t, s.log, t.TempDir())
	s.append(oplog.Record{Kind: oplog.Barrier, Epoch: 1})
	<-x.stopped
	if x.why == nil || !strings.Contains(x.why.Error(), "entry 1 is for epoch 1 of the index, the replica belongs to 0") {
		t.Error(x.why)
	}
}

// TestNoReplica refuses an index that something else has written.
func TestNoReplica(t *testing.T) {
	dir := t.TempDir()
	o := options(dir)
	e, err := o.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.Put(t.Context(), "a", map[string]any{"n": 1}), e.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := replica.Open(t.Context(), oplog.NewMemory(0), o); err == nil || !strings.Contains(err.Error(), "no replica's") {
		t.Error(err)
	}
}

func TestPosition(t *testing.T) {
	p := replica.Position{Identity: "log", Sequence: 7, Checksum: 9, Digest: replica.Digest{1, 2}}
	b := p.Append(nil)
	if got, err := replica.ParsePosition(b); err != nil || got != p {
		t.Errorf("%+v came back as %+v: %v", p, got, err)
	}
	if len(b) > riffle.MaxPositionBytes {
		t.Errorf("%d bytes", len(b))
	}
	for _, bad := range [][]byte{nil, b[:32], append([]byte{2}, b[1:]...)} {
		if _, err := replica.ParsePosition(bad); err == nil {
			t.Errorf("%x was read", bad)
		}
	}
}
