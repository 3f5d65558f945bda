package riffle

import "github.com/riffle-search/riffle/internal/search"

// A Cursor marks the place of a hit in the answer to a query. SearchOptions.After continues after
// it. The zero Cursor is the beginning.
//
// Its text (String, MarshalText) is opaque and safe in a URL. It takes some fifty bytes plus the id
// of the hit and a few bytes for each term of the query. It outlives the process: any index that
// has the documents accepts it. It is not signed. A forged cursor yields other pages of the same
// query, or an error.
//
// # On a Snapshot
//
// Pages fit together exactly: their hits are those of one long page.
//
// # On an index that changes
//
// The cursor carries the statistics of its query's terms (documents, frequencies, average lengths),
// and the search that continues uses these. So an unchanged document keeps its score on all pages,
// whatever else is added, deleted or merged, and hits are ordered by score. It follows:
//
//   - A document that is neither changed nor deleted is on exactly one page.
//   - A document that is added, or changed, is found if its score puts it after the cursor.
//   - A changed document may therefore come twice, or not at all.
//
// Documents with exactly the score of the cursor's hit continue after that hit in the order of the
// index, which additions, deletions and merges keep. The place can get lost: when a merge has
// removed the hit's old copy after it was deleted or changed, or when a merge reorders documents
// (Options.Merge.Order). Then all documents with exactly this score come again, so that none is
// missed.
//
// With SearchOptions.Sort the cursor carries the values of the hit's sort keys. All of the above holds
// for these in place of the score.
//
// # Other queries
//
// A cursor belongs to a query, its order, its BM25 parameters and the weight of its static rank. Where the
// query has a Match with ModeAndOr, it also belongs to K, and that of a Multi to the names of its
// engines in their order. A search with any other is refused with a *QueryError.
type Cursor struct{ at search.Cursor }

// IsZero reports whether the cursor is the zero Cursor, the beginning of any answer.
func (c Cursor) IsZero() bool { return c.at.IsZero() }

// MarshalText implements encoding.TextMarshaler. The text of the zero Cursor is empty. A query
// without a JSON form is an error.
func (c Cursor) MarshalText() ([]byte, error) { return c.at.AppendText([]byte{}) }

// AppendText implements encoding.TextAppender: it appends the text of MarshalText.
func (c Cursor) AppendText(b []byte) ([]byte, error) { return c.at.AppendText(b) }

// String returns the text of MarshalText, or the reason why there is none.
func (c Cursor) String() string {
	text, err := c.MarshalText()
	if err != nil {
		return "!" + err.Error() // no cursor's text begins with this
	}
	return string(text)
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *Cursor) UnmarshalText(text []byte) (err error) {
	c.at, err = search.ParseCursor(text)
	return err
}

// ParseCursor reads the text of a cursor.
func ParseCursor(text string) (c Cursor, err error) {
	err = c.UnmarshalText([]byte(text))
	return c, err
}

// Cursors returns the texts of the cursors of all hits, as Cursor.MarshalText writes them, for less than one
// by one.
func (r *Result) Cursors() ([]string, error) {
	texts := make([]string, len(r.Hits))
	var with search.Texts
	for i := range r.Hits {
		var err error
		if texts[i], err = with.Of(r.Hits[i].Cursor.at); err != nil {
			return nil, err
		}
	}
	return texts, nil
}
