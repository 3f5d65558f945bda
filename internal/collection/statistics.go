package collection

import (
	"math"

	"github.com/riffle-search/riffle/postings"
)

// Statistics describe a collection.
type Statistics struct {
	Docs     int
	Average  float64 // length of a document
	Lists    int
	Queries  int
	Words    float64 // of a query
	Postings float64 // of a query, as a share of all documents
	Total    int64   // postings of all lists

	Classes []Class // lists by length, ascending, without those of fewer than 16 postings
}

// A Class is the lists with a share of all documents from 2^Log2 to twice that. Means are over
// postings.
type Class struct {
	Log2        int
	Lists       int
	Postings    int64
	TF          float64 // mean
	Once        float64 // the share of frequencies that are 1
	Gap         float64 // mean log2 of the gaps between documents
	EvenGap     float64 // the same if postings were spread evenly, at random
	BitsPosting float64 // of the blocks' payload
}

// leastPostings is the minimum length of a list in a class.
const leastPostings = 16

// Measure computes the statistics of all lists.
func (c *Collection) Measure() (*Statistics, error) {
	s := &Statistics{Docs: int(c.Docs), Average: c.Average, Lists: len(c.Lists), Queries: len(c.Queries)}
	for q, lists := range c.Queries {
		s.Words += float64(len(lists)) / float64(len(c.Queries))
		s.Postings += float64(c.Postings(q)) / float64(c.Docs) / float64(len(c.Queries))
	}
	each := make([]Class, len(c.Lists))
	errs := make([]error, len(c.Lists))
	InParallel(len(c.Lists), 0, func(i int) { each[i], errs[i] = c.class(i) })
	byLog := map[int]*Class{}
	for i := range each {
		if errs[i] != nil {
			return nil, errs[i]
		}
		s.Total += each[i].Postings
		if each[i].Postings >= leastPostings {
			k := byLog[each[i].Log2]
			if k == nil {
				k = &Class{Log2: each[i].Log2}
				byLog[k.Log2] = k
			}
			k.add(&each[i])
		}
	}
	for log := -31; log <= 0; log++ {
		if k := byLog[log]; k != nil {
			k.divide()
			s.Classes = append(s.Classes, *k)
		}
	}
	return s, nil
}

// class returns list i as a class of its own, with sums in place of means.
func (c *Collection) class(i int) (k Class, err error) {
	l := c.Lists[i].List
	share := float64(l.Count) / float64(c.Docs)
	k = Class{Log2: int(math.Floor(math.Log2(share))), Lists: 1, Postings: int64(l.Count)}
	before := -1.0
	var docs, freqs [postings.BlockSize]uint32
	for b := range l.Blocks() {
		n, err := l.Docs(b, &docs)
		if err == nil {
			_, err = l.Freqs(b, &freqs)
		}
		if err != nil {
			return k, err
		}
		for j := range n {
			k.TF += float64(freqs[j])
			if freqs[j] == 1 {
				k.Once++
			}
			k.Gap += math.Log2(float64(docs[j]) - before)
			before = float64(docs[j])
		}
	}
	k.EvenGap = evenGap(share) * float64(l.Count)
	k.BitsPosting = 8 * float64(c.PayloadBytes(i))
	return k, nil
}

func (k *Class) add(o *Class) {
	k.Lists += o.Lists
	k.Postings += o.Postings
	k.TF += o.TF
	k.Once += o.Once
	k.Gap += o.Gap
	k.EvenGap += o.EvenGap
	k.BitsPosting += o.BitsPosting
}

func (k *Class) divide() {
	for _, sum := range []*float64{&k.TF, &k.Once, &k.Gap, &k.EvenGap, &k.BitsPosting} {
		*sum /= float64(k.Postings)
	}
}

// evenGap returns the mean log2 of a geometrically distributed gap.
func evenGap(p float64) float64 {
	if p < 1./256 { // that of an exponential distribution: the logarithm of its mean less Euler's constant
		return -math.Log2(p) - 0.5772156649/math.Ln2
	}
	mean, left := 0.0, 1.0
	for g := 1.0; left > 1e-9; g++ {
		mean += left * p * math.Log2(g)
		left *= 1 - p
	}
	return mean
}

// Lifts compares neighboring words of queries: for each pair, in how many times more documents they
// occur together than by chance. It covers pairs that would occur together in at least three.
func (c *Collection) Lifts() (lifts []float64) {
	for _, q := range c.Queries {
		for i := 1; i < len(q); i++ {
			a, b := c.Lists[q[i-1]].List, c.Lists[q[i]].List
			if chance := float64(a.Count) * float64(b.Count) / float64(c.Docs); chance >= 3 {
				lifts = append(lifts, float64(both(a, b))/chance)
			}
		}
	}
	return lifts
}

func both(a, b *postings.List) (n int) {
	if a.Count > b.Count {
		a, b = b, a
	}
	var x, y postings.Cursor
	x.Reset(a)
	y.Reset(b)
	at := y.Next()
	for d := x.Next(); d != postings.End; d = x.Next() {
		if at < d {
			at = y.SeekGE(d)
		}
		if at == d {
			n++
		}
	}
	return n
}
