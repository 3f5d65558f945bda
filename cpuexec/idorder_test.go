package cpuexec_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// An idOrder is the order of some ids.
type idOrder struct {
	sorted []string
	places []uint32 // by document
	asked  int      // tiles that were read
}

func newIDOrder(ids []string) *idOrder {
	docs := make([]uint32, len(ids))
	for d := range docs {
		docs[d] = uint32(d)
	}
	slices.SortFunc(docs, func(a, b uint32) int { return cmp.Compare(ids[a], ids[b]) })
	o := &idOrder{places: make([]uint32, len(ids))}
	for place, d := range docs {
		o.places[d] = uint32(place)
		o.sorted = append(o.sorted, ids[d])
	}
	return o
}

func (o *idOrder) IDPlace(doc uint32) (uint32, error) { return o.places[doc], nil }

func (o *idOrder) tile(tile int) []uint32 {
	rest := o.places[tile*blockmax.TileDocs:]
	return rest[:min(len(rest), blockmax.TileDocs)]
}

func (o *idOrder) IDPlaces(tile int, dst *[blockmax.TileDocs]uint32) (int, error) {
	o.asked++
	return copy(dst[:], o.tile(tile)), nil
}

func (o *idOrder) IDPlaceBounds(tile int) (least, greatest uint32, err error) {
	places := o.tile(tile)
	return slices.Min(places), slices.Max(places), nil
}

func (o *idOrder) PlaceOfID(id string) (uint32, bool, error) {
	n, found := slices.BinarySearch(o.sorted, id)
	return uint32(n), found, nil
}

// TestSortTiles sorts documents of many tiles by two keys, of which ids are one, and by few values, page
// by page. No id is read but those of places that are returned.
func TestSortTiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 35))
	const docs = 70*blockmax.TileDocs - 1000
	ids, values := make([]string, docs), make([]uint64, docs)
	few := columns.NewBuilder(columns.Uint, nil)
	for d, n := range rng.Perm(docs) {
		if d/blockmax.TileDocs%2 == 0 { // tiles with narrow bounds
			n = d
		}
		ids[d] = fmt.Sprintf("%06d-%d", n, d)
		values[d] = min(uint64(rng.IntN(40)), 9)
		if err := few.Add(uint32(d), values[d]); err != nil {
			t.Fatal(err)
		}
	}
	column, err := few.View(docs)
	if err != nil {
		t.Fatal(err)
	}
	known := newIDOrder(ids)
	table := blockmax.NewTable(blockmax.DefaultBM25, 10)
	seg := blockmax.Segment{Docs: docs}
	has := make([][]bool, 2)
	for i, every := range []int{3, 2000} {
		var l postings.Builder
		has[i] = make([]bool, docs)
		for d := range uint32(docs) {
			if has[i][d] = rng.IntN(every) == 0; has[i][d] {
				l.Add(d, 1, 1)
			}
		}
		list := l.View(postings.MaxDoc)
		seg.Terms = append(seg.Terms, blockmax.Term{List: list, Table: table, Bounds: segment.Bounds(list, table)})
	}
	byValue, byID := cpuexec.SortKey{Columns: []*columns.Column{column}}, cpuexec.SortKey{By: cpuexec.ByID}
	down := func(k cpuexec.SortKey) cpuexec.SortKey { k.Desc = true; return k }
	for i, keys := range [][]cpuexec.SortKey{
		{byID}, {down(byID)}, {byValue, byID}, {down(byValue), byID}, {byValue, down(byID)}, {byID, byValue}, {byValue}, {down(byValue)},
	} {
		for tree, node := range []blockmax.Node{{All: true}, {Leaf: true}, {Leaf: true, Term: 1}} {
			var want []int
			for d := range docs {
				if tree == 0 || has[tree-1][d] {
					want = append(want, d)
				}
			}
			slices.SortFunc(want, func(a, b int) int {
				for _, k := range keys {
					c := cmp.Compare(values[a], values[b])
					if k.By == cpuexec.ByID {
						c = cmp.Compare(ids[a], ids[b])
					}
					if k.Desc {
						c = -c
					}
					if c != 0 {
						return c
					}
				}
				return cmp.Compare(a, b)
			})
			read := 0
			o := &cpuexec.Order{Keys: keys, IDs: []cpuexec.IDOrder{known}, ID: func(dst []byte, _ int, doc uint32) ([]byte, error) {
				read++
				return append(dst, ids[doc]...), nil
			}}
			p := &blockmax.Plan{K: 10, Weights: []uint32{1, 1}, Segments: []blockmax.Segment{seg}, Tree: &node}
			for round, got := 0, 0; round < 12 && got < len(want); round++ {
				known.asked, read = 0, 0
				s, err := cpuexec.Parallel{}.Sort(context.Background(), p, o)
				if err != nil {
					t.Fatal(err)
				}
				if len(s.Places) != min(p.K, len(want)-got) || read > len(s.Places) {
					t.Fatalf("keys %d, tree %d: %d places, %d ids read, from %d of %d", i, tree, len(s.Places), read, got, len(want))
				}
				if round == 0 && known.asked > 60 {
					t.Errorf("keys %d, tree %d: %d tiles of ids were read", i, tree, known.asked)
				}
				for _, place := range s.Places {
					if int(place.Doc) != want[got] {
						t.Fatalf("keys %d, tree %d: place %d is document %d, want %d", i, tree, got, place.Doc, want[got])
					}
					got++
				}
				last := s.Places[len(s.Places)-1]
				o.After = &last
				if round%3 == 2 { // far behind
					got = min(len(want)-1, got+rng.IntN(len(want)/5+1))
					at := want[got-1]
					after := cpuexec.Place{Doc: uint32(at)}
					for _, k := range keys {
						v := columns.OfUint(values[at])
						if k.By == cpuexec.ByID {
							v = columns.Value{Kind: columns.Terms, Term: ids[at]}
						}
						after.Keys = append(after.Keys, cpuexec.KeyValue{Value: v})
					}
					o.After = &after
				}
			}
		}
	}
}
