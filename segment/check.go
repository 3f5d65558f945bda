package segment

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/postings"
)

// Check reads a sealed segment from end to end and reports every fault: a wrong checksum, a value
// that is missing or that nothing refers to, documents out of order, bounds that do not hold or
// that no posting attains, ids and lookups that disagree, counts that differ from meta's. Faults
// match corrupt.Err; other errors come from the source or from ctx, whose end stops the check.
//
// It takes some 5 bytes of memory per document.
func Check(ctx context.Context, src Source, report func(error)) {
	d, err := Open(src)
	if err != nil {
		report(err)
		return
	}
	c := &checker{ctx: ctx, d: d, report: report, parts: make(map[uint32]int), positionParts: make(map[uint32]int), valueParts: make(map[uint32]int)}
	c.keys()
	_, err = d.Rank()
	c.err(err)
	c.best = newFieldBest(d.meta.docs, 1)
	for i := range d.meta.fields {
		c.field(i)
	}
	if c.lists != d.meta.lists && ctx.Err() == nil {
		c.fault([]byte{byte(kindMeta)}, "%d long lists, but terms lead to %d", d.meta.lists, c.lists)
	}
	if c.pages != d.meta.pages && ctx.Err() == nil {
		c.fault([]byte{byte(kindMeta)}, "%d pages of positions, but terms lead to %d", d.meta.pages, c.pages)
	}
	for i := range d.meta.columns {
		c.column(uint32(i))
	}
	c.ids()
	c.stored()
	c.err(ctx.Err())
}

// A checker is the state of a check.
type checker struct {
	ctx    context.Context
	d      *Disk
	report func(error)

	said  string         // the last error, to avoid repeating it
	parts map[uint32]int // list -> number of its keys
	pages uint32         // of positions that short lists so far have led to
	short uint64         // where the positions of the next short list must lie, or anywhere

	positionParts map[uint32]int // as parts, of positions
	valueParts    map[uint32]int // column -> number of its keys

	lists uint32     // long lists so far: the number of the next one
	best  *fieldBest // of each field in turn
}

// anywhere stands for an unknown place of positions, as after a list with a fault.
const anywhere = ^uint64(0)

// err reports an error, if any, and returns whether there was one.
func (c *checker) err(err error) bool {
	if err != nil && err.Error() != c.said {
		c.said = err.Error()
		c.report(err)
	}
	return err != nil
}

// fault reports that the value of key is wrong.
func (c *checker) fault(key []byte, format string, args ...any) {
	c.err(c.d.at(corrupt.New(-1, format, args...), key))
}

// each calls fn for every key of [lower, upper) until ctx is done.
func (c *checker) each(lower, upper []byte, fn func(it Iterator)) {
	it, err := c.d.src.Scan(lower, upper)
	if c.err(err) {
		return
	}
	defer it.Close()
	for c.ctx.Err() == nil && it.Next() {
		fn(it)
	}
	c.err(c.d.at(it.Err(), lower))
}

// keys looks for keys that nothing refers to. Reads of missing values report these.
func (c *checker) keys() {
	c.each([]byte{0}, []byte{0xff}, func(it Iterator) {
		if key := it.Key(); !c.known(key) {
			c.fault(bytes.Clone(key), "nothing leads to this key")
		}
	})
}

// known reports whether a segment with this meta value can have a key.
func (c *checker) known(key []byte) bool {
	m := c.d.meta
	kind, field, rest, ok := cutKey(key, m.version)
	if _, ours := keyTail[kind]; !ours {
		return m.brings(kind)
	}
	if !ok || kind.hasField() && kind != kindValues && int64(field) >= int64(len(m.fields)) {
		return false
	}
	be := binary.BigEndian
	switch kind {
	case kindID:
		ok = be.Uint32(rest) < chunksOf(m.docs, idPageIDs)
	case kindHead:
		ok = be.Uint32(rest) < chunksOf(chunksOf(m.docs, idPageIDs), idHeadPages)
	case kindPlace:
		ok = !m.plainPlaces && be.Uint32(rest) < chunksOf(m.docs, int(m.placeDocs()))
	case kindPlainPlace:
		ok = m.plainPlaces && be.Uint32(rest) < chunksOf(m.docs, placeChunkDocs)
	case kindStored:
		ok = m.stored && !c.d.codedDocs && be.Uint32(rest) < m.docs
	case kindCoded:
		ok = m.stored && c.d.codedDocs && be.Uint32(rest) <= codedTable
	case kindList:
		list := be.Uint32(rest)
		c.parts[list]++
		ok = list < m.lists
	case kindPosition:
		list := be.Uint32(rest)
		c.positionParts[list]++
		ok = list < m.lists
	case kindPositionShort:
		ok = be.Uint32(rest) < m.pages
	case kindNorms:
		chunks := m.normChunks(field)
		if m.sparse[field] {
			chunks = chunksOf(m.fields[field].Docs, normChunkDocs)
		}
		ok = m.fields[field].keepsNorms() && be.Uint32(rest) < chunks
	case kindNormSums:
		ok = m.sums && m.whole[field]
	case kindValues:
		c.valueParts[field]++
		ok = int64(field) < int64(len(m.columns))
	case kindRank:
		ok = m.ranks && be.Uint32(rest) < chunksOf(m.docs, rankChunkDocs)
	}
	return ok
}

// field checks field number i and keeps no data of it.
func (c *checker) field(i int) {
	want := c.d.meta.fields[i]
	f := &fieldChecker{checker: c}
	if want.Norms {
		lengths := uint32(i)
		if of := c.d.meta.wordsOf[i]; of >= 0 {
			lengths, f.pairs = uint32(of), c.d.meta.fields[of].PairWords()
		}
		var err error
		if f.norms, err = c.d.readNorms(lengths); err == nil {
			err = f.norms.lazy.NeedAll(c.d.meta.docs)
		}
		if c.err(err) || c.err(c.d.checkNormSums(lengths, &f.norms)) {
			return
		}
	}
	c.best.begin(uint64(want.Docs))
	f.info = FieldInfo{Name: want.Name, Norms: want.Norms, Positions: want.Positions, Pairs: want.Pairs}
	lower := c.d.termKey(i, nil)
	sound := true
	c.each(lower, after(lower), func(it Iterator) {
		key := bytes.Clone(it.Key())
		if err := f.term(key, bytes.Clone(it.Value())); err != nil {
			c.err(c.d.at(err, key))
			c.short = anywhere
			sound = false
		}
	})
	var made tileMaker
	var having []uint32
	c.best.end(func(doc, tf uint32) {
		f.info.Docs++
		made.add(doc, tf, f.norms.of(doc))
		if c.d.meta.sparse[i] {
			having = append(having, doc)
		}
	})
	if !sound || c.ctx.Err() != nil {
		return // the fault in the numbers has been reported
	}
	if f.info != want {
		c.fault([]byte{byte(kindMeta)}, "field is %+v, its terms make it %+v", want, f.info)
	}
	if c.d.meta.sparse[i] && f.norms.Sparse() && !slices.Equal(having, f.norms.having) {
		c.fault(normsKey(c.d.meta.version, uint32(i), 0), "the documents that have a length code are not those that have the field")
	}
	key := tilesKey(c.d.meta.version, uint32(i))
	payload, err := c.d.needSealed(key)
	if c.err(err) {
		return
	}
	tiles, err := decodeTiles(payload, c.d.meta.docs, c.d.meta.version)
	if c.err(c.d.at(err, key)) {
		return
	}
	sameTile := func(a, b Tile) bool { return a.number == b.number && slices.Equal(a.best, b.best) }
	if !slices.EqualFunc(tiles, made.finish(), sameTile) {
		c.fault(key, "tiles differ from those of the postings")
	}
}

// column checks a column of values, and that it needs all keys under its number.
func (c *checker) column(number uint32) {
	if c.ctx.Err() != nil {
		return
	}
	var mu sync.Mutex
	parts := map[uint32]bool{}
	col, err := c.d.openColumn(number, func(part uint32) ([]byte, error) {
		mu.Lock()
		parts[part] = true
		mu.Unlock()
		return c.d.needSealed(valuesKey(number, part)) // not lent: what the store returns is checked
	})
	if c.err(err) || c.err(col.Check()) {
		return
	}
	if n := c.valueParts[number]; n != len(parts) {
		c.fault(valuesKey(number, columns.DirectoryPart), "the column has %d parts, but %d lie under its number", len(parts), n)
	}
}

// A fieldChecker checks the lists of one field.
type fieldChecker struct {
	*checker
	info  FieldInfo
	norms Norms
	pairs []string // the words, of a field of pairs

	docs, freqs [postings.BlockSize]uint32
	positions   postings.Positions
}

// A countingLoader counts the parts it has read.
type countingLoader struct {
	partLoader
	read          int
	readPositions int
}

func (l *countingLoader) PositionDirectory(part int) ([]byte, error) {
	l.readPositions++
	return l.partLoader.PositionDirectory(part)
}

func (l *countingLoader) PositionChunk(chunk int) ([]byte, error) {
	l.readPositions++
	return l.partLoader.PositionChunk(chunk)
}

// ShortPositions implements postings.ShortPositionLoader. The positions of short lists follow one
// another without a gap, so an entry that has taken the place of another one shows here, however alike
// their postings are.
func (c *fieldChecker) ShortPositions(pointer uint64) ([]byte, error) {
	if c.short != anywhere && pointer != c.short {
		return nil, corrupt.New(-1, "positions at %d of page %d, want %d of page %d",
			pointer%pageBytes, pointer/pageBytes, c.short%pageBytes, c.short/pageBytes)
	}
	c.short, c.pages = pointer, uint32(pointer/pageBytes)+1
	return pageLoader{c.d}.ShortPositions(pointer)
}

func (c *fieldChecker) Directory(int) ([]byte, error) { panic("BUG: directory of a short list") }
func (c *fieldChecker) Chunk(int) ([]byte, error)     { panic("BUG: chunk of a short list") }

func (l *countingLoader) Directory(part int) ([]byte, error) {
	l.read++
	return l.partLoader.Directory(part)
}

func (l *countingLoader) Chunk(chunk int) ([]byte, error) {
	l.read++
	return l.partLoader.Chunk(chunk)
}

// LendChunk lends nothing: Chunk counts, and checks what the store returns.
func (l *countingLoader) LendChunk(int) ([]byte, bool) { return nil, false }

// term checks one term entry and its list.
func (c *fieldChecker) term(key, value []byte) error {
	entry, list, err := splitEntry(value)
	if err != nil {
		return err
	}
	long := len(entry) < len(value)
	if long && list != c.lists {
		err = corrupt.New(len(entry), "list number %d, want %d", list, c.lists)
	}
	if long {
		c.lists = list + 1
	}
	if err != nil {
		return err
	}
	if c.pairs != nil {
		if _, _, term, _ := cutKey(key, c.d.meta.version); !isPair(term, c.pairs) {
			return corrupt.New(-1, "the term is no pair of words")
		}
	}
	load := &countingLoader{partLoader: partLoader{d: c.d, key: key, list: list}}
	var from postings.Loader = load
	if !long {
		from = c
	}
	l, err := c.d.openEntry(key, entry, from)
	if err != nil {
		return err
	}
	if err := c.postings(l); err != nil {
		return err
	}
	if l.HasPositions() != c.info.Positions {
		return corrupt.New(-1, "the list has positions: %v; those of its field have: %v", l.HasPositions(), c.info.Positions)
	}
	if l.HasPositions() {
		if err := c.places(l); err != nil {
			return err
		}
		if !long {
			c.short = min(c.short+uint64(l.FetchedPositions()), uint64(c.pages)*pageBytes)
		}
	}
	c.info.Terms++
	if long && load.readPositions != c.positionParts[list] {
		return corrupt.New(-1, "the positions of the list have %d parts, but %d lie under its number", load.readPositions, c.positionParts[list])
	}
	if long && load.read != c.parts[list] {
		return corrupt.New(-1, "the list has %d parts, but %d lie under its number", load.read, c.parts[list])
	}
	return nil
}

// postings checks every block of a list. The best pairs of the list, of its extents and of its
// blocks must be exactly those of the postings.
func (c *fieldChecker) postings(l *postings.List) error {
	var whole, extent pairTable
	count, before := 0, int64(-1)
	impacts, err := l.BlockImpacts()
	if err != nil {
		return err
	}
	for b := range l.Blocks() {
		block, n, err := c.block(l, b, &before)
		if err != nil {
			return err
		}
		count += n
		if got := block.best(); !slices.Equal(got, impacts.Of(b)) {
			return inBlock(b, "best pairs %v, those of the postings are %v", impacts.Of(b), got)
		}
		extent.add(block)
		whole.add(block)
		if b%postings.ExtentBlocks != postings.ExtentBlocks-1 && b != l.Blocks()-1 {
			continue
		}
		e := b / postings.ExtentBlocks
		if got := extent.best(); !slices.Equal(got, l.ExtImpacts.Of(e)) {
			return inBlock(b, "extent %d has best pairs %v, those of the postings are %v", e, l.ExtImpacts.Of(e), got)
		}
		if l.ExtLast[e] != l.Last[b] {
			return inBlock(b, "extent %d ends at document %d, its last block at %d", e, l.ExtLast[e], l.Last[b])
		}
		extent = pairTable{}
	}
	if got := whole.best(); !slices.Equal(got, l.ListImpacts) {
		return corrupt.New(-1, "best pairs of the list are %v, those of the postings are %v", l.ListImpacts, got)
	}
	if count != l.Count {
		return corrupt.New(-1, "the list says %d postings and has %d", l.Count, count)
	}
	c.info.Postings += uint64(count)
	return nil
}

// places reads the positions of a list. Whether they rise is checked wherever they are decoded.
func (c *fieldChecker) places(l *postings.List) error {
	c.positions.Reset(l)
	for b := range l.Blocks() {
		if err := c.positions.Load(b); err != nil {
			return err
		}
	}
	return nil
}

// block checks one block. before is the last document of the previous block on entry, and of this
// block on return.
func (c *fieldChecker) block(l *postings.List, b int, before *int64) (*pairTable, int, error) {
	n, err := l.Docs(b, &c.docs)
	if err == nil {
		_, err = l.Freqs(b, &c.freqs)
	}
	if err != nil {
		return nil, 0, err
	}
	pairs := new(pairTable)
	for i, doc := range c.docs[:n] {
		tf := c.freqs[i]
		if int64(doc) <= *before || doc >= c.d.meta.docs || tf == 0 {
			return nil, 0, inBlock(b, "posting of document %d with frequency %d behind document %d", doc, tf, *before)
		}
		*before = int64(doc)
		code := c.norms.of(doc)
		pairs[code] = max(pairs[code], tf)
		c.best.raise(doc, tf)
		c.info.Tokens += uint64(tf)
	}
	if uint32(*before) != l.Last[b] {
		return nil, 0, inBlock(b, "ends at document %d, the directory says %d", *before, l.Last[b])
	}
	return pairs, n, nil
}

func inBlock(b int, format string, args ...any) error {
	err := corrupt.New(-1, format, args...)
	err.Block = b
	return err
}

// A pairTable holds the highest frequency at each length code.
type pairTable [256]uint32

func (p *pairTable) add(o *pairTable) {
	for code, tf := range o {
		p[code] = max(p[code], tf)
	}
}

func (p *pairTable) best() []postings.Impact { return appendPareto(nil, (*[256]uint32)(p)) }

// ids checks that ids do not fall from page to page, that each document has an id at its stored
// place, and that heads are the first ids of pages.
func (c *checker) ids() {
	heads, err := c.d.heads()
	if c.err(err) {
		return
	}
	seen := make([]bool, c.d.meta.docs)
	var last []byte
	for n := range uint32(len(c.d.ids.pages)) {
		if c.ctx.Err() != nil {
			return
		}
		key := numberKey(kindID, n)
		p, err := c.d.readIDPage(n)
		if c.err(err) {
			return
		}
		first := p.ids.at(0)
		if n > 0 && bytes.Compare(last, first) > 0 {
			c.fault(key, "id %q follows %q", first, last)
		}
		last = p.ids.at(p.ids.len() - 1)
		if head := heads[n/idHeadPages].at(int(n % idHeadPages)); !bytes.Equal(head, first) {
			c.fault(numberKey(kindHead, n/idHeadPages), "page %d begins with %q, not %q", n, first, head)
		}
		c.page(key, p, n*idPageIDs, seen)
	}
}

// page checks the documents of a page of ids whose first place is given.
func (c *checker) page(key []byte, p *idPage, place uint32, seen []bool) {
	var docs idDocs
	docs.reset(p, c.d.meta.docs)
	for range p.ids.len() {
		doc, err := docs.next()
		if c.err(c.d.at(err, key)) {
			return
		}
		if seen[doc] {
			c.fault(key, "document %d has another id too", doc)
		}
		seen[doc] = true
		if got, err := c.d.place(doc); !c.err(err) && got != place {
			c.fault(c.d.meta.placeKey(doc/c.d.ids.placeDocs), "document %d has place %d, want %d", doc, got, place)
		}
		place++
	}
	c.err(c.d.at(docs.end(), key))
}

// stored checks that the blocks of stored documents follow each other without a
// gap.
func (c *checker) stored() {
	if c.d.codedDocs {
		c.coded()
		return
	}
	next, sound := uint32(0), true
	kind := []byte{byte(kindStored)}
	c.each(kind, after(kind), func(it Iterator) {
		key := bytes.Clone(it.Key())
		b, err := c.d.openStored(key, bytes.Clone(it.Value()))
		if c.err(err) {
			sound = false
			return
		}
		if b.first != next && sound {
			c.fault(key, "begins with document %d, want %d", b.first, next)
		}
		next = b.first + uint32(len(b.ends))
	})
	if c.d.meta.stored && sound && next != c.d.meta.docs && c.ctx.Err() == nil {
		c.fault(kind, "documents end at %d of %d", next, c.d.meta.docs)
	}
	if !c.d.meta.stored && next != 0 {
		c.fault(kind, "%d documents are stored, meta says none", next)
	}
}

// coded decodes all stored documents in codes, and checks that there is no run too many.
func (c *checker) coded() {
	codes, err := c.d.coded()
	if c.err(err) {
		return
	}
	var doc []byte
	next, runs := uint32(0), uint32(len(codes.runs))
	kind := []byte{byte(kindCoded)}
	c.each(kind, after(kind), func(it Iterator) {
		key := bytes.Clone(it.Key())
		run := binary.BigEndian.Uint32(key[1:])
		if run >= runs {
			if run != codedLengths && run != codedTable {
				c.fault(key, "there are %d runs", runs)
			}
			return
		}
		for ; next < run; next++ {
			c.fault(numberKey(kindCoded, next), "the value is missing")
		}
		next++
		payload, err := unseal(it.Value(), c.d.meta.version)
		var r *codedRun
		docs := int(codes.first[run+1] - codes.first[run])
		if err == nil {
			r, err = openCodedRun(payload, run, docs)
		}
		for i := 0; i < docs && err == nil; i++ {
			doc, err = r.appendDoc(doc[:0], codes.table, i)
		}
		c.err(c.d.at(err, key))
	})
	for ; next < runs && c.ctx.Err() == nil; next++ {
		c.fault(numberKey(kindCoded, next), "the value is missing")
	}
}
