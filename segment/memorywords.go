package segment

import (
	"bytes"
	"sync"

	"github.com/riffle-search/riffle/internal/dictionary"
)

// memoryWords are the terms of a field in memory as sorted runs. A search that needs the terms in
// order adds those that came since the last one as another run. Runs of about equal size become one,
// so there are few of them, and a term is moved as often as its field has doubled.
type memoryWords struct {
	mu   sync.Mutex // locked before Memory.mu
	runs []*wordRun // which never change; each at most half as long as the one before
	next uint32     // number of the first term that is in none
}

// A wordRun is some terms of a field.
type wordRun struct {
	words   *dictionary.Dictionary
	numbers []uint32 // of the terms in the field
}

// each visits runs that hold all terms which the field has by now.
func (w *memoryWords) each(m *Memory, f *memoryField, visit func(run *wordRun) error) error {
	for _, run := range w.upToDate(m, f) {
		if err := visit(run); err != nil {
			return err
		}
	}
	return nil
}

// upToDate returns the runs after adding the newest terms.
func (w *memoryWords) upToDate(m *Memory, f *memoryField) []*wordRun {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := w.newest(m, f)
	if len(names) > 0 {
		order := sortedByBytes(len(names), 0, func(i uint32) []byte { return names[i] })
		var b dictionary.Builder
		run := &wordRun{numbers: make([]uint32, len(names))}
		for i, n := range order {
			b.Add(names[n])
			run.numbers[i] = w.next + n
		}
		run.words = b.Dictionary()
		w.next += uint32(len(names))
		before := w.bytes()
		runs := w.runs[:len(w.runs):len(w.runs)] // callers may still hold the old ones
		for len(runs) > 0 && runs[len(runs)-1].words.Len() < 2*run.words.Len() {
			run = mergeRuns(runs[len(runs)-1], run)
			runs = runs[: len(runs)-1 : len(runs)-1]
		}
		w.runs = append(runs, run)
		m.bytes.Add(w.bytes() - before)
	}
	return w.runs
}

// newest returns the terms that are in no run. Their bytes never change.
func (w *memoryWords) newest(m *Memory, f *memoryField) (names [][]byte) {
	for next := w.next; ; {
		m.mu.Lock()
		all := f.table.taken
		for end := min(next+gatheredTerms, all); next < end; next++ {
			names = append(names, f.name(next))
		}
		m.mu.Unlock()
		if next == all {
			return names
		}
	}
}

func (w *memoryWords) bytes() (n int64) {
	for _, run := range w.runs {
		n += int64(run.words.Bytes() + 4*len(run.numbers))
	}
	return n
}

// mergeRuns returns the terms of two runs, which have none in common.
func mergeRuns(a, b *wordRun) *wordRun {
	var words dictionary.Builder
	run := &wordRun{numbers: make([]uint32, 0, len(a.numbers)+len(b.numbers))}
	for i, j := 0, 0; i < len(a.numbers) || j < len(b.numbers); {
		if j == len(b.numbers) || i < len(a.numbers) && bytes.Compare(a.words.Term(i), b.words.Term(j)) < 0 {
			words.Add(a.words.Term(i))
			run.numbers = append(run.numbers, a.numbers[i])
			i++
			continue
		}
		words.Add(b.words.Term(j))
		run.numbers = append(run.numbers, b.numbers[j])
		j++
	}
	run.words = words.Dictionary()
	return run
}
