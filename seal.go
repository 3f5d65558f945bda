package riffle

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/riffle-search/riffle/segment"
	"github.com/riffle-search/riffle/store"
)

// A sealState is the segment that is being written out, if there is one. Its
// fields are guarded by Engine.mu.
type sealState struct {
	segment *liveSegment  // was memory; stays until it has been written
	seq     uint64        // last log record it holds
	done    chan struct{} // closed when the run at hand ends; nil when none is running
	err     error         // of the last run; nil after a successful one
	pause   backoff       // between runs that failed
}

// Flush writes the in-memory segment out and waits until it is sealed. Nothing
// needs it for durability; it makes the next Open quick and memory free.
func (e *Engine) Flush(ctx context.Context) error {
	if e.opts.ReadOnly {
		return ErrReadOnly
	}
	return e.apart(ctx, func(ctx context.Context) error {
		return e.flushMemory(ctx)
	})
}

func (e *Engine) flushMemory(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	target := e.seq
	for {
		if e.closed {
			return ErrClosed
		}
		if e.sealedSeq >= target {
			return nil
		}
		e.sealNow()
		if err := e.awaitSeal(ctx); err != nil {
			return err
		}
	}
}

// startSeal begins to write the in-memory segment out, unless one is being written
// already, or has just failed: then awaitSeal returns that error until the pause is
// over. The caller holds e.mu.
func (e *Engine) startSeal() {
	if e.seal.pause.due(e.now()) {
		e.sealNow()
	}
}

// retrySeal tries again to write a segment whose writing has failed. It returns
// when the next attempt is due, or the zero time.
func (e *Engine) retrySeal() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.seal.segment == nil || e.seal.done != nil {
		return time.Time{}
	}
	e.startSeal()
	return e.seal.pause.next
}

// sealNow is startSeal without a pause. The caller holds e.mu.
func (e *Engine) sealNow() {
	if e.seal.done != nil || e.closed {
		return
	}
	if e.seal.segment == nil {
		e.seal.segment, e.seal.seq = e.memory, e.seq
		e.store.RollLog()
		e.addMemory()
	}
	done := make(chan struct{})
	e.seal.done = done
	s, seq, deleted := e.seal.segment, e.seal.seq, e.seal.segment.deleted
	e.work.Go(func() {
		err := e.runSeal(s, seq, deleted)
		if err != nil {
			e.opts.Listener.failed(err)
		}
		e.mu.Lock()
		e.seal.done, e.seal.err = nil, err
		if err == nil {
			e.seal.pause.reset()
		} else {
			e.seal.pause.fail(e.now())
		}
		e.mu.Unlock()
		close(done)
		e.kickMerge() // a merge may be due, or the next attempt some time
	})
}

// memoryFull reports whether a seal of the in-memory segment is due: there is no memory left, or the
// log has grown by what takes none (deletions, fields that are ignored). The caller
// holds e.mu, or is alone.
func (e *Engine) memoryFull() bool {
	return e.memory.memory.Bytes() >= e.opts.MemoryBytes || e.seq > e.sealedSeq && e.store.LogBytes() >= e.opts.LogBytes
}

// memoryBytes is what all segments in memory take. The caller holds e.mu, or is alone.
func (e *Engine) memoryBytes() int64 {
	n := e.memory.memory.Bytes()
	if s := e.seal.segment; s != nil {
		n += s.memory.Bytes()
	}
	return n
}

// manyUnsealed reports whether Close should seal what no seal under way covers: so
// much that the next Open would take long to read it back.
func (e *Engine) manyUnsealed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := e.memoryBytes()
	if e.seal.done != nil {
		n = e.memory.memory.Bytes()
	}
	return n >= e.opts.MemoryBytes/16
}

// awaitSeal waits for the seal that is running, if one is, and returns its error.
// The caller holds e.mu, which is released meanwhile.
func (e *Engine) awaitSeal(ctx context.Context) error {
	done := e.seal.done
	if done == nil {
		return e.seal.err
	}
	e.mu.Unlock()
	var err error
	select {
	case <-ctx.Done():
		err = ctx.Err()
	case <-done:
	}
	e.mu.Lock()
	if err == nil {
		err = e.seal.err
	}
	return err
}

// runSeal writes a frozen in-memory segment, less the documents deleted so far,
// and puts the sealed one in its place. Close does not break it off: it ends soon,
// since memory has a budget, and a program that runs briefly would otherwise seal
// the same documents in vain each time.
func (e *Engine) runSeal(s *liveSegment, seq uint64, deleted *deletions) error {
	start := time.Now()
	if err := e.adopt(); err != nil {
		return fmt.Errorf("riffle: seal: %w", err)
	}
	if s.obsolete.Load() {
		return nil // a run before this one had written it, and could not open it
	}
	inputs := []mergeInput{{s, deleted}}
	out, err := e.writeMerged(context.Background(), inputs, e.sealOrder())
	if err != nil {
		return fmt.Errorf("riffle: seal: %w", err)
	}
	defer out.abort()
	err = e.commitMerged(&change{out: out, inputs: inputs, seq: seq, made: func(live *liveSegment) {
		if l := e.opts.Listener; l != nil && l.Sealed != nil && live != nil {
			l.Sealed(SealEvent{Segment: live.number, Docs: int(out.result.Docs), Bytes: live.bytes, Duration: time.Since(start)})
		}
	}})
	if err != nil {
		return fmt.Errorf("riffle: seal: %w", err)
	}
	return nil
}

// A mergeInput is a segment and the documents that were deleted when its merge began.
type mergeInput struct {
	s       *liveSegment
	deleted *deletions
}

// merged is what writeMerged hands to commitMerged.
type merged struct {
	writer *store.SegmentWriter // nil when no document was left
	result *segment.Result
}

func (m *merged) abort() {
	if m.writer != nil {
		_ = m.writer.Abort() // a file that stays behind goes at the next Open
	}
}

// writeMerged writes the live documents of some neighbouring segments as one.
func (e *Engine) writeMerged(ctx context.Context, inputs []mergeInput, order segment.Order) (*merged, error) {
	w, err := e.store.NewSegment()
	if err != nil {
		return nil, err
	}
	out := &merged{writer: w}
	var in []segment.Input
	for _, i := range inputs {
		in = append(in, segment.Input{Reader: i.s.reader(), Deleted: i.deleted.set()})
	}
	m := e.opts.Merge
	out.result, err = segment.Merge(ctx, sink{w}, in, segment.MergeOptions{
		Order: order, Codec: kinds[e.opts.Codec], Workers: m.Workers, MemoryBytes: m.MemoryBytes, TableBytes: e.opts.private.tableBytes,
	})
	if err == nil && out.result.Docs > 0 {
		err = w.Finish()
	}
	if err != nil {
		out.abort()
		return nil, err
	}
	if out.result.Docs == 0 {
		out.abort()
		out.writer = nil
	}
	return out, nil
}

// docOrder is the order in which merges put documents.
func (e *Engine) docOrder() segment.Order {
	switch e.opts.Merge.Order {
	case ByGlobalScore:
		return segment.Order{Kind: segment.ByGlobalScore, Alpha: e.opts.Rank.Alpha, BM25: *e.opts.Similarity}
	case ByGraph:
		return segment.Order{Kind: segment.ByGraph}
	}
	return segment.Order{}
}

// sealOrder is the order in which documents leave memory. To find an order by
// graph takes longer than all else in a seal, which writers may be waiting for, and
// the next merge would have to find it anew.
func (e *Engine) sealOrder() segment.Order {
	if e.opts.Merge.Order == ByGraph {
		return segment.Order{}
	}
	return e.docOrder()
}

// docOrderOf is the public name of a segment's order.
func docOrderOf(o segment.Order) DocOrder {
	switch o.Kind {
	case segment.ByGlobalScore:
		return ByGlobalScore
	case segment.ByGraph:
		return ByGraph
	}
	return ByArrival
}

// A change puts a merged segment in the place of its inputs.
type change struct {
	out    *merged
	inputs []mergeInput
	seq    uint64             // the last log record that the manifest covers from then on; 0 leaves that as it is
	made   func(*liveSegment) // is told of the segment, nil when no document was left

	persisted map[*liveSegment]*deletions // deletions that came into the store with it
}

// commitMerged makes a change on disk and then in view.
func (e *Engine) commitMerged(c *change) error {
	e.commitMu.Lock()
	defer e.commitMu.Unlock()
	if err := e.adoptBehind(); err != nil {
		return err
	}
	edit := e.editFor(c)
	if err := e.store.Commit(context.Background(), edit); err != nil {
		return err
	}
	e.behind = c
	return e.adoptBehind()
}

// adopt brings a change into view that was made on disk, but whose segment could
// not be opened then. Nothing is merged or sealed before.
func (e *Engine) adopt() error {
	e.commitMu.Lock()
	defer e.commitMu.Unlock()
	return e.adoptBehind()
}

// adoptBehind is adopt for a caller that holds commitMu.
func (e *Engine) adoptBehind() error {
	c := e.behind
	if c == nil {
		return nil
	}
	var live *liveSegment
	if w := c.out.writer; w != nil {
		live = &liveSegment{number: w.Number(), bytes: int64(w.Bytes())}
		var err error
		if live.disk, err = segment.Open(source{e.store.Segment(live.number)}); err != nil {
			return fmt.Errorf("the new segment cannot be read: %w", live.at(err))
		}
	}
	e.behind = nil
	e.mu.Lock()
	for s, d := range c.persisted {
		s.persisted = d
	}
	e.replace(c.inputs, live, c.out)
	if c.seq > 0 {
		e.sealedSeq = c.seq
		e.seal.segment = nil
		if s := c.inputs[0].s; s.wanted > 0 && live != nil {
			s.sealed = live
			live.users.Add(int64(s.wanted))
		}
	}
	e.publish()
	e.mu.Unlock()
	c.made(live)
	return nil
}

// editFor makes the atomic change of the store: the new list of segments, the new
// segment, and every deletion that the store does not have yet. Deletions that
// come after it are in the log behind the record that the manifest covers, so a
// crash finds them there.
func (e *Engine) editFor(c *change) store.Edit {
	e.mu.Lock()
	defer e.mu.Unlock()
	m := e.store.Manifest()
	m.Segments = nil
	if c.seq > 0 {
		m.LogSeq = c.seq
	}
	edit := store.Edit{Manifest: &m, Deletions: map[uint64][]byte{}}
	c.persisted = map[*liveSegment]*deletions{}
	for i := 0; i < len(e.segments); i++ {
		s := e.segments[i]
		if s == c.inputs[0].s {
			if w := c.out.writer; w != nil {
				m.Segments = append(m.Segments, store.Segment{Number: w.Number(), Info: binary.AppendUvarint(nil, w.Bytes())})
				edit.Ingest = []*store.SegmentWriter{w}
				if late := lateDeletions(c.inputs, c.out.result.Maps); len(late) > 0 {
					edit.Deletions[w.Number()] = marshalDeletions((*deletions)(nil).with(late))
				}
			}
			i += len(c.inputs) - 1
			continue
		}
		if s.disk == nil {
			continue
		}
		m.Segments = append(m.Segments, store.Segment{Number: s.number, Info: binary.AppendUvarint(nil, uint64(s.bytes))})
		if s.deleted != s.persisted {
			edit.Deletions[s.number] = marshalDeletions(s.deleted)
			c.persisted[s] = s.deleted
		}
	}
	return edit
}

// replace swaps the inputs for the merged segment. The caller holds e.mu.
func (e *Engine) replace(inputs []mergeInput, live *liveSegment, out *merged) {
	at := slices.Index(e.segments, inputs[0].s)
	if at < 0 {
		panic("BUG: the segments of a merge are gone")
	}
	var old []segment.Reader
	for _, in := range inputs {
		in.s.obsolete.Store(true)
		e.pin(in.s)
		old = append(old, in.s.reader())
	}
	var fresh []*liveSegment
	if live == nil {
		e.fields.Replace(old, nil)
	} else {
		e.fields.Replace(old, live.disk)
		live.deleted = live.deleted.with(lateDeletions(inputs, out.result.Maps))
		fresh = []*liveSegment{live}
	}
	e.segments = slices.Replace(slices.Clone(e.segments), at, at+len(inputs), fresh...)
	e.moved(inputs, out.result.Maps, live)
}

// lateDeletions returns, as numbers of the merged segment, the documents that
// have been deleted since the merge began. The caller holds e.mu.
func lateDeletions(inputs []mergeInput, maps [][]uint32) []uint32 {
	var late []uint32
	for i, in := range inputs {
		if in.s.deleted == in.deleted {
			continue
		}
		since := in.s.deleted.bitmap
		if in.deleted != nil {
			since = roaring.AndNot(since, in.deleted.bitmap)
		}
		for it := since.Iterator(); it.HasNext(); {
			if doc := maps[i][it.Next()]; doc != segment.NoDoc {
				late = append(late, doc)
			}
		}
	}
	return late
}

func marshalDeletions(d *deletions) []byte {
	b, err := d.bitmap.MarshalBinary()
	if err != nil {
		panic("BUG: a bitmap does not marshal: " + err.Error())
	}
	return b
}
