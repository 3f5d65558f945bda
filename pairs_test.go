package riffle

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/analysis"
)

// lettersAnalyzer makes a term of each word, two of "s", one of which is "a" and comes twice, and a hole of
// "x".
type lettersAnalyzer struct{}

func (lettersAnalyzer) Name() string { return "letters" }

func (lettersAnalyzer) Analyze(text []byte, emit func([]analysis.Token)) {
	for i, w := range strings.Fields(string(text)) {
		tokens := []analysis.Token{{Term: []byte(w), Position: i}}
		switch w {
		case "x":
			continue
		case "s":
			tokens = []analysis.Token{{Term: []byte("a"), Position: i}, {Term: []byte("a"), Position: i}, {Term: []byte("s"), Position: i}}
		}
		emit(tokens)
	}
}

// pairSchema is a schema of text with pairs of words.
func pairSchema(words ...string) *Schema {
	text := Field{Type: FieldText, PhrasePairs: words}
	return &Schema{Analyzer: "letters", Fields: map[string]Field{
		"text": text, "other": {Type: FieldText}, "both": {Type: FieldText, CopyFrom: []string{"text", "other"}, PhrasePairs: words},
	}}
}

func pairOptions(o Options, words ...string) *Options {
	o.Analyzers = map[string]analysis.Analyzer{"letters": lettersAnalyzer{}}
	o.Schema, o.AlterSchema = pairSchema(words...), true
	return &o
}

// A pairWorld is two indexes of the same documents, one with pairs of words.
type pairWorld struct {
	t            testing.TB
	rng          *rand.Rand
	pairs, plain *testIndex
	options      Options
	words        []string
	ids          int
}

func (w *pairWorld) text() string {
	text := make([]string, w.rng.IntN(12))
	for i := range text {
		text[i] = w.words[min(w.rng.IntN(len(w.words)), w.rng.IntN(len(w.words)))]
	}
	return strings.Join(text, " ")
}

func (w *pairWorld) document() map[string]any {
	doc := map[string]any{"text": w.text(), "other": w.text()}
	switch w.rng.IntN(4) {
	case 0:
		values := []string{w.text(), w.text(), w.text()}
		doc["text"] = values[:1+w.rng.IntN(3)]
	case 1:
		delete(doc, "text")
	}
	return doc
}

func (w *pairWorld) both(do func(*testIndex)) {
	do(w.pairs)
	do(w.plain)
}

// grow adds documents, replaces and deletes some, and perhaps seals or merges.
func (w *pairWorld) grow() {
	var b Batch
	for range 1 + w.rng.IntN(50) {
		id := fmt.Sprint(w.rng.IntN(w.ids))
		if w.rng.IntN(8) == 0 {
			b.Delete(id)
		} else {
			b.Put(id, w.document())
		}
	}
	compact, flush := w.rng.IntN(5) == 0, w.rng.IntN(2) == 0
	w.both(func(ix *testIndex) {
		ix.must(ix.Apply(ctx, &b))
		switch {
		case compact:
			ix.must(ix.Compact(ctx))
		case flush:
			ix.flush()
		}
	})
}

// reopen opens the index with pairs of other words, or without.
func (w *pairWorld) reopen(words ...string) {
	w.both((*testIndex).flush) // a changed schema does that, and it changes statistics
	w.pairs.must(w.pairs.Close())
	w.pairs.open(pairOptions(w.options, words...))
}

// query is a random query with phrases.
func (w *pairWorld) query() Query {
	p := make([]string, 1+w.rng.IntN(5))
	for i := range p {
		p[i] = w.words[min(w.rng.IntN(len(w.words)), w.rng.IntN(len(w.words)))]
	}
	field := []string{"text", "both"}[w.rng.IntN(2)]
	q := Query(Phrase{Field: field, Text: strings.Join(p, " ")})
	if w.rng.IntN(6) == 0 {
		terms := make([][]string, len(p))
		for i := range p {
			if terms[i] = p[i : i+1]; w.rng.IntN(4) == 0 {
				terms[i] = []string{p[i], w.words[w.rng.IntN(len(w.words))]}
			}
		}
		q = Phrase{Field: field, Terms: terms}
	}
	switch w.rng.IntN(9) {
	case 0:
		return Bool{Must: []Query{q, match("other", w.words[0])}}
	case 1:
		return Bool{Should: []Query{q, w.query(), match("text", w.words[1])}}
	case 2:
		return Bool{Must: []Query{match("other", w.words[0])}, Filter: []Query{q}}
	case 3:
		return Bool{Must: []Query{match("other", w.words[0])}, MustNot: []Query{q}}
	case 4:
		return Boost{Query: q, By: 0.25 + w.rng.Float64()}
	case 5:
		return DisMax{Queries: []Query{q, w.query()}, Tie: 0.5}
	}
	return q
}

// compare compares the answers to a query: hits, scores, totals, pages, explanations.
func (w *pairWorld) compare(q Query) {
	w.t.Helper()
	o := SearchOptions{K: []int{1, 3, 10, 1000}[w.rng.IntN(4)], ExactTotal: w.rng.IntN(2) == 0}
	var plainAfter Cursor
	for range 3 {
		p := o
		p.After = plainAfter
		want, err := w.plain.Search(ctx, q, &p)
		w.plain.must(err)
		got, err := w.pairs.Search(ctx, q, &o)
		w.pairs.must(err)
		if !slices.EqualFunc(got.Hits, want.Hits, func(a, b Hit) bool { return a.ID == b.ID && a.Score == b.Score }) || o.ExactTotal && got.Total != want.Total {
			w.t.Fatalf("%v %+v:\nwith pairs %v of %d\nwithout    %v of %d", q, o, shown(got.Hits), got.Total, shown(want.Hits), want.Total)
		}
		for _, h := range got.Hits[:min(len(got.Hits), 2)] {
			a, err := w.pairs.Explain(ctx, q, h.ID, &o)
			w.pairs.must(err)
			b, err := w.plain.Explain(ctx, q, h.ID, &o)
			w.plain.must(err)
			if a.String() != b.String() || a.Score != h.Score {
				w.t.Fatalf("%v: %s scores %v, with pairs it is explained as\n%v\nand without as\n%v", q, h.ID, h.Score, a, b)
			}
		}
		if len(got.Hits) == 0 {
			break
		}
		o.After = got.Hits[len(got.Hits)-1].Cursor
		plainAfter = want.Hits[len(got.Hits)-1].Cursor
	}
	n, err := w.pairs.Count(ctx, q)
	w.pairs.must(err)
	m, err := w.plain.Count(ctx, q)
	w.plain.must(err)
	if n != m {
		w.t.Fatalf("%v matches %d documents with pairs, and %d without", q, n, m)
	}
}

func shown(hits []Hit) (out []string) {
	for _, h := range hits {
		out = append(out, fmt.Sprintf("%s:%v", h.ID, h.Score))
	}
	return out
}

// TestPhrasePairs compares random indexes with pairs of words to the same without: every answer must be
// the same, in all states of the segments, and after other words have been declared.
func TestPhrasePairs(t *testing.T) {
	rounds := 16
	if testing.Short() {
		rounds = 6
	}
	for round := range rounds {
		w := &pairWorld{t: t, rng: rand.New(rand.NewPCG(11, uint64(round))), words: strings.Fields("a b longerword c s x d e"), ids: 400}
		w.options = Options{Merge: MergeOptions{Disabled: true, Order: DocOrder(w.rng.IntN(3))}, SearchWorkers: 1 + round%2}
		sets := [][]string{{"a", "b", "longerword", "c"}, {"a", "b", "d", "e", "nowhere"}, {"_none_"}, {"b", "_english_"}}
		first := sets[w.rng.IntN(4)]
		w.pairs, w.plain = newIndex(t, pairOptions(w.options, first...)), newIndex(t, pairOptions(w.options))
		for range 2 + w.rng.IntN(5) {
			w.grow()
			if w.rng.IntN(3) == 0 {
				w.reopen(sets[w.rng.IntN(4)]...)
			}
			if w.rng.IntN(2) == 0 {
				w.compare(w.query())
			}
		}
		for range 40 {
			w.compare(w.query())
		}
		w.sameWords()
		w.both(func(ix *testIndex) { ix.must(ix.Compact(ctx)) })
		for range 10 {
			w.compare(w.query())
		}
		w.sameWords()
		w.both(func(ix *testIndex) {
			ix.must(ix.Check(ctx, func(err error) { t.Error(err) }))
			ix.must(ix.Close())
		})
	}
}

// sameWords requires that nothing but phrases sees the pairs.
func (w *pairWorld) sameWords() {
	w.t.Helper()
	var all [2]string
	for i, ix := range []*testIndex{w.pairs, w.plain} {
		var b strings.Builder
		for _, field := range []string{"text", "both", "other"} {
			for term, err := range ix.Terms(ctx, field, "") {
				ix.must(err)
				fmt.Fprintln(&b, field, term)
			}
		}
		st, err := ix.Stats()
		ix.must(err)
		text, err := json.Marshal(st.Fields)
		ix.must(err)
		all[i] = b.String() + string(text)
	}
	if all[0] != all[1] {
		w.t.Fatalf("terms and fields with pairs\n%s\nand without\n%s", all[0], all[1])
	}
}

// TestBuildPhrasePairs compares an index that Build makes with one of Apply, by answers and by the bytes of
// its lists.
func TestBuildPhrasePairs(t *testing.T) {
	w := &pairWorld{t: t, rng: rand.New(rand.NewPCG(12, 1)), words: strings.Fields("a b longerword c s x d e"), ids: 700}
	w.options = Options{Merge: MergeOptions{Disabled: true}}
	words := []string{"a", "b", "c", "longerword"}
	w.plain = newIndex(t, pairOptions(w.options))
	var b Batch
	var docs []Document
	for id := range w.ids {
		doc := w.document()
		b.Put(fmt.Sprint(id), doc)
		docs = append(docs, Document{ID: fmt.Sprint(id), Value: doc})
	}
	w.plain.must(w.plain.Apply(ctx, &b))
	w.plain.must(w.plain.Compact(ctx))
	dir := filepath.Join(t.TempDir(), "built")
	source := Documents(func(yield func(Document, error) bool) {
		for _, d := range docs {
			if !yield(d, nil) {
				return
			}
		}
	})
	_, err := Build(ctx, dir, source, &BuildOptions{Index: *pairOptions(w.options, words...), Workers: 2, OneSegment: true})
	w.plain.must(err)
	w.pairs = &testIndex{t: t, dir: dir}
	w.pairs.open(pairOptions(w.options, words...))
	defer w.pairs.Close()
	for range 60 {
		w.compare(w.query())
	}
	w.sameWords()
	st, err := w.pairs.Stats()
	w.plain.must(err)
	if !slices.Contains(st.Segments[0].Features, "lists of pairs of words") {
		t.Errorf("the segment has the features %q", st.Segments[0].Features)
	}
	w.plain.must(w.pairs.Check(ctx, func(err error) { t.Error(err) }))

	// A phrase of frequent words decodes the lists of pairs instead of those of the words.
	q := Phrase{Field: "text", Text: "a b"}
	want, err := w.plain.Search(ctx, q, &SearchOptions{ExactTotal: true})
	w.plain.must(err)
	got, err := w.pairs.Search(ctx, q, &SearchOptions{ExactTotal: true})
	w.plain.must(err)
	if got.Work.BlocksDecoded >= want.Work.BlocksDecoded {
		t.Errorf("%d blocks decoded with pairs, %d without", got.Work.BlocksDecoded, want.Work.BlocksDecoded)
	}
}

// TestPhrasePairsSurvive kills an index with pairs in its log, and reopens it under other words.
func TestPhrasePairsSurvive(t *testing.T) {
	w := &pairWorld{t: t, rng: rand.New(rand.NewPCG(13, 1)), words: strings.Fields("a b c d"), ids: 100}
	w.options = Options{Merge: MergeOptions{Disabled: true}}
	w.pairs, w.plain = newIndex(t, pairOptions(w.options, "a", "b")), newIndex(t, pairOptions(w.options))
	for _, words := range [][]string{{"a", "b"}, {"a", "b", "c"}, nil, {"_none_"}} {
		w.grow()
		copied := filepath.Join(t.TempDir(), fmt.Sprint(len(words)))
		w.pairs.must(os.CopyFS(copied, os.DirFS(w.pairs.dir))) // as a crash leaves it
		w.pairs.must(w.pairs.Close())
		w.pairs.dir = copied
		w.pairs.open(pairOptions(w.options, words...))
		w.plain.flush()
		w.pairs.flush()
		for range 20 {
			w.compare(w.query())
		}
	}
}

// TestInvalidPhrasePairs: the schema says what is wrong, and how an existing index can be changed.
func TestInvalidPhrasePairs(t *testing.T) {
	many := make([]string, 65)
	for i := range many {
		many[i] = fmt.Sprint("w", i)
	}
	for _, c := range []struct {
		field Field
		want  string
	}{
		{Field{Type: FieldKeyword, PhrasePairs: []string{"a"}}, "go with a text field, this one is keyword"},
		{Field{PhrasePairs: []string{"a"}, Positions: PositionsNone}, "go with positions"},
		{Field{PhrasePairs: []string{"a", "b c"}}, `"b c" is several words`},
		{Field{PhrasePairs: []string{"a", " "}}, "an empty word"},
		{Field{PhrasePairs: []string{"_none_", "b"}}, "goes with no other word"},
		{Field{PhrasePairs: many}, "65 words, at most 64"},
	} {
		_, err := Open(filepath.Join(t.TempDir(), "x"), &Options{Schema: &Schema{Fields: map[string]Field{"text": c.field}}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.field.PhrasePairs, err, c.want)
		}
	}

	ix := newIndex(t, &Options{Schema: &Schema{Fields: map[string]Field{"text": {}}}})
	ix.put("1", map[string]any{"text": "of the whale"})
	ix.must(ix.Close())
	pairs := &Options{Schema: &Schema{Fields: map[string]Field{"text": {PhrasePairs: []string{"_english_"}}}}}
	if _, err := Open(ix.dir, pairs); err == nil || !strings.Contains(err.Error(), "Options.AlterSchema changes it") {
		t.Errorf("other pairs without AlterSchema: %v", err)
	}
	pairs.AlterSchema = true
	ix.open(pairs)
	ix.must(ix.Close())
	ix.open(&Options{Schema: pairs.Schema}) // the same again
	if ids, _ := ix.hits(phrase("of the", 0)); fmt.Sprint(ids) != "[1]" {
		t.Errorf("found %v", ids)
	}
	var part *QueryError
	if _, err := ix.Search(ctx, Term{Field: "\xff\x00pairs\x00text", Value: "of\x00the"}, nil); !errors.As(err, &part) {
		t.Errorf("a query of the pairs: %v", err)
	}
}
