package cpuexec

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// sortSegment adds the matches in the current range of the current segment that can be among the k best.
func (r *run) sortSegment() error {
	s := r.sorter
	if err := s.enter(r); err != nil {
		return s.fail(r, err)
	}
	if b := (bounded{codeRange: s.ofSegment(r)}); s.hopeless(&b, 0, s.docs) {
		r.out.pruned = true
		return nil
	}
	root, err := r.rootOf(r.query.tree, s.scored)
	if err != nil {
		return err
	}
	s.enterSparse(r, root)
	if err := s.eachSheet(r, func(b *bounded) error { return r.sortSheet(root, b) }); err != nil {
		return err
	}
	for _, c := range r.tiled.lists[:r.tiled.count] {
		spent := c.spent
		c.spent = 0
		if !c.plain {
			continue
		}
		if err := c.learn(spent); err != nil {
			return err
		}
	}
	places, err := s.heap.places()
	if err != nil {
		return s.fail(r, err)
	}
	s.job.add(places)
	return nil
}

// fail names the segment of a column that could not be read.
func (s *sorter) fail(r *run, err error) error {
	return &ColumnError{r.at.index, err}
}

// A codeRange is the codes of the first component that documents can have.
type codeRange struct {
	lo, hi uint64
	some   bool
}

var allCodes = codeRange{0, math.MaxUint64, true}

// ofScores returns the codes of documents whose scores have a bound.
func (c *component) ofScores(bound uint32) codeRange {
	return codeRange{c.scoreCode(uint64(bound)), math.MaxUint64, true}
}

// ofSegment returns the codes of all documents of the segment.
func (s *sorter) ofSegment(r *run) codeRange {
	c := &s.comps[0]
	switch {
	case c.bestFirst():
		return c.ofScores(r.at.highest(bestScore(r.query.tree, s.plan, s.index)))
	case !c.narrows():
		return allCodes
	}
	return c.ofKeys(c.least, c.greatest, c.column != nil || c.kind == idPlaceCode, c.hasMissing)
}

// ofKeys returns the codes of documents with keys in least..greatest, if some have any, and of ones
// without a value, if some have none.
func (c *component) ofKeys(least, greatest uint64, some, missing bool) codeRange {
	r := codeRange{lo: math.MaxUint64}
	if some {
		x, y := uint64(0), uint64(0)
		if c.kind == distanceCode {
			x, y = c.ofDistances(least, greatest)
		} else {
			x, y = c.code(least), c.code(greatest)
		}
		r = codeRange{min(x, y), max(x, y), true}
	}
	if missing && c.hasMissing {
		r = codeRange{min(r.lo, c.missing), max(r.hi, c.missing), true}
	}
	return r
}

// ofSheet returns the codes of the documents of a sheet, of which the segment has docs.
func (c *component) ofSheet(sheet int, docs uint32) codeRange {
	if !c.narrows() {
		return allCodes
	}
	if c.kind == idPlaceCode {
		end := min(64*sheet+64, int((docs+tileDocs-1)/tileDocs))
		return c.ofIDPlaces(64*sheet, end)
	}
	if c.column == nil {
		return c.ofKeys(0, 0, false, true)
	}
	least, greatest, ok := c.column.SheetBounds(sheet)
	return c.ofKeys(least, greatest, ok, true)
}

// ofIDPlaces returns the codes of the documents of some tiles, by their ids.
func (c *component) ofIDPlaces(tile, end int) codeRange {
	least, greatest := uint32(math.MaxUint32), uint32(0)
	for ; tile < end; tile++ {
		low, high, err := c.ids.IDPlaceBounds(tile)
		if err != nil {
			return allCodes // reading the tile will meet the error, too
		}
		least, greatest = min(least, low), max(greatest, high)
	}
	return c.ofKeys(uint64(least), uint64(greatest), true, false)
}

// ofTile returns the codes of the documents of a tile, of which the segment has docs.
func (c *component) ofTile(tile int, docs uint32) codeRange {
	if !c.narrows() {
		return allCodes
	}
	if c.kind == idPlaceCode {
		return c.ofIDPlaces(tile, tile+1)
	}
	if c.column == nil {
		return c.ofKeys(0, 0, false, true)
	}
	z, ok := c.column.Zone(tile)
	return c.ofKeys(z.Least, z.Greatest, ok, !ok || z.Docs < int(min(tileDocs, docs-uint32(tile)*tileDocs)))
}

// hopeless reports whether no document of a segment, a sheet or a tile can enter: of those from begin on
// and before end.
func (s *sorter) hopeless(b *bounded, begin, end uint32) bool {
	if b.lo > s.job.reached[s.index].Load() {
		return true
	}
	if s.after.set && s.passed(b, end) {
		return true
	}
	if s.heap.full() {
		root := s.heap.slots[0]
		codes := s.heap.of(root)
		switch {
		case b.lo != codes[0]:
			return b.lo > codes[0]
		case s.comps[0].kind == idCode:
			return false
		case s.heap.n == 1:
			return s.base+begin >= s.heap.docs[root]
		}
		next := s.next(b)
		return next.lo > codes[1] || next.lo == codes[1] && s.byDoc() && s.base+begin >= s.heap.docs[root]
	}
	if !s.limit.set {
		return false
	}
	code, tie := s.limit.first()
	switch {
	case b.lo != code:
		return b.lo > code
	case tie != at:
		return tie == below
	case s.comps[0].kind == idCode:
		return false
	case s.heap.n == 1:
		return uint64(s.base+begin) >= s.limit.doc
	case s.limit.upto == 1:
		return false
	}
	next := s.next(b)
	switch {
	case next.lo != s.limit.codes[1]:
		return next.lo > s.limit.codes[1]
	case s.limit.upto > 2 || s.limit.cut == behind:
		return false
	}
	return s.limit.cut == below || s.byDoc() && uint64(s.base+begin) >= s.limit.doc
}

// passed reports whether all documents of a segment, a sheet or a tile come before those wanted.
func (s *sorter) passed(b *bounded, end uint32) bool {
	code, tie := s.after.first()
	switch {
	case b.hi != code || tie == below:
		return b.hi < code
	case tie == behind:
		return true
	case s.comps[0].kind == idCode:
		return false
	case s.heap.n == 1:
		return uint64(s.base+end) <= s.after.doc
	}
	return s.after.upto > 1 && s.next(b).hi < s.after.codes[1]
}

// byDoc reports whether two components decide, and then the numbers of documents.
func (s *sorter) byDoc() bool { return s.heap.n == 2 && s.comps[1].kind != idCode }

// next returns the codes that documents can have in the second component.
func (s *sorter) next(b *bounded) *codeRange {
	if b.next.some {
		return &b.next
	}
	switch c := &s.comps[1]; {
	case b.level == sheetLevel:
		b.next = c.ofSheet(b.number, s.docs)
	case b.level == tileLevel:
		b.next = c.ofTile(s.tile+b.number, s.docs)
	default:
		b.next = allCodes
	}
	b.next.some = true
	return &b.next
}

// window returns the codes of the first component with which documents can enter.
func (s *sorter) window() (lo, hi uint64) {
	hi = s.job.reached[s.index].Load()
	if s.after.set {
		lo, _ = s.after.first()
		if s.after.upto == 0 {
			return 1, 0
		}
	}
	switch {
	case s.heap.full():
		hi = min(hi, s.heap.of(s.heap.slots[0])[0])
	case s.limit.set:
		code, _ := s.limit.first()
		hi = min(hi, code)
	}
	return lo, hi
}

// reached tells other goroutines the code of the last document of a full heap.
func (s *sorter) reached() {
	s.job.reach(s.index, s.heap.of(s.heap.slots[0])[0])
}

// eachSheet visits the sheets of the range, those whose codes begin first, first.
func (s *sorter) eachSheet(r *run, visit func(b *bounded) error) error {
	first, last := int(r.at.from/sheetDocs), int((r.at.to-1)/sheetDocs)
	s.sheets = s.sheets[:0]
	for i := first; i <= last; i++ {
		s.sheets = append(s.sheets, bounded{number: i, level: sheetLevel, codeRange: s.comps[0].ofSheet(i, s.docs)})
	}
	slices.SortStableFunc(s.sheets, func(a, b bounded) int { return cmp.Compare(a.lo, b.lo) })
	for i := range s.sheets {
		if i < bestTiles && len(s.comps) > 1 {
			s.bringFirst(s.sheets[i:])
		}
		b := &s.sheets[i]
		lo := uint32(b.number) * sheetDocs
		if s.hopeless(b, lo, min(s.docs-lo, sheetDocs)+lo) {
			r.out.pruned = true
			continue
		}
		if err := visit(b); err != nil {
			return err
		}
	}
	return nil
}

// sortSheet visits the tiles of a sheet.
func (r *run) sortSheet(root *clause, b *bounded) error {
	s, lo := r.sorter, uint32(b.number)*sheetDocs
	if r.tiled.sheet != lo {
		for _, c := range r.tiled.lists[:r.tiled.count] {
			if r.tiled.sheet != noSheet && lo < r.tiled.sheet {
				c.blocks = 0 // where it looks for the sheet
			}
			if err := c.enterSheet(lo); err != nil {
				return err
			}
		}
		r.tiled.sheet, r.eval.sheet = lo, lo
	}
	if s.list != nil && s.list.exact && s.list.few.starts[64]-s.list.few.starts[0] <= fewInSheet {
		return s.offerSheet(r, b, r.at.tilesAtWork(lo, root.tiles(lo)))
	}
	s.tiles, s.tile = s.tiles[:0], int(lo/tileDocs)
	first := &s.comps[0]
	if first.bestFirst() {
		r.eval.bound(root, 0, false, &s.bounds)
	}
	for tiles := r.at.tilesAtWork(lo, root.tiles(lo)); tiles != 0; tiles &= tiles - 1 {
		t := bits.TrailingZeros64(tiles)
		b := bounded{number: t, level: tileLevel}
		if first.bestFirst() {
			doc := lo + uint32(t)*tileDocs
			b.codeRange = first.ofScores(r.at.over(s.bounds[t], doc, doc))
		} else {
			b.codeRange = first.ofTile(s.tile+t, s.docs)
		}
		s.tiles = append(s.tiles, b)
	}
	for i := range s.tiles {
		if i < bestTiles {
			s.bringFirst(s.tiles[i:])
		}
		b := &s.tiles[i]
		base := lo + uint32(b.number)*tileDocs
		if !b.some || s.hopeless(b, base, min(s.docs-base, tileDocs)+base) {
			r.out.pruned = true
			continue
		}
		if !r.share.mine(b.number) {
			continue
		}
		if err := r.query.ctx.Err(); err != nil {
			return err
		}
		r.win.place(base, r.at.from, r.at.to)
		err := r.sortTile(root, b)
		r.win.matches = bitset{}
		if s.scored {
			clear(r.win.scores[:])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A bounded is a segment, a sheet or a tile with the codes of its documents.
type bounded struct {
	number int // of the sheet, or of the tile in its sheet
	level  level
	codeRange
	next codeRange // of the second component, once it was needed: see sorter.next
}

// A level is what a bounded is.
type level uint8

const (
	segmentLevel level = iota
	sheetLevel
	tileLevel
)

// bringFirst exchanges the first with the one whose codes begin first.
func (s *sorter) bringFirst(b []bounded) {
	best := 0
	for i := range b {
		if b[i].lo < b[best].lo || b[i].lo == b[best].lo && i > best && len(s.comps) > 1 && s.next(&b[i]).lo < s.next(&b[best]).lo {
			best = i
		}
	}
	b[0], b[best] = b[best], b[0]
}

// sortTile offers the matches of a tile, the window, that can enter.
func (r *run) sortTile(root *clause, b *bounded) error {
	s := r.sorter
	if docs, ok := s.listed(b.number); ok {
		return s.offerList(r, docs)
	}
	if some, err := s.candidates(r, b); !some || err != nil {
		return err
	}
	var to *scores
	if s.scored {
		to = &r.win.scores
	}
	if err := r.matchMasked(root, b.number, &s.mask, to); err != nil {
		return err
	}
	n := r.win.matches.size()
	if n == 0 {
		return nil
	}
	r.out.total += n
	r.out.work.DocsScored += int64(n)
	if s.scored {
		r.finishScores()
	}
	if n*sparseShare <= tileDocs && s.gathers() {
		return s.offerSet(r, &r.win.matches)
	}
	return s.offerAll(r, &r.win.matches, n)
}

// candidates sets mask to the accepted documents of the window whose first component admits them, and
// reports whether there are any.
func (s *sorter) candidates(r *run, b *bounded) (some bool, err error) {
	r.win.fill()
	s.mask = r.win.all
	lo, hi := s.window()
	if !s.sparse && s.comps[0].narrows() && (lo > b.lo || hi < b.hi || len(s.comps) > 1 && (lo == b.lo || hi == b.hi)) {
		r.out.pruned = true
		if err := s.narrow(r, lo, hi); err != nil {
			return false, err
		}
	}
	for i := range s.mask {
		s.mask[i] &= r.at.accepted(r.win.base, i)
	}
	return !s.mask.empty(), nil
}

// narrows reports whether a window of codes decides about documents before they are read.
func (c *component) narrows() bool {
	return c.kind == valueCode || c.kind == distanceCode || c.kind == idPlaceCode
}

// narrow drops documents from the mask whose codes of the first component are not in lo..hi. It may keep
// some of several values.
func (s *sorter) narrow(r *run, lo, hi uint64) error {
	c := &s.comps[0]
	tile := int(r.win.base / tileDocs)
	if c.kind == distanceCode {
		if done, err := s.within(c, tile, hi, (*[64]uint64)(&s.in)); err != nil {
			return s.fail(r, err)
		} else if !done {
			return nil
		}
		if c.hasMissing && lo <= c.missing && c.missing <= hi {
			if err := s.addMissing(c, tile, &s.in); err != nil {
				return s.fail(r, err)
			}
		}
	} else if err := s.inRange(c, tile, lo, hi, &s.in); err != nil {
		return s.fail(r, err)
	}
	for i := range s.mask {
		s.mask[i] &= s.in[i]
	}
	if len(s.comps) > 1 && s.comps[1].ranges() {
		if err := s.narrowTies(tile, lo, hi); err != nil {
			return s.fail(r, err)
		}
	}
	return nil
}

// ranges reports whether inRange can be asked about a component.
func (c *component) ranges() bool { return c.kind == valueCode || c.kind == idPlaceCode }

// inRange sets the documents of a tile with codes in lo..hi, and clears the others. It may set others that
// have several values.
func (s *sorter) inRange(c *component, tile int, lo, hi uint64, set *bitset) error {
	in := (*[64]uint64)(set)
	if c.kind == idPlaceCode {
		return c.idsInRange(tile, lo, hi, in, &s.scratch.idPlaces)
	}
	if from, to, some := c.keys(lo, hi); !some {
		clear(in[:])
	} else if _, err := c.column.RangeTile(tile, from, to, in); err != nil {
		return err
	}
	if c.hasMissing && lo <= c.missing && c.missing <= hi {
		return s.addMissing(c, tile, set)
	}
	return nil
}

// addMissing sets the documents of a tile that lack a value of a component.
func (s *sorter) addMissing(c *component, tile int, set *bitset) error {
	clear(s.has[:])
	if c.column != nil {
		if _, err := c.column.Have(tile, (*[64]uint64)(&s.has)); err != nil {
			return err
		}
	}
	for i := range set {
		set[i] |= ^s.has[i]
	}
	return nil
}

// narrowTies drops documents from the mask that have the first or the last code of the window lo..hi, and
// by the second component are not in it.
func (s *sorter) narrowTies(tile int, lo, hi uint64) error {
	first, last := uint64(0), uint64(math.MaxUint64) // codes of the second component, for those codes of the first
	if s.after.set && s.after.upto > 1 {
		first = s.after.codes[1] // and that of the first is lo
	}
	switch {
	case s.heap.full():
		if codes := s.heap.of(s.heap.slots[0]); codes[0] == hi {
			last = codes[1]
		}
	case s.limit.set && s.limit.upto > 1 && s.limit.codes[0] == hi:
		last = s.limit.codes[1]
	}
	if first > 0 {
		if err := s.narrowTie(tile, lo, first, math.MaxUint64); err != nil {
			return err
		}
	}
	if last < math.MaxUint64 {
		return s.narrowTie(tile, hi, 0, last)
	}
	return nil
}

// narrowTie drops documents from the mask that have a code of the first component, unless that of the
// second is in lo..hi.
func (s *sorter) narrowTie(tile int, code, lo, hi uint64) error {
	c := &s.comps[0]
	if !c.ranges() || c.column != nil && !c.column.Single() {
		return nil // then others can be in the range of that code
	}
	if err := s.inRange(c, tile, code, code, &s.ties); err != nil {
		return err
	}
	for i := range s.ties {
		s.ties[i] &= s.mask[i]
	}
	few := sparseShare
	if s.comps[1].kind == idPlaceCode {
		few = allIDPlaces
	}
	if s.ties.size() < few {
		return nil // which takes less time to find out for those that match
	}
	if err := s.inRange(&s.comps[1], tile, lo, hi, &s.in); err != nil {
		return err
	}
	for i := range s.mask {
		s.mask[i] &^= s.ties[i] &^ s.in[i]
	}
	return nil
}

// idsInRange sets the documents of a tile whose ids have codes in lo..hi, and clears the others.
func (c *component) idsInRange(tile int, lo, hi uint64, set *[64]uint64, places *[tileDocs]uint32) error {
	n, err := c.ids.IDPlaces(tile, places)
	if err != nil {
		return err
	}
	clear(set[:])
	hi = min(hi, c.greatest)
	if lo > hi {
		return nil
	}
	first, span := uint32(lo), uint32(hi-lo)
	if c.desc {
		first = uint32(c.greatest - hi)
	}
	for d, place := range places[:n] {
		if place-first <= span {
			set[d/64] |= 1 << (d % 64)
		}
	}
	return nil
}

// matchMasked sets the matches of the window to the documents of mask that match the tree.
func (r *run) matchMasked(root *clause, t int, mask *bitset, to *scores) error {
	matches := &r.win.matches
	switch only := root.only(); {
	case to != nil:
	case only.All:
		*matches = *mask
		return nil
	case only.Leaf && only.cursor != nil && only.cursor.bitmap != nil:
		held := (*bitset)(only.cursor.bitmap[r.win.base/64:])
		for i := range matches {
			matches[i] = held[i] & mask[i]
		}
		return nil
	case r.bySets(root):
		err := r.matchTile(root, t, true, nil)
		for i := range matches {
			matches[i] &= mask[i]
		}
		return err
	}
	r.enterLists(t)
	words := root.words(r.win.base)
	if s := r.sorter; s.comps[0].bestFirst() {
		words = s.promising(r, root, words)
	}
	for out := ^words; out != 0; out &= out - 1 {
		mask[bits.TrailingZeros64(out)&63] = 0
	}
	if mask.empty() {
		return nil
	}
	return r.eval.eval(root, 0, mask, matches, to)
}

// promising drops the words of the tile whose documents cannot have a score with which they enter.
func (s *sorter) promising(r *run, root *clause, words uint64) uint64 {
	_, hi := s.window()
	if hi >= math.MaxUint32 {
		return words // any score
	}
	need := r.at.under(uint32(math.MaxUint32-hi), r.win.base, r.win.base)
	r.eval.bound(root, 0, true, &s.bounds)
	for in := words; in != 0; in &= in - 1 {
		if i := bits.TrailingZeros64(in) & 63; s.bounds[i] < need {
			words &^= 1 << i
			r.out.pruned = true
		}
	}
	return words
}

// load reads the codes of component i of the n documents of a set, in the window.
func (s *sorter) load(r *run, i int, set *bitset, n int) error {
	tile := int(r.win.base / tileDocs)
	if err := s.comps[i].read(tile, set, n, &r.win.scores, &s.codes[i], &s.scratch); err != nil {
		return s.fail(r, err)
	}
	return nil
}

// offerAll offers the n documents of a set, in the window.
func (s *sorter) offerAll(r *run, set *bitset, n int) error {
	if err := s.load(r, 0, set, n); err != nil {
		return err
	}
	first := &s.codes[0]
	lo, hi := s.window()
	if len(s.comps) > 1 {
		for i := range set {
			for word := set[i]; word != 0; word &= word - 1 {
				b := bits.TrailingZeros64(word)
				if code := first[64*i+b]; code < lo || code > hi {
					set[i] &^= 1 << b
				}
			}
		}
		if n = set.size(); n == 0 {
			return nil
		}
		for i := 1; i < len(s.comps); i++ {
			if err := s.load(r, i, set, n); err != nil {
				return err
			}
		}
	}
	words := set.words()
	a, b := bits.TrailingZeros64(words)&63, 63-bits.LeadingZeros64(words)
	begin, end := 64*a+bits.TrailingZeros64(set[a]), 64*b+63-bits.LeadingZeros64(set[b])
	h := &s.heap
	offer := func(d int) {
		if first[d] > hi {
			return
		}
		for i := range h.n {
			h.codes[i] = s.codes[i][d]
		}
		h.docs[0], h.score[0], h.known[0] = s.base+r.win.base+uint32(d), 0, false
		if s.scored {
			h.score[0] = r.win.scores[d]
		}
		if h.offer() {
			_, hi = s.window()
		}
	}
	if first[begin] <= first[end] {
		set.each(func(d uint32) { offer(int(d)) })
		return s.err
	}
	// The later documents come first. Beginning with these saves exchanges.
	for ; words != 0; words &^= 1 << b {
		b = 63 - bits.LeadingZeros64(words)
		for word := set[b]; word != 0; {
			bit := 63 - bits.LeadingZeros64(word)
			word &^= 1 << bit
			offer(64*b + bit)
		}
	}
	return s.err
}

// A ColumnError says which segment has a column that could not be read. It wraps the error of the
// column.
type ColumnError struct {
	Segment int // index into Plan.Segments
	Err     error
}

func (e *ColumnError) Error() string {
	return fmt.Sprintf("cpuexec: a column in segment %d of the plan: %v", e.Segment, e.Err)
}

// Unwrap returns the wrapped error.
func (e *ColumnError) Unwrap() error { return e.Err }
