package segment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
)

var byGraph = Order{Kind: ByGraph}

// topicModel makes a segment of shuffled documents on eight topics, with stored bytes, ranks and a
// field of keywords.
func topicModel(rng *rand.Rand, n int, prefix string) model {
	m := make(model, n)
	for i, terms := range topicDocuments(rng, n, 8) {
		body := modelField{norms: true, length: uint32(len(terms)), terms: make(map[string]uint32)}
		for _, t := range terms {
			body.terms[fmt.Sprintf("w%d", t)] = 1 + rng.Uint32N(3)
		}
		m[i] = modelDoc{
			id: fmt.Sprintf("%s%d", prefix, i), stored: fmt.Sprintf("text of %s%d", prefix, i), rank: uint16(i),
			fields: map[string]modelField{"body": body, "key": {terms: map[string]uint32{fmt.Sprint(i % 10): 1}}},
		}
	}
	return m
}

// permuted is the model with its documents in the order of a merge of one input.
func (m model) permuted(numbers []uint32, docs uint32) model {
	p := make(model, docs)
	for old, doc := range numbers {
		if doc != NoDoc {
			p[doc] = m[old]
		}
	}
	return p
}

func TestMergeByGraph(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 21))
	m := topicModel(rng, 5000, "a")
	deleted := randomDeletions(rng, len(m))
	for deleted.GetCardinality() == 0 || len(m)-int(deleted.GetCardinality()) < minGraphDocs {
		deleted = randomDeletions(rng, len(m))
	}
	inputs := []Input{{Reader: m.memory().View(), Deleted: deleted}}
	arrival, _, _ := merge(t, inputs, MergeOptions{})
	d, res, _ := merge(t, inputs, MergeOptions{Order: byGraph})
	requireMaps(t, inputs, res, d)
	requireEqual(t, m.permuted(res.Maps[0], res.Docs), d)
	if d.Order() != byGraph || arrival.Order() != (Order{}) {
		t.Errorf("orders %+v and %+v", d.Order(), arrival.Order())
	}
	if a, b := gapBits(t, arrival), gapBits(t, d); b > 0.8*a {
		t.Errorf("a gap has %.2f bits by graph, %.2f by arrival", b, a)
	}
}

// gapBits is the bits of an ideal code for a gap of the lists of "body".
func gapBits(t *testing.T, d *Disk) float64 {
	it, err := d.Terms("body", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	bits, count := 0.0, 0
	for it.Next() {
		l, err := it.List()
		if err != nil {
			t.Fatal(err)
		}
		before := -1
		for _, p := range readPostings(t, l) {
			bits += math.Log2(float64(int(p.doc) - before))
			before = int(p.doc)
			count++
		}
	}
	return bits / float64(count)
}

// TestMergeByGraphIsTheSameForAnyNumberOfWorkers compares every byte, for several inputs, in memory
// and sealed, and also with little memory.
func TestMergeByGraphIsTheSameForAnyNumberOfWorkers(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 22))
	var inputs []Input
	for i := range 3 {
		in := Input{Reader: topicModel(rng, 2000, string(rune('a'+i))).memory().View()}
		if i > 0 {
			in.Reader, _, _ = merge(t, []Input{in}, MergeOptions{})
		}
		inputs = append(inputs, in)
	}
	for _, memory := range []int64{0, 300 << 10} {
		_, _, want := merge(t, inputs, MergeOptions{Order: byGraph, Workers: 1, MemoryBytes: memory})
		for _, workers := range []int{0, 2, 7} {
			_, _, got := merge(t, inputs, MergeOptions{Order: byGraph, Workers: workers, MemoryBytes: memory})
			if !maps.EqualFunc(got.values, want.values, slices.Equal) {
				t.Errorf("%d workers, %d bytes: another segment than one worker makes", workers, memory)
			}
		}
	}
}

// TestFewDocumentsStay checks that below minGraphDocs the order is that of arrival. The segment
// still says that it is by graph, so that nothing tries to order it again.
func TestFewDocumentsStay(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 23))
	m := topicModel(rng, minGraphDocs, "a")
	inputs := []Input{{Reader: m.memory().View(), Deleted: roaring.BitmapOf(7)}}
	d, _, _ := merge(t, inputs, MergeOptions{Order: byGraph})
	requireEqual(t, m.without(func(doc uint32) bool { return doc == 7 }), d)
	if d.Order() != byGraph {
		t.Errorf("order %+v, want %+v", d.Order(), byGraph)
	}
	inputs[0].Deleted = nil
	_, res, _ := merge(t, inputs, MergeOptions{Order: byGraph})
	if slices.IsSorted(res.Maps[0]) {
		t.Errorf("%d documents stayed as they were", len(m))
	}
}

// TestForwardStaysWithinMemory checks that terms are left out until the rest fits, frequent ones
// first, and that without memory nothing moves.
func TestForwardStaysWithinMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(24, 24))
	view := topicModel(rng, 4000, "a").memory().View()
	const workers = 4
	last := -1
	for _, memory := range []int64{1, 50_000, 100_000, 120_000, 150_000, 200_000, 400_000, 10 << 20} {
		m := &merger{ctx: context.Background(), inputs: []Input{{Reader: view}}, opts: MergeOptions{Workers: workers, MemoryBytes: memory}}
		if err := m.number(); err != nil {
			t.Fatal(err)
		}
		f, err := m.makeForward()
		if err != nil {
			t.Fatal(err)
		}
		used := f.bytes() + int64(m.graphWorkers(f)-1)*graphTermBytes*int64(f.vocabulary)
		if used > memory && f.vocabulary > 0 {
			t.Errorf("%d bytes are used of %d", used, memory)
		}
		if cap(f.terms) != len(f.terms) || len(f.terms) < last {
			t.Errorf("%d bytes of memory: %d terms, room for %d, before it were %d", memory, len(f.terms), cap(f.terms), last)
		}
		requireFrequentFirst(t, f)
		last = len(f.terms)
	}
	if all := view.Fields()[0].Postings; last < int(all)/2 {
		t.Errorf("with much memory the index has %d of %d postings", last, all)
	}
	_, res, _ := merge(t, []Input{{Reader: view}}, MergeOptions{Order: byGraph, MemoryBytes: 1})
	if !slices.IsSorted(res.Maps[0]) {
		t.Error("documents have moved without memory to find out where to")
	}
}

// requireFrequentFirst fails the test unless terms are numbered by falling number
// of documents, none too rare and none too frequent.
func requireFrequentFirst(t *testing.T, f *forward) {
	t.Helper()
	counts := make([]int, f.vocabulary)
	for _, term := range f.terms {
		counts[term]++
	}
	for i, n := range counts {
		if n < minGraphTerm || n > f.docs()/maxGraphShare || i > 0 && n > counts[i-1] {
			t.Fatalf("term %d has %d of %d documents", i, n, f.docs())
		}
	}
}

// TestMergeByGraphIsCancelled cancels at ever later checks of the context, until the merge
// completes.
func TestMergeByGraphIsCancelled(t *testing.T) {
	m := topicModel(rand.New(rand.NewPCG(25, 25)), minGraphDocs, "a")
	for looks := 0; ; looks += 1 + looks/2 {
		ctx := &countdown{Context: t.Context(), left: looks}
		_, err := Merge(ctx, newMapStore(t), []Input{{Reader: m.memory().View()}}, MergeOptions{Order: byGraph, Workers: 1})
		if err == nil && looks > 100 {
			return
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("after %d looks at the context: %v, want %v", looks, err, context.Canceled)
		}
	}
}

// A countdown is a context that is done after a number of calls of Err, for one worker.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestMergeOptionsAreChecked(t *testing.T) {
	for _, opts := range []MergeOptions{{Workers: -1}, {MemoryBytes: -1}, {Order: Order{Kind: ByGraph + 1}}} {
		if _, err := Merge(t.Context(), newMapStore(t), nil, opts); err == nil {
			t.Errorf("%+v is accepted", opts)
		}
	}
}
