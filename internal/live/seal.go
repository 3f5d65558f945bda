package live

import (
	"context"
	"fmt"
	"time"

	"github.com/riffle-search/riffle/store"
)

// A sealState is the segment that is being written out, if any. Index.mu guards its fields.
type sealState struct {
	segment *liveSegment  // was memory; stays until it has been written
	updates int64         // bytes of the logs of updates when it began, which its change stores
	end     sealedEnd     // its end
	done    chan struct{} // closed when the current run ends; nil when none is running
	err     error         // of the last run; nil after a successful one
	pause   backoff       // between failed runs
}

// A sealedEnd is how far the contents of a segment that leaves memory reach.
type sealedEnd struct {
	seq      uint64 // last log record
	position string // of the batches up to it
}

// Flush writes the in-memory segment out and waits until it is sealed. Durability does not need it;
// it makes the next Open quick and frees memory.
func (ix *Index) Flush(ctx context.Context) error {
	if ix.opts.Store.ReadOnly {
		return ErrReadOnly
	}
	return ix.apart(ctx, func(ctx context.Context) error {
		return ix.flushMemory(ctx)
	})
}

func (ix *Index) flushMemory(ctx context.Context) error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	target := ix.seq
	for {
		if ix.closed {
			return store.ErrClosed
		}
		if ix.sealedSeq >= target {
			return nil
		}
		ix.sealNow()
		if err := ix.awaitSeal(ctx); err != nil {
			return err
		}
	}
}

// startSeal begins to write the in-memory segment out, unless a seal is already running, or the
// last one has just failed: then awaitSeal returns that error until the pause is over. The caller
// holds ix.mu.
func (ix *Index) startSeal() {
	if ix.seal.pause.due(ix.now()) {
		ix.sealNow()
	}
}

// retrySeal retries a failed seal, if that is due. It returns when the next attempt is due, or the
// zero time.
func (ix *Index) retrySeal() time.Time {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.seal.segment == nil || ix.seal.done != nil {
		return time.Time{}
	}
	ix.startSeal()
	return ix.seal.pause.next
}

// sealNow is startSeal without a pause. The caller holds ix.mu.
func (ix *Index) sealNow() {
	if ix.seal.done != nil || ix.closed {
		return
	}
	if ix.seal.segment == nil {
		ix.seal.segment, ix.seal.end = ix.memory, sealedEnd{ix.seq, ix.position}
		ix.seal.updates = ix.updateBytes()
		ix.store.RollLog()
		ix.addMemory()
	}
	done := make(chan struct{})
	ix.seal.done = done
	s, end := ix.seal.segment, ix.seal.end
	input := mergeInput{s, s.deleted, s.beginMerge()}
	ix.work.Go(func() {
		err := ix.runSeal(input, end)
		if err != nil {
			ix.opts.failed(err)
		}
		ix.mu.Lock()
		ix.seal.done, ix.seal.err = nil, err
		if err == nil {
			ix.seal.pause.reset()
		} else {
			ix.seal.pause.fail(ix.now())
		}
		ix.mu.Unlock()
		close(done)
		ix.kickMerge() // a merge may be due, or later the next attempt
	})
}

// growingBytes returns the memory that the next seal of the in-memory segment frees: its own, and that of
// updates which are not stored. Those that a running seal stores do not count, as its documents do not:
// otherwise batches would wait for its end. The caller holds ix.mu, or is alone.
func (ix *Index) growingBytes() int64 {
	return ix.memory.memory.Bytes() + max(0, ix.updateBytes()-ix.seal.updates)
}

// updateBytes returns the memory of updates that are not stored. The caller holds ix.mu, or is alone.
func (ix *Index) updateBytes() (n int64) {
	for _, s := range ix.segments {
		n += s.updates.logBytes()
	}
	return n
}

// memoryFull reports whether a seal of the in-memory segment is due. Either memory is full, or the
// log has grown by records that take no memory (deletions, ignored fields). The caller holds ix.mu,
// or is alone.
func (ix *Index) memoryFull() bool {
	return ix.growingBytes() >= ix.opts.MemoryBytes || ix.seq > ix.sealedSeq && ix.store.LogBytes() >= ix.opts.LogBytes
}

// memoryBytes returns the memory of all segments in memory. The caller holds ix.mu, or is alone.
func (ix *Index) memoryBytes() int64 {
	n := ix.memory.memory.Bytes() + ix.updateBytes()
	if s := ix.seal.segment; s != nil {
		n += s.memory.Bytes()
	}
	return n
}

// manyUnsealed reports whether Close should seal the records that no running seal covers, because
// the next Open would take long to read them back.
func (ix *Index) manyUnsealed() bool {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	n := ix.memoryBytes()
	if ix.seal.done != nil {
		n = ix.growingBytes()
	}
	return n >= ix.opts.MemoryBytes/16
}

// awaitSeal waits for the running seal, if any, and returns its error. The caller holds ix.mu,
// which is released meanwhile.
func (ix *Index) awaitSeal(ctx context.Context) error {
	done := ix.seal.done
	if done == nil {
		return ix.seal.err
	}
	ix.mu.Unlock()
	var err error
	select {
	case <-ctx.Done():
		err = ctx.Err()
	case <-done:
	}
	ix.mu.Lock()
	if err == nil {
		err = ix.seal.err
	}
	return err
}

// runSeal writes a frozen in-memory segment, without the documents deleted so far, and replaces it
// by the sealed one. Close does not interrupt it: memory has a budget, so a seal ends soon, and a
// program with short runs would otherwise begin to seal the same documents every time, in vain.
func (ix *Index) runSeal(input mergeInput, end sealedEnd) error {
	start := time.Now()
	inputs := []mergeInput{input}
	defer ix.endMerge(inputs)
	if err := ix.adopt(); err != nil {
		return fmt.Errorf("riffle: seal: %w", err)
	}
	if input.s.obsolete.Load() {
		return nil // an earlier run had written it, and could not open it
	}
	out, err := ix.writeMerged(context.Background(), inputs, ix.sealOrder())
	if err != nil {
		return fmt.Errorf("riffle: seal: %w", err)
	}
	defer out.abort()
	err = ix.commitMerged(&change{out: out, inputs: inputs, end: end, made: func(live *liveSegment) {
		if told := ix.opts.Sealed; told != nil && live != nil {
			told(Sealed{Segment: live.number, Docs: int(out.result.Docs), Bytes: live.bytes, Duration: time.Since(start)})
		}
	}})
	if err != nil {
		return fmt.Errorf("riffle: seal: %w", err)
	}
	return nil
}
