package gov2

import (
	"math"
	"math/rand/v2"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

const (
	topicRate = 16   // how many times as likely a word is on pages of its topic
	repeats   = 0.12 // the mean number of further occurrences, where the rate is low
	perRate   = 0.5  // what each unit of the rate adds to it

	// A site with fewer expected postings is drawn as a whole: at most one in a hundred such sites
	// has two, which then need not be on one page.
	wholeSite = 0.02
)

// A lister draws the postings of one word.
type lister struct {
	d       *documents
	w       word
	r       *rand.PCG
	rng     *rand.Rand    // uses r
	rates   [1024]float32 // equally likely values of site(t), and of page(t)
	base    float32
	left    float64 // of the rates to be skipped up to the next posting
	builder postings.Builder

	// The first held postings here are not in builder yet.
	docs, tfs [postings.BlockSize]uint32
	codes     [postings.BlockSize]uint8
	held      int
}

// list draws the list of a word. It has at least one posting.
func (d *documents) list(w word, o *Options) *postings.List {
	l := &lister{d: d, w: w, r: random(o, drawList, uint64(w.number)), builder: postings.Builder{Codec: o.Codec}}
	l.rng = rand.New(l.r)
	l.drawRates()
	l.base = l.fit()
	l.left = l.rng.ExpFloat64()
	for i := range d.sites[:len(d.sites)-1] {
		l.site(i)
	}
	if l.builder.Len()+l.held == 0 {
		l.add(l.rng.Uint32N(o.Docs), 0)
	}
	l.flush()
	return l.builder.View(postings.MaxDoc)
}

// drawRates fills the table, whose mean is 1 exactly.
func (l *lister) drawRates() {
	a, total := shape(l.w.share), 0.0
	var drawn [1024]float64
	for i := range drawn {
		drawn[i] = gamma(l.rng, a)
		total += drawn[i]
	}
	for i, v := range drawn {
		l.rates[i] = float32(v * float64(len(drawn)) / total)
	}
}

// fit finds base(t): the value with which the word is as frequent in a sample of documents as it
// should be.
func (l *lister) fit() float32 {
	var sample [2048]float64
	for i := range sample {
		rate := l.rate() * l.rate()
		if i < len(sample)/topics {
			rate *= topicRate
		}
		sample[i] = float64(rate * l.d.ratio[l.d.norms[l.rng.IntN(len(l.d.norms))]])
	}
	low, high := l.w.share/16, 1e6
	for high > 1.01*low {
		base, present := math.Sqrt(low*high), 0.0
		for _, x := range sample {
			present -= math.Expm1(-base * x)
		}
		if present > l.w.share*float64(len(sample)) {
			high = base
		} else {
			low = base
		}
	}
	return float32(high)
}

func (l *lister) rate() float32 { return l.rates[l.r.Uint64()>>54] }

// site draws the postings of one site.
func (l *lister) site(i int) {
	s, end := &l.d.sites[i], l.d.sites[i+1].page
	rate := l.base * l.rate()
	expected := rate * s.length
	if s.topic == uint8(l.w.topic) {
		expected *= 1 + pageTopic*(topicRate-1)
	}
	if expected < wholeSite {
		if l.left -= float64(expected); l.left < 0 {
			l.left = l.rng.ExpFloat64()
			first := l.d.pages[s.page].doc
			l.add(first+l.rng.Uint32N(l.d.pages[end].doc-first), 0)
		}
		return
	}
	for j := s.page; j < end; j++ {
		p := &l.d.pages[j]
		here := rate * l.rate()
		if p.topic == uint8(l.w.topic) {
			here *= topicRate
		}
		if expected := float64(here * p.length); expected < l.left {
			l.left -= expected
		} else {
			l.page(p.doc, l.d.pages[j+1].doc, here)
		}
	}
}

// page draws the postings of a page. The remaining distance is memoryless: after a posting it is
// drawn anew.
func (l *lister) page(doc, end uint32, rate float32) {
	for ; doc < end; doc++ {
		x := rate * l.d.ratio[l.d.norms[doc]]
		if l.left -= float64(x); l.left < 0 {
			l.left = l.rng.ExpFloat64()
			l.add(doc, x)
		}
	}
}

// add draws the frequency of a posting.
func (l *lister) add(doc uint32, x float32) {
	code := l.d.norms[doc]
	tf := uint32(1)
	mean := repeats + float64(perRate*float64(x))
	again := mean / (1 + mean)
	most := max(1, blockmax.CodeLength(code))
	for u, p := unit(l.r), again; u < p && tf < most; p *= again {
		tf++
	}
	l.docs[l.held], l.tfs[l.held], l.codes[l.held] = doc, tf, code
	if l.held++; l.held == len(l.docs) {
		l.flush()
	}
}

// flush adds the postings that are held.
func (l *lister) flush() {
	l.builder.AddAll(l.docs[:l.held], l.tfs[:l.held], l.codes[:l.held])
	l.held = 0
}
