package riffle

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// TestPreparedWords: the plan that prepareWords makes is the plan of the clauses, over
// random matches, in a preparer that has made other plans before.
func TestPreparedWords(t *testing.T) {
	r := modelQueries{rand.New(rand.NewPCG(11, 12))}
	schema := &Schema{Fields: map[string]Field{"en": {Type: TextField, Analyzer: "english"}, modelKeyword: {Type: KeywordField}}}
	ix := newIndex(t, &Options{Schema: schema, Merge: MergeOptions{Disabled: true}, Rank: Rank{Field: "rank"}})
	for i := range 300 {
		ix.put(r.id(), map[string]any{"text": r.words(1 + r.IntN(20)), "en": "Running " + r.words(3), modelKeyword: r.tag(), "rank": r.Float64()})
		if i%100 == 80 {
			ix.flush()
		}
	}
	v, err := ix.acquire()
	ix.must(err)
	defer v.release()
	quick, whole := ix.borrow(), ix.borrow()
	planned := 0
	for range 2000 {
		q := r.wordsMatch()
		s, err := ix.settings(nil)
		ix.must(err)
		s.alpha = float64(r.IntN(2)) / 4
		got, err := quick.prepareWords(t.Context(), v, q, &s)
		ix.must(err)
		if got == nil {
			continue
		}
		planned++
		whole.rw.n = 0
		root, err := whole.rw.rewrite(q, 1)
		ix.must(err)
		want, err := v.compile(t.Context(), &whole.planner, root, &s)
		ix.must(err)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%v:\n got %+v\nwant %+v", q, got, want)
		}
	}
	if planned < 1000 {
		t.Errorf("only %d of 2,000 matches were planned without clauses", planned)
	}
}

// wordsMatch is a match of a few words, none or many, of one field, most of the time.
func (r modelQueries) wordsMatch() Match {
	q := Match{Field: []string{"text", "text", "text", "en", modelKeyword, "absent"}[r.IntN(6)], Mode: Mode(r.IntN(3)), Text: r.words(r.IntN(6))}
	switch r.IntN(12) {
	case 0:
		q.Text = strings.ToUpper(q.Text) + " RUNNERS'"
	case 1:
		q.Text += " " + fmt.Sprint(q.Text, " ", q.Text)
	case 2:
		q.Text = r.words(r.IntN(60))
	case 3:
		q.Fields = []string{"en"}
	}
	return q
}

// TestPreparersKeepNothing: what goes back to the pool refers to no view, nor to lists or texts.
func TestPreparersKeepNothing(t *testing.T) {
	ix := newQueryIndex(t)
	v, err := ix.acquire()
	ix.must(err)
	defer v.release()
	p := ix.borrow()
	for _, q := range []Query{match("text", "apple banana cherry"), all("text", "date"), Bool{MustNot: []Query{Term{"n", 1}}}} {
		s, err := ix.settings(nil)
		ix.must(err)
		_, err = p.prepare(t.Context(), v, q, &s)
		ix.must(err)
		ix.giveBack(p)
		b := &p.planner
		for _, part := range []any{b.view, b.out, b.terms[:cap(b.terms)], b.lists[:cap(b.lists)], b.entries[:cap(b.entries)], b.segments[:cap(b.segments)],
			p.rw.text, p.rw.tokens[:cap(p.rw.tokens)]} {
			if !empty(reflect.ValueOf(part)) {
				t.Errorf("%v leaves %+v", q, part)
			}
		}
	}
}

func empty(v reflect.Value) bool {
	if v.Kind() != reflect.Slice {
		return v.IsZero()
	}
	for i := range v.Len() {
		if !v.Index(i).IsZero() {
			return false
		}
	}
	return true
}
