package aggregate

import "github.com/riffle-search/riffle/columns"

// A Collector adds documents to a run, for one goroutine. It keeps a state for the segment at hand.
type Collector struct {
	run   *Run
	state *state // nil before the first documents
	tiles int    // added to the state
	set   tileSet
	list  []uint16
	in    input // of the nodes
}

// Matches are the documents of a tile that match.
type Matches struct {
	Segment, Tile int
	Count         int // of the documents, at least 1
	Set           *[tileWords]uint64
	List          []uint16 // the same documents, ascending, or nil

	// Scores are those of the documents, by their number in the tile; nil without scores.
	Scores *[columns.TileDocs]uint32
}

// Collector returns a new collector.
func (r *Run) Collector() *Collector { return &Collector{run: r} }

// weighTiles is the number of tiles after which the memory of a state is counted again.
const weighTiles = 16

// everyDoc is all documents of a tile that is not the last of its segment.
var everyDoc = func() (set tileSet) {
	for i := range set {
		set[i] = ^uint64(0)
	}
	return set
}()

// Add adds the documents of a tile, of which no collector has had any. They are not kept.
func (c *Collector) Add(m *Matches) error {
	r := c.run
	if c.state == nil || c.state.segment != m.Segment {
		if err := r.absorb(c.state); err != nil {
			return err
		}
		c.state, c.tiles = r.newState(m.Segment), 0
	}
	s := c.state
	s.scores = m.Scores
	segment := &r.segments[m.Segment]
	in := &c.in
	*in = input{tile: m.Tile, all: &everyDoc, docsOfAll: tileDocs, set: m.Set, list: m.List, n: m.Count}
	if left := int(segment.Docs) - m.Tile*tileDocs; left < tileDocs {
		in.all, in.docsOfAll = new(tileSet), left
		for i := range in.all {
			in.all[i] = 1<<max(0, min(64, left-64*i)) - 1
		}
	}
	chosen := -1
	for i, n := range s.nodes {
		if number := r.sets[i]; number != chosen {
			chosen = number
			in.set, in.list, in.n = m.Set, m.List, m.Count
			if bits := segment.Sets[number]; bits != nil {
				in.set, in.list, in.n = c.among(m, bits)
			}
		}
		if in.n == 0 {
			continue
		}
		if err := n.collect(in); err != nil {
			return r.at(r.roots[i].Place, err)
		}
	}
	if c.tiles++; c.tiles%weighTiles == 0 {
		return s.weigh()
	}
	return nil
}

// among returns those of the documents of a tile that are in a set of the segment, as a list where they come
// as one, and their number.
func (c *Collector) among(m *Matches, bits []uint64) (set *tileSet, list []uint16, n int) {
	c.set = tileSet{}
	words := bits[min(len(bits), m.Tile*tileWords):]
	if m.List == nil {
		copy(c.set[:], words)
		for i, w := range m.Set {
			c.set[i] &= w
		}
		return &c.set, nil, count(&c.set)
	}
	if c.list == nil {
		c.list = make([]uint16, 0, tileDocs)
	}
	list = c.list[:0]
	for _, d := range m.List {
		if at := int(d / 64); at < len(words) && words[at]>>(d%64)&1 == 1 {
			c.set[at] |= 1 << (d % 64)
			list = append(list, d)
		}
	}
	return &c.set, list, len(list)
}

// End adds what the collector has to the run. Results has its error. The collector must not be used
// again.
func (c *Collector) End() {
	err := c.run.absorb(c.state)
	c.state = nil
	if err != nil {
		c.run.fail(err)
	}
}
