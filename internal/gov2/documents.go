package gov2

import (
	"math"
	"math/rand/v2"

	"github.com/riffle-search/riffle/blockmax"
)

const (
	siteDocs  = 256 // mean
	pageDocs  = 16  // mean
	pageTopic = 0.7 // share of a site's pages that have its topic
)

// documents are what all lists share.
type documents struct {
	norms   []uint8
	average float64
	ratio   [256]float32 // length over average by length code

	sites []site
	pages []page // and one after the last
}

// A site is consecutive documents with much in common; its pages end where those of the next begin.
type site struct {
	page   uint32  // its first
	topic  uint8   //
	length float32 // of its documents, in averages
}

type page struct {
	doc    uint32 // its first
	topic  uint8
	length float32
}

func newDocuments(o *Options) *documents {
	d := &documents{norms: make([]uint8, o.Docs)}
	d.drawLengths(o)
	d.drawSites(rand.New(random(o, drawDocuments, 0)), o.Docs)
	for i := range d.pages[:len(d.pages)-1] {
		for _, code := range d.norms[d.pages[i].doc:d.pages[i+1].doc] {
			d.pages[i].length += d.ratio[code]
		}
	}
	for i := range d.sites[:len(d.sites)-1] {
		for _, p := range d.pages[d.sites[i].page:d.sites[i+1].page] {
			d.sites[i].length += p.length
		}
	}
	return d
}

// drawLengths draws length codes from a table of equally likely ones.
func (d *documents) drawLengths(o *Options) {
	var codes [1 << 14]uint8
	for i := range codes {
		codes[i] = blockmax.LengthCode(uint32(lengthAt((float64(i) + 0.5) / float64(len(codes)))))
	}
	r := random(o, drawLengths, 0)
	var counts [256]int
	for i := range d.norms {
		d.norms[i] = codes[r.Uint64()>>50]
		counts[d.norms[i]]++
	}
	for code, n := range counts {
		d.average += float64(n) * float64(blockmax.CodeLength(uint8(code))) / float64(len(d.norms))
	}
	for code := range d.ratio {
		d.ratio[code] = float32(float64(blockmax.CodeLength(uint8(code))) / d.average)
	}
}

// drawSites divides the documents. The last site and the last page are empty: they mark the end of
// the others.
func (d *documents) drawSites(rng *rand.Rand, docs uint32) {
	size := func(mean float64) uint32 { return 1 + uint32(rng.ExpFloat64()*(mean-1)) }
	for doc := uint32(0); doc < docs; {
		end := min(docs, doc+size(siteDocs))
		s := site{page: uint32(len(d.pages)), topic: uint8(rng.IntN(topics))}
		for doc < end {
			p := page{doc: doc, topic: s.topic}
			if rng.Float64() >= pageTopic {
				p.topic = uint8(rng.IntN(topics))
			}
			d.pages = append(d.pages, p)
			doc = min(end, doc+size(pageDocs))
		}
		d.sites = append(d.sites, s)
	}
	d.sites = append(d.sites, site{page: uint32(len(d.pages))})
	d.pages = append(d.pages, page{doc: docs})
}

// gamma draws from the gamma distribution of the given shape and mean 1 (Marsaglia and Tsang,
// 2000).
func gamma(rng *rand.Rand, shape float64) float64 {
	if shape < 1 {
		return gamma(rng, shape+1) * (shape + 1) / shape * math.Pow(unitOf(rng), 1/shape)
	}
	d := shape - 1./3
	c := 1 / math.Sqrt(9*d)
	for {
		x := rng.NormFloat64()
		v := 1 + float64(c*x)
		if v = v * v * v; v > 0 && math.Log(unitOf(rng)) < float64(x*x)/2+d-float64(d*v)+float64(d*math.Log(v)) {
			return d * v / shape
		}
	}
}

func unitOf(rng *rand.Rand) float64 { return 1 - rng.Float64() }
