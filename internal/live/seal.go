package live

import (
	"context"
	"fmt"
	"time"

	"github.com/riffle-search/riffle/store"
)

// A sealState is the segment that is being written out, if there is one. Its
// fields are guarded by Index.mu.
type sealState struct {
	segment *liveSegment  // was memory; stays until it has been written
	end     sealedEnd     // what it reaches to
	done    chan struct{} // closed when the run at hand ends; nil when none is running
	err     error         // of the last run; nil after a successful one
	pause   backoff       // between runs that failed
}

// A sealedEnd is the end of what a segment that leaves memory holds.
type sealedEnd struct {
	seq      uint64 // last log record
	position string // of the batches up to it
}

// Flush writes the in-memory segment out and waits until it is sealed. Nothing
// needs it for durability; it makes the next Open quick and memory free.
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

// startSeal begins to write the in-memory segment out, unless one is being written
// already, or has just failed: then awaitSeal returns that error until the pause is
// over. The caller holds ix.mu.
func (ix *Index) startSeal() {
	if ix.seal.pause.due(ix.now()) {
		ix.sealNow()
	}
}

// retrySeal tries again to write a segment whose writing has failed. It returns
// when the next attempt is due, or the zero time.
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
		ix.store.RollLog()
		ix.addMemory()
	}
	done := make(chan struct{})
	ix.seal.done = done
	s, end, deleted := ix.seal.segment, ix.seal.end, ix.seal.segment.deleted
	ix.work.Go(func() {
		err := ix.runSeal(s, end, deleted)
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
		ix.kickMerge() // a merge may be due, or the next attempt some time
	})
}

// memoryFull reports whether a seal of the in-memory segment is due: there is no memory left, or the
// log has grown by what takes none (deletions, fields that are ignored). The caller
// holds ix.mu, or is alone.
func (ix *Index) memoryFull() bool {
	return ix.memory.memory.Bytes() >= ix.opts.MemoryBytes || ix.seq > ix.sealedSeq && ix.store.LogBytes() >= ix.opts.LogBytes
}

// memoryBytes is what all segments in memory take. The caller holds ix.mu, or is alone.
func (ix *Index) memoryBytes() int64 {
	n := ix.memory.memory.Bytes()
	if s := ix.seal.segment; s != nil {
		n += s.memory.Bytes()
	}
	return n
}

// manyUnsealed reports whether Close should seal what no seal under way covers: so
// much that the next Open would take long to read it back.
func (ix *Index) manyUnsealed() bool {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	n := ix.memoryBytes()
	if ix.seal.done != nil {
		n = ix.memory.memory.Bytes()
	}
	return n >= ix.opts.MemoryBytes/16
}

// awaitSeal waits for the seal that is running, if one is, and returns its error.
// The caller holds ix.mu, which is released meanwhile.
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

// runSeal writes a frozen in-memory segment, less the documents deleted so far,
// and puts the sealed one in its place. Close does not break it off: it ends soon,
// since memory has a budget, and a program that runs briefly would otherwise seal
// the same documents in vain each time.
func (ix *Index) runSeal(s *liveSegment, end sealedEnd, deleted *deletions) error {
	start := time.Now()
	if err := ix.adopt(); err != nil {
		return fmt.Errorf("riffle: seal: %w", err)
	}
	if s.obsolete.Load() {
		return nil // a run before this one had written it, and could not open it
	}
	inputs := []mergeInput{{s, deleted}}
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
