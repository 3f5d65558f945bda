package dispatch

import (
	"math"

	"github.com/riffle-search/riffle/blockmax"
)

// Features are what is known of a query before it runs: those of Ding 2009, the bytes of its lists,
// and what a sample of its bounds says about what pruning will leave.
type Features struct {
	Terms    int   // lists, over all segments
	Postings int64 // in all of them
	Shortest int64 // of each segment's shortest list, summed
	Second   int64 // of each segment's second shortest
	Visits   int64 // of tiles by lists, at most, times the lists
	Blocks   int
	Bytes    int64 // of payload
	K        int
	All      bool // documents must have all terms, at least in the first pass
	Tree     bool
	Total    bool // all documents that match are counted
	Count    bool // and none is ranked

	sampled bool // Sample has set the rest
	led     bool // the shortest list is so sparse that its blocks lead, and not tiles
	sample
}

// FeaturesOf returns the features of a plan, without those of Sample. It takes some nanoseconds a
// list.
func FeaturesOf(p *Plan) (f Features) {
	f.read(p)
	return f
}

// read sets the features of a plan. They must be zero before. FeaturesOf returns a copy; the stack of a new
// goroutine is small, and grew for copies of features, vectors and jobs.
func (f *Features) read(p *Plan) {
	f.K, f.All = p.K, p.Tree == nil && p.Mode != blockmax.Or
	f.Tree, f.Total = p.Tree != nil, p.CountAll
	for s := range p.Segments {
		first, second := int64(math.MaxInt64), int64(math.MaxInt64)
		tiles := int64(p.Segments[s].Docs+blockmax.TileDocs-1) / blockmax.TileDocs
		for t := range p.Segments[s].Terms {
			term, n := &p.Segments[s].Terms[t], int64(0)
			if term.Bounds != nil {
				n = int64(term.List.Count)
				f.Terms++
				f.Blocks += term.List.Blocks()
				f.Bytes += listBytes(term.List)
				f.Visits += min(tiles, n) * int64(len(p.Segments[s].Terms))
			}
			f.Postings += n
			if n < first {
				first, second = n, first
			} else {
				second = min(second, n)
			}
		}
		if second == math.MaxInt64 {
			second = first
		}
		if first != math.MaxInt64 {
			f.Shortest, f.Second = f.Shortest+first, f.Second+second
		}
	}
}

// A path is a way in which the CPU answers queries. Each has prices of its own.
type path uint8

const (
	anyOf    path = iota // OR, trees: what has not been sampled
	allOf                // AND that has not been sampled
	union                // OR of several lists, tile by tile
	inTiles              // AND of several lists, tile by tile
	byLead               // AND of several lists, by the blocks of the shortest
	oneTile              // one list, tile by tile
	oneLead              // one list, block by block
	fewPaths             // their number

	// Those that are sampled have other prices when K is above fewHits: the threshold then rises later
	// and less above the one that is known in advance.
	many  = fewPaths - union
	paths = fewPaths + many
)

const fewHits = 100

// pathNames are the names of paths in a saved model.
var pathNames = [paths]string{
	"or", "and", "union", "tiles", "lead", "one_tiles", "one_lead",
	"union_many", "tiles_many", "lead_many", "one_tiles_many", "one_lead_many",
}

func (f *Features) path() (p path) {
	switch {
	case !f.sampled && f.All:
		return allOf
	case !f.sampled:
		return anyOf
	case f.Terms == 1 && f.led:
		p = oneLead
	case f.Terms == 1:
		p = oneTile
	case !f.All:
		p = union
	case f.led:
		p = byLead
	default:
		p = inTiles
	}
	if f.K > fewHits {
		p += many
	}
	return p
}

// kind is that of the prices on a device.
func (f *Features) kind() int {
	if f.All {
		return 1
	}
	return 0
}

// The features of a query as a vector, in this order. Prices are nanoseconds for each.
const (
	perQuery        = iota
	perTerm         // list
	perRoot         // square root of the postings: work grows more slowly than lists
	perHit          // that can be returned, at most K
	perVisit        // of a tile by a list, times the lists
	perPosting      //
	perRootShortest // square root of the postings of the shortest list
	perShortest     // posting of the shortest list
	perSecond       // posting of the second shortest

	// Of devices:
	perByte  // copied to the device
	perBatch // shared by the batch's queries
	perLog   // of the batch's queries: few do not fill the device

	perTree    // posting of a tree
	perTotal   // posting, to count all documents that match and rank some
	perBit     // posting, to count them and rank none
	perBitTree // the same for trees, besides

	// Of Sample, on a core:
	perSparse     // posting of lists that are decoded whole
	perSparseList // such list
	perTile       // visit of a tile by a list
	perLive       // word of 64 documents whose bounds reach the threshold
	perEssential  // posting of lists that are essential, in such a word
	perOther      // list in a word of a visited tile where it is not essential
	perHighTile   // the same four with a higher threshold
	perHighLive
	perHighEssential
	perHighOther
	perLead      // block of the shortest list
	perLiveBlock // of them, whose bounds reach the threshold
	perLiveOther // such a block, times the other lists
	perLookup    // document looked up in a list
	perTouched   // block in which documents are looked up
	perCandidate // document that could be in a list, by the lengths of those before it
	prices
)

// priceNames are the names of prices in a saved model.
var priceNames = [prices]string{
	"query", "term", "root_posting", "hit", "visit", "posting", "root_shortest", "shortest", "second", "byte", "batch", "log_batch", "tree_posting", "counted_posting", "bit_posting", "bit_tree_posting",
	"sparse_posting", "sparse_list", "tile", "live_word", "essential_posting", "other_word", "high_tile", "high_live_word", "high_essential_posting", "high_other_word",
	"lead_block", "live_block", "live_block_other", "lookup", "touched_block", "candidate",
}

type vector [prices]float64

// set makes an empty vector that of the features without those of Sample.
func (f *Features) set(v *vector) {
	hits := f.Postings
	if f.All {
		hits = f.Shortest
	}
	v[perQuery], v[perTerm], v[perShortest], v[perSecond] = 1, float64(f.Terms), float64(f.Shortest), float64(f.Second)
	if !f.Count {
		v[perRoot], v[perRootShortest] = math.Sqrt(float64(f.Postings)), math.Sqrt(float64(f.Shortest))
		v[perHit], v[perVisit], v[perPosting] = float64(min(hits, int64(f.K))), float64(f.Visits), float64(f.Postings)
	}
	switch {
	case f.Count: // both sides count bits
		v[perBit] = float64(f.Postings)
		if f.Tree {
			v[perBitTree] = float64(f.Postings)
		}
		return
	case f.Total:
		v[perTotal] = float64(f.Postings)
	}
	if f.Tree {
		v[perTree] = float64(f.Postings)
	}
}

// setOnCPU is set with the features of Sample, which have prices on the CPU alone.
func (f *Features) setOnCPU(v *vector) {
	f.set(v)
	if f.sampled {
		f.sample.addTo(v)
	}
}
