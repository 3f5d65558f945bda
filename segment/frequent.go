package segment

import (
	"cmp"
	"slices"
)

// A TermCount is a term and the number of documents of a segment that have it.
type TermCount struct {
	Term      string
	Documents int
}

// MoreFrequent orders terms by falling numbers of documents, and those in as many by their bytes.
func MoreFrequent(a, b TermCount) int {
	return cmp.Or(cmp.Compare(b.Documents, a.Documents), cmp.Compare(a.Term, b.Term))
}

// Frequent returns those n terms of a field that most documents have, of the terms that a pattern picks,
// in the order of MoreFrequent. There are fewer if the pattern picks fewer.
//
// The first call for a field reads all its terms, unless Dictionary has. Later ones read 4 bytes a term
// that the pattern picks.
func (d *Disk) Frequent(field string, p Pattern, n int) ([]TermCount, error) {
	i, ok := findField(d.meta.fields, field)
	if !ok || n <= 0 {
		return nil, nil
	}
	terms, err := d.fieldTerms(i)
	if err == nil {
		err = terms.err
	}
	if err != nil {
		return nil, err
	}
	words, counts := terms.words, terms.counts
	best := frequentNumbers{most: n}
	if from, to, all := p.Range(); all {
		end := words.Len()
		if to != nil {
			end = words.Search(to)
		}
		for i := words.Search(from); i < end; i++ {
			best.add(uint32(i), counts[i])
		}
	} else {
		p.Find(words, func(i int) bool {
			best.add(uint32(i), counts[i])
			return true
		})
	}
	keys := best.end()
	found := make([]TermCount, 0, len(keys))
	for _, k := range keys {
		i := ^uint32(k)
		found = append(found, TermCount{string(words.Term(int(i))), int(counts[i])})
	}
	return found, nil
}

// frequentNumbers picks the numbers of the most frequent terms. A key is the count of a term above the
// complement of its number, so that the greater one comes first.
type frequentNumbers struct {
	most  int
	keys  []uint64 // of up to twice as many terms
	least uint64   // what a key must exceed
}

func (f *frequentNumbers) add(number, count uint32) {
	key := uint64(count)<<32 | uint64(^number)
	if key <= f.least {
		return
	}
	if f.keys = append(f.keys, key); len(f.keys) >= 2*f.most {
		f.end()
		f.least = f.keys[f.most-1]
	}
}

// end returns the greatest keys, falling.
func (f *frequentNumbers) end() []uint64 {
	slices.SortFunc(f.keys, func(a, b uint64) int { return cmp.Compare(b, a) })
	f.keys = f.keys[:min(f.most, len(f.keys))]
	return f.keys
}

// Frequent is Disk.Frequent. It reads all terms that the pattern picks.
func (v *MemoryView) Frequent(field string, p Pattern, n int) ([]TermCount, error) {
	return frequent(v, field, p, n)
}

// Frequent is that of the documents of the tail.
func (t *MemoryTail) Frequent(field string, p Pattern, n int) ([]TermCount, error) {
	return frequent(t, field, p, n)
}

func frequent(of interface {
	Matching(field string, p Pattern, visit func(m *Match) error) error
}, field string, p Pattern, n int) (found []TermCount, err error) {
	if n <= 0 {
		return nil, nil
	}
	err = of.Matching(field, p, func(m *Match) error {
		count, err := m.Postings()
		if err != nil || count == 0 {
			return err
		}
		if found = append(found, TermCount{string(m.Term), count}); len(found) >= 2*n+termsAtOnce {
			slices.SortFunc(found, MoreFrequent)
			found = found[:n]
		}
		return nil
	})
	slices.SortFunc(found, MoreFrequent)
	return found[:min(n, len(found))], err
}

// termsAtOnce is how many terms are gathered, at least, before they are sorted.
const termsAtOnce = 1024
