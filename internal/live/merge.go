package live

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/riffle-search/riffle/segment"
)

// mergeNext carries out the next background merge that is due; false means that none is. A merge
// that fails is set aside for a while, and others continue.
func (ix *Index) mergeNext() bool {
	ix.mergeMu.Lock()
	defer ix.mergeMu.Unlock()
	if ix.background.Err() != nil || ix.adopt() != nil { // upkeep notifies the Listener of that
		return false
	}
	inputs := ix.pickDue(ix.sealed())
	if len(inputs) == 0 {
		return false
	}
	err := ix.merge(ix.background, inputs)
	if ix.background.Err() != nil {
		return false
	}
	ix.aside.note(inputs, err, ix.now())
	if err != nil {
		ix.opts.failed(err)
	}
	return true
}

// mergeOnce merges the sealed segments that pick chooses, if any.
func (ix *Index) mergeOnce(ctx context.Context, pick func([]mergeInput) []mergeInput) error {
	ix.mergeMu.Lock()
	defer ix.mergeMu.Unlock()
	if err := ctx.Err(); err != nil { // it may have ended while another merge ran
		return err
	}
	if err := ix.adopt(); err != nil {
		return err
	}
	inputs := pick(ix.sealed())
	if len(inputs) == 0 {
		return nil
	}
	return ix.merge(ctx, inputs)
}

// merge merges neighboring segments into one. The caller holds mergeMu.
func (ix *Index) merge(ctx context.Context, inputs []mergeInput) error {
	start := time.Now()
	inputs = ix.beginMerge(inputs)
	defer ix.endMerge(inputs)
	fault := func(err error) error {
		var numbers []string
		for _, in := range inputs {
			numbers = append(numbers, fmt.Sprint(in.s.number))
		}
		return fmt.Errorf("riffle: merge of segments %s: %w", strings.Join(numbers, ", "), err)
	}
	out, err := ix.writeMerged(ctx, inputs, ix.opts.Merge.Order)
	if err != nil {
		return fault(err)
	}
	defer out.abort()
	err = ix.commitMerged(&change{out: out, inputs: inputs, made: func(live *liveSegment) {
		if told := ix.opts.Merged; told != nil {
			ev := Merged{Docs: int(out.result.Docs), Duration: time.Since(start)}
			for _, in := range inputs {
				ev.Inputs = append(ev.Inputs, in.s.number)
				ev.InputDocs += int(in.s.disk.Docs())
				ev.InputBytes += in.s.bytes
			}
			if live != nil {
				ev.Segment, ev.Bytes = live.number, live.bytes
			}
			told(ev)
		}
	}})
	if err != nil {
		return fault(err)
	}
	return nil
}

// sealed returns the sealed segments with their current deletions.
func (ix *Index) sealed() []mergeInput {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	var all []mergeInput
	for _, s := range ix.segments {
		if s.disk != nil {
			all = append(all, mergeInput{s, s.deleted, s.updates})
		}
	}
	return all
}

// Compact rewrites the index as one segment (or several, of two billion documents each at most),
// without deleted documents, in the order of Options.Merge and the newest format, and frees the
// space of the old segments. Changes applied while it runs may end up in segments of their own.
func (ix *Index) Compact(ctx context.Context) error {
	if err := ix.Flush(ctx); err != nil {
		return err
	}
	return ix.apart(ctx, func(ctx context.Context) error {
		if err := ix.mergeAll(ctx); err != nil {
			return err
		}
		return errors.Join(ix.dropUnused(), ix.store.Compact(ctx))
	})
}

// mergeAll merges the current segments into one, or, if that would have too many documents, into as
// few as possible.
func (ix *Index) mergeAll(ctx context.Context) error {
	for range ix.wholes(ix.sealed()) { // no more often: segments may arrive as fast as they are merged
		err := ix.mergeOnce(ctx, func(all []mergeInput) []mergeInput {
			for _, whole := range ix.wholes(all) {
				only := whole[0].s.disk
				if len(whole) > 1 || whole[0].deleted.count() > 0 || whole[0].updates != nil || only.Order() != ix.opts.Merge.Order || only.Format().Version < segment.Version {
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
