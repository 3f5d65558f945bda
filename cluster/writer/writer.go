// Package writer appends the changes of documents to the log of a shard, and tells for each whether
// it has happened.
//
// A Writer has a number of lanes (package oplog). The changes of a document always take the same
// lane, which has one message under way and puts all changes that come meanwhile into the next. So
// two changes of a document are never under way at the same time, and many writers fill few messages.
//
// # What is known
//
// A change ends in one of three ways:
//
//   - It is done: the log has it, at a sequence.
//   - It is refused or came to nothing: the log does not have it, and never will. The error does not
//     match oplog.ErrUnknown.
//   - It is not known: the error matches oplog.ErrUnknown. The log did not answer before the deadline.
//     The writer sends the same message again, with the same id and predecessor, until it knows; the
//     lane waits meanwhile. So the change may still happen, but only before later changes of the same
//     document.
package writer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/riffle-search/riffle/cluster/oplog"
)

// Options say how a Writer works. The zero value has the defaults.
type Options struct {
	Epoch  uint64 // of the index, for messages
	Schema uint64 // version of the schema against which changes were checked

	Lanes      int           // 0 is 8
	QueueBytes int           // changes that may wait in all lanes; 0 is 64 MiB
	Attempt    time.Duration // how long an answer of the log may take before the message is sent again; 0 is 5 s
	Pause      time.Duration // between two attempts; 0 is 100 ms
}

const (
	defaultLanes      = 8
	defaultQueueBytes = 64 << 20
	defaultAttempt    = 5 * time.Second
	defaultPause      = 100 * time.Millisecond

	// bodyBytes is how many bytes of changes a message has at most, unless it has one change.
	bodyBytes = 1 << 20
)

var (
	// ErrTooLarge says that a change does not fit into a message (oplog.MaxMessageBytes, compressed).
	ErrTooLarge = errors.New("writer: the change is too large for a message of the log")

	// ErrBusy says that too many changes wait already. Try again later.
	ErrBusy = errors.New("writer: too many changes wait")

	// ErrClosed says that the writer is closed.
	ErrClosed = errors.New("writer: closed")
)

// A Change is a change of one document.
type Change struct {
	ID   string // of the document
	Data []byte // as riffle.Batch.Encode returns it
}

// An Outcome says what has become of a change: Sequence is that of its entry if Err is nil.
type Outcome struct {
	Sequence uint64
	Err      error
}

// A Writer appends to the log of a shard. Its methods are safe for concurrent use.
type Writer struct {
	log     oplog.Log
	options Options
	session string // begins the names of its lanes
	lanes   []*lane
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	waiting int // bytes of changes in queues
	closed  bool
	adding  sync.WaitGroup // calls that put changes into queues
}

// New returns a writer, which Close must stop.
func New(log oplog.Log, o Options) *Writer {
	orDefault(&o.Lanes, defaultLanes)
	orDefault(&o.QueueBytes, defaultQueueBytes)
	orDefault(&o.Attempt, defaultAttempt)
	orDefault(&o.Pause, defaultPause)
	w := &Writer{log: log, options: o, session: rand.Text()}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	for i := range o.Lanes {
		l := &lane{w: w, number: i, arrived: make(chan struct{}, 1)}
		w.lanes = append(w.lanes, l)
		w.running.Go(l.run)
	}
	return w
}

func orDefault[T comparable](v *T, otherwise T) {
	var zero T
	if *v == zero {
		*v = otherwise
	}
}

// Close stops the writer. What is under way is not known then.
func (w *Writer) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.adding.Wait()
	w.cancel()
	w.running.Wait()
}

// Write appends changes and waits for their outcomes, which it returns in the same order. Changes of
// one document happen in the order of the list; those of several may be parted by other writers'.
// When ctx ends, changes that no message has yet are withdrawn.
func (w *Writer) Write(ctx context.Context, changes []Change) []Outcome {
	outcomes := make([]Outcome, len(changes))
	items := make([]*item, len(changes))
	size := 0
	for i := range changes {
		size += len(changes[i].Data)
	}
	if err := w.admit(ctx, size); err != nil {
		for i := range outcomes {
			outcomes[i].Err = err
		}
		return outcomes
	}
	for i := range changes {
		items[i] = &item{change: changes[i].Data, done: make(chan struct{})}
		w.laneOf(changes[i].ID).add(items[i])
	}
	w.adding.Done()
	for i, x := range items {
		outcomes[i] = x.wait(ctx)
	}
	return outcomes
}

// Barrier appends an entry that changes nothing and returns its sequence. What was acknowledged before
// the call has a lower one.
func (w *Writer) Barrier(ctx context.Context) (uint64, error) {
	if err := w.admit(ctx, 0); err != nil {
		return 0, err
	}
	x := &item{barrier: true, done: make(chan struct{})}
	w.lanes[0].add(x)
	w.adding.Done()
	o := x.wait(ctx)
	return o.Sequence, o.Err
}

// admit begins to add changes of so many bytes, unless it returns an error.
func (w *Writer) admit(ctx context.Context, size int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
		return ErrClosed
	case w.waiting > 0 && w.waiting+size > w.options.QueueBytes:
		return fmt.Errorf("%w: %d bytes of at most %d", ErrBusy, w.waiting, w.options.QueueBytes)
	}
	w.waiting += size
	w.adding.Add(1)
	return nil
}

func (w *Writer) leave(size int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting -= size
}

// laneOf returns the lane of a document. The low bits of the hash have chosen its shard.
func (w *Writer) laneOf(id string) *lane {
	return w.lanes[xxhash.Sum64String(id)>>32%uint64(len(w.lanes))]
}
