package riffle

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"time"

	"github.com/riffle-search/riffle/segment"
)

// Merges are tiered, after Lucene's LogMergePolicy: segments are grouped by size
// into tiers, each SegmentsPerTier times as large as the one below, and when
// enough neighbours lie in one tier or below it they become one segment of the
// next. Only neighbours are merged, so documents keep their order of arrival
// unless Options.Merge.Order says otherwise.

// smallSegmentBytes is the size below which all segments count as one tier.
const smallSegmentBytes = 1 << 20

// deletedShare: a segment is rewritten when more than one in so many of its
// documents is deleted.
const deletedShare = 4

// kickMerge wakes the merger, if it sleeps.
func (e *Engine) kickMerge() {
	select {
	case e.mergeKick <- struct{}{}:
	default:
	}
}

// mergeLoop does the background work until the Engine is closed.
func (e *Engine) mergeLoop() {
	timer := time.NewTimer(mostPause)
	defer timer.Stop()
	for {
		select {
		case <-e.background.Done():
			return
		case <-e.mergeKick:
		case <-timer.C:
		}
		timer.Stop()
		if next := e.upkeep(); !next.IsZero() {
			timer.Reset(max(time.Millisecond, next.Sub(e.now())))
		}
	}
}

// upkeep does the background work that is due. It returns when the next attempt at
// what has failed is due, or the zero time.
func (e *Engine) upkeep() (next time.Time) {
	later := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	later(e.retrySeal())
	later(e.paced(&e.adoptPause, e.adopt))
	later(e.paced(&e.dropPause, e.dropUnused))
	if e.opts.Merge.Disabled {
		return next
	}
	for e.mergeNext() {
		later(e.paced(&e.dropPause, e.dropUnused))
	}
	later(e.nextMerge())
	return next
}

// paced does some work unless it has just failed, and tells the Listener when it
// fails. It returns when to try again, or the zero time.
func (e *Engine) paced(b *backoff, work func() error) time.Time {
	if !b.due(e.now()) {
		return b.next
	}
	err := work()
	if err == nil || e.background.Err() != nil {
		b.reset()
		return time.Time{}
	}
	b.fail(e.now())
	e.opts.Listener.failed(err)
	return b.next
}

// mergeNext carries out the next merge that is due in the background; false means
// that none is. A merge that fails is set aside for a while, and others go on.
func (e *Engine) mergeNext() bool {
	e.mergeMu.Lock()
	defer e.mergeMu.Unlock()
	if e.background.Err() != nil || e.adopt() != nil { // upkeep tells the Listener of that
		return false
	}
	inputs := e.pickDue(e.sealed())
	if len(inputs) == 0 {
		return false
	}
	err := e.merge(e.background, inputs)
	if e.background.Err() != nil {
		return false
	}
	e.aside.note(inputs, err, e.now())
	if err != nil {
		e.opts.Listener.failed(err)
	}
	return true
}

// mergeOnce merges what pick chooses from the sealed segments, if anything.
func (e *Engine) mergeOnce(ctx context.Context, pick func([]mergeInput) []mergeInput) error {
	e.mergeMu.Lock()
	defer e.mergeMu.Unlock()
	if err := ctx.Err(); err != nil { // it may have ended while another merge ran
		return err
	}
	if err := e.adopt(); err != nil {
		return err
	}
	inputs := pick(e.sealed())
	if len(inputs) == 0 {
		return nil
	}
	return e.merge(ctx, inputs)
}

// merge makes one segment of neighbours. The caller holds mergeMu.
func (e *Engine) merge(ctx context.Context, inputs []mergeInput) error {
	start := time.Now()
	fault := func(err error) error {
		var numbers []string
		for _, in := range inputs {
			numbers = append(numbers, fmt.Sprint(in.s.number))
		}
		return fmt.Errorf("riffle: merge of segments %s: %w", strings.Join(numbers, ", "), err)
	}
	out, err := e.writeMerged(ctx, inputs, e.docOrder())
	if err != nil {
		return fault(err)
	}
	defer out.abort()
	err = e.commitMerged(&change{out: out, inputs: inputs, made: func(live *liveSegment) {
		if l := e.opts.Listener; l != nil && l.Merged != nil {
			ev := MergeEvent{Docs: int(out.result.Docs), Duration: time.Since(start)}
			for _, in := range inputs {
				ev.Inputs = append(ev.Inputs, in.s.number)
			}
			if live != nil {
				ev.Segment, ev.Bytes = live.number, live.bytes
			}
			l.Merged(ev)
		}
	}})
	if err != nil {
		return fault(err)
	}
	return nil
}

// sealed returns the sealed segments with their deletions as they are now.
func (e *Engine) sealed() []mergeInput {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []mergeInput
	for _, s := range e.segments {
		if s.disk != nil {
			all = append(all, mergeInput{s, s.deleted})
		}
	}
	return all
}

// tier is the size class of a segment of so many live bytes.
func tier(bytes int64, perTier int) int {
	t := 0
	for n := bytes / smallSegmentBytes; n > 0; n /= int64(perTier) {
		t++
	}
	return t
}

// maxSegmentDocs is the most documents that a segment may have.
const maxSegmentDocs = 1 << 31

// liveDocs counts the documents that are not deleted.
func (in mergeInput) liveDocs() uint64 { return uint64(in.s.disk.Docs()) - in.deleted.count() }

// liveBytes estimates the size of a segment without its deleted documents.
func (in mergeInput) liveBytes() int64 {
	docs := uint64(in.s.disk.Docs())
	hi, lo := bits.Mul64(uint64(in.s.bytes), in.liveDocs())
	q, _ := bits.Div64(hi, lo, max(docs, 1))
	return int64(q)
}

// pickMerge chooses a merge that is due: neighbours that fill a tier, lowest tier
// first, else a segment with many deleted documents.
func (e *Engine) pickMerge(all []mergeInput) []mergeInput {
	per := e.opts.Merge.SegmentsPerTier
	highest := 0
	for _, in := range all {
		highest = max(highest, tier(in.liveBytes(), per))
	}
	for t := 0; t <= highest; t++ {
		for end := len(all); end > 0; end-- {
			start := end
			var bytes int64
			var docs uint64
			for start > 0 && tier(all[start-1].liveBytes(), per) <= t {
				bytes += all[start-1].liveBytes()
				docs += all[start-1].liveDocs()
				if bytes > e.opts.Merge.MaxSegmentBytes || docs > e.opts.private.segmentDocs {
					break
				}
				start--
			}
			if end-start >= per {
				return all[start:end]
			}
		}
	}
	for i, in := range all {
		if in.deleted.count()*deletedShare > uint64(in.s.disk.Docs()) {
			return all[i : i+1]
		}
	}
	return nil
}

// Compact writes everything into one segment (of two billion documents at most;
// else into several) without deleted documents, in the order of Options.Merge.Order and the newest format, and gives the space of the
// old ones back. It takes about as long as writing the whole index. Searches and changes go on
// meanwhile; what is applied while it runs may lie in segments of its own.
func (e *Engine) Compact(ctx context.Context) error {
	if err := e.Flush(ctx); err != nil {
		return err
	}
	return e.apart(ctx, func(ctx context.Context) error {
		if err := e.mergeAll(ctx); err != nil {
			return err
		}
		return errors.Join(e.dropUnused(), e.store.Compact(ctx))
	})
}

// mergeAll merges the segments that there are into one, or, where that would have
// too many documents, into as few as can be.
func (e *Engine) mergeAll(ctx context.Context) error {
	for range e.wholes(e.sealed()) { // no more often: segments may come as fast as they are merged
		err := e.mergeOnce(ctx, func(all []mergeInput) []mergeInput {
			for _, whole := range e.wholes(all) {
				only := whole[0].s.disk
				if len(whole) > 1 || whole[0].deleted.count() > 0 || only.Order() != e.docOrder() || only.Format().Version < segment.Version {
					return whole
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// wholes divides segments into runs of as many documents as a segment may have.
func (e *Engine) wholes(all []mergeInput) (runs [][]mergeInput) {
	for start, end := 0, 0; start < len(all); start = end {
		docs := uint64(0)
		for end < len(all) && (end == start || docs+all[end].liveDocs() <= e.opts.private.segmentDocs) {
			docs += all[end].liveDocs()
			end++
		}
		runs = append(runs, all[start:end])
	}
	return runs
}

// Checkpoint writes a complete, durable copy of the index as it is now into dir,
// which must not exist. Where the file system can, it is made of hard links and
// costs no space until the index changes. The copy can be opened like any other
// index, also read-only. Changes and searches go on meanwhile. When ctx ends while the disk is at
// work, Checkpoint returns, and the copy, which appears as a whole, may still appear.
func (e *Engine) Checkpoint(ctx context.Context, dir string) error {
	if e.opts.ReadOnly {
		return ErrReadOnly
	}
	return e.apart(ctx, func(ctx context.Context) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := e.store.Checkpoint(dir); err != nil {
			return fmt.Errorf("riffle: checkpoint: %w", err)
		}
		return nil
	})
}
