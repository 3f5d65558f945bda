package riffle

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/internal/plan"
)

// TestPreparedWords: Preparer.Words makes the same plan as the clauses do, over random matches, in
// a preparer that has made other plans before.
func TestPreparedWords(t *testing.T) {
	r := modelQueries{rand.New(rand.NewPCG(11, 12))}
	schema := &Schema{Fields: map[string]Field{"en": {Type: FieldText, Analyzer: "english"}, modelKeyword: {Type: FieldKeyword}}}
	ix := newIndex(t, &Options{Schema: schema, Merge: MergeOptions{Disabled: true}, Rank: Rank{Field: "rank"}})
	for i := range 300 {
		ix.put(r.id(), map[string]any{"text": r.words(1 + r.IntN(20)), "en": "Running " + r.words(3), modelKeyword: r.tag(), "rank": r.Float64()})
		if i%100 == 80 {
			ix.flush()
		}
	}
	v, err := ix.acquire()
	ix.must(err)
	defer v.Release()
	quick, whole := ix.newPreparer(), ix.newPreparer()
	planned := 0
	for range 2000 {
		q := r.wordsMatch()
		s, err := ix.settings(nil)
		ix.must(err)
		set := plan.Settings{K: s.K, Sim: s.Sim, Alpha: float64(r.IntN(2)) / 4}
		got, err := quick.Words(t.Context(), v, plan.Match(q), &set)
		ix.must(err)
		if got == nil {
			continue
		}
		planned++
		root, err := rewrite(q, whole.Rewriter(nil, &set), 1)
		ix.must(err)
		want, err := whole.Plan(t.Context(), v, root, &set)
		ix.must(err)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%v:\n got %+v\nwant %+v", q, got, want)
		}
	}
	if planned < 900 {
		t.Errorf("only %d of 2,000 matches were planned without clauses", planned)
	}
}

// wordsMatch is usually a match of a few words, none or many, in one field.
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

// TestRunsKeepNothing: a Run in the pool refers to no view or query, and to no lists or texts.
func TestRunsKeepNothing(t *testing.T) {
	ix := newQueryIndex(t)
	v, err := ix.acquire()
	ix.must(err)
	defer v.Release()
	for _, q := range []Query{match("text", "apple banana cherry"), all("text", "date"), Bool{MustNot: []Query{Term{"n", 1}}}} {
		s, err := ix.settings(nil)
		ix.must(err)
		x, err := v.plan(t.Context(), q, &s)
		ix.must(err)
		x.End()
		run := reflect.ValueOf(x).Elem()
		for _, name := range []string{"view", "settings", "compiled", "ticket"} {
			if part := run.FieldByName(name); !empty(part) {
				t.Errorf("%v leaves %s: %v", q, name, part)
			}
		}
		kept := run.FieldByName("preparer")
		for from, names := range map[string][]string{
			"planner": {"ctx", "index", "out", "terms", "lists", "entries", "segments"}, "rw": {"text", "tokens"},
		} {
			for _, name := range names {
				if part := kept.FieldByName(from).FieldByName(name); !empty(part) {
					t.Errorf("%v leaves %s.%s: %v", q, from, name, part)
				}
			}
		}
	}
}

// empty reports whether a value is zero, or a slice whose whole capacity is zero.
func empty(v reflect.Value) bool {
	if v.Kind() != reflect.Slice {
		return v.IsZero()
	}
	v = v.Slice(0, v.Cap())
	for i := range v.Len() {
		if !v.Index(i).IsZero() {
			return false
		}
	}
	return true
}
