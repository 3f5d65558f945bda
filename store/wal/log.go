package wal

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/riffle-search/riffle/internal/format"
)

// ErrClosed: a call after Close.
var ErrClosed = errors.New("log: closed")

// ErrFormat: a newer version wrote the log.
var ErrFormat = format.Err

// Options configure a Log that is written. The zero value is a good choice.
type Options struct {
	// FileBytes is where a file ends and the next one begins. An Append is not split, so a file may
	// be larger. The default is 16 MiB, which is also what recovery from a crash may have to copy.
	FileBytes int64

	// QueueBytes bounds what waits to be written; beyond it appenders wait, too. The default is 8
	// MiB.
	QueueBytes int64

	// Failed is called once, never by an appender, when a write has failed: from then on nothing
	// can be written. The default does nothing.
	Failed func(error)

	// Warn receives harmless faults: a file that could not be removed, which will be retried. The
	// default does nothing.
	Warn func(error)

	nonce func() uint64 // random, of files; for tests
}

func (o *Options) withDefaults() Options {
	var c Options
	if o != nil {
		c = *o
	}
	if c.FileBytes <= 0 {
		c.FileBytes = 16 << 20
	}
	if c.QueueBytes <= 0 {
		c.QueueBytes = 8 << 20
	}
	if c.Failed == nil {
		c.Failed = func(error) {}
	}
	if c.Warn == nil {
		c.Warn = func(error) {}
	}
	if c.nonce == nil {
		c.nonce = NewID
	}
	return c
}

// NewID returns a random number.
func NewID() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return binary.LittleEndian.Uint64(b[:])
}

// A Log is a log open for writing. Its methods are safe for concurrent use.
//
// One goroutine writes. Appenders queue their batches and wait. While the goroutine syncs, others
// queue, and the next sync serves all of them. So no lock is ever held while the disk works.
type Log struct {
	folder
	opts Options
	id   uint64
	kick chan struct{} // wakes the writer; one slot
	done chan struct{} // closed when the writer has ended

	mu      sync.Mutex
	seq     uint64 // number of the next record
	covered uint64
	vouch   Vouch
	parts   []part // files, as they will be when the queue is written
	spans   spans  // of the records that are not covered
	bytes   int64  // their sum
	next    *round // what the writer does next
	closed  bool
	queued  int64  // bytes of batches that are not written yet
	written uint64 // bytes, since Start
	ahead   int64  // zeroes after the frames of the last file
	fail    error
	readers int      // running Replays
	doomed  []uint64 // files to remove once no Replay reads them

	w writer // belongs to the goroutine
}

// A round is what the writer does in one go: its steps in order, then a sync if a caller waits for
// one.
type round struct {
	steps []step
	sync  bool
	done  chan struct{}
	err   error // once done is closed
}

// A step is one of four things.
type step struct {
	batch *Batch // write it, its first record being first
	vouch *Vouch // write a mark
	begin *part  // begin this file; first is its first record
	cut   bool   // sync, then remove files: first is the first record that is needed
	first uint64
}

func newRound() *round { return &round{done: make(chan struct{})} }

// Create makes an empty, durable log in dir, whose first record will be first. No manifest is in
// force, and one is announced. dir must not contain a log.
func Create(fsys vfs.FS, dir string, id, first uint64, announced uint32, opts *Options) (*Log, error) {
	o := opts.withDefaults()
	d := folder{fsys, dir}
	if err := fsys.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	up, err := fsys.OpenDir(fsys.PathDir(dir))
	if err == nil {
		err = errors.Join(up.Sync(), up.Close())
	}
	if err != nil {
		return nil, err
	}
	h := fileHeader{id: id, nonce: o.nonce(), number: 1, first: first, vouch: Vouch{Next: announced, HasNext: true}}
	if err := d.create(h.number, writeHeader(&h)); err != nil {
		return nil, err
	}
	s := &State{folder: d, id: h.id, vouch: h.vouch, covered: first - 1, next: first, end: fileHeaderBytes, durable: fileHeaderBytes, size: fileHeaderBytes, clean: true}
	s.parts = []part{{h.number, first, fileHeaderBytes}}
	return s.Start(&o)
}

// Remove removes the files of the log in dir, and dir itself if nothing else is in it.
func Remove(fsys vfs.FS, dir string) error {
	d := folder{fsys, dir}
	numbers, temps, err := d.numbers()
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	for _, n := range numbers {
		temps = append(temps, fileName(n))
	}
	for _, name := range temps {
		if err := fsys.Remove(fsys.PathJoin(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if names, err := fsys.List(dir); err != nil || len(names) > 0 {
		return err
	}
	return fsys.Remove(dir)
}

func writeHeader(h *fileHeader) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(h.encode())
		return err
	}
}

// Start prepares the log for writing. It cuts off a torn tail by copying the last file without it.
// The copy also makes the bytes after the last sync certainly durable: after a failed sync, a
// file's pages may be readable and yet never reach the disk. Start removes files that are no longer
// needed.
//
// After a crash at any point, or an error, Scan finds the same log.
func (s *State) Start(opts *Options) (*Log, error) {
	o := opts.withDefaults()
	l := &Log{folder: s.folder, opts: o, id: s.id, vouch: s.vouch, seq: s.next, covered: s.covered, parts: s.parts, spans: s.spans, bytes: s.spans.sum()}
	l.kick, l.done, l.next = make(chan struct{}, 1), make(chan struct{}), newRound()
	for _, name := range s.old {
		if err := s.fs.Remove(s.fs.PathJoin(s.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	number := s.parts[len(s.parts)-1].number
	if !s.clean {
		if err := s.create(number, s.copyLast); err != nil {
			return nil, err
		}
	}
	r, err := s.openFile(number, s.end)
	if err != nil {
		return nil, err
	}
	seed := r.seed
	if err := r.close(); err != nil {
		return nil, err
	}
	f, err := s.fs.OpenReadWrite(s.path(number), vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	if !s.clean {
		s.size, s.durable = s.end, s.end
	}
	l.w = writer{l: l, f: f, number: number, seed: seed, pos: s.end, size: s.size, durable: s.durable, marked: s.clean, seq: s.next, vouch: s.vouch}
	go l.w.run()
	return l, nil
}

// copyLast writes the whole frames of the last file.
func (s *State) copyLast(w io.Writer) error {
	f, err := s.fs.Open(s.path(s.parts[len(s.parts)-1].number))
	if err != nil {
		return err
	}
	n, err := io.Copy(w, io.NewSectionReader(f, 0, s.end))
	if err == nil && n < s.end {
		err = io.ErrUnexpectedEOF
	}
	return errors.Join(err, f.Close())
}

// NextSeq returns the number of the next record.
func (l *Log) NextSeq() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seq
}

// Bytes returns the size of the records that no manifest covers yet, including queued ones.
func (l *Log) Bytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes
}

// DiskBytes returns the size of the files, including zeroes written ahead.
func (l *Log) DiskBytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return sum(l.parts) + l.ahead
}

// Written returns how many bytes were written since Start, including zeroes written ahead.
func (l *Log) Written() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.written
}

// Append adds records, the first of them with the number first, which must be NextSeq. After a
// crash all of them survive, or none of them and none after them. It does no I/O and does not wait
// for any.
//
// With sync, wait returns nil once the records are durable. It returns an error when they may not
// be, or when ctx ends before it is known. Without, it returns at once, unless more is queued than
// the disk can take: then it waits for that, or for the end of ctx. It may be called more than
// once, or not at all.
func (l *Log) Append(first uint64, b *Batch, sync bool) (wait func(context.Context) error, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, err := l.open()
	if err != nil {
		return nil, err
	}
	if first != l.seq {
		panic(fmt.Sprintf("BUG: append of log record %d, want %d", first, l.seq))
	}
	size := b.Bytes()
	if last := l.parts[len(l.parts)-1]; last.bytes+size > l.opts.FileBytes && last.first < first {
		l.begin(r)
	}
	if len(b.frames) > 0 {
		r.steps = append(r.steps, step{batch: b, first: first})
	}
	l.seq += b.count
	l.parts[len(l.parts)-1].bytes += size
	if l.bytes += size; size > 0 {
		l.spans.add(l.seq-1, size)
	}
	l.queued += size
	r.sync = r.sync || sync
	l.wake()
	if sync || l.queued <= l.opts.QueueBytes {
		return l.waiter(r, sync), nil
	}
	return l.waiter(r, true), nil
}

// open returns the round to add to. The caller holds l.mu.
func (l *Log) open() (*round, error) {
	if l.closed {
		return nil, ErrClosed
	}
	if l.fail != nil {
		return nil, l.fail
	}
	return l.next, nil
}

// begin makes the writer begin a new file. The caller holds l.mu.
func (l *Log) begin(r *round) {
	p := part{number: l.parts[len(l.parts)-1].number + 1, first: l.seq, bytes: fileHeaderBytes}
	l.parts = append(l.parts, p)
	r.steps = append(r.steps, step{begin: &p})
}

func (l *Log) wake() {
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

func (l *Log) waiter(r *round, durable bool) func(context.Context) error {
	if !durable {
		return func(context.Context) error { return nil }
	}
	return func(ctx context.Context) error {
		select {
		case <-r.done:
			return r.err
		default:
		}
		select {
		case <-r.done:
			return r.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Sync makes every record appended so far durable.
func (l *Log) Sync(ctx context.Context) error { return l.do(ctx, true, func(*round) {}) }

// do adds to the next round and waits for it.
func (l *Log) do(ctx context.Context, sync bool, add func(*round)) error {
	l.mu.Lock()
	r, err := l.open()
	if err != nil {
		l.mu.Unlock()
		return err
	}
	add(r)
	r.sync = r.sync || sync
	l.wake()
	l.mu.Unlock()
	return l.waiter(r, true)(ctx)
}

// Roll starts a new file for later records, so that the earlier ones can be removed together. It
// does not wait.
func (l *Log) Roll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r, err := l.open(); err == nil && l.parts[len(l.parts)-1].first < l.seq {
		l.begin(r)
		l.wake()
	}
}

// Announce makes two things durable: that the store is about to get the manifest with the checksum
// sum, and all records so far, since the manifest may cover some of them.
func (l *Log) Announce(ctx context.Context, sum uint32) error {
	return l.do(ctx, true, func(r *round) {
		l.vouch.Next, l.vouch.HasNext = sum, true
		l.mark(r)
	})
}

// Confirm makes durable that the store has the manifest with the checksum sum, which covers records
// up to covered. It removes the files that have only such records.
func (l *Log) Confirm(ctx context.Context, sum uint32, covered uint64) error {
	return l.do(ctx, true, func(r *round) {
		l.vouch = Vouch{Is: sum, HasIs: true}
		l.mark(r)
		l.covered = max(l.covered, covered)
		l.spans.cover(l.covered)
		l.bytes = l.spans.sum()
		last := l.parts[len(l.parts)-1]
		if l.covered+1 == l.seq && (last.first < l.seq || last.bytes > maxIdleBytes) {
			l.begin(r)
		}
		r.steps = append(r.steps, step{cut: true, first: l.covered + 1})
	})
}

// maxIdleBytes is how large a file without needed records may become, by marks alone.
const maxIdleBytes = 16 << 10

func (l *Log) mark(r *round) {
	v := l.vouch
	r.steps = append(r.steps, step{vouch: &v})
}

// Replay calls fn for each record from the number from on, in order, up to the last one at the time
// of the call. The record is lent until fn returns. An error of fn ends the replay and is returned.
// Meanwhile no Confirm may cover records of the replay.
func (l *Log) Replay(from uint64, fn func(seq uint64, record []byte) error) error {
	l.mu.Lock()
	l.readers++
	l.mu.Unlock()
	defer l.endReplay()
	var to uint64
	if err := l.do(context.Background(), false, func(*round) { to = l.seq }); err != nil {
		return err
	}
	l.mu.Lock()
	parts := slices.Clone(l.parts)
	l.mu.Unlock()
	return l.replay(parts, from, to, fn)
}

func (l *Log) endReplay() {
	l.mu.Lock()
	l.readers--
	l.mu.Unlock()
	l.removeDoomed()
}

// removeDoomed removes the files that are no longer needed, unless a Replay reads the log.
func (l *Log) removeDoomed() {
	l.mu.Lock()
	var doomed []uint64
	if l.readers == 0 {
		doomed, l.doomed = l.doomed, nil
	}
	l.mu.Unlock()
	for _, n := range doomed {
		if err := l.fs.Remove(l.path(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.opts.Warn(fmt.Errorf("log: %w", err)) // the next Start tries again
		}
	}
}

// Close makes every record durable and stops the writer. Later calls fail with ErrClosed.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	l.closed = true
	r := l.next
	r.sync = true
	l.wake()
	l.mu.Unlock()
	<-l.done
	return r.err
}
