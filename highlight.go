package riffle

import (
	"cmp"
	"context"
	"html"
	"slices"
	"strings"
	"unicode"

	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/highlight"
	"github.com/riffle-search/riffle/internal/plan"
	"github.com/riffle-search/riffle/internal/search"
)

// HighlightOptions say which fragments of a document's texts are wanted. The zero value asks for the
// best sentence, or the best sentences that follow each other, of each field that the query searches.
type HighlightOptions struct {
	// Fields are the stored fields to highlight. The default is all that the query searches. A field
	// with CopyFrom stands for the fields that it is a copy of.
	Fields []string

	// Fragments is the most fragments of a field, 1 to 1,000. The default is 1.
	Fragments int

	// Size is how many characters a fragment has at most: 1 to 1,000,000, or WholeText. Only a match that
	// is longer makes a longer fragment. The default is 200.
	Size int

	// BySize cuts fragments at the ends of words. By default they are whole sentences, unless a sentence
	// is longer than Size.
	BySize bool

	// InOrder sorts the fragments of a field as they are in the text. By default the best comes first.
	InOrder bool

	// Query is the query whose matches are marked; nil stands for that of the search. It decides nothing about
	// which documents are hits.
	Query Query `json:"-"`

	// Lead makes a field without a match yield its beginning, as a fragment with Score 0.
	Lead bool
}

// WholeText as HighlightOptions.Size makes each value of a field one fragment.
const WholeText = highlight.Whole

// Limits of HighlightOptions, and the default Size.
const (
	maxFragments    = 1000
	maxFragmentSize = 1_000_000
	fragmentSize    = 200
)

func (o *HighlightOptions) validate() error {
	if o == nil {
		return nil
	}
	switch {
	case o.Fragments < 0 || o.Fragments > maxFragments:
		return plan.Errorf("HighlightOptions.Fragments", "must lie in 0 to %d, not %d", maxFragments, o.Fragments)
	case o.Size != WholeText && (o.Size < 0 || o.Size > maxFragmentSize):
		return plan.Errorf("HighlightOptions.Size", "must lie in 0 to %d, or be WholeText, not %d", maxFragmentSize, o.Size)
	case slices.Contains(o.Fields, ""):
		return plan.Errorf("HighlightOptions.Fields", "has a field without a name")
	}
	return nil
}

// A Fragment is a part of a text that shows what a query matches there.
type Fragment struct {
	Value         int         // number of the text among the values of its field, from 0
	Start, End    int         // bytes of that value; a fragment begins and ends between characters
	Text          string      // those bytes
	Matches       []ByteRange // bytes of Text that match: ascending, not empty, and none touch
	Before, After bool        // the value has other text before the fragment, after it
	Score         float64     // comparable within a document
}

// A ByteRange is text[Start:End].
type ByteRange struct{ Start, End int }

// A Span is a word of a text that makes its document match a query.
type Span struct {
	Value      int    // number of the text among the values of its field, from 0
	Start, End int    // bytes of that value
	Term       string // the word as the field's analyzer left it
	Position   int    // of the word in the value: see analysis.Token
}

// A Highlighter shows where documents match a query. It analyses their texts again, as they were
// analysed when they were indexed; nothing is stored for it. So a text need not be stored, if the
// caller has it. It can be used by many goroutines at once.
//
// It marks only what makes the document match:
//
//   - The words of Phrase, PhrasePrefix, Near and Intervals only where they stand as the query asks.
//   - Words in the original text, where the analyzer has stemmed or folded them, or replaced them by
//     synonyms. Prefix, Wildcard, Regexp, TermRange, Terms and Fuzzy mark the words that they find.
//   - A word of a field only in that field. A field with CopyFrom marks the fields that it copies.
//   - Nothing of MustNot. Filters mark their words as Must does. An alternative of a Bool, and of a
//     Match with ModeAnd, marks nothing where only a part of it matches. Where that depends on fields
//     whose text is not at hand, it is taken to match.
//   - Keywords as a whole. Numbers, dates, booleans, Exists, IDs and All mark nothing.
//
// The time is linear in the length of the texts. A pattern is compared once with each different word of
// a document.
type Highlighter struct {
	o     HighlightOptions
	h     *plan.Highlighter
	shown map[string]bool // fields that are shown; nil for all that the query searches
}

// Highlighter returns a highlighter of the documents that match a query. A nil *HighlightOptions stands
// for the defaults. Searches use one with SearchOptions.Highlight.
//
// Fuzzy words stand for the terms that the current index has for them.
func (e *Engine) Highlighter(ctx context.Context, q Query, o *HighlightOptions) (*Highlighter, error) {
	v, err := e.acquire()
	if err != nil {
		return nil, err
	}
	defer v.Release()
	return v.highlighter(ctx, q, o)
}

// Highlighter is Engine.Highlighter at the moment of the snapshot.
func (s *Snapshot) Highlighter(ctx context.Context, q Query, o *HighlightOptions) (*Highlighter, error) {
	v, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer v.Release()
	return v.highlighter(ctx, q, o)
}

func (v scope) highlighter(ctx context.Context, q Query, o *HighlightOptions) (*Highlighter, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	set, err := v.settings(nil)
	if err != nil {
		return nil, err
	}
	p := v.e.newPreparer()
	defer p.Forget(v.View)
	return newHighlighter(v.e.index.Schema(), p.Rewriter(v.View, &set.Settings), q, o)
}

func newHighlighter(s *document.Schema, rw *plan.Rewriter, q Query, o *HighlightOptions) (*Highlighter, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	h := &Highlighter{}
	if o != nil {
		if h.o = *o; o.Query != nil {
			q = o.Query
		}
	}
	h.o.Fragments, h.o.Size = cmp.Or(h.o.Fragments, 1), cmp.Or(h.o.Size, fragmentSize)
	for _, name := range h.o.Fields {
		f := s.Fields[name]
		if f.Type != document.TextField && f.Type != document.KeywordField {
			return nil, plan.Errorf("HighlightOptions.Fields", "field %q has values of type %s, not texts", name, f.Type)
		}
		if h.shown == nil {
			h.shown = map[string]bool{}
		}
		if len(f.CopyFrom) == 0 {
			h.shown[name] = true
		}
		for _, from := range f.CopyFrom {
			h.shown[from] = true
		}
	}
	c, err := rewrite(q, rw, 1)
	if err != nil {
		return nil, err
	}
	h.h, err = rw.Highlighter(c)
	return h, err
}

// shows reports whether a field is shown.
func (h *Highlighter) shows(field string) bool { return h.shown == nil || h.shown[field] }

// Fragments returns the best fragments of a document by field, without fields that have none. The
// document is what Hit.Fields holds, or Engine.Get returns, or anything that Put takes.
//
// A document that does not match the query for certain has none. Of a field that it lacks, it may have
// any word.
func (h *Highlighter) Fragments(doc any) (map[string][]Fragment, error) {
	values, err := document.Flatten(doc)
	if err != nil {
		return nil, err
	}
	return h.fragments(values, false), nil
}

// Spans returns the words that match in the fields of a document, in their order: see Fragments. Words
// may overlap. Options other than Fields play no part.
func (h *Highlighter) Spans(doc any) (map[string][]Span, error) {
	values, err := document.Flatten(doc)
	if err != nil {
		return nil, err
	}
	out := map[string][]Span{}
	for _, p := range h.h.Places(values, h.shows, false) {
		spans := out[p.Source]
		s := Span{p.Value, p.Start, p.End, p.Term, p.Position}
		if n := len(spans); n == 0 || spans[n-1] != s { // it may be there for several words of the query
			out[p.Source] = append(spans, s)
		}
	}
	return out, nil
}

// fragments is Fragments; complete says that the document matches and has all its stored values.
func (h *Highlighter) fragments(values []document.Value, complete bool) map[string][]Fragment {
	places := h.h.Places(values, h.shows, complete)
	out := map[string][]Fragment{}
	for len(places) > 0 {
		n := 1
		for n < len(places) && places[n].Source == places[0].Source {
			n++
		}
		field := places[0].Source
		texts, numbers := textsOf(values, field, places[:n])
		out[field] = h.cut(texts, numbers, highlight.Best(texts, h.options()))
		places = places[n:]
	}
	if !h.o.Lead {
		return out
	}
	for _, field := range h.leads() {
		if out[field] != nil {
			continue
		}
		texts, numbers := textsOf(values, field, nil)
		if lead, ok := highlight.Lead(texts, h.options()); ok {
			out[field] = h.cut(texts, numbers, []highlight.Fragment{lead})
		}
	}
	return out
}

// leads returns the fields that show their beginning if nothing in them matches.
func (h *Highlighter) leads() []string {
	if h.shown == nil {
		return h.h.Sources(h.shows)
	}
	fields := make([]string, 0, len(h.shown))
	for field := range h.shown {
		fields = append(fields, field)
	}
	return fields
}

func (h *Highlighter) options() highlight.Options {
	return highlight.Options{Fragments: h.o.Fragments, Size: h.o.Size, BySize: h.o.BySize}
}

// textsOf returns the texts of a field with their places, and their numbers among its values.
func textsOf(values []document.Value, field string, places []plan.Place) (texts []highlight.Text, numbers []int) {
	number := -1
	for i := range values {
		v := &values[i]
		if v.Name != field {
			continue
		}
		number++
		if v.Kind != document.KindText {
			continue
		}
		t := highlight.Text{Text: v.Str}
		for len(places) > 0 && places[0].Value == number {
			t.Marks = append(t.Marks, highlight.Mark{Start: places[0].Start, End: places[0].End, Group: places[0].Group})
			places = places[1:]
		}
		texts, numbers = append(texts, t), append(numbers, number)
	}
	return texts, numbers
}

// cut makes the fragments of texts.
func (h *Highlighter) cut(texts []highlight.Text, numbers []int, found []highlight.Fragment) []Fragment {
	if h.o.InOrder {
		slices.SortFunc(found, func(a, b highlight.Fragment) int {
			return cmp.Or(cmp.Compare(a.Text, b.Text), cmp.Compare(a.Start, b.Start))
		})
	}
	out := make([]Fragment, len(found))
	for i, f := range found {
		text := texts[f.Text].Text
		out[i] = Fragment{
			Value: numbers[f.Text], Start: f.Start, End: f.End, Text: text[f.Start:f.End], Score: f.Score,
			Before: strings.TrimSpace(text[:f.Start]) != "", After: strings.TrimSpace(text[f.End:]) != "",
		}
		for _, m := range f.Marked {
			out[i].Matches = append(out[i].Matches, ByteRange{m.Start - f.Start, m.End - f.Start})
		}
	}
	return out
}

// highlightsHits returns a function that highlights the hits of a search, or nil without options.
func (v scope) highlightsHits(x *search.Run, q Query, o *HighlightOptions) (func(search.Cursor) (map[string][]Fragment, error), error) {
	if o == nil {
		return nil, nil
	}
	s := v.e.index.Schema()
	for _, name := range o.Fields {
		sources := []string{name}
		if from := s.Fields[name].CopyFrom; len(from) > 0 {
			sources = from
		}
		if !slices.ContainsFunc(sources, s.StoresField) {
			return nil, plan.Errorf("HighlightOptions.Fields", "field %q is not stored; a Highlighter takes its text from the caller", name)
		}
	}
	h, err := newHighlighter(s, x.Rewriter(), q, o)
	if err != nil {
		return nil, err
	}
	load := h.h.Sources(h.shows)
	if o.Lead {
		load = append(load, h.leads()...)
	}
	return func(at search.Cursor) (map[string][]Fragment, error) {
		fields, err := x.Fields(at, load)
		if err != nil {
			return nil, err
		}
		values, err := document.Flatten(fields)
		if err != nil {
			return nil, err
		}
		return h.fragments(values, true), nil
	}, nil
}

// A Markup says how Fragment.Format prints a fragment.
type Markup struct {
	Open, Close string                   // around each match
	Cut         string                   // for text of the value before the fragment, and after it
	Escape      func(text string) string // applied to each piece of text; nil leaves it as it is
}

// HTML is the Markup of a web page, with the tags of matches: HTML("<em>", "</em>").
func HTML(open, close string) Markup { return Markup{open, close, "…", html.EscapeString} }

// ANSI is the Markup of a terminal, with the codes of matches: ANSI("\x1b[7m", "\x1b[0m"). Control
// characters of the text, the ends of lines among them, become spaces.
func ANSI(open, close string) Markup { return Markup{open, close, "…", printable} }

// printable replaces what would garble a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
}

// HTML prints the fragment for a web page, with matches in <mark>.
func (f Fragment) HTML() string { return f.Format(HTML("<mark>", "</mark>")) }

// ANSI prints the fragment for a terminal, with matches bold and yellow.
func (f Fragment) ANSI() string { return f.Format(ANSI("\x1b[1;33m", "\x1b[0m")) }

// Format prints the fragment.
func (f Fragment) Format(m Markup) string {
	escape := m.Escape
	if escape == nil {
		escape = func(text string) string { return text }
	}
	var b strings.Builder
	if f.Before {
		b.WriteString(m.Cut)
	}
	at := 0
	for _, r := range f.Matches {
		b.WriteString(escape(f.Text[at:r.Start]))
		b.WriteString(m.Open)
		b.WriteString(escape(f.Text[r.Start:r.End]))
		b.WriteString(m.Close)
		at = r.End
	}
	b.WriteString(escape(f.Text[at:]))
	if f.After {
		b.WriteString(m.Cut)
	}
	return b.String()
}
