package writer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/riffle-search/riffle/cluster/oplog"
	"github.com/riffle-search/riffle/cluster/writer"
)

// put is a change, of which a writer needs to know no more than the document.
func put(id string, n int) writer.Change {
	return writer.Change{ID: id, Data: fmt.Appendf(nil, "%s %d", id, n)}
}

// A poorLog loses requests and answers, and delivers requests late.
type poorLog struct {
	oplog.Log
	mu   sync.Mutex
	rng  *rand.Rand
	late sync.WaitGroup
}

func (l *poorLog) Append(ctx context.Context, lane string, after uint64, m oplog.Message) (uint64, error) {
	l.mu.Lock()
	luck, delay := l.rng.IntN(10), time.Duration(l.rng.IntN(3000))*time.Microsecond
	l.mu.Unlock()
	lost := fmt.Errorf("%w: lost", oplog.ErrUnknown)
	switch luck {
	case 0: // the request is lost
		return 0, lost
	case 1: // the answer is lost
		l.Log.Append(ctx, lane, after, m)
		return 0, lost
	case 2, 3: // the request comes late
		l.late.Go(func() {
			time.Sleep(delay)
			l.Log.Append(context.WithoutCancel(ctx), lane, after, m)
		})
		return 0, lost
	case 4: // there is no leader
		return 0, errors.New("no leader")
	}
	return l.Log.Append(ctx, lane, after, m)
}

// contents returns what the messages of a log leave behind: by document, the last value of n.
func contents(t *testing.T, log oplog.Log) map[string]string {
	t.Helper()
	docs := map[string]string{}
	b, err := log.Bounds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if b.Last == 0 {
		return docs
	}
	for e, err := range log.Read(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		r, err := oplog.Parse(e.Data)
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind == oplog.Changes {
			for change, err := range oplog.EachChange(r.Body) {
				if err != nil {
					t.Fatal(err)
				}
				var id string
				var n int
				if _, err := fmt.Sscanf(string(change), "%s %d", &id, &n); err != nil {
					t.Fatalf("%s: %v", change, err)
				}
				docs[id] = fmt.Sprint(n)
			}
		}
		if e.Sequence == b.Last {
			break
		}
	}
	return docs
}

// TestPoorLog writes through a log that loses and delays. Every document must have its last value,
// although each was written many times, and requests came late.
func TestPoorLog(t *testing.T) {
	memory := oplog.NewMemory(0)
	poor := &poorLog{Log: memory, rng: rand.New(rand.NewPCG(1, 2))}
	w := writer.New(poor, writer.Options{Lanes: 3, Attempt: time.Second, Pause: time.Microsecond})
	const clients, documents, rounds = 4, 5, 40
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			last := uint64(0)
			for n := range rounds {
				var changes []writer.Change
				for d := range documents {
					changes = append(changes, put(fmt.Sprintf("c%d-%d", c, d), n))
				}
				for i, o := range w.Write(t.Context(), changes) {
					if o.Err != nil {
						t.Errorf("change %d: %v", i, o.Err)
					}
					if i == 0 && o.Sequence <= last {
						t.Errorf("entry %d after %d", o.Sequence, last)
					}
					if i == 0 {
						last = o.Sequence
					}
				}
			}
		})
	}
	wg.Wait()
	w.Close()
	poor.late.Wait()
	docs := contents(t, memory)
	for c := range clients {
		for d := range documents {
			if id := fmt.Sprintf("c%d-%d", c, d); docs[id] != fmt.Sprint(rounds-1) {
				t.Errorf("%s is %s", id, docs[id])
			}
		}
	}
}

// A stuckLog answers only after it has been opened.
type stuckLog struct {
	oplog.Log
	entered chan struct{}
	open    chan struct{}
	err     error // or what it answers before
}

func (l *stuckLog) Append(ctx context.Context, lane string, after uint64, m oplog.Message) (uint64, error) {
	select {
	case <-l.open:
		return l.Log.Append(ctx, lane, after, m)
	default:
	}
	select {
	case l.entered <- struct{}{}:
	default:
	}
	if l.err != nil {
		return 0, l.err
	}
	select {
	case <-l.open:
		return l.Log.Append(ctx, lane, after, m)
	case <-ctx.Done():
		return 0, fmt.Errorf("%w: %w", oplog.ErrUnknown, ctx.Err())
	}
}

func newStuck(err error) *stuckLog {
	return &stuckLog{Log: oplog.NewMemory(0), entered: make(chan struct{}, 1), open: make(chan struct{}), err: err}
}

// TestUnknown: a deadline passes while a message is under way. A change behind it is withdrawn. When
// the log answers again, the first one is done and a later one follows it.
func TestUnknown(t *testing.T) {
	stuck := newStuck(nil)
	w := writer.New(stuck, writer.Options{Lanes: 1, Pause: time.Microsecond})
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan writer.Outcome)
	go func() { first <- w.Write(ctx, []writer.Change{put("a", 1)})[0] }()
	<-stuck.entered
	cancel()
	if o := <-first; !errors.Is(o.Err, oplog.ErrUnknown) || !errors.Is(o.Err, context.Canceled) {
		t.Errorf("under way: %+v", o)
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if o := w.Write(ctx, []writer.Change{put("a", 2)})[0]; o.Err == nil || errors.Is(o.Err, oplog.ErrUnknown) || !errors.Is(o.Err, context.DeadlineExceeded) {
		t.Errorf("behind it: %+v", o)
	}
	close(stuck.open)
	if o := w.Write(t.Context(), []writer.Change{put("b", 3)})[0]; o.Err != nil || o.Sequence != 2 {
		t.Errorf("after it: %+v", o)
	}
	if docs := contents(t, stuck.Log); len(docs) != 2 || docs["a"] != "1" || docs["b"] != "3" {
		t.Errorf("the log has %v", docs)
	}
}

// TestNoLeader: while the log takes nothing, a change can be withdrawn, and is known not to have happened.
func TestNoLeader(t *testing.T) {
	stuck := newStuck(errors.New("no leader"))
	w := writer.New(stuck, writer.Options{Lanes: 1, Pause: time.Millisecond})
	defer w.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if o := w.Write(ctx, []writer.Change{put("a", 1)})[0]; o.Err == nil || errors.Is(o.Err, oplog.ErrUnknown) {
		t.Errorf("%+v", o)
	}
	close(stuck.open)
	if o := w.Write(t.Context(), []writer.Change{put("b", 2)})[0]; o.Err != nil || o.Sequence != 1 {
		t.Errorf("%+v", o)
	}
	if docs := contents(t, stuck.Log); len(docs) != 1 || docs["b"] != "2" {
		t.Errorf("the log has %v", docs)
	}
}

func TestClose(t *testing.T) {
	stuck := newStuck(nil)
	w := writer.New(stuck, writer.Options{Lanes: 1})
	outcomes := make(chan writer.Outcome, 2)
	go func() { outcomes <- w.Write(context.Background(), []writer.Change{put("a", 1)})[0] }()
	<-stuck.entered
	w.Close()
	if o := <-outcomes; !errors.Is(o.Err, oplog.ErrUnknown) || !errors.Is(o.Err, writer.ErrClosed) {
		t.Errorf("under way: %+v", o)
	}
	if o := w.Write(context.Background(), []writer.Change{put("a", 1)})[0]; !errors.Is(o.Err, writer.ErrClosed) || errors.Is(o.Err, oplog.ErrUnknown) {
		t.Errorf("afterwards: %+v", o)
	}
}

func TestFull(t *testing.T) {
	w := writer.New(oplog.NewMemory(200), writer.Options{})
	defer w.Close()
	for n := range 100 {
		o := w.Write(t.Context(), []writer.Change{put("a", n)})[0]
		if errors.Is(o.Err, oplog.ErrFull) && !errors.Is(o.Err, oplog.ErrUnknown) {
			return
		}
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	t.Error("200 bytes took 100 changes")
}

// TestSizes writes changes that need several messages, and one that fits none.
func TestSizes(t *testing.T) {
	log := oplog.NewMemory(0)
	w := writer.New(log, writer.Options{Lanes: 1})
	defer w.Close()
	rng := rand.New(rand.NewPCG(3, 4))
	random := func(size int) string { // compresses to three quarters
		b := make([]byte, size)
		for i := range b {
			b[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[rng.IntN(64)]
		}
		return string(b)
	}
	var changes []writer.Change
	for i, size := range []int{10, 500_000, 400_000, 1_000_000, 2_000_000, 900_000, 300_000, 20} {
		id := fmt.Sprint("d", i)
		changes = append(changes, writer.Change{ID: id, Data: []byte(random(size))})
	}
	for i, o := range w.Write(t.Context(), changes) {
		if (i == 4) != errors.Is(o.Err, writer.ErrTooLarge) || i != 4 && o.Err != nil {
			t.Errorf("change %d: %+v", i, o)
		}
	}
	if b, err := log.Bounds(t.Context()); err != nil || b.Last < 3 || b.Last > 7 {
		t.Errorf("%d messages: %v", b.Last, err)
	}
}

func TestBusy(t *testing.T) {
	stuck := newStuck(nil)
	w := writer.New(stuck, writer.Options{Lanes: 1, QueueBytes: 1000})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { w.Write(ctx, []writer.Change{put("a", 1)}) })
	<-stuck.entered
	large := writer.Change{ID: "b", Data: make([]byte, 2000)}
	if o := w.Write(t.Context(), []writer.Change{large})[0]; !errors.Is(o.Err, writer.ErrBusy) {
		t.Errorf("%+v", o)
	}
	cancel()
	wg.Wait()
	w.Close()
}

// TestTrimmedLane trims the log behind a writer.
func TestTrimmedLane(t *testing.T) {
	log := oplog.NewMemory(0)
	w := writer.New(log, writer.Options{Lanes: 1})
	defer w.Close()
	for n := range 5 {
		o := w.Write(t.Context(), []writer.Change{put("a", n)})[0]
		if o.Err != nil || o.Sequence != uint64(n+1) {
			t.Fatalf("%d: %+v", n, o)
		}
		if err := log.Trim(t.Context(), o.Sequence+1); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBarrier(t *testing.T) {
	log := oplog.NewMemory(0)
	w := writer.New(log, writer.Options{})
	defer w.Close()
	for n := range 5 {
		o := w.Write(t.Context(), []writer.Change{put("a", n)})[0]
		s, err := w.Barrier(t.Context())
		if o.Err != nil || err != nil || s <= o.Sequence {
			t.Errorf("a barrier at %d after %d: %v, %v", s, o.Sequence, o.Err, err)
		}
	}
}
