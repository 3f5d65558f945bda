package search

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/plan"
)

// A Cursor marks the place of a hit in the answer to a query. riffle.Cursor documents its
// guarantees on an index that changes. The zero Cursor is the beginning.
type Cursor struct {
	page *Page

	index          uint32 // number of the hit's index; 0 unless there are several
	segment, local uint32 // number of the hit's segment, and of its document there
	doc, score     uint32 // number of the document in its index; integer score under page's statistics
	from, to       uint32 // its id in page.text
	hit            uint32 // number of the hit in page.places, of a sorted search
}

// A QueryForm appends what json.Marshal makes of a query. It is not a function, because the pages that have it must
// be comparable by reflect.DeepEqual, as hits are.
type QueryForm interface {
	AppendQuery(b []byte, q json.Marshaler) ([]byte, error)
}

// A Page is what the cursors of one answer share.
type Page struct {
	query json.Marshaler // nil when key is set
	form  QueryForm      // Settings.QueryForm
	sim   blockmax.BM25
	alpha float64
	k     int      // 0 when the answer does not depend on it
	names []string // Settings.Names

	multi bool // the answer is of several indexes

	sort     []SortKey       // Settings.Sort
	collapse string          // Settings.Collapse
	places   []cpuexec.Place // of the hits, if the search is sorted

	text       string // ids of the hits, then statistics (plan.Compiled.AppendStatistics)
	statistics int    // where they begin
	key        cursorKey
}

// A cursorKey identifies a query and what else a cursor belongs to.
type cursorKey [8]byte

// IsZero reports whether the cursor is the zero Cursor.
func (c Cursor) IsZero() bool { return c.page == nil }

// Index returns the number of the hit's index among several.
func (c Cursor) Index() int { return int(c.index) }

// ID returns the id of the hit. It shares its memory with the other ids of the page.
func (c Cursor) ID() string { return c.page.text[c.from:c.to] }

// Score returns the public score of a hit of the run.
func (x *Run) Score(c Cursor) float64 { return float64(c.score) / x.compiled.Scale }

// Incomplete reports whether a part of the query stands for more terms than the settings admit, so
// that documents may be missing.
func (x *Run) Incomplete() bool { return x.compiled.Incomplete }

// keptIDBytes is the largest buffer for ids that is kept for the next search.
const keptIDBytes = 64 << 10

func (x *Run) newPage() Page {
	o := &x.settings
	page := Page{query: o.Query, form: o.QueryForm, sim: o.Sim, alpha: o.Alpha, names: o.Names, multi: len(o.Names) > 0}
	page.sort, page.collapse = o.Sort, o.Collapse
	if o.DependsOnK {
		page.k = o.page()
	}
	return page
}

// Hits makes the cursors of hits, the i-th at cursor(i), and page, which they share. All ids are in
// one string, so that a thousand hits take two allocations. A caller that keeps one id for long
// keeps the others, unless it clones it.
func (x *Run) Hits(hits []blockmax.Hit, page *Page, cursor func(i int) *Cursor) error {
	if err := x.Locate(hits, page, cursor); err != nil {
		return err
	}
	if x.Sorted() {
		page.places = x.answer.places[len(x.answer.places)-len(hits):]
	}
	return nil
}

// Locate is Hits for matches that are not the answer of the search: their cursors have ids and scores,
// but a sorted search cannot continue after them.
func (x *Run) Locate(hits []blockmax.Hit, page *Page, cursor func(i int) *Cursor) (err error) {
	*page = x.newPage()
	ids := x.ids[:0]
	for i, h := range hits {
		number := x.view.NumberOf(h.Doc)
		v, base := x.view.ViewAt(number)
		doc := h.Doc - base
		s := v.SegmentOf(doc)
		c := cursor(i)
		*c = Cursor{
			page: page, index: uint32(number), segment: uint32(s.Number()), local: doc - s.Base(),
			doc: doc, score: h.Score, from: uint32(len(ids)), hit: uint32(i),
		}
		if ids, err = s.Reader().AppendID(ids, c.local); err != nil {
			return x.view.Named(number, s.At(err))
		}
		c.to = uint32(len(ids))
	}
	if len(hits) > 0 {
		page.statistics = len(ids)
		ids = x.compiled.AppendStatistics(ids)
		page.text = string(ids)
	}
	if x.ids = ids; cap(ids) > keptIDBytes {
		x.ids = nil
	}
	return nil
}

// Fields returns the stored fields of a hit that are in names; "*" stands for all.
func (x *Run) Fields(c Cursor, names []string) (map[string]any, error) {
	v, _ := x.view.ViewAt(c.Index())
	fields, err := v.SegmentOf(c.doc).Fields(c.local, names)
	return fields, x.view.Named(c.Index(), err)
}

// Version returns the version of a hit.
func (x *Run) Version(c Cursor) (uint64, error) {
	v, _ := x.view.ViewAt(c.Index())
	version, err := v.VersionOf(c.doc)
	return version, x.view.Named(c.Index(), err)
}

// The bytes whose base64 a cursor's text is:
//
//	version (1 byte), key (8 bytes), score, number of the segment, of the document there and of the
//	document in its index, length of the id (all uvarint), id, statistics, CRC-32C of all before
//	(4 bytes, little endian)
//
// That of several indexes has the number of the hit's index (uvarint) behind the key. That of a sorted
// search has the number of sort keys (uvarint) behind the id, and for each:
//
//	0 if the document has no value, else the kind of the value (columns.Kind), one byte
//	of kind terms: the length of the term (uvarint), and the term; an id is one, too
//	of other kinds: the key (uvarint); of a score, the integer score
const (
	cursorVersion            = 1
	multiCursorVersion       = 2
	sortedCursorVersion      = 3
	sortedMultiCursorVersion = 4
)

// AppendText implements encoding.TextAppender. The text of the zero Cursor is empty. A query
// without a JSON form is an error.
func (c Cursor) AppendText(text []byte) ([]byte, error) {
	if c.IsZero() {
		return text, nil
	}
	key, err := c.page.makeKey()
	if err != nil {
		return nil, err
	}
	return c.appendText(text, key), nil
}

// Texts are those of cursors of one page, mostly: what these share is made once.
type Texts struct {
	page *Page
	key  cursorKey
	text []byte
}

// Of returns the text of a cursor.
func (t *Texts) Of(c Cursor) (string, error) {
	if c.IsZero() {
		return "", nil
	}
	if t.page != c.page {
		key, err := c.page.makeKey()
		if err != nil {
			return "", err
		}
		t.page, t.key = c.page, key
	}
	t.text = c.appendText(t.text[:0], t.key)
	return string(t.text), nil
}

func (c Cursor) appendText(text []byte, key cursorKey) []byte {
	var buf [256]byte
	b := append(append(buf[:0], cursorVersion), key[:]...)
	if c.page.multi {
		b[0] = multiCursorVersion
		b = binary.AppendUvarint(b, uint64(c.index))
	}
	sorted := c.page.places != nil
	if sorted {
		b[0] += sortedCursorVersion - cursorVersion
	}
	for _, n := range [...]uint32{c.score, c.segment, c.local, c.doc, c.to - c.from} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	b = append(b, c.ID()...)
	if sorted {
		b = appendKeys(b, c.page.places[c.hit].Keys)
	}
	b = append(b, c.page.text[c.page.statistics:]...)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return base64.RawURLEncoding.AppendEncode(text, b)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ParseCursor reads the text of a cursor.
func ParseCursor(text []byte) (Cursor, error) {
	if len(text) == 0 {
		return Cursor{}, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(string(text))
	if err != nil || len(data) < 1+len(cursorKey{})+4 {
		return Cursor{}, errCursor
	}
	data, sum := data[:len(data)-4], binary.LittleEndian.Uint32(data[len(data)-4:])
	if crc32.Checksum(data, castagnoli) != sum {
		return Cursor{}, errCursor
	}
	if data[0] < cursorVersion || data[0] > sortedMultiCursorVersion {
		return Cursor{}, plan.Errorf("Cursor", "of version %d, this build reads %d to %d", data[0], cursorVersion, sortedMultiCursorVersion)
	}
	page := &Page{multi: data[0] == multiCursorVersion || data[0] == sortedMultiCursorVersion}
	rest := data[1+copy(page.key[:], data[1:]):]
	c := Cursor{page: page}
	numbers := []*uint32{&c.index, &c.score, &c.segment, &c.local, &c.doc, &c.to}
	if !page.multi {
		numbers = numbers[1:]
	}
	for _, to := range numbers {
		n, size := binary.Uvarint(rest)
		if size <= 0 || n > math.MaxUint32 {
			return Cursor{}, errCursor
		}
		*to, rest = uint32(n), rest[size:]
	}
	if uint64(c.to) > uint64(len(rest)) || c.score >= 1<<31 {
		return Cursor{}, errCursor
	}
	if data[0] < sortedCursorVersion {
		page.text, page.statistics = string(rest), int(c.to)
		return c, nil
	}
	keys, statistics, ok := parseKeys(rest[c.to:])
	if !ok {
		return Cursor{}, errCursor
	}
	page.places = []cpuexec.Place{{Score: c.score, Keys: keys}}
	page.text, page.statistics = string(rest[:c.to])+string(statistics), int(c.to)
	return c, nil
}

// appendKeys appends the sort keys of a hit.
func appendKeys(b []byte, keys []cpuexec.KeyValue) []byte {
	b = binary.AppendUvarint(b, uint64(len(keys)))
	for _, k := range keys {
		switch {
		case k.Missing:
			b = append(b, 0)
		case k.Value.Kind == columns.Terms:
			b = append(b, byte(columns.Terms))
			b = binary.AppendUvarint(b, uint64(len(k.Value.Term)))
			b = append(b, k.Value.Term...)
		default:
			b = append(b, byte(k.Value.Kind))
			b = binary.AppendUvarint(b, k.Value.Key)
		}
	}
	return b
}

// parseKeys reads what appendKeys wrote, and returns the rest.
func parseKeys(b []byte) (keys []cpuexec.KeyValue, rest []byte, ok bool) {
	number := func() (n uint64) {
		var size int
		if n, size = binary.Uvarint(b); size <= 0 {
			ok, size = false, 0
		}
		b = b[size:]
		return n
	}
	ok = true
	count := number()
	for i := uint64(0); ok && i < count; i++ {
		if len(b) == 0 {
			return nil, nil, false
		}
		kind := columns.Kind(b[0])
		b = b[1:]
		k := cpuexec.KeyValue{Missing: kind == 0}
		switch n := uint64(0); {
		case k.Missing:
		case kind > columns.Place:
			return nil, nil, false
		default:
			k.Value.Kind = kind
			if n = number(); kind != columns.Terms {
				k.Value.Key = n
			} else if n > uint64(len(b)) {
				return nil, nil, false
			} else {
				k.Value.Term, b = string(b[:n]), b[n:]
			}
		}
		keys = append(keys, k)
	}
	return keys, b, ok && count > 0
}

var errCursor = plan.Errorf("Cursor", "the text is damaged, or not of a cursor")

// makeKey computes the key of the query that the page answers.
func (p *Page) makeKey() (cursorKey, error) {
	if p.query == nil {
		return p.key, nil
	}
	form, err := p.appendQuery(make([]byte, 0, 256))
	if err != nil {
		return cursorKey{}, err
	}
	form = strconv.AppendFloat(append(form, ' '), p.sim.K1, 'x', -1, 64)
	form = strconv.AppendFloat(append(form, ' '), p.sim.B, 'x', -1, 64)
	form = strconv.AppendInt(append(form, ' '), int64(p.sim.IDF), 10)
	form = strconv.AppendFloat(append(form, ' '), p.alpha, 'x', -1, 64)
	form = strconv.AppendInt(append(form, ' '), int64(p.k), 10)
	for i := range p.sort {
		form = p.sort[i].describe(form)
	}
	if p.collapse != "" {
		form = fmt.Appendf(form, " by %q", p.collapse)
	}
	if p.multi {
		form = fmt.Appendf(form, " %q", p.names)
	}
	sum := sha256.Sum256(form)
	return cursorKey(sum[:8]), nil
}

// appendQuery appends the JSON of the query.
func (p *Page) appendQuery(b []byte) ([]byte, error) {
	if p.form != nil {
		return p.form.AppendQuery(b, p.query)
	}
	form, err := json.Marshal(p.query)
	return append(b, form...), err
}
