package dispatch

import (
	"encoding/binary"
	"math"

	"github.com/riffle-search/riffle/blockmax"
)

// A sample estimates what pruning will leave of a query: how many tiles, words and blocks have bounds
// that reach a threshold. The threshold is the one that a search begins with (blockmax.Plan.Seed),
// which k postings of one list reach, or one that is higher by a quarter of what is left up to the
// lists' maxima. Bounds are those of the words of some tiles, for lists that have them
// (blockmax.Ranges), and those of some blocks of the shortest list.
type sample struct {
	sparse      float64 // postings of lists that are too rare for bounds of words: they are decoded whole
	sparseLists float64
	at          [2]reaching // by threshold

	// Of AND, and of one list that is read block by block:
	blocks  float64 // of the shortest list
	live    float64 // of them, with bounds that reach the threshold
	others  float64 // live times the other lists
	lookups float64 // documents that are looked up in the others
	touched float64 // blocks that have these
	hopeful float64 // documents that the others could hold, as far as lengths tell
}

// reaching is what reaches a threshold.
type reaching struct {
	tiles     float64 // visits of tiles by lists
	words     float64 // in which a document can reach the threshold
	essential float64 // OR: postings of essential lists there. AND: of the shortest list
	others    float64 // lists that are not essential in a word of a visited tile
}

func (s *sample) addTo(v *vector) {
	v[perSparse], v[perSparseList] = s.sparse, s.sparseLists
	low, high := &s.at[0], &s.at[1]
	v[perTile], v[perLive], v[perEssential], v[perOther] = low.tiles, low.words, low.essential, low.others
	v[perHighTile], v[perHighLive], v[perHighEssential], v[perHighOther] = high.tiles, high.words, high.essential, high.others
	v[perLead], v[perLiveBlock], v[perLiveOther] = s.blocks, s.live, s.others
	v[perLookup], v[perTouched], v[perCandidate] = s.lookups, s.touched, s.hopeful
}

const (
	// How many groups of words are sampled, each of one tile, and how many words are in a group.
	sampledGroups = 16
	groupWords    = 8

	wordsOfGroup = 64 / groupWords // for how many groups of a tile one stands

	sampledBlocks = 16 // of the shortest list
	sampledLists  = 16 // of more, those with the lowest bounds are left out

	// The CPU goes by the blocks of the shortest list if that has a posting for so many documents at
	// most; of one list only if it has few blocks (cpuexec: sparseLead, fewBlocks).
	leadDocs   = 32
	leadBlocks = 16

	// Lists with less than one posting for so many documents get no bounds of words, and are decoded
	// whole (cpuexec: sparsest, exactPostings). Others get them by use.
	sparsest = 256
)

// Sample sets the features that are read from bounds, for queries with a price by path: those that
// are neither trees nor counts. It takes some two microseconds, so it should be asked only when a choice
// depends on it.
func (f *Features) Sample(p *Plan) {
	if f.Tree || f.Count || f.empty() || f.Terms == 0 || len(p.Weights) == 0 {
		return
	}
	f.sampled, f.sample = false, sample{}
	docs := 0.0
	for i := range p.Segments {
		docs += float64(p.Segments[i].Docs)
	}
	f.led = float64(f.Shortest)*leadDocs < docs && (f.All || f.Terms == 1 && f.Blocks <= leadBlocks)
	seed := p.Seed()
	for i := range p.Segments {
		seg := &p.Segments[i]
		var x sampler
		if !x.open(p, seg, &f.sample) || f.All && x.count < len(seg.Terms) {
			continue
		}
		f.sampled = true
		x.thresholds(seed)
		groups := int(math.Ceil(sampledGroups * float64(seg.Docs) / docs))
		if f.All || f.led {
			x.lead(&f.sample)
		}
		switch {
		case !f.All && !f.led:
			x.union(&f.sample, groups)
		case f.All && !f.led:
			x.common(&f.sample, groups)
		}
	}
}

// A sampler is the lists of a query in a segment.
type sampler struct {
	docs    float64
	words   float64                   // of 64 documents
	most    uint32                    // sum of the lists' maxima
	rest    uint32                    // of lists without bounds of words
	count   int                       // of the lists
	listed  int                       // of them, below
	byLen   [sampledLists]sampledList // shortest first
	weakest [sampledLists]uint8       // indices of the same, those with the lowest maxima first
	ranged  int                       // of them that are not sparse
	need    [2]uint32
}

// A sampledList is one of them.
type sampledList struct {
	term   *blockmax.Term
	ranges *blockmax.Ranges // or nil
	sparse bool             // it is too rare for these
	weight uint32
	unit   uint32
	max    uint32
	count  float64

	// If its documents are spread evenly:
	perWord float64 // postings in a word that has any
	inTiles uint32  // share of the tiles that have any, in 1/2^32
	guess   uint8   // what bounds it there if nothing is known, in coarse units
}

// open reads what is known of the lists, and adds those without bounds of words to a sample. It
// reports whether there are any.
func (x *sampler) open(p *Plan, seg *blockmax.Segment, to *sample) bool {
	x.docs, x.words = float64(seg.Docs), math.Ceil(float64(seg.Docs)/blockmax.WordDocs)
	for t := range seg.Terms {
		term := &seg.Terms[t]
		if term.Bounds == nil {
			continue
		}
		x.count++
		w := p.Weights[t]
		l := sampledList{term: term, ranges: term.Bounds.Refined(), weight: w, unit: blockmax.CoarseUnit(w), max: blockmax.Contribution(w, term.Bounds.List), count: float64(term.List.Count)}
		x.most += l.max
		if l.sparse = l.ranges == nil && l.count*sparsest < x.docs; l.sparse {
			x.rest += l.max
			to.sparse += l.count
			to.sparseLists++
		}
		if x.listed == sampledLists {
			continue
		}
		at := x.listed
		for x.listed++; at > 0 && x.byLen[at-1].count > l.count; at-- {
			x.byLen[at] = x.byLen[at-1]
		}
		x.byLen[at] = l
	}
	for i := range x.byLen[:x.listed] {
		l := &x.byLen[i]
		l.spread(x)
		at := i
		for ; at > 0 && x.byLen[x.weakest[at-1]].max > l.max; at-- {
			x.weakest[at] = x.weakest[at-1]
		}
		x.weakest[at] = uint8(i)
	}
	return x.count > 0
}

// spread sets what follows from the number of postings.
func (l *sampledList) spread(x *sampler) {
	l.perWord = l.count / (x.words * (1 - math.Exp(-l.count/x.words)))
	if !l.sparse {
		x.ranged++
	}
	l.inTiles = uint32((1 - math.Exp(-l.count/(x.words/64))) * math.MaxUint32)
	l.guess = blockmax.Coarse(l.term.Bounds.List / 4 * 3)
}

// thresholds sets the two thresholds.
func (x *sampler) thresholds(seed uint32) {
	x.need = [2]uint32{seed, seed}
	if seed < x.most {
		x.need[1] += (x.most - seed) / 4
	}
}

// lead estimates what the blocks of the shortest list lead to.
func (x *sampler) lead(to *sample) {
	first := &x.byLen[0]
	others := x.most - first.max
	least := uint32(0) // that a posting of the shortest list must contribute
	if x.need[0] > others {
		least = x.need[0] - others
	}
	blocks := float64(first.term.List.Blocks())
	live := blocks * first.term.Bounds.Reaching(first.weight, least, sampledBlocks)
	to.blocks, to.live, to.others = to.blocks+blocks, to.live+live, to.others+float64(live*float64(x.count-1))
	hopeful := first.count
	for i := 1; i < x.listed; i++ {
		l := &x.byLen[i]
		asked := hopeful // those that bitmaps and bounds of this list and the next do not exclude
		for _, f := range x.byLen[i:min(i+2, x.listed)] {
			switch {
			case f.sparse:
			case f.term.List.Bitmap() != nil:
				asked *= f.count / x.docs
			default:
				asked *= f.count / (f.perWord * x.words)
			}
		}
		blocks := float64(l.term.List.Blocks())
		to.lookups += asked
		to.touched += blocks * (1 - math.Exp(-asked/blocks))
		to.hopeful += hopeful
		hopeful *= l.count / x.docs
	}
}

// A wordGroup is some successive words of a tile: number i of a sample of so many tiles.
type wordGroup struct {
	i, tile, word int // the first word is of the segment
}

// groups returns how many groups are sampled when n are wanted, and how many tiles each stands for.
func (x *sampler) groups(n int) (count int, stands float64) {
	tiles := blockmax.Tiles(uint32(x.docs))
	count = min(n, tiles)
	return count, float64(tiles) / float64(count)
}

// group returns group i of n, which are spread evenly.
func (x *sampler) group(i, n int) wordGroup {
	tile := (2*i + 1) * blockmax.Tiles(uint32(x.docs)) / (2 * n)
	return wordGroup{i, tile, 64*tile + i*5%wordsOfGroup*groupWords}
}

// union estimates what an OR visits. Sparse lists count for tiles alone: their postings are read
// anyway, and are in few words.
func (x *sampler) union(to *sample, n int) {
	n, tiles := x.groups(n)
	words := tiles * wordsOfGroup
	low, high := &to.at[0], &to.at[1]
	for i := range n {
		g, sum, ranged, active := x.group(i, n), uint32(0), uint32(0), 0.0
		for _, at := range x.weakest[:x.listed] {
			l := &x.byLen[at]
			if bound := l.tile(g); bound > 0 {
				sum += l.unit * uint32(bound)
				if !l.sparse {
					ranged += l.unit * uint32(bound)
				}
				active++
			}
		}
		if sum >= x.need[0] {
			low.tiles += float64(active * tiles)
		}
		if sum >= x.need[1] {
			high.tiles += float64(active * tiles)
		}
		if ranged == 0 || ranged < x.need[0] {
			continue
		}
		visited := 0.0 // with the higher threshold
		if ranged >= x.need[1] {
			visited = 1
		}
		var sums [groupWords]uint32
		for _, at := range x.weakest[:x.listed] {
			l := &x.byLen[at]
			if l.sparse {
				continue
			}
			present, a, b := addGroup(&sums, l.words(g), l.unit, &x.need)
			low.essential += float64(words * float64(float64(a)*l.perWord))
			high.essential += float64(words * float64(float64(b)*l.perWord))
			low.others += float64(words * float64(present-a))
			high.others += float64(visited * float64(words*float64(present-b)))
		}
		a, b := reach(&sums, &x.need)
		low.words += float64(words * float64(a))
		high.words += float64(words * float64(b))
	}
}

// common estimates where an AND finds all its lists. Sparse lists could be anywhere.
func (x *sampler) common(to *sample, n int) {
	if x.ranged == 0 {
		return
	}
	lead := &x.byLen[0]
	perWord := lead.perWord
	if lead.sparse {
		perWord = lead.count / x.words
	}
	var need [2]uint32
	for i := range need {
		need[i] = max(x.need[i], x.rest) - x.rest
	}
	n, tiles := x.groups(n)
	words := tiles * wordsOfGroup
	low, high := &to.at[0], &to.at[1]
	for i := range n {
		g, sum, all := x.group(i, n), uint32(0), true
		for _, at := range x.weakest[:x.listed] {
			l := &x.byLen[at]
			if l.sparse {
				continue
			}
			bound := l.tile(g)
			if all = bound > 0; !all {
				break
			}
			sum += l.unit * uint32(bound)
		}
		if !all || sum < need[0] {
			continue
		}
		low.tiles += tiles
		if sum >= need[1] {
			high.tiles += tiles
		}
		var sums [groupWords]uint32
		in := uint64(eachByte) // the words in which all lists so far have postings
		for _, at := range x.weakest[:x.listed] {
			l := &x.byLen[at]
			if !l.sparse {
				eight := l.words(g)
				addGroup(&sums, eight, l.unit, &need)
				in &= occupied(eight)
			}
		}
		for j := range sums {
			if in>>(8*j)&0x80 == 0 {
				sums[j] = 0
			}
		}
		a, b := reach(&sums, &need)
		low.words += float64(words * float64(a))
		high.words += float64(words * float64(b))
		low.essential += float64(words * float64(float64(a)*perWord))
		high.essential += float64(words * float64(float64(b)*perWord))
	}
}

// tile bounds the list in the tile of a group, in coarse units. It is 0 where the list has no posting.
// Of a list without bounds of words an earlier search may have kept those of tiles.
func (l *sampledList) tile(g wordGroup) uint8 {
	if l.ranges != nil {
		if g.tile < len(l.ranges.Tile) {
			return l.ranges.Tile[g.tile]
		}
		return 0
	}
	if kept := l.term.Bounds.Sheet(g.tile / 64); kept != nil {
		return kept[g.tile%64]
	}
	if !spread(g.i, l.inTiles) {
		return 0
	}
	return l.guess
}

// words returns the bounds of the words of a group, one in each byte: those of the tile, if there are no
// others.
func (l *sampledList) words(g wordGroup) uint64 {
	if l.ranges == nil {
		return uint64(l.tile(g)) * 0x0101010101010101
	}
	if g.word >= len(l.ranges.Word) {
		return 0
	}
	return binary.LittleEndian.Uint64(l.ranges.Word[g.word:])
}

// spread reports whether thing i is one of a share of all, in 1/2^32, that are spread evenly: multiples
// of the golden ratio are.
func spread(i int, share uint32) bool { return uint32(i+1)*2654435769 < share }

// eachByte has the highest bit of each byte.
const eachByte = 0x8080808080808080

// occupied sets the highest bit of each byte that is not zero.
func occupied(x uint64) uint64 {
	return (x | ((x &^ eachByte) + ^uint64(eachByte))) & eachByte
}

// addGroup adds eight bounds of a list to the sums of a group. It returns in how many words there are
// postings, and in how many of these the sums now reach each threshold.
func addGroup(sums *[groupWords]uint32, eight uint64, unit uint32, need *[2]uint32) (present, low, high int) {
	if eight == 0 {
		return 0, 0, 0
	}
	var n, a, b uint32
	for j := range sums {
		bound := uint32(uint8(eight >> (8 * j)))
		held := (bound + 255) >> 8
		sum := sums[j] + unit*bound
		sums[j] = sum
		n += held
		a += held &^ ((sum - need[0]) >> 31)
		b += held &^ ((sum - need[1]) >> 31)
	}
	return int(n), int(a), int(b)
}

// reach counts the sums that are not zero and reach each threshold.
func reach(sums *[groupWords]uint32, need *[2]uint32) (low, high int) {
	for _, sum := range sums {
		if sum > 0 && sum >= need[0] {
			low++
		}
		if sum > 0 && sum >= need[1] {
			high++
		}
	}
	return low, high
}
