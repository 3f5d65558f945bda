package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/riffle-search/riffle"
)

// Documents by number. They form segments: the first ones are merged by graph, which takes at least
// 2,048. Then there is a run for each other codec and one by global score. The last stay in the
// log.
const (
	graphDocs = 2200
	runDocs   = 140
	runs      = 4
	logged    = graphDocs + runs*runDocs
	docs      = logged + 25
)

var schema = riffle.Schema{
	Fields: map[string]riffle.Field{
		"title":  {Type: riffle.FieldText, Analyzer: "english"},
		"body":   {Type: riffle.FieldText, NoStore: true},
		"tag":    {Type: riffle.FieldKeyword},
		"n":      {Type: riffle.FieldNumber},
		"day":    {Type: riffle.FieldDate},
		"flag":   {Type: riffle.FieldBool},
		"rank":   {Type: riffle.FieldNumber},
		"note":   {Type: riffle.FieldText, NoIndex: true},
		"hidden": {Type: riffle.FieldKeyword, NoStore: true},
		"both":   {Type: riffle.FieldText, CopyFrom: []string{"title", "body"}},
	},
}

// random is a generator of its own, which no release of Go can change (splitmix64).
type random uint64

func (r *random) next(n int) int {
	*r += 0x9e3779b97f4a7c15
	x := uint64(*r)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return int((x ^ x>>31) >> 33 % uint64(n))
}

// word is most often w0.
func (r *random) word() string {
	return fmt.Sprint("w", min(r.next(80), r.next(80), r.next(80)))
}

func (r *random) words(n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(r.word() + " ")
	}
	return strings.TrimSpace(b.String())
}

func id(number int) string { return fmt.Sprintf("d%04d", number) }

// document returns a document in its first form (state 0) or a later one.
func document(number, state int) map[string]any {
	r := random(number<<8 | state)
	if number < graphDocs {
		return map[string]any{"body": r.words(3)}
	}
	doc := map[string]any{
		"title": "The running of " + r.words(2),
		"body":  "every " + r.words(3+r.next(14)),
		"tag":   []any{fmt.Sprint("tag ", r.next(7)), "state " + fmt.Sprint(state)},
		"n":     int64(r.next(50) - 25),
		"rank":  float64(r.next(1000)) / 1000,
	}
	if number%3 == 0 {
		doc["day"] = time.Unix(int64(r.next(1<<30)), int64(r.next(1e9))).UTC()
		doc["flag"] = r.next(2) == 0
	}
	if number%5 == 0 {
		doc["inner"] = map[string]any{"x": float64(r.next(100)) + 0.5, "y": "deep " + r.word()}
		doc["note"] = "not to be found"
		doc["hidden"] = "h" + fmt.Sprint(r.next(3))
	}
	if number%37 == 0 {
		doc["seldom"] = r.words(30 + r.next(30))
	}
	return doc
}

// tagged is a document whose values have rules of their own. No other document has its fields.
type tagged struct {
	Key    string `riffle:"tagged.key,keyword"`
	Note   string `riffle:"tagged.note,noindex"`
	Secret string `riffle:"tagged.secret,nostore"`
}

// putTagged adds a tagged document, which indexes of stored document 1 lack.
func putTagged(e *riffle.Engine) error {
	return e.Put(ctx, "tagged", tagged{Key: "one term", Note: "memo", Secret: "found but not kept"})
}

// checkTagged compares a tagged document, if there is one, with that of putTagged.
func checkTagged(e *riffle.Engine) (there int, err error) {
	got, err := e.Get(ctx, "tagged")
	if errors.Is(err, riffle.ErrNotFound) {
		return 0, nil
	}
	if want := map[string]any{"tagged.key": "one term", "tagged.note": "memo"}; err == nil && fmt.Sprint(got) != fmt.Sprint(want) {
		err = fmt.Errorf("the tagged document is %v, want %v", got, want)
	}
	for q, want := range map[riffle.Query]int{
		riffle.Term{Field: "tagged.key", Value: "one term"}: 1,
		riffle.Term{Field: "tagged.secret", Value: "kept"}:  1,
	} {
		n, e := e.Count(ctx, q)
		if e == nil && n != want {
			e = fmt.Errorf("%v: %d documents, want %d", q, n, want)
		}
		err = errors.Join(err, e)
	}
	return 1, err
}

// updates is how often the document of putUpdated has been updated.
const updates = 3

// putUpdated adds a document for updates, which indexes of log record 2 lack.
func putUpdated(e *riffle.Engine) error {
	return e.Put(ctx, "updated", map[string]any{"sold": 1})
}

// update gives that document a number.
func update(e *riffle.Engine, sold int) error {
	var b riffle.Batch
	b.Update("updated", map[string]any{"sold": sold})
	return e.Apply(ctx, &b)
}

// checkUpdated compares the document with updates, if there is one, with what they made of it.
func checkUpdated(e *riffle.Engine) (there int, err error) {
	got, err := e.Get(ctx, "updated")
	if errors.Is(err, riffle.ErrNotFound) {
		return 0, nil
	}
	if want := map[string]any{"sold": int64(updates)}; err == nil && fmt.Sprint(got) != fmt.Sprint(want) {
		err = fmt.Errorf("the updated document is %v, want %v", got, want)
	}
	n, countErr := e.Count(ctx, riffle.Range{Field: "sold", From: updates})
	if countErr == nil && n != 1 {
		countErr = fmt.Errorf("%d documents were updated %d times, want 1", n, updates)
	}
	return 1, errors.Join(err, countErr)
}

// layeredDocs is how many documents putLayered adds: so many that the updates of one of them are small beside those of
// all, and become a layer of their own.
const layeredDocs = 300

// putLayered adds documents for updates in layers, which indexes of updates 1 lack.
func putLayered(e *riffle.Engine) error {
	var b riffle.Batch
	for n := range layeredDocs {
		b.Put(fmt.Sprint("layered ", n), map[string]any{"left": 0})
	}
	return e.Apply(ctx, &b)
}

// updateLayered gives those documents numbers, from the first on.
func updateLayered(e *riffle.Engine, first int) error {
	var b riffle.Batch
	for n := first; n < layeredDocs; n++ {
		b.Update(fmt.Sprint("layered ", n), map[string]any{"left": leftOf(n) + first})
	}
	return e.Apply(ctx, &b)
}

// leftOf is a number of a document that a column cannot pack into few bits.
func leftOf(n int) int { return n * n * 7919 % 1_000_003 }

// checkLayered compares the documents with updates in layers, if there are some, with what they made of them.
func checkLayered(e *riffle.Engine) (there int, err error) {
	for n := range layeredDocs {
		got, e := e.Get(ctx, fmt.Sprint("layered ", n))
		if errors.Is(e, riffle.ErrNotFound) && n == 0 {
			return 0, nil
		}
		left := leftOf(n)
		if n == layeredDocs-1 {
			left += n
		}
		if want := map[string]any{"left": int64(left)}; e == nil && fmt.Sprint(got) != fmt.Sprint(want) {
			e = fmt.Errorf("document %q is %v, want %v", fmt.Sprint("layered ", n), got, want)
		}
		err = errors.Join(err, e)
	}
	return layeredDocs, err
}

// unsigned is a number that is no int64.
const unsigned = uint64(1<<64 - 3)

// putUnsigned adds a document with that number, which indexes of stored document 2 lack.
func putUnsigned(e *riffle.Engine) error {
	return e.Put(ctx, "unsigned", map[string]any{"unsigned": []any{unsigned, 7}})
}

// checkUnsigned compares the document with that number, if there is one, with that of putUnsigned.
func checkUnsigned(e *riffle.Engine) (there int, err error) {
	got, err := e.Get(ctx, "unsigned")
	if errors.Is(err, riffle.ErrNotFound) {
		return 0, nil
	}
	if want := map[string]any{"unsigned": []any{unsigned, int64(7)}}; err == nil && fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
		err = fmt.Errorf("the document is %#v, want %#v", got, want)
	}
	n, e2 := e.Count(ctx, riffle.Range{Field: "unsigned", From: unsigned - 1})
	if e2 == nil && n != 1 {
		e2 = fmt.Errorf("%d documents have the number %d, want 1", n, unsigned)
	}
	return 1, errors.Join(err, e2)
}

// placeSchema is the schema with a field of places.
func placeSchema() *riffle.Schema {
	s := pairSchema()
	s.Fields["where"] = riffle.Field{Type: riffle.FieldPlace}
	return s
}

// Places that documents have.
var (
	berlin = riffle.Point{Lat: 52.52, Lon: 13.405}
	sydney = riffle.Point{Lat: -33.8688, Lon: 151.2093}
)

// putSealedPlaces adds a document with places to a segment, and putLoggedPlace one to the log, which
// indexes of stored document 3 lack.
func putSealedPlaces(e *riffle.Engine) error {
	return e.Put(ctx, "place sealed", map[string]any{"where": []any{berlin, sydney}, "free": sydney})
}

func putLoggedPlace(e *riffle.Engine) error {
	return e.Put(ctx, "place logged", map[string]any{"where": "52.52,13.405"})
}

// checkPlaces compares the documents with places, if there are some, with those that were put.
func checkPlaces(e *riffle.Engine) (there int, err error) {
	got, err := e.Get(ctx, "place sealed")
	if errors.Is(err, riffle.ErrNotFound) {
		return 0, nil
	}
	if want := map[string]any{"where": []any{berlin, sydney}, "free": sydney}; err == nil && fmt.Sprint(got) != fmt.Sprint(want) {
		err = fmt.Errorf("the document with places is %v, want %v", got, want)
	}
	for _, c := range []struct {
		field string
		at    riffle.Point
		want  int
	}{{"where", berlin, 2}, {"where", sydney, 1}, {"free", sydney, 1}} {
		n, e := e.Count(ctx, riffle.WithinDistance{Field: c.field, Point: c.at, Metres: 1})
		if e == nil && n != c.want {
			e = fmt.Errorf("%d documents within a metre of %v by %s, want %d", n, c.at, c.field, c.want)
		}
		err = errors.Join(err, e)
	}
	return 2, err
}

// The positions of an index: that of its sealed part, and that of the last batch in the log.
// Indexes of log record 1 have none.
const sealedPosition, position = "sealed\x00\xff", "logged\x00\xff"

// putPosition moves the index to the last position, with a document.
func putPosition(e *riffle.Engine) error {
	b := riffle.Batch{Position: []byte(position)}
	b.Put(id(docs-1), document(docs-1, 0))
	return e.Apply(ctx, &b)
}

// deleted says which documents are deleted, some of them while in the log.
func deleted(number int) bool { return number%29 == 7 || number == logged+3 }

// replaced says which documents get another form, while documents from logged on are in the log.
func replaced(number int) bool { return number%31 == 11 || number == logged+5 }

// live visits the remaining documents, in the order of their last put.
func live(visit func(number, state int)) {
	for n := range docs {
		if !deleted(n) && !replaced(n) {
			visit(n, 0)
		}
	}
	for n := range docs {
		if replaced(n) && !deleted(n) {
			visit(n, 1)
		}
	}
}
