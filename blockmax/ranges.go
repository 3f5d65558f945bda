package blockmax

import (
	"sync"
	"sync/atomic"

	"github.com/riffle-search/riffle/postings"
)

// WordDocs is the number of documents under one bound of Ranges: a word of a bitset. A tile has 64
// words.
const WordDocs = 64

// Ranges bound the postings of a list by document, as Bounds do by block. They hold the highest
// impact in each word and in each tile of documents, in 8 bits (Coarse). They are tighter than
// bounds of blocks, because the words of all lists begin at the same documents. So lists can be
// added up word by word, 16 at a step. A block of 128 postings is as narrow as two words only where
// every document has the term. On gutenberg-a, with the final threshold known, on average 329 of
// 3,125 words can hold one of the ten best documents of a query, and 779 documents in them must be
// scored. With ranges of 512 documents these are 1,694. (Dimopoulos, Nepomnyachiy and Suel, A
// Candidate Filtering Mechanism for Fast Top-K Query Processing on Modern CPUs, 2013.)
//
// They take a byte for every 64 documents and are made from the postings. They are never stored: an
// executor makes them for the lists that are often used.
type Ranges struct {
	Word  []uint8  // of each word; 0 for a word without postings. Padded to whole tiles
	Tile  []uint8  // of each tile; padded to whole runs of 64 tiles
	First []uint32 // for each tile that Word covers, and one more, the first block that reaches it
	Best  Best
	Peaks []Peak // the best postings of the list, at most MaxPeaks, the best first
}

// A Peak is one of the best postings of a list.
type Peak struct {
	Doc    uint32
	Impact uint16
}

// MaxPeaks is how many of its best postings a list remembers. They take a tenth of the memory of
// its bounds by word in an index of 200,000 documents. Where 20 % are deleted, 13 of them tell what
// ten documents reach.
const MaxPeaks = 32

// bytes returns the memory that the ranges take.
func (r *Ranges) bytes() int {
	return len(r.Word) + len(r.Tile) + 4*len(r.First) + 2*len(r.Best) + 8*len(r.Peaks)
}

// Add includes one more posting, in a tile that the ranges cover. It must be called before they are
// shared.
func (r *Ranges) Add(doc uint32, impact uint16) {
	coarse, word := Coarse(impact), doc/WordDocs
	r.Word[word] = max(r.Word[word], coarse)
	r.Tile[word/64] = max(r.Tile[word/64], coarse)
	at := len(r.Peaks)
	for at > 0 && r.Peaks[at-1].Impact < impact {
		at--
	}
	if at < len(r.Peaks) {
		copy(r.Peaks[at+1:], r.Peaks[at:])
		r.Peaks[at] = Peak{doc, impact}
	}
}

// Coarse rounds the impact of a posting up to 8 bits, in units of 257. It is never 0, which stands
// for no posting.
func Coarse(impact uint16) uint8 { return uint8((max(1, uint32(impact)) + 256) / 257) }

// CoarseUnit is the score of one unit of Coarse under weight w:
//
//	Contribution(w, impact) <= CoarseUnit(w) * Coarse(impact)
//
// The right side is below w + 256.
func CoarseUnit(w uint32) uint32 { return uint32((uint64(w)*257 + 65535) >> 16) }

// Refined returns the ranges of the list, or nil until Refine sets them.
func (b *Bounds) Refined() *Ranges { return b.ranges.Load() }

// Refine gives the ranges to all later users of these bounds.
func (b *Bounds) Refine(r *Ranges) {
	b.ranges.Store(r)
	b.given.Store(true)
	b.maker.Store(nil)
}

// Spend notes that n blocks of the list have been decoded for a query. It reports whether the total
// exceeds limit. Making ranges decodes every block, so from then on it costs no more than was already
// spent.
func (b *Bounds) Spend(n, limit int64) (due bool) {
	return n > 0 && b.spent.Add(n) > limit && !b.given.Load()
}

// Make extends the list's ranges, unless another goroutine does so at the moment. extend reports
// whether they are complete; then all later users get them. After an error there will be no ranges.
func (b *Bounds) Make(begin func() *RangeMaker, extend func(m *RangeMaker) (done bool, err error)) error {
	if !b.making.TryLock() {
		return nil
	}
	defer b.making.Unlock()
	if b.given.Load() {
		return nil
	}
	m := b.maker.Load()
	if m == nil {
		m = begin()
		b.maker.Store(m)
	}
	done, err := extend(m)
	if err != nil {
		b.given.Store(true)
		b.maker.Store(nil)
		return err
	}
	if done {
		b.Refine(m.finish())
	}
	return nil
}

// Bytes returns the memory that the bounds take, with their ranges.
func (b *Bounds) Bytes() int {
	n := 2*len(b.Extent) + 2*len(b.Block) + 2*len(b.Best)
	if b.onDemand != nil {
		n += 4 * len(b.onDemand.ready)
	}
	if sheets := b.sheets.Load(); sheets != nil {
		n += (8 + 64) * len(*sheets)
	}
	return n + b.RangesBytes()
}

// RangesBytes returns the part of Bytes that the ranges take.
func (b *Bounds) RangesBytes() int {
	if r := b.Refined(); r != nil {
		return r.bytes()
	}
	if m := b.maker.Load(); m != nil {
		return m.bytes()
	}
	return 0
}

// Reached returns an impact that at least k postings of the list reach, as high as is known. So k
// documents score that much, and a threshold may begin there. It is 0 when no such impact is known.
func (b *Bounds) Reached(k int) uint16 {
	best := b.Best.at(k)
	if r := b.Refined(); r != nil {
		if k <= len(r.Peaks) {
			return r.Peaks[k-1].Impact
		}
		best = max(best, r.Best.at(k))
	}
	return best
}

// A Best is the result of Tally.Best: impacts that 1, 2, 5, 10, ... (bestCounts) different postings
// of a list reach. It ends where the list has fewer.
type Best []uint16

var bestCounts = [...]int{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, MaxK}

func (b Best) at(k int) uint16 {
	for i, impact := range b {
		if bestCounts[i] >= k {
			return impact
		}
	}
	return 0
}

// A Tally counts impacts of different postings of a list. The zero value is empty.
type Tally struct{ counts [256]uint32 } // by the upper 8 bits of the impact

// Add counts one more posting.
func (t *Tally) Add(impact uint16) { t.counts[impact>>8]++ }

// addCoarse counts a posting of which only the coarse impact is known: as the least that it stands for.
func (t *Tally) addCoarse(c uint8) { t.counts[(uint32(c-1)*257+1)>>8]++ }

// Best returns the impacts that the counted postings reach.
func (t *Tally) Best() (b Best) {
	seen := 0
	for i := 255; i >= 0; i-- {
		for seen += int(t.counts[i]); len(b) < len(bestCounts) && seen >= bestCounts[len(b)]; {
			b = append(b, uint16(i)<<8)
		}
	}
	return b
}

// refinement is the data that Bounds gain from use.
type refinement struct {
	ranges atomic.Pointer[Ranges]
	sheets atomic.Pointer[[]atomic.Pointer[[64]uint8]]
	last   atomic.Uint32              // 1 + the last document of the list; 0 until it is needed
	spent  atomic.Int64               // blocks decoded
	given  atomic.Bool                // there are ranges, or will never be
	making sync.Mutex                 // held while ranges are extended
	maker  atomic.Pointer[RangeMaker] // of ranges that are not complete
}

// LastDoc returns the last document of the list of these bounds, which must not be empty. Every
// query needs it, and the end of a long directory is rarely in a near cache.
func (b *Bounds) LastDoc(l *postings.List) uint32 {
	if last := b.last.Load(); last > 0 {
		return last - 1
	}
	last := l.Last[l.Blocks()-1]
	b.last.Store(last + 1)
	return last
}

// Follow takes over what was spent on the list when it was shorter. It must be called before the
// bounds are shared.
func (b *Bounds) Follow(old *Bounds) { b.spent.Store(min(old.spent.Load(), int64(len(b.Block)))) }

// Tiles returns how many tiles the documents take.
func Tiles(docs uint32) int { return int((uint64(docs) + TileDocs - 1) / TileDocs) }
