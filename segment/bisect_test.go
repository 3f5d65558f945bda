package segment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// makeForwardOf makes a forward index of documents that are given as their terms.
func makeForwardOf(docs [][]uint32) *forward {
	f := &forward{starts: make([]uint64, 1)}
	for _, terms := range docs {
		f.terms = append(f.terms, terms...)
		f.starts = append(f.starts, uint64(len(f.terms)))
		for _, t := range terms {
			f.vocabulary = max(f.vocabulary, int(t)+1)
		}
	}
	return f
}

// topicDocuments makes n documents, each on one of the topics. Half of a document's terms come from
// its topic, the others from all.
func topicDocuments(rng *rand.Rand, n, topics int) [][]uint32 {
	const topicTerms, common, length = 40, 200, 16
	docs := make([][]uint32, n)
	for i := range docs {
		first := uint32(common + topicTerms*rng.IntN(topics))
		seen := make(map[uint32]bool)
		for j := range length {
			t := rng.Uint32N(uint32(common))
			if j%2 == 0 {
				t = first + rng.Uint32N(topicTerms)
			}
			if !seen[t] {
				docs[i] = append(docs[i], t)
			}
			seen[t] = true
		}
	}
	return docs
}

// logGapCost is the bits per posting of an ideal code for the gaps of all lists, with documents in
// the given order.
func logGapCost(docs [][]uint32, order []int) float64 {
	last := make(map[uint32]int)
	bits, postings := 0.0, 0
	for place, doc := range order {
		for _, t := range docs[doc] {
			bits += math.Log2(float64(place + 1 - last[t]))
			last[t] = place + 1
			postings++
		}
	}
	return bits / float64(postings)
}

func identity(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

// bisected returns the order that bisect finds.
func bisected(t *testing.T, docs [][]uint32, workers int) []int {
	t.Helper()
	keys, err := bisect(t.Context(), makeForwardOf(docs), workers, nil)
	if err != nil {
		t.Fatal(err)
	}
	order := make([]int, len(keys))
	for i, k := range keys {
		order[i] = int(k.doc())
	}
	return order
}

// TestBisectGathersTopics shuffles topics. The resulting order must save as much as the order by
// topic (it saves more: it also orders the documents of one topic well).
func TestBisectGathersTopics(t *testing.T) {
	for _, topics := range []int{2, 8, 32} {
		t.Run(fmt.Sprint(topics), func(t *testing.T) {
			docs := topicDocuments(rand.New(rand.NewPCG(16, uint64(topics))), 8192, topics)
			byTopic := identity(len(docs))
			slices.SortStableFunc(byTopic, func(i, j int) int {
				return int(slices.Max(docs[i])/40) - int(slices.Max(docs[j])/40)
			})
			before := logGapCost(docs, identity(len(docs)))
			after := logGapCost(docs, bisected(t, docs, 2))
			best := logGapCost(docs, byTopic)
			t.Logf("%.3f bits a posting shuffled, %.3f by graph, %.3f by topic", before, after, best)
			if won, all := before-after, before-best; won < all {
				t.Errorf("by graph saves %.3f bits a posting, by topic %.3f", won, all)
			}
		})
	}
}

func TestBisectPermutes(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 17))
	for _, n := range []int{0, 1, 2, minPartition, 2*minPartition - 1, 2 * minPartition, 2*minPartition + 1, 1000, 5000} {
		docs := topicDocuments(rng, n, 4)
		for i := range docs { // some have no terms that count
			if rng.IntN(10) == 0 {
				docs[i] = nil
			}
		}
		order := bisected(t, docs, 2)
		if n < 2*minPartition && !slices.Equal(order, identity(n)) {
			t.Errorf("%d documents were split", n)
		}
		slices.Sort(order)
		if !slices.Equal(order, identity(n)) {
			t.Errorf("the order of %d documents is no permutation", n)
		}
	}
}

// TestBisectLeavesWellAlone checks that nothing moves where nothing can be gained.
func TestBisectLeavesWellAlone(t *testing.T) {
	for name, docs := range map[string][][]uint32{
		"no terms":  make([][]uint32, 3000),
		"all alike": slices.Repeat([][]uint32{{0, 1, 2}}, 3000),
	} {
		if order := bisected(t, docs, 2); !slices.Equal(order, identity(len(docs))) {
			t.Errorf("%s: documents have moved", name)
		}
	}
}

func TestBisectIsTheSameForAnyNumberOfWorkers(t *testing.T) {
	docs := topicDocuments(rand.New(rand.NewPCG(18, 18)), 3*parallelDocs, 5)
	want := bisected(t, docs, 1)
	for _, workers := range []int{1, 2, 3, 64} {
		if !slices.Equal(bisected(t, docs, workers), want) {
			t.Errorf("%d workers find another order than one", workers)
		}
	}
}

func TestBisectIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	docs := topicDocuments(rand.New(rand.NewPCG(19, 19)), 5000, 2)
	if _, err := bisect(ctx, makeForwardOf(docs), 3, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("bisect: %v, want %v", err, context.Canceled)
	}
}

// TestBiasOfHugeDocuments checks that sums beyond 32 bits stay in order.
func TestBiasOfHugeDocuments(t *testing.T) {
	terms := make([]uint32, 1<<15)
	f := makeForwardOf([][]uint32{terms, {1}})
	keys := []docKey{0, 1 << 1}
	for _, bias := range []int32{30 * logOne, -30 * logOne} {
		f.weigh(keys, []int32{bias, 0})
		if got, want := keys[0].bias() > keys[1].bias(), bias > 0; got != want || keys[0].doc() != 0 {
			t.Errorf("a bias of %d for each of %d terms makes %d", bias, len(terms), keys[0].bias())
		}
	}
}

func TestSelectNth(t *testing.T) {
	rng := rand.New(rand.NewPCG(20, 20))
	shapes := map[string]func(i, n int) docKey{
		"random":     func(i, n int) docKey { return docKey(rng.Uint64()) },
		"rising":     func(i, n int) docKey { return docKey(i) },
		"falling":    func(i, n int) docKey { return docKey(n - i) },
		"organ pipe": func(i, n int) docKey { return docKey(2*min(i, n-i) + i&1) },
		"saw":        func(i, n int) docKey { return docKey(i%7*n + i) },
	}
	for name, shape := range shapes {
		for _, n := range []int{1, 2, 24, 25, 26, 100, 5000} {
			keys := make([]docKey, n)
			for i := range keys {
				keys[i] = shape(i, n)
			}
			want := slices.Sorted(slices.Values(keys))
			for _, at := range []int{0, n / 3, n / 2, n - 1} {
				got := slices.Clone(keys)
				selectNth(got, at)
				slices.Sort(got[:at])
				slices.Sort(got[at:])
				if !slices.Equal(got, want) {
					t.Errorf("%s: %d keys are not parted at %d", name, n, at)
				}
			}
		}
	}
}

func TestLog2(t *testing.T) {
	if log2(0) != 0 || log2(1) != 0 || log2(math.MaxUint32) > 32*logOne {
		t.Errorf("log2 of 0, 1 and the highest number: %d, %d, %d", log2(0), log2(1), log2(math.MaxUint32))
	}
	last := int32(0)
	for x := uint32(1); x < 1<<31; x += 1 + x/1000 {
		got := log2(x)
		exact := logOne * math.Log2(float64(x))
		if diff := exact - float64(got); diff < -1 || diff > logOne/700.0+1 {
			t.Fatalf("log2(%d) is %d, want %.1f", x, got, exact)
		}
		if got < last {
			t.Fatalf("log2(%d) is %d, below an earlier one", x, got)
		}
		last = got
	}
}
