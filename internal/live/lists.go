package live

import (
	"context"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/cache"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// A TermList is the posting list of a term in a part of a view, opened for looking at it. It is not
// in the cache of lists, so that looking changes nothing there.
type TermList struct {
	*postings.List
	Segment *Segment
	Base    uint32 // global number of the part's first document
	Docs    uint32 // of the part
	Cached  cache.Cached
}

// TermLists opens the lists of a term, part by part; those without the term are left out.
func (v *View) TermLists(ctx context.Context, field, term string) (lists []TermList, err error) {
	for i := range v.parts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p := &v.parts[i]
		var l *postings.List
		switch {
		case p.tail != nil:
			l, err = p.tail.List(field, term)
		case p.memory != nil:
			l, err = p.memory.List(field, []byte(term))
		default:
			l, err = p.home.disk.List(field, []byte(term))
		}
		if err != nil {
			return nil, p.home.at(err)
		}
		if l == nil || l.Count == 0 {
			continue
		}
		of := TermList{List: l, Segment: p.Segment, Base: p.base, Docs: p.reader.Docs()}
		of.Cached = v.ix.lists.Peek(cache.Key{Segment: v.places[i].Segment, Field: field, Term: term})
		lists = append(lists, of)
	}
	return lists, nil
}

// Number is the number of the segment in the store, or 0 in memory.
func (t *TermList) Number() uint64 { return t.Segment.home.number }

// At adds to an error what it concerns.
func (t *TermList) At(err error) error { return t.Segment.home.at(err) }

// EachBlock calls visit with the best pairs of blocks [from, to), in order, after Need.
func (t *TermList) EachBlock(from, to int, visit func(block int, best []postings.Impact)) error {
	for from < to {
		end := min(to, (from/postings.ExtentBlocks+1)*postings.ExtentBlocks)
		first, best, err := t.impactsOf(from)
		if err != nil {
			return t.At(err)
		}
		t.Need(from, end)
		for ; from < end; from++ {
			visit(from, best.Of(from-first))
		}
	}
	return nil
}

// impactsOf returns best pairs of blocks from first on, those of the extent of a block among them.
func (t *TermList) impactsOf(block int) (first int, best *postings.Impacts, err error) {
	if t.OnDemand() {
		e := block / postings.ExtentBlocks
		best, err = t.BlockImpactsOf(e)
		return e * postings.ExtentBlocks, best, err
	}
	best, err = t.BlockImpacts()
	return 0, best, err
}

// HighestPair returns the pair with the highest impact under a table, and that impact.
func HighestPair(t *blockmax.Table, pairs []postings.Impact) (best postings.Impact, impact uint16) {
	for _, p := range pairs {
		if i := t.Impact(p.TF, p.Len); i >= impact {
			best, impact = p, i
		}
	}
	return best, impact
}

// CachedLists returns the n cached lists that searches have looked up most.
func (ix *Index) CachedLists(n int) []cache.Cached { return ix.lists.MostVisited(n) }

// TermsOf returns the field and the term of lists by their keys (keyOf), as far as they are cached.
func (ix *Index) TermsOf(keys map[uint64]bool) map[uint64]cache.Key {
	found := make(map[uint64]cache.Key, len(keys))
	ix.lists.Each(func(key cache.Key, l *postings.List) {
		if l.Number == 0 || key.Segment >= 1<<31 {
			return
		}
		if k := key.Segment<<32 | l.Number; keys[k] {
			found[k] = key
		}
	})
	return found
}

// NamesOf returns the field and the term of a list, and whether that is a pair of words.
func NamesOf(k cache.Key) (field, term string, pair bool) {
	return segment.FieldOfPairs(k.Field), k.Term, segment.IsPairField(k.Field)
}

// SetCacheBytes changes the budgets of opened lists and what shares theirs, of stored documents, and of
// indexes of terms.
func (ix *Index) SetCacheBytes(lists, stored, trigrams int64) {
	ix.trigrams.Limit(trigrams)
	ix.lists.SetBudget(lists)
	ix.stored.setBudget(stored)
}
