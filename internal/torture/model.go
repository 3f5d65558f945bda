package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"github.com/riffle-search/riffle"
)

// A model is a naive index: a map from id to document, searched by looking at every document. Texts
// are lower-case words separated by spaces, so that strings.Fields analyses them as the standard
// analyzer does. A document in a model never changes, so a clone of the map is a snapshot.
type model map[string]document

// A document is the stored form of one, as Get returns it.
type document map[string]any

func (m model) ids() []string { return slices.Sorted(maps.Keys(m)) }

// position returns the position of the batches that have led a world to a model: a digest of the
// documents.
func (m model) position() []byte {
	h := fnv.New64a()
	for _, id := range m.ids() {
		fmt.Fprintf(h, "%q %v\n", id, m[id])
	}
	return h.Sum(nil)
}

// keyword is the field whose strings are one term each.
const keyword = "tag"

// schemas are the schemas of an index, in the order in which it may get them.
var schemas = []*riffle.Schema{
	{Fields: withUpdatable(map[string]riffle.Field{keyword: {Type: riffle.FieldKeyword}})},
	{Fields: withUpdatable(map[string]riffle.Field{keyword: {Type: riffle.FieldKeyword}, "both": {CopyFrom: []string{"title", "text"}}})},
	{Fields: withUpdatable(map[string]riffle.Field{keyword: {Type: riffle.FieldKeyword}, "both": {CopyFrom: []string{"title", "text"}}, "late": {Type: riffle.FieldNumber}})},
}

// terms returns the terms of a field.
func (d document) terms(field string) []string {
	switch v := d[field].(type) {
	case string:
		if field == keyword {
			return []string{v}
		}
		return strings.Fields(v)
	case []any:
		var all []string
		for _, s := range v {
			all = append(all, strings.Fields(s.(string))...)
		}
		return all
	case nil:
		return nil
	default:
		return []string{fmt.Sprint(v)}
	}
}

// matches reports whether a document matches a query; a Match regardless of ModeAndOr.
func (d document) matches(q riffle.Query) bool {
	switch q := q.(type) {
	case riffle.All:
		return true
	case riffle.Term:
		return slices.Contains(d.terms(q.Field), fmt.Sprint(q.Value))
	case riffle.Range:
		return d.inRange(q)
	case riffle.WithinDistance:
		return d.near(q)
	case riffle.WithinBox:
		return d.in(q)
	case riffle.Boost:
		return d.matches(q.Query)
	case riffle.ConstantScore:
		return d.matches(q.Query)
	case riffle.Match:
		words, found := strings.Fields(q.Text), 0
		for _, w := range words {
			in := func(field string) bool { return slices.Contains(d.terms(field), w) }
			if q.Field != "" && in(q.Field) || slices.ContainsFunc(q.Fields, in) {
				found++
			}
		}
		return found > 0 && (q.Mode != riffle.ModeAnd || found == len(words))
	case riffle.Bool:
		should := 0
		for _, c := range q.Should {
			if d.matches(c) {
				should++
			}
		}
		least := q.MinShould
		if least == 0 && len(q.Must)+len(q.Filter) == 0 && len(q.Should) > 0 {
			least = 1
		}
		return should >= least && !slices.ContainsFunc(slices.Concat(q.Must, q.Filter), func(c riffle.Query) bool { return !d.matches(c) }) &&
			!slices.ContainsFunc(q.MustNot, d.matches)
	}
	panic(fmt.Sprintf("BUG: query %T", q))
}

// matches returns the ids of the documents that match a query, in ascending order.
func (m model) matches(q riffle.Query) []string {
	ids := []string{}
	for _, id := range m.ids() {
		if m[id].matches(q) {
			ids = append(ids, id)
		}
	}
	return ids
}

// A random makes documents and queries of few words, so that matches, ties and
// replaced documents are common.
type random struct{ *rand.Rand }

// newRandom returns a source that depends on the numbers alone.
func newRandom(seed uint64, more ...int) random {
	h := uint64(len(more))
	for _, n := range more {
		h = (h ^ uint64(n)) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return random{rand.New(rand.NewPCG(seed, h))}
}

// word follows something like Zipf's law over 40 words.
func (r random) word() string { return fmt.Sprintf("w%d", int(math.Pow(40, r.Float64()))) }

func (r random) words(n int) string {
	var ws []string
	for range n {
		ws = append(ws, r.word())
	}
	return strings.Join(ws, " ")
}

// noise returns a text of n bytes that does not compress well.
func (r random) noise(n int) string {
	var b strings.Builder
	for b.Len() < n {
		fmt.Fprintf(&b, "x%x ", r.Uint32())
	}
	return b.String()
}

func (r random) id(of int) string {
	if r.IntN(100) == 0 {
		return strings.Repeat("é", 1+r.IntN(100))
	}
	return fmt.Sprintf("d%d", r.IntN(of))
}

func (r random) tag() string { return fmt.Sprintf("Tag %d", r.IntN(5)) }

func (r random) document() document {
	d := document{"num": int64(r.IntN(8)), "text": r.words(1 + r.IntN(20))}
	switch r.IntN(8) {
	case 0:
		delete(d, "text")
	case 1:
		d["text"] = ""
	case 2:
		d["text"] = []any{r.words(r.IntN(5)), r.words(3)}
	}
	if r.IntN(3) > 0 {
		d["title"] = r.words(r.IntN(4))
	}
	if r.IntN(3) > 0 {
		d[keyword] = r.tag()
	}
	if r.IntN(4) > 0 {
		d["rank"] = float64(r.IntN(4))/4 + 0.125
	}
	if r.IntN(4) == 0 {
		d["flag"] = r.IntN(2) == 0
	}
	if r.IntN(4) > 0 {
		d[price] = r.price()
	}
	if r.IntN(2) == 0 {
		d[label] = r.labels()
	}
	if r.IntN(2) == 0 {
		d[spot] = r.spot()
	}
	return d
}

func (r random) leaf() riffle.Query {
	switch r.IntN(11) {
	case 0:
		return riffle.Term{Field: keyword, Value: r.tag()}
	case 1:
		return riffle.Term{Field: "num", Value: r.IntN(9)}
	case 2:
		return riffle.Term{Field: "text", Value: r.word()}
	case 3:
		return riffle.Term{Field: "flag", Value: r.IntN(2) == 0}
	case 4:
		return riffle.All{}
	case 9:
		return r.rangeQuery()
	case 10:
		return r.spotQuery()
	case 5:
		return riffle.Match{Fields: []string{"title", "text"}, Text: r.words(1 + r.IntN(3)), Mode: riffle.Mode(r.IntN(2))}
	}
	return riffle.Match{Field: "text", Text: r.words(r.IntN(5)), Mode: riffle.Mode(r.IntN(2))}
}

// query makes a query of limited depth.
func (r random) query(depth int) riffle.Query {
	if depth == 0 || r.IntN(3) == 0 {
		return r.leaf()
	}
	switch r.IntN(8) {
	case 0:
		return riffle.Boost{Query: r.query(depth - 1), By: float64(r.IntN(5)) / 2}
	case 1:
		return riffle.ConstantScore{Query: r.query(depth - 1), Score: float64(r.IntN(4))}
	}
	some := func() (qs []riffle.Query) {
		for range max(0, r.IntN(5)-2) {
			qs = append(qs, r.query(depth-1))
		}
		return qs
	}
	b := riffle.Bool{Must: some(), Should: some(), Filter: some(), MustNot: some()}
	if len(b.Must)+len(b.Should)+len(b.Filter)+len(b.MustNot) == 0 {
		b.Must = []riffle.Query{r.leaf()}
	}
	b.MinShould = r.IntN(len(b.Should) + 1)
	return b
}

// questions are the queries that every index must answer after its trials.
var questions = []riffle.Query{
	riffle.All{},
	riffle.Match{Field: "text", Text: "w1 w5 w17"},
	riffle.Match{Fields: []string{"title", "text"}, Text: "w2 w3", Mode: riffle.ModeAnd},
	riffle.Term{Field: keyword, Value: "Tag 2"},
	riffle.Term{Field: "num", Value: 3},
	riffle.Range{Field: price, From: int64(7), To: int64(15)},
	riffle.Bool{Must: []riffle.Query{riffle.Match{Field: "text", Text: "w2 w1"}}, MustNot: []riffle.Query{riffle.Term{Field: "flag", Value: true}}},
}

// A mismatch is a wrong answer.
type mismatch struct{ error }

func wrongf(format string, args ...any) error { return mismatch{fmt.Errorf(format, args...)} }

func isMismatch(err error) bool {
	var m mismatch
	return errors.As(err, &m)
}

var background = context.Background()

// agreesAt is agrees, and compares the position that goes with the model.
func agreesAt(s *riffle.Snapshot, m model) error {
	return errors.Join(agrees(s, m), samePosition(s, m.position()))
}

// agrees compares all documents of a snapshot, the answers to all questions, and an order, with a
// model. A wrong answer takes precedence over an error: agrees looks for one even after an error.
func agrees(s *riffle.Snapshot, m model) error {
	failed := sameDocuments(s, m)
	if isMismatch(failed) {
		return failed
	}
	ask := questions
	if len(m) > 0 { // otherwise the index may be new, and opened without a schema that says what a label is
		if err := sameDistances(s, m); isMismatch(err) {
			return err
		} else if failed == nil {
			failed = err
		}
		ask = append(slices.Clone(questions), riffle.Range{Field: label, From: "label 10", To: "label 20"},
			riffle.WithinDistance{Field: spot, Point: riffle.Point{Lat: 51, Lon: -179.9}, Metres: 60_000},
			riffle.WithinBox{Field: spot, South: 50.3, North: 51.3, West: 179.6, East: -179.6})
	}
	for _, q := range ask {
		if err := sameAnswer(s, m, q); isMismatch(err) {
			return err
		} else if failed == nil {
			failed = err
		}
	}
	if err := sameOrder(s, m); isMismatch(err) || failed == nil {
		return err
	}
	return failed
}

// sameDocuments compares all documents of a snapshot with a model.
func sameDocuments(s *riffle.Snapshot, m model) error {
	if n, err := s.Len(); err != nil || n != len(m) {
		return wrongf("%d documents, want %d: %v", n, len(m), err)
	}
	want := m.ids()
	for d, err := range s.Documents("") {
		switch {
		case err != nil:
			return err
		case len(want) == 0 || d.ID != want[0]:
			return wrongf("document %q, want the next of %.200q", d.ID, want)
		case !reflect.DeepEqual(document(d.Fields), m[d.ID]):
			return wrongf("document %q: %v, want %v", d.ID, d.Fields, m[d.ID])
		}
		want = want[1:]
	}
	if len(want) > 0 {
		return wrongf("documents are missing: %.200q", want)
	}
	return nil
}

// samePosition compares the position of a snapshot with that of the last batch.
func samePosition(s *riffle.Snapshot, want []byte) error {
	switch got, err := s.Position(); {
	case err != nil:
		return err
	case string(got) != string(want):
		return wrongf("position %q, want %q", got, want)
	}
	return nil
}

// sameAnswer compares the answers of a snapshot and a model to a query.
func sameAnswer(s *riffle.Snapshot, m model, q riffle.Query) error {
	want := m.matches(q)
	n, err := s.Count(background, q)
	if err != nil {
		return err
	}
	if n != len(want) {
		return wrongf("count of %v: %d, want %d", q, n, len(want))
	}
	for _, k := range []int{3, riffle.MaxK} {
		var first []riffle.Hit
		for _, a := range []riffle.Algorithm{riffle.AlgorithmAuto, riffle.AlgorithmExhaustive} {
			r, err := s.Search(background, q, &riffle.SearchOptions{K: k, Exec: &riffle.Exec{Algorithm: a}, Load: []string{"*"}})
			if err != nil {
				return err
			}
			if len(r.Hits) != min(k, len(want)) {
				return wrongf("%v, %v: %d hits, want %d", q, a, len(r.Hits), min(k, len(want)))
			}
			for _, h := range r.Hits {
				if _, ok := slices.BinarySearch(want, h.ID); !ok || !reflect.DeepEqual(document(h.Fields), m[h.ID]) {
					return wrongf("%v, %v: hit %q %v does not match", q, a, h.ID, h.Fields)
				}
			}
			if a == riffle.AlgorithmAuto {
				first = r.Hits
			} else if !reflect.DeepEqual(first, r.Hits) {
				return wrongf("%v: algorithms disagree: %v, %v", q, first, r.Hits)
			}
		}
	}
	return nil
}
