package riffle

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/plan"
)

// A Cursor is the place of a hit in the answer to a query. SearchOptions.After continues behind it. The
// zero Cursor is the beginning.
//
// Its text (String, MarshalText) is opaque, safe in a URL, and some fifty bytes long plus the id of the
// hit and a few bytes for each term of the query. It outlives the process: any index that has the
// documents takes it. It is not signed. Whoever changes it gets other pages of the same query, or an error.
//
// # On a Snapshot
//
// Pages fit together exactly: their hits are those of one long page.
//
// # On an index that changes
//
// The cursor carries the statistics of its query's terms (documents, frequencies, average lengths), and
// the search that continues uses these. So a document that stays as it is keeps its score on all pages,
// whatever else is added, deleted or merged, and hits are ordered by score. From this follows:
//
//   - A document that is neither changed nor deleted is on exactly one page.
//   - A document that is added, or changed, is found if its score puts it behind the cursor.
//   - A changed document may therefore come twice, or not at all.
//
// Documents with exactly the score of the cursor's hit continue behind the place of that hit in the
// order of the index, which additions, deletions and merges keep. The place can get lost: when a merge
// has removed the hit's old copy after it was deleted or changed, or when a merge reorders documents
// (Options.Merge.Order). Then the documents with exactly this score come again, so that none is missed.
//
// # Other queries
//
// A cursor belongs to a query, the parameters of its BM25 and the weight of its static rank; and to K,
// where the query has a Match with ModeAndOr. A search with another one is refused with a *QueryError.
type Cursor struct {
	page *cursorPage

	segment, local uint32 // number of the hit's segment, and of its document there
	doc, score     uint32 // global number of the document; integer score under page's statistics
	from, to       uint32 // its id in page.text
}

// A cursorPage is what the cursors of one result share.
type cursorPage struct {
	query Query // nil when key is set
	sim   BM25
	alpha float64
	k     int

	text       string // ids of the hits, then statistics (plan.Compiled.AppendStatistics)
	statistics int    // where they begin
	key        cursorKey
}

// A cursorKey tells a query and what else a cursor belongs to.
type cursorKey [8]byte

// IsZero reports whether the cursor is the zero Cursor, the beginning of any answer.
func (c Cursor) IsZero() bool { return c.page == nil }

func (c Cursor) id() string { return c.page.text[c.from:c.to] }

// cursorVersion begins the bytes whose base64 a cursor's text is:
//
//	version (1 byte), key (8 bytes), score, number of the segment, local and global number of the
//	document, length of the id (all uvarint), id, statistics, CRC-32C of all before (4 bytes, little endian)
const cursorVersion = 1

// MarshalText implements encoding.TextMarshaler. The text of the zero Cursor is empty. The error is that
// of a query that has no JSON form.
func (c Cursor) MarshalText() ([]byte, error) {
	if c.IsZero() {
		return []byte{}, nil
	}
	key, err := c.page.makeKey()
	if err != nil {
		return nil, err
	}
	b := append([]byte{cursorVersion}, key[:]...)
	for _, n := range [...]uint32{c.score, c.segment, c.local, c.doc, c.to - c.from} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	b = append(b, c.id()...)
	b = append(b, c.page.text[c.page.statistics:]...)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return base64.RawURLEncoding.AppendEncode(nil, b), nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// String returns the text of MarshalText, or says in words why there is none.
func (c Cursor) String() string {
	text, err := c.MarshalText()
	if err != nil {
		return "!" + err.Error() // no text of a cursor begins so
	}
	return string(text)
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *Cursor) UnmarshalText(text []byte) error {
	*c = Cursor{}
	if len(text) == 0 {
		return nil
	}
	data, err := base64.RawURLEncoding.DecodeString(string(text))
	if err != nil || len(data) < 1+len(cursorKey{})+4 {
		return errCursor
	}
	data, sum := data[:len(data)-4], binary.LittleEndian.Uint32(data[len(data)-4:])
	if crc32.Checksum(data, castagnoli) != sum {
		return errCursor
	}
	if data[0] != cursorVersion {
		return plan.Errorf("Cursor", "of version %d, this build reads %d", data[0], cursorVersion)
	}
	page := new(cursorPage)
	rest := data[1+copy(page.key[:], data[1:]):]
	out := Cursor{page: page}
	for _, to := range [...]*uint32{&out.score, &out.segment, &out.local, &out.doc, &out.to} {
		n, size := binary.Uvarint(rest)
		if size <= 0 || n > math.MaxUint32 {
			return errCursor
		}
		*to, rest = uint32(n), rest[size:]
	}
	if uint64(out.to) > uint64(len(rest)) || out.score >= 1<<31 {
		return errCursor
	}
	page.text, page.statistics = string(rest), int(out.to)
	*c = out
	return nil
}

var errCursor = plan.Errorf("Cursor", "the text is damaged, or not of a cursor")

// ParseCursor reads the text of a cursor.
func ParseCursor(text string) (c Cursor, err error) {
	err = c.UnmarshalText([]byte(text))
	return c, err
}

// makeKey is the key of the query that the page answers.
func (p *cursorPage) makeKey() (cursorKey, error) {
	if p.query == nil {
		return p.key, nil
	}
	form, err := json.Marshal(p.query)
	if err != nil {
		return cursorKey{}, err
	}
	k := 0
	if dependsOnK(p.query) {
		k = p.k
	}
	sum := sha256.Sum256(fmt.Appendf(form, " %x %x %d %x %d", p.sim.K1, p.sim.B, p.sim.IDF, p.alpha, k))
	return cursorKey(sum[:8]), nil
}

// resume makes a search continue behind its cursor, on a view.
func (v view) resume(ctx context.Context, q Query, s *searchSettings, set *plan.Settings) error {
	page := cursorPage{query: q, sim: s.sim, alpha: s.alpha, k: s.K}
	want, err := s.After.page.makeKey()
	if err != nil {
		return err
	}
	if q == nil {
		return nil // which is refused with better words
	}
	if key, err := page.makeKey(); err != nil || key != want {
		return plan.Errorf("SearchOptions.After", "the cursor is of another query, or of the same one with another Similarity, Alpha or, for ModeAndOr, K")
	}
	set.Frozen = s.After.page.text[s.After.page.statistics:]
	doc, found, err := v.placeOf(ctx, &s.After)
	if err != nil {
		return err
	}
	set.After = &blockmax.Hit{Doc: doc, Score: s.After.score}
	if !found {
		set.After = &blockmax.Hit{Doc: math.MaxUint32, Score: s.After.score + 1} // in front of all that score as much
	}
	return nil
}

// placeOf returns the global number of a cursor's document, or of what has been its old copy. Without
// its segment it is found by its id, if that shows that the document is still the same: in an order of
// arrival it cannot have moved back, as one that was put again has.
func (v view) placeOf(ctx context.Context, c *Cursor) (doc uint32, found bool, err error) {
	var buf [64]byte
	for i := range v.Segments() {
		s := v.SegmentAt(i)
		if uint32(s.Number()) != c.segment || c.local >= s.Reader().Docs() {
			continue
		}
		id, err := s.Reader().AppendID(buf[:0], c.local)
		if err != nil {
			return 0, false, s.At(err)
		}
		if string(id) == c.id() { // or it is another index that has a segment of this number
			return s.Base() + c.local, true, nil
		}
	}
	i, local, err := v.Find(ctx, c.id())
	if errors.Is(err, ErrNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	doc = v.Segment(i).Base() + local
	return doc, v.SegmentAt(i).AsArrived() && doc <= c.doc, nil
}
