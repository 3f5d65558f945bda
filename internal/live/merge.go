package live

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/riffle-search/riffle/segment"
)

// mergeNext carries out the next merge that is due in the background; false means
// that none is. A merge that fails is set aside for a while, and others go on.
func (ix *Index) mergeNext() bool {
	ix.mergeMu.Lock()
	defer ix.mergeMu.Unlock()
	if ix.background.Err() != nil || ix.adopt() != nil { // upkeep tells the Listener of that
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

// mergeOnce merges what pick chooses from the sealed segments, if anything.
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

// merge makes one segment of neighbours. The caller holds mergeMu.
func (ix *Index) merge(ctx context.Context, inputs []mergeInput) error {
	start := time.Now()
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

// sealed returns the sealed segments with their deletions as they are now.
func (ix *Index) sealed() []mergeInput {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	var all []mergeInput
	for _, s := range ix.segments {
		if s.disk != nil {
			all = append(all, mergeInput{s, s.deleted})
		}
	}
	return all
}

// Compact writes everything into one segment (of two billion documents at most;
// else into several) without deleted documents, in the order of Options.Merge and the newest format,
// and gives the space of the old ones back. What is applied while it runs may lie in segments of its own.
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

// mergeAll merges the segments that there are into one, or, where that would have
// too many documents, into as few as can be.
func (ix *Index) mergeAll(ctx context.Context) error {
	for range ix.wholes(ix.sealed()) { // no more often: segments may come as fast as they are merged
		err := ix.mergeOnce(ctx, func(all []mergeInput) []mergeInput {
			for _, whole := range ix.wholes(all) {
				only := whole[0].s.disk
				if len(whole) > 1 || whole[0].deleted.count() > 0 || only.Order() != ix.opts.Merge.Order || only.Format().Version < segment.Version {
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
