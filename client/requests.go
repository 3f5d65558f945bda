package client

import (
	"bytes"
	"encoding/json"

	"github.com/riffle-search/riffle"
)

// A ByQueryRequest deletes or updates the documents that match a query; see riffle.Engine.DeleteByQuery.
type ByQueryRequest struct {
	Query riffle.Query `json:"query,omitempty"`
	Text  *Text        `json:"text,omitempty"`

	// Set has the new values of fields, for an update; null removes a field. Names are flat ("author.name").
	Set map[string]any `json:"set,omitempty"`

	BatchDocs     int     `json:"batch_docs,omitempty"`
	DocsPerSecond float64 `json:"docs_per_second,omitempty"`
	Conflicts     string  `json:"conflicts,omitempty"` // "retry", the default, "skip" or "abort"
	Resume        string  `json:"resume,omitempty"`    // the token of a request that did not end
}

// UnmarshalJSON reads a request. Unknown members are errors.
func (b *ByQueryRequest) UnmarshalJSON(data []byte) error {
	type plain ByQueryRequest
	raw := struct {
		*plain
		Query json.RawMessage `json:"query"`
	}{plain: (*plain)(b)}
	return withQuery(data, &raw, &raw.Query, &b.Query)
}

// withQuery reads an object of which one member is a query.
func withQuery(data []byte, raw any, text *json.RawMessage, q *riffle.Query) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	d.UseNumber()
	err := d.Decode(raw)
	if err == nil && *text != nil {
		*q, err = riffle.UnmarshalQuery(*text)
	}
	return err
}

// A ByQueryAnswer says what a ByQueryRequest has done; see riffle.ByQueryProgress.
type ByQueryAnswer struct {
	Total     int    `json:"total"`
	Changed   int    `json:"changed"`
	Unchanged int    `json:"unchanged"`
	Skipped   int    `json:"skipped"`
	Token     string `json:"token"`
}

// An ExplainRequest asks how a document gets its score.
type ExplainRequest struct {
	Query riffle.Query `json:"query,omitempty"`
	Text  *Text        `json:"text,omitempty"`
	ID    ID           `json:"id"`
}

// UnmarshalJSON reads a request. Unknown members are errors.
func (x *ExplainRequest) UnmarshalJSON(data []byte) error {
	type plain ExplainRequest
	raw := struct {
		*plain
		Query json.RawMessage `json:"query"`
	}{plain: (*plain)(x)}
	return withQuery(data, &raw, &raw.Query, &x.Query)
}

// An Explanation derives a score; see riffle.Explanation.
type Explanation struct {
	Matches bool           `json:"matches"`
	Score   float64        `json:"score"`
	Text    string         `json:"text"`
	Parts   []*Explanation `json:"parts,omitempty"`
}

// An AnalyzeRequest asks for the tokens of a text, by an analyzer or as a field has them.
type AnalyzeRequest struct {
	Text     string `json:"text"`
	Field    string `json:"field,omitempty"`
	Analyzer string `json:"analyzer,omitempty"`
}

// An AnalyzeAnswer has the tokens of a text.
type AnalyzeAnswer struct {
	Analyzer string  `json:"analyzer"`
	Tokens   []Token `json:"tokens"`
}

// A Token is a term and its place in a text; see analysis.Token.
type Token struct {
	Term     string `json:"term"`
	Start    int    `json:"start"` // in bytes
	End      int    `json:"end"`
	Position int    `json:"position"`
	Span     int32  `json:"span,omitempty"`
}

// A SuggestAnswer completes and corrects a word; see riffle.Suggestion.
type SuggestAnswer struct {
	Suggestions []Suggestion `json:"suggestions"`
}

// A Suggestion is a term that a user may have meant.
type Suggestion struct {
	Term      string `json:"term"`
	Documents uint64 `json:"documents"`
	Edits     int    `json:"edits"`
}

// A TermsAnswer has terms of a field in the order of their bytes.
type TermsAnswer struct {
	Terms []TermCount `json:"terms"`
	More  bool        `json:"more"` // there are more terms with the prefix
}

// A TermCount is a term and the number of documents that have it, with those that have been deleted until a merge.
type TermCount struct {
	Term      string `json:"term"`
	Documents uint64 `json:"documents"`
}
