package gov2

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
)

const (
	topics    = 64
	pool      = 1 << 14 // words that queries are drawn from
	sameTopic = 0.2     // of the further words of a query
	mostShare = 0.97    // share of all documents that a word may be in
	stopShare = 1. / 3  // words in a larger share are stop words
)

// A word has one posting list.
type word struct {
	number int     // in the pool
	topic  int     //
	share  float64 // of the documents that it is in
}

// newQueries draws queries and their words, the most frequent word first. Queries name words by
// their index in that order.
func newQueries(o *Options) (words []word, queries [][]int) {
	all := newPool(o)
	for q := range o.Queries {
		queries = append(queries, all.query(rand.New(random(o, drawQueries, uint64(q)))))
	}
	all.scale(queries, o)
	used := map[int]bool{}
	for _, q := range queries {
		for _, w := range q {
			if !used[w] {
				used[w] = true
				words = append(words, all.words[w])
			}
		}
	}
	slices.SortFunc(words, func(a, b word) int {
		return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.number, b.number))
	})
	place := make(map[int]int, len(words))
	for i, w := range words {
		place[w.number] = i
	}
	for _, q := range queries {
		for i, w := range q {
			q[i] = place[w]
		}
	}
	return words, queries
}

// A wordPool is all words, and how likely they are in queries.
type wordPool struct {
	words []word
	any   drawing
	of    [topics]drawing
}

// A drawing draws numbers with given probabilities.
type drawing struct {
	numbers []int
	sums    []float64
}

func (d *drawing) add(number int, weight float64) {
	sum := weight
	if n := len(d.sums); n > 0 {
		sum += d.sums[n-1]
	}
	d.numbers, d.sums = append(d.numbers, number), append(d.sums, sum)
}

func (d *drawing) draw(rng *rand.Rand) int {
	x := rng.Float64() * d.sums[len(d.sums)-1]
	return d.numbers[min(sort.SearchFloat64s(d.sums, x), len(d.sums)-1)]
}

func newPool(o *Options) *wordPool {
	p := new(wordPool)
	rng := rand.New(random(o, drawWords, 0))
	for n := range pool {
		mean, deviation := shareAt(float64(n + 1))
		share := math.Exp2(mean + float64(deviation*rng.NormFloat64()))
		share = min(share, mostShare)
		w := word{number: n, topic: rng.IntN(topics), share: share}
		weight := math.Pow(float64(n+2), -0.85)
		p.words = append(p.words, w)
		if !o.StopWords && share > stopShare {
			continue
		}
		p.any.add(n, weight)
		p.of[w.topic].add(n, weight)
	}
	return p
}

// query draws a query of distinct words.
func (p *wordPool) query(rng *rand.Rand) []int {
	n := rng.IntN(sum(wordsOf))
	count := 1
	for n >= wordsOf[count-1] {
		n -= wordsOf[count-1]
		count++
	}
	q := []int{p.any.draw(rng)}
	for len(q) < count {
		from := &p.any
		if rng.Float64() < sameTopic {
			from = &p.of[p.words[q[0]].topic]
		}
		if w := from.draw(rng); !slices.Contains(q, w) {
			q = append(q, w)
		}
	}
	return q
}

func sum(counts []int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// scale multiplies the odds of all words so that queries have as many postings as they should.
func (p *wordPool) scale(queries [][]int, o *Options) {
	scaled := func(share, by float64) float64 { return share * by / (1 - share + float64(share*by)) }
	low, high := 1e-6, 1e6
	for range 60 {
		by, total := math.Sqrt(low*high), 0.0
		for _, q := range queries {
			for _, w := range q {
				total += scaled(p.words[w].share, by)
			}
		}
		if total > o.Postings*float64(len(queries)) {
			high = by
		} else {
			low = by
		}
	}
	for i := range p.words {
		p.words[i].share = min(max(scaled(p.words[i].share, high), 3/float64(o.Docs)), mostShare)
	}
}
