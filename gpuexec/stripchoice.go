package gpuexec

// Queries over flat lists can go strip by strip (kernels/strips.cu) or block by block. A batch decides
// once for all of them, since it pays for the passes of either.

// maxStripTerms is how many terms a part by strips may have: one a lane.
const maxStripTerms = 32

// A stripLoad is what those queries of a batch come to that can go by strips.
type stripLoad struct {
	queries  int
	tiles    int  // of all parts
	postings int  // of all lists
	appends  bool // a query appends what it finds
	unread   bool // of a flat list, some blocks were not resident when a batch last read them
}

func (l *stripLoad) add(of stripLoad) {
	l.queries += of.queries
	l.tiles += of.tiles
	l.postings += of.postings
	l.appends = l.appends || of.appends
	l.unread = l.unread || of.unread
}

// longQuery is from how many tiles on a query is long: it soon has a threshold that spares most of them.
const longQuery = 512

// manyPostings is how many postings of a query make a list without a lock worth its passes.
const manyPostings = 100_000

// byStrips reports whether queries over flat lists go by strips.
//
// The passes by strips last as long as their longest tile, which one warp takes, however few queries
// there are. Those by blocks share out a tile over a thread block, but decode all postings. So it
// counts how many tiles a warp gets. On an H200, which has 24 such warps on each of 132 multiprocessors,
// both are equally fast with 8,400 to 18,800 tiles, 2.6 to 6 for a warp: in batches of 2,000 to 2,800
// queries over 60,000 documents, as in those of 180 to 300 over a million (interpolated from batches
// of 256 and 2,048 in bench/results/2026-11-23-gpu-small.md).
//
// Two things move that border (2026-11-23-gpu-choice.md there). Strips skip what cannot win, and long
// queries skip most: with 1,526 tiles each, 2 and 8 queries are 0.95 to 1.35 times as fast by strips as by
// blocks; with 305, 1 to 16 are 0.83 to 0.98 times as fast, with 61 tiles 0.52 to 0.72 times. And by blocks
// hits are inserted under a lock: for k = 100, batches of 16 and 256 are 1.65 to 2.2 times as fast by
// strips with 149,000 postings for each query, 0.77 to 1.07 with 56,000, and 0.41 to 0.75 with 9,000.
func (s Shape) byStrips(l stripLoad) bool {
	switch {
	case s.StripTiles < 0, l.unread: // blocks that are not there would have to be copied
		return true
	case l.appends && l.postings >= manyPostings*l.queries:
		return true
	case l.queries > 0 && l.tiles >= longQuery*l.queries:
		return true
	}
	return int64(l.tiles) >= int64(s.StripTiles)*int64(s.Multiprocessors)
}

// chooseStrips decides how the queries go. No query reads the blocks of flat lists that only queries by
// strips have.
func (b *batch) chooseStrips() {
	var all stripLoad
	for i := range b.queries {
		if b.queries[i].byTree || b.queries[i].counted {
			continue
		}
		load, can := b.canGoByStrips(&b.queries[i], (*flats).has)
		if b.queries[i].byStrips = can; can {
			all.add(load)
		}
	}
	by := b.shape.byStrips(all)
	for i := range b.queries {
		b.queries[i].byStrips = b.queries[i].byStrips && by
	}
	for i := range b.parts {
		pt := &b.parts[i]
		q := &b.queries[pt.query]
		strips, expected := q.byStrips || q.byTree || q.counted, q.expected
		if strips && pt.way == byLeadBlocks {
			pt.way = byAndTiles
		}
		for _, t := range b.terms[pt.from:pt.to] {
			if e := &b.lists.entries[t.entry]; !strips || !b.flat.flats.has(e.known) {
				e.read = true
				e.all = e.all || expected // the extents that matter were not determined
			}
		}
	}
}

// fewTiles: the lists of a segment of so many tiles are short, whatever their share of documents.
const fewTiles = 8

// canGoByStrips returns what a query comes to, and whether it could go by strips if the lists that has
// reports were flat: one of its lists is, and the others are, too, or need not be, since they are short
// or travel with each batch. Otherwise one list of the segment in memory would decide for all segments.
func (b *batch) canGoByStrips(q *query, has func(*flats, *knownList) bool) (l stripLoad, can bool) {
	if !b.algorithm.byStrips() {
		return l, false
	}
	l.queries, l.appends = 1, b.shape.appends(q.plan.K)
	for _, pt := range b.parts[q.from:q.to] {
		if pt.from < pt.to {
			l.tiles += int(b.lists.entries[b.terms[pt.from].entry].tiles)
		}
		if pt.to-pt.from > maxStripTerms {
			return l, false
		}
		for _, t := range b.terms[pt.from:pt.to] {
			e := &b.lists.entries[t.entry]
			l.postings += int(e.known.count)
			switch {
			case has(b.flat.flats, e.known):
				can = true
				l.unread = l.unread || !e.known.whole.Load()
			case e.known.key != 0 && e.tiles > fewTiles && b.flat.flats.worth(e.known, e.tiles):
				return l, false
			}
		}
	}
	return l, can
}
