package wal

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// writeBytes is the maximum written at once, except for larger batches.
const writeBytes = 1 << 20

// A writer is the state of the goroutine that writes.
type writer struct {
	l       *Log
	f       vfs.File // nil when the next file could not be opened
	number  uint64
	seed    uint32
	seq     uint64 // of the next record
	vouch   Vouch  // as the frames so far say
	pos     int64  // where the next frame goes
	size    int64  // of the file; zeroes follow pos
	durable int64  // the file is durable up to here
	dirty   bool   // frames after durable are yet to be synced
	marked  bool   // the last frame says that everything before it is durable, or there is none
	buf     []byte // frames that end at pos and are not yet written
	err     error  // once set, nothing can be written any more
}

// run carries out rounds until the log is closed.
func (w *writer) run() {
	defer close(w.l.done)
	for {
		r, last := w.l.take()
		bytes := r.bytes()
		if r.err = w.err; r.err == nil {
			if r.err = w.write(r); r.err != nil {
				w.failed(r.err)
			}
		}
		for _, s := range r.steps {
			if s.batch != nil {
				s.batch.free()
			}
		}
		w.l.mu.Lock()
		w.l.queued -= bytes
		w.l.mu.Unlock()
		if last && w.f != nil {
			r.err = errors.Join(r.err, w.f.Close())
		}
		close(r.done)
		if last {
			return
		}
	}
}

// take waits for work.
func (l *Log) take() (r *round, last bool) {
	<-l.kick
	l.mu.Lock()
	defer l.mu.Unlock()
	r = l.next
	if !l.closed {
		l.next = newRound()
	}
	return r, l.closed
}

func (r *round) bytes() (n int64) {
	for _, s := range r.steps {
		if s.batch != nil {
			n += s.batch.Bytes()
		}
	}
	return n
}

func (w *writer) failed(err error) {
	if w.err != nil {
		return
	}
	w.err = err
	w.l.mu.Lock()
	w.l.fail = err
	w.l.mu.Unlock()
	w.l.opts.Failed(err)
}

func (w *writer) write(r *round) error {
	for _, s := range r.steps {
		if err := w.step(s); err != nil {
			return fmt.Errorf("log: %w", err)
		}
		if w.err != nil { // a mark could not be written
			return w.err
		}
	}
	err := w.flush()
	if err == nil && r.sync {
		err = w.sync()
	}
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	return nil
}

func (w *writer) step(s step) error {
	switch {
	case s.batch != nil:
		return w.batch(s.batch, s.first)
	case s.vouch != nil:
		w.vouch = *s.vouch
		return w.mark(kindVouch, s.vouch.append(nil))
	case s.begin != nil:
		return w.begin(*s.begin)
	case s.cut:
		if err := w.sync(); err != nil {
			return err
		}
		w.l.cut(s.first, w.number)
	}
	return nil
}

// batch writes the frames of a batch.
func (w *writer) batch(b *Batch, first uint64) error {
	for _, f := range b.frames {
		h := f.head
		h.first, h.durable = first, uint32(w.durable)
		h.encodeInto(b.data[f.begin:], w.seed, w.pos+int64(f.begin))
		first += uint64(h.count)
	}
	if w.pos+b.Bytes()+writeBytes > maxFileBytes {
		panic(fmt.Sprintf("BUG: a file of the log with %d bytes gets %d more", w.pos, b.Bytes()))
	}
	w.seq, w.dirty, w.marked = first, true, false
	if len(b.data) < writeBytes {
		return w.add(b.data)
	}
	if err := w.flush(); err != nil {
		return err
	}
	return w.writeNow(b.data)
}

// add appends bytes to those that are to be written.
func (w *writer) add(b []byte) error {
	w.buf = append(w.buf, b...)
	w.pos += int64(len(b))
	if len(w.buf) >= writeBytes {
		return w.flush()
	}
	return nil
}

// mark adds a frame without records, and counts it.
func (w *writer) mark(kind byte, payload []byte) error {
	h := frameHeader{kind: kind, length: uint32(len(payload)), first: w.seq, durable: uint32(w.durable), sum: checksum(payload)}
	b := make([]byte, frameHeaderBytes, frameHeaderBytes+vouchBytes)
	h.encodeInto(b, w.seed, w.pos)
	b = append(b, payload...)
	w.dirty, w.marked = w.dirty || kind != kindDurable, kind == kindDurable
	w.l.grow(w.number, int64(len(b)))
	return w.add(b)
}

// grow counts bytes that appenders have not counted.
func (l *Log) grow(number uint64, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.parts {
		if l.parts[i].number == number {
			l.parts[i].bytes += n
		}
	}
}

func (w *writer) flush() error {
	b := w.buf
	w.pos -= int64(len(b))
	w.buf = b[:0]
	if len(b) == 0 {
		return nil
	}
	return w.writeNow(b)
}

func (w *writer) writeNow(b []byte) error {
	n := int64(len(b))
	if _, err := w.f.WriteAt(b, w.pos); err != nil {
		return err
	}
	w.pos += n
	w.size = max(w.size, w.pos)
	w.l.mu.Lock()
	w.l.written += uint64(n)
	w.l.ahead = w.size - w.pos
	w.l.mu.Unlock()
	return nil
}

// sync makes everything written durable, and records that in the file: a kill then leaves no
// acknowledged record unguarded. The mark itself need not be durable, because the next frame says
// the same.
func (w *writer) sync() error {
	if err := w.extend(); err != nil {
		return err
	}
	if err := w.syncFile(); err != nil || w.marked {
		return err
	}
	err := w.mark(kindDurable, nil)
	if err == nil {
		err = w.flush()
	}
	if err != nil {
		w.failed(fmt.Errorf("log: %w", err)) // but the records are durable
	}
	return nil
}

// extend writes zeroes after the frames, for small writes: an eighth of the file, at most maxAhead.
// A sync that also has to make a new size of the file durable writes the journal, too, and takes
// some 0.07 ms longer on ext4. A large write takes many times that, and its zeroes would double
// what is written; so after it, and in a small file, only the last block is filled.
func (w *writer) extend() error {
	if err := w.flush(); err != nil || !w.dirty || w.pos+frameHeaderBytes <= w.size {
		return err
	}
	const block = 4 << 10
	end := w.pos
	if w.pos-w.durable < largeWrite {
		end += min(w.pos/8, maxAhead)
	}
	end = (end + block - 1) / block * block
	if end < w.pos+frameHeaderBytes {
		return nil
	}
	if _, err := w.f.WriteAt(make([]byte, end-w.pos), w.pos); err != nil {
		return err
	}
	w.l.mu.Lock()
	w.l.written += uint64(end - w.pos)
	w.l.mu.Unlock()
	w.size = end
	return nil
}

// maxAhead is the maximum of zeroes written ahead.
const maxAhead = 1 << 20

// largeWrite is how many bytes for one sync justify the journal's.
const largeWrite = 64 << 10

func (w *writer) syncFile() error {
	if err := w.flush(); err != nil || !w.dirty {
		return err
	}
	if err := w.f.SyncData(); err != nil {
		return err
	}
	w.durable, w.dirty = w.pos, false
	return nil
}

// begin ends the file and begins the next one. The new file is durable before the old one says that
// it follows, and records where the old one ends. So a missing file shows, whatever a crash leaves.
func (w *writer) begin(p part) error {
	if err := w.syncFile(); err != nil {
		return err
	}
	// A mark after the last sync does not count: a crash may lose it.
	h := fileHeader{id: w.l.id, nonce: w.l.opts.nonce(), number: p.number, first: p.first, prev: uint32(w.durable), vouch: w.vouch}
	if err := w.l.create(p.number, writeHeader(&h)); err != nil {
		return err
	}
	err := w.mark(kindEnd, nil)
	if err == nil {
		err = w.syncFile()
	}
	err = errors.Join(err, w.f.Close())
	w.f = nil
	if err != nil {
		return err
	}
	f, err := w.l.fs.OpenReadWrite(w.l.path(p.number), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	w.f, w.number, w.seed = f, p.number, h.seed()
	w.pos, w.durable, w.dirty, w.marked, w.size = fileHeaderBytes, fileHeaderBytes, false, true, fileHeaderBytes
	w.l.mu.Lock()
	w.l.ahead = 0
	w.l.mu.Unlock()
	return nil
}

// cut drops the files before the one with the record first, but at most those before the current
// one, from the list, and removes them.
func (l *Log) cut(first, current uint64) {
	l.mu.Lock()
	for l.parts[0].number < current && l.parts[1].first <= first {
		l.doomed = append(l.doomed, l.parts[0].number)
		l.parts = l.parts[1:]
	}
	l.mu.Unlock()
	l.removeDoomed()
}
