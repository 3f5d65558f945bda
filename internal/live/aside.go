package live

import (
	"errors"
	"slices"
	"time"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// A failedMerge is a run of neighboring segments whose merge has failed. Other merges leave them
// out and continue around them. They are retried by themselves after a pause. Compact ignores the
// pause.
type failedMerge struct {
	backoff
	inputs  []*liveSegment
	damaged bool // one unreadable segment: only Compact and the next Open retry it
}

// failedMerges are disjoint. They are guarded by Index.mergeMu.
type failedMerges []failedMerge

// note records the outcome of a background merge. If one of the segments is damaged, each half of
// them is tried by itself, until the healthy ones are merged and the damaged one is alone.
func (f *failedMerges) note(inputs []mergeInput, err error, now time.Time) {
	tries := 0
	*f = slices.DeleteFunc(*f, func(m failedMerge) bool {
		if m.inputs[0] == inputs[0].s {
			tries = m.tries
			return true
		}
		return false
	})
	if err == nil {
		return
	}
	parts, damage := [][]mergeInput{inputs}, errors.Is(err, corrupt.Err)
	if n := len(inputs); damage && n > 1 {
		parts = [][]mergeInput{inputs[:n/2], inputs[n/2:]}
	}
	for _, part := range parts {
		m := failedMerge{backoff: backoff{tries: tries}, damaged: damage && len(inputs) == 1}
		m.fail(now)
		for _, in := range part {
			m.inputs = append(m.inputs, in.s)
		}
		*f = append(*f, m)
	}
}

// of returns the failed merge that includes a segment, or nil.
func (f failedMerges) of(s *liveSegment) *failedMerge {
	for i := range f {
		if slices.Contains(f[i].inputs, s) {
			return &f[i]
		}
	}
	return nil
}

// pickDue chooses the first merge that is due, in the order of segments: a failed merge whose pause
// is over, or one that pickMerge chooses between failed merges. The caller holds mergeMu.
func (ix *Index) pickDue(all []mergeInput) []mergeInput {
	ix.aside = slices.DeleteFunc(ix.aside, func(m failedMerge) bool {
		return slices.ContainsFunc(m.inputs, func(s *liveSegment) bool { return s.obsolete.Load() })
	})
	now := ix.now()
	for start, end := 0, 0; start < len(all); start = end {
		if m := ix.aside.of(all[start].s); m != nil {
			end = start + len(m.inputs) // they are still adjacent
			if !m.damaged && m.due(now) {
				return all[start:end]
			}
			continue
		}
		for end < len(all) && ix.aside.of(all[end].s) == nil {
			end++
		}
		if inputs := ix.pickMerge(all[start:end]); inputs != nil {
			return inputs
		}
	}
	return nil
}

// nextMerge returns when the next failed merge is due, or the zero time.
func (ix *Index) nextMerge() (next time.Time) {
	ix.mergeMu.Lock()
	defer ix.mergeMu.Unlock()
	for _, m := range ix.aside {
		if !m.damaged && (next.IsZero() || m.next.Before(next)) {
			next = m.next
		}
	}
	return next
}
