package live

import (
	"errors"
	"slices"
	"time"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// A failedMerge is a run of neighbouring segments whose merge has failed. They stay
// out of other merges, which go on around them, and are tried again by themselves
// after a pause. Compact does not ask: it tries at once.
type failedMerge struct {
	backoff
	inputs  []*liveSegment
	damaged bool // one segment that cannot be read: nothing but Compact and a new Open tries again
}

// failedMerges are disjoint. They are guarded by Index.mergeMu.
type failedMerges []failedMerge

// note keeps the outcome of a merge in the background. Of segments of which one is
// damaged each half is tried by itself, until the healthy ones are merged and the
// damaged one is alone.
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

// of returns the failed merge that a segment is part of, or nil.
func (f failedMerges) of(s *liveSegment) *failedMerge {
	for i := range f {
		if slices.Contains(f[i].inputs, s) {
			return &f[i]
		}
	}
	return nil
}

// pickDue is pickMerge around what has been set aside, and for that when its time
// has come. The caller holds mergeMu.
func (ix *Index) pickDue(all []mergeInput) []mergeInput {
	ix.aside = slices.DeleteFunc(ix.aside, func(m failedMerge) bool {
		return slices.ContainsFunc(m.inputs, func(s *liveSegment) bool { return s.obsolete.Load() })
	})
	now := ix.now()
	for start, end := 0, 0; start < len(all); start = end {
		if m := ix.aside.of(all[start].s); m != nil {
			end = start + len(m.inputs) // nothing has come between them
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

// nextMerge returns when the next merge that was set aside is due, or the zero time.
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
