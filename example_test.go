package riffle_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"log"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riffle-search/riffle"
)

// library opens a new index with four books, for the examples below.
func library(opts *riffle.Options) (e *riffle.Engine, done func()) {
	dir, err := os.MkdirTemp("", "riffle-example-")
	if err != nil {
		log.Fatal(err)
	}
	if e, err = riffle.Open(dir, opts); err != nil {
		log.Fatal(err)
	}
	var b riffle.Batch
	b.Put("moby", map[string]any{"title": "Moby Dick", "text": "The white whale and the ship", "year": 1851, "tag": "novel"})
	b.Put("jane", map[string]any{"title": "Jane Eyre", "text": "A governess and a house", "year": 1847, "tag": "novel"})
	b.Put("nautilus", map[string]any{"title": "Twenty Thousand Leagues", "text": "The whale is a ship and the ship is no whale", "year": 1870, "tag": "voyage"})
	b.Put("beagle", map[string]any{"title": "Voyage of the Beagle", "text": "The ship goes round the world", "year": 1839, "tag": "voyage"})
	if err := e.Apply(context.Background(), &b); err != nil {
		log.Fatal(err)
	}
	return e, func() {
		if err := e.Close(); err != nil {
			log.Print(err)
		}
		os.RemoveAll(dir)
	}
}

// show prints the ids of a result's hits.
func show(res *riffle.Result, err error) {
	if err != nil {
		fmt.Println(err)
		return
	}
	ids := make([]string, len(res.Hits))
	for i, h := range res.Hits {
		ids[i] = h.ID
	}
	fmt.Println(strings.Join(ids, " "))
}

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "riffle-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	e, err := riffle.Open(filepath.Join(dir, "index"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	if err := e.Put(ctx, "1", map[string]any{"title": "Moby Dick", "text": "Call me Ishmael."}); err != nil {
		log.Fatal(err)
	}
	res, err := e.Search(ctx, riffle.Match{Field: "text", Text: "ishmael"}, &riffle.SearchOptions{Load: []string{"title"}})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range res.Hits {
		fmt.Printf("%s %.3f %s\n", hit.ID, hit.Score, hit.Fields["title"])
	}
	// Output:
	// 1 0.131 Moby Dick
}

// An index is a directory. Everything that Apply and Put have acknowledged is found when it is
// reopened.
func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "riffle-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	e, err := riffle.Open(dir, &riffle.Options{
		Schema:     &riffle.Schema{Fields: map[string]riffle.Field{"text": {Analyzer: "english"}}},
		Similarity: &riffle.BM25{K1: 0.9, B: 0.4},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := e.Put(ctx, "1", map[string]any{"text": "Whales were hunted"}); err != nil {
		log.Fatal(err)
	}
	if _, err := riffle.Open(dir, nil); errors.Is(err, riffle.ErrLocked) {
		fmt.Println("open already")
	}
	if err := e.Close(); err != nil {
		log.Fatal(err)
	}
	e, err = riffle.Open(dir, nil) // the index stores the schema
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	show(e.Search(ctx, riffle.Match{Field: "text", Text: "the hunting of the whale"}, nil))
	// Output:
	// open already
	// 1
}

func ExampleOptions_Validate() {
	err := (&riffle.Options{CacheBytes: -1, Rank: riffle.Rank{Alpha: 2}}).Validate()
	fmt.Println(err)
	// Output:
	// riffle: Options.CacheBytes: must be positive, not -1
	// Options.Rank.Alpha: must lie in [0, 1], not 2
	// Options.Rank.Field: must name a field when Alpha is set, not ""
}

// The changes of a batch happen together, in the order in which they were made.
func ExampleBatch() {
	ctx := context.Background()
	e, done := library(nil)
	defer done()
	var b riffle.Batch
	b.Put("moby", map[string]any{"title": "Moby-Dick; or, The Whale"}) // replaces the document
	b.Delete("jane")
	b.Put("emma", map[string]any{"title": "Emma"})
	if err := e.Apply(ctx, &b); err != nil {
		log.Fatal(err)
	}
	show(e.Search(ctx, riffle.Match{Field: "title", Text: "jane emma dick"}, nil))

	// With one document that cannot be indexed, nothing of the batch is applied.
	b.Reset()
	b.Delete("emma")
	b.Put("zola", map[string]any{"title": "Nana", "extra": make(chan int)})
	fmt.Println(e.Apply(ctx, &b))
	fmt.Println(documents(e), "documents")
	// Output:
	// emma moby
	// riffle: document "zola": field "extra": a chan int cannot be indexed
	// 4 documents
}

// Two programs sell from one stock. Each changes the document only if it is still the one that it has read.
func ExampleBatch_PutIf() {
	ctx := context.Background()
	e, done := library(nil)
	defer done()
	if err := e.Put(ctx, "lamp", map[string]any{"stock": 2}); err != nil {
		log.Fatal(err)
	}
	sell := func() (sold bool) {
		for {
			doc, err := e.Document(ctx, "lamp")
			if err != nil {
				log.Fatal(err)
			}
			stock := doc.Fields["stock"].(int64)
			if stock == 0 {
				return false
			}
			var b riffle.Batch
			b.PutIf("lamp", map[string]any{"stock": stock - 1}, doc.Version)
			switch err := e.Apply(ctx, &b); {
			case err == nil:
				return true
			case !errors.Is(err, riffle.ErrConflict): // else the other one was faster: read again
				log.Fatal(err)
			}
		}
	}
	var sold atomic.Int32
	var programs sync.WaitGroup
	for range 2 {
		programs.Go(func() {
			for sell() {
				sold.Add(1)
			}
		})
	}
	programs.Wait()
	fmt.Println(sold.Load(), "sold")

	var b riffle.Batch
	b.PutIf("lamp", map[string]any{"stock": 5}, 0) // only a new one
	fmt.Println(e.Apply(ctx, &b))
	// Output:
	// 2 sold
	// riffle: version conflict: document "lamp" exists, with version 5
}

// A call that is broken off after a batch, here of one document, is finished with its token.
func ExampleEngine_UpdateByQuery() {
	e, done := library(nil)
	defer done()
	novels := riffle.Term{Field: "tag", Value: "novel"}
	change := func(d riffle.Document) (map[string]any, error) {
		return map[string]any{"tag": nil, "shelf": d.Fields["title"].(string)[:1]}, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	o := &riffle.ByQueryOptions{BatchDocs: 1, Progress: func(p riffle.ByQueryProgress) {
		fmt.Println(p.Changed, "of", p.Total)
		if p.Changed == 1 {
			cancel()
		}
	}}
	p, err := e.UpdateByQuery(ctx, novels, change, o)
	fmt.Println(err)

	o = &riffle.ByQueryOptions{Resume: p.Token}
	if p, err = e.UpdateByQuery(context.Background(), novels, change, o); err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Changed, "more")
	fields, err := e.Get(context.Background(), "jane")
	fmt.Println(fields["title"], fields["shelf"], fields["tag"], err)
	// Output:
	// 0 of 2
	// 1 of 2
	// context canceled
	// 1 more
	// Jane Eyre J <nil> <nil>
}

// An index keeps the lines of a week. The first sweep begins at Open.
func ExampleExpire() {
	ctx := context.Background()
	expired := make(chan riffle.ExpireEvent, 1)
	e, done := library(&riffle.Options{
		Schema:   &riffle.Schema{Fields: map[string]riffle.Field{"at": {Type: riffle.FieldDate}}},
		Expire:   &riffle.Expire{Field: "at", After: 7 * 24 * time.Hour, Every: 10 * time.Millisecond},
		Listener: &riffle.Listener{Expired: func(ev riffle.ExpireEvent) { expired <- ev }},
	})
	defer done()
	var b riffle.Batch
	b.Put("old", map[string]any{"at": time.Now().Add(-8 * 24 * time.Hour)})
	b.Put("new", map[string]any{"at": time.Now()})
	if err := e.Apply(ctx, &b); err != nil {
		log.Fatal(err)
	}
	fmt.Println((<-expired).Docs, "has expired")
	show(e.Search(ctx, riffle.Exists{Field: "at"}, nil))
	// Output:
	// 1 has expired
	// new
}

// A program that reads changes from a log stores with each batch how far it has read. After a crash
// it continues from there.
func ExampleBatch_position() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "riffle-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	messages := []string{"Omoo", "Typee", "Mardi", "Redburn", "Pierre"}
	follow := func(most int) {
		e, err := riffle.Open(dir, nil)
		if err != nil {
			log.Fatal(err)
		}
		defer e.Close()
		position, err := e.Position()
		if err != nil {
			log.Fatal(err)
		}
		next := 0
		if position != nil {
			next = int(binary.BigEndian.Uint64(position)) + 1
		}
		fmt.Println("from message", next)
		for i, title := range messages[next:min(next+most, len(messages))] {
			var b riffle.Batch
			b.Put(title, map[string]any{"title": title})
			b.Position = binary.BigEndian.AppendUint64(nil, uint64(next+i))
			if err := e.Apply(ctx, &b); err != nil {
				log.Fatal(err)
			}
		}
		fmt.Println(documents(e), "documents")
	}
	follow(3)
	follow(3)
	// Output:
	// from message 0
	// 3 documents
	// from message 3
	// 5 documents
}

// ModeOr requires any of the words, ModeAnd all of them. ModeAndOr requires all, but any if fewer
// than K documents have all.
func ExampleMatch() {
	ctx := context.Background()
	e, done := library(nil)
	defer done()
	for _, mode := range []riffle.Mode{riffle.ModeOr, riffle.ModeAnd} {
		show(e.Search(ctx, riffle.Match{Field: "text", Text: "white whale ship", Mode: mode}, nil))
	}
	for _, k := range []int{1, 3} {
		show(e.Search(ctx, riffle.Match{Field: "text", Text: "white whale ship", Mode: riffle.ModeAndOr}, &riffle.SearchOptions{K: k}))
	}
	// A word may occur in any of several fields.
	show(e.Search(ctx, riffle.Match{Fields: []string{"title", "text"}, Text: "voyage world", Mode: riffle.ModeAnd}, nil))
	// Output:
	// moby nautilus beagle
	// moby
	// moby
	// moby nautilus beagle
	// beagle
}

// A phrase may have a slop: the moves by which its words may differ from it.
func ExamplePhrase() {
	ctx := context.Background()
	e, done := library(nil)
	defer done()
	show(e.Search(ctx, riffle.Phrase{Field: "text", Text: "the ship"}, nil))
	show(e.Search(ctx, riffle.Phrase{Field: "text", Text: "whale ship"}, nil))
	show(e.Search(ctx, riffle.Phrase{Field: "text", Text: "whale ship", Slop: 2}, nil))
	show(e.Search(ctx, riffle.Phrase{Field: "text", Terms: [][]string{{"white"}, {"whale", "ship"}}}, nil))
	// Output:
	// moby beagle nautilus
	//
	// moby nautilus
	// moby
}

// What a user has typed so far: the last word may not be complete.
func ExamplePhrasePrefix() {
	ctx := context.Background()
	e, done := library(nil)
	defer done()
	show(e.Search(ctx, riffle.PhrasePrefix{Field: "text", Text: "White w"}, nil))
	show(e.Search(ctx, riffle.PhrasePrefix{Field: "text", Text: "the sh"}, nil))
	// Output:
	// moby
	// moby beagle nautilus
}

// The last word may be incomplete, and the words may stand anywhere.
func ExampleMatchBoolPrefix() {
	ctx := context.Background()
	e, done := library(nil)
	defer done()
	show(e.Search(ctx, riffle.MatchBoolPrefix{Field: "text", Text: "ship wha", Mode: riffle.ModeAnd}, nil))
	// Output:
	// nautilus moby
}

// Of three words, at least two: one may be missing.
func ExamplePercent() {
	ctx := context.Background()
	e, done := library(nil)
	defer done()
	show(e.Search(ctx, riffle.Match{Field: "text", Text: "white whale ship", MinShould: riffle.Percent(-34)}, nil))
	show(e.Search(ctx, riffle.Match{Field: "text", Text: "white whale ship", MinShould: 2}, nil))
	// Output:
	// moby nautilus
	// moby nautilus
}

// The better one of a title and a text, and a tenth of the other.
func ExampleDisMax() {
	ctx := context.Background()
	e, done := library(nil)
	defer done()
	title := riffle.Boost{Query: riffle.Match{Field: "title", Text: "voyage"}, By: 2}
	show(e.Search(ctx, riffle.DisMax{Queries: []riffle.Query{title, riffle.Match{Field: "text", Text: "whale"}}, Tie: 0.1}, nil))
	// Output:
	// beagle nautilus moby
}

// Of the words of moby, those that two or three documents have; hits have two of them.
func ExampleMoreLikeThis() {
	ctx := context.Background()
	e, done := library(nil)
	defer done()
	show(e.Search(ctx, riffle.MoreLikeThis{Fields: []string{"text"}, IDs: []string{"moby"}, MinTermFreq: 1, MinDocFreq: 2, MaxDocFreq: 3, MinShould: 2}, nil))
	// Output:
	// nautilus beagle
}

// Demotes what has a white whale, rather than leave it out.
func ExampleBoosting() {
	ctx := context.Background()
	e, done := library(nil)
	defer done()
	q := riffle.Boosting{Positive: riffle.Match{Field: "text", Text: "ship"}, Negative: riffle.Phrase{Field: "text", Text: "white whale"}, Factor: 0.1}
	show(e.Search(ctx, q.Positive, nil))
	show(e.Search(ctx, q, nil))
	// Output:
	// nautilus moby beagle
	// nautilus beagle moby
}

// At most two words lie between the phrases, whichever comes first.
func ExampleNear() {
	ctx := context.Background()
	e, done := library(nil)
	defer done()
	show(e.Search(ctx, riffle.Near{Field: "text", Phrases: []string{"the ship", "white whale"}, Distance: 2}, nil))
	// Output:
	// moby
}

// The first rule finds a whale and a ship, in this order; the second one only those without "and" in
// between.
func ExampleIntervals() {
	ctx := context.Background()
	e, done := library(nil)
	defer done()
	rule := riffle.IntervalText{Text: "whale ship", Ordered: true, MaxGaps: 5}
	show(e.Search(ctx, riffle.Intervals{Field: "text", Rule: rule}, nil))
	without := riffle.IntervalWhere{Rule: rule, Is: riffle.NotContaining, Of: riffle.IntervalText{Text: "and"}}
	show(e.Search(ctx, riffle.Intervals{Field: "text", Rule: without}, nil))
	// Output:
	// moby nautilus
	// nautilus
}

func ExampleBool() {
	ctx := context.Background()
	e, done := library(&riffle.Options{Schema: &riffle.Schema{
		Fields: map[string]riffle.Field{"tag": {Type: riffle.FieldKeyword}},
	}})
	defer done()
	show(e.Search(ctx, riffle.Bool{
		Must:    []riffle.Query{riffle.Match{Field: "text", Text: "ship"}},
		Should:  []riffle.Query{riffle.Boost{Query: riffle.Match{Field: "title", Text: "whale dick"}, By: 2}},
		MustNot: []riffle.Query{riffle.Term{Field: "year", Value: 1870}},
	}, nil))
	show(e.Search(ctx, riffle.Bool{
		Should: []riffle.Query{
			riffle.Match{Field: "text", Text: "whale"},
			riffle.Match{Field: "text", Text: "world"},
			riffle.Term{Field: "year", Value: 1839},
		},
		Filter:    []riffle.Query{riffle.Term{Field: "tag", Value: "voyage"}}, // restricts, and does not score
		MinShould: 2,
	}, nil))
	// Output:
	// moby beagle
	// beagle
}

func ExamplePrefix() {
	e, done := library(nil)
	defer done()
	ctx := context.Background()
	show(e.Search(ctx, riffle.Prefix{Field: "text", Prefix: "GOVER"}, nil)) // lower-cased, as the words are
	show(e.Search(ctx, riffle.Wildcard{Field: "text", Pattern: "wh*e"}, nil))
	show(e.Search(ctx, riffle.Regexp{Field: "text", Expr: "(house|world)s?"}, nil))
	show(e.Search(ctx, riffle.Terms{Field: "year", Values: []any{1847, 1851}}, nil))
	// Output:
	// jane
	// moby nautilus
	// jane beagle
	// moby jane
}

func ExampleFuzzy() {
	e, done := library(nil)
	defer done()
	ctx := context.Background()
	show(e.Search(ctx, riffle.Fuzzy{Field: "text", Term: "wahle"}, nil)) // one edit: neighbors exchanged
	show(e.Search(ctx, riffle.Fuzzy{Field: "text", Term: "hip", Edits: 1, Prefix: 1}, nil))
	show(e.Search(ctx, riffle.Bool{
		Must:   []riffle.Query{riffle.Fuzzy{Field: "text", Term: "shpi"}},
		Filter: []riffle.Query{riffle.Exists{Field: "year"}},
	}, nil))
	// Output:
	// nautilus moby
	//
	// nautilus moby beagle
}

func ExampleEngine_Terms() {
	e, done := library(nil)
	defer done()
	for t, err := range e.Terms(context.Background(), "text", "w") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(t.Term, t.Documents)
	}
	// Output:
	// whale 2
	// white 1
	// world 1
}

func ExampleEngine_Suggest() {
	e, done := library(nil)
	defer done()
	ctx := context.Background()
	for _, word := range []string{"wh", "hosue"} {
		found, err := e.Suggest(ctx, "text", word, nil)
		if err != nil {
			log.Fatal(err)
		}
		for _, s := range found {
			fmt.Println(word, s.Term, s.Documents, s.Edits)
		}
	}
	// Output:
	// wh whale 2 0
	// wh white 1 0
	// hosue house 1 1
}

func ExampleConstantScore() {
	ctx := context.Background()
	e, done := library(nil)
	defer done()
	res, err := e.Search(ctx, riffle.ConstantScore{Query: riffle.Term{Field: "text", Value: "whale"}, Score: 3}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range res.Hits {
		fmt.Println(h.ID, h.Score)
	}
	// Output:
	// moby 3
	// nautilus 3
}

// After continues after the last hit of the previous page. On a Snapshot pages fit together
// whatever is applied meanwhile.
func ExampleSearchOptions_after() {
	ctx := context.Background()
	e, done := library(nil)
	defer done()
	s, err := e.Snapshot()
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	o := &riffle.SearchOptions{K: 2, ExactTotal: true}
	for page := 1; ; page++ {
		res, err := s.Search(ctx, riffle.Match{Field: "text", Text: "the whale ship"}, o)
		if err != nil {
			log.Fatal(err)
		}
		if len(res.Hits) == 0 {
			fmt.Println("of", res.Total)
			break
		}
		fmt.Printf("page %d: ", page)
		show(res, nil)
		o.After = res.Hits[len(res.Hits)-1].Cursor
	}
	// Output:
	// page 1: nautilus moby
	// page 2: beagle
	// of 3
}

// Under load, the search that is due first goes first. A server that cannot answer in time says so
// at once, while the caller can still ask another one.
func ExampleSearchOptions_highlight() {
	e, done := library(nil)
	defer done()
	q := riffle.Bool{Should: []riffle.Query{
		riffle.Phrase{Field: "text", Text: "white whale"},
		riffle.Fuzzy{Field: "title", Term: "dikc"},
	}}
	res, err := e.Search(context.Background(), q, &riffle.SearchOptions{
		Highlight: &riffle.HighlightOptions{Size: 25, BySize: true},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range res.Hits {
		for _, field := range []string{"title", "text"} {
			for _, f := range hit.Fragments[field] {
				fmt.Println(f.HTML(), "or", f.Format(riffle.HTML("<em>", "</em>")))
			}
		}
	}
	// Output:
	// Moby <mark>Dick</mark> or Moby <em>Dick</em>
	// The <mark>white</mark> <mark>whale</mark> and the… or The <em>white</em> <em>whale</em> and the…
}

func ExampleHighlighter() {
	e, done := library(nil)
	defer done()
	// The text need not come from the index.
	h, err := e.Highlighter(context.Background(), riffle.Prefix{Field: "text", Prefix: "wh"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	doc := map[string]any{"text": "Ships and whales. White ships?"}
	fragments, err := h.Fragments(doc)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(fragments["text"][0].HTML())
	spans, err := h.Spans(doc)
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range spans["text"] {
		fmt.Println(s.Start, s.End, s.Position, s.Term)
	}
	// Output:
	// Ships and <mark>whales</mark>. <mark>White</mark> ships?
	// 10 16 2 whales
	// 18 23 3 white
}

func ExampleSearchOptions_deadline() {
	ctx := context.Background()
	e, done := library(nil)
	defer done()
	q := riffle.Match{Field: "text", Text: "whale"}
	for _, within := range []time.Duration{time.Minute, time.Nanosecond} {
		res, err := e.Search(ctx, q, &riffle.SearchOptions{Deadline: within, FailLate: true})
		if errors.Is(err, riffle.ErrLate) {
			fmt.Println("busy, try elsewhere")
			continue
		}
		show(res, err)
	}
	// Output:
	// nautilus moby
	// busy, try elsewhere
}

// The title counts three times as much as the text, and the better of the two is the document's
// score.
func ExampleMatch_fields() {
	ctx := context.Background()
	e, done := library(nil)
	defer done()
	show(e.Search(ctx, riffle.Match{
		Fields:  []string{"title", "text"},
		Text:    "whale ship",
		Boosts:  map[string]float64{"title": 3},
		Combine: riffle.CombineBest,
		Tie:     0.1,
	}, nil))
	// Output: nautilus moby beagle
}

// Title and text are searched as if they were one field, in which the title stands three times.
func ExampleMatch_combined() {
	ctx := context.Background()
	e, done := library(nil)
	defer done()
	show(e.Search(ctx, riffle.Match{
		Fields:  []string{"title", "text"},
		Text:    "whale ship",
		Boosts:  map[string]float64{"title": 3},
		Combine: riffle.CombineBM25F,
	}, nil))
	// Output: nautilus moby beagle
}

// Two indexes score as one: each returns its statistics, and receives the sum.
func ExampleStatistics() {
	ctx := context.Background()
	q := riffle.Match{Field: "text", Text: "whale ship"}
	var shards []*riffle.Engine
	var sum riffle.Statistics
	for range 2 {
		e, done := library(nil)
		defer done()
		own, err := e.Statistics(ctx, q, nil)
		if err != nil {
			log.Fatal(err)
		}
		sum.Add(own)
		shards = append(shards, e)
	}
	fmt.Println(sum.Fields["text"].Documents, "documents")
	for _, e := range shards {
		show(e.Search(ctx, q, &riffle.SearchOptions{Statistics: &sum}))
	}
	// Output:
	// 8 documents
	// nautilus moby beagle
	// nautilus moby beagle
}

// A snapshot stays the same until it is closed.
func ExampleEngine_Snapshot() {
	ctx := context.Background()
	e, done := library(nil)
	defer done()
	s, err := e.Snapshot()
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if err := e.Delete(ctx, "moby"); err != nil {
		log.Fatal(err)
	}
	fmt.Println("now", documents(e), "documents, in the snapshot", documents(s))
	for id, err := range s.IDs("b") { // from there on
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(id)
	}
	// Output:
	// now 3 documents, in the snapshot 4
	// beagle
	// jane
	// moby
	// nautilus
}

// The sum at the root is exactly the score of the hit.
func ExampleEngine_Explain() {
	ctx := context.Background()
	e, done := library(nil)
	defer done()
	x, err := e.Explain(ctx, riffle.Match{Field: "text", Text: "white whale"}, "moby", nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(x)
	// Output:
	// 0.915849  sum of what matches
	//   0.581227  should: text:white = weight × impact
	//     1.203973  weight = boost 1 × idf 1.203973 (lucene, n = 1 of N = 4)
	//     0.482758  impact = tf / (tf + k1(1 - b + b·len/avg)), tf = 1, len = 6, avg = 7, k1 = 1.2, b = 0.75
	//   0.334622  should: text:whale = weight × impact
	//     0.693147  weight = boost 1 × idf 0.693147 (lucene, n = 2 of N = 4)
	//     0.482758  impact = tf / (tf + k1(1 - b + b·len/avg)), tf = 1, len = 6, avg = 7, k1 = 1.2, b = 0.75
}

func ExampleSchemaOf() {
	type author struct {
		Name string `riffle:"name"`
	}
	type book struct {
		Title   string    `riffle:"title,analyzer=english"`
		ISBN    string    `riffle:"isbn,keyword"`
		Pages   int       `riffle:"pages,noindex"`
		Bought  time.Time `riffle:"bought"`
		Authors []author  `riffle:"author"` // author.name, with several values
	}
	schema, err := riffle.SchemaOf(book{})
	if err != nil {
		log.Fatal(err)
	}
	e, done := library(&riffle.Options{Schema: schema})
	defer done()
	ctx := context.Background()
	if err := e.Put(ctx, "emma", &book{Title: "Emma", ISBN: "0-00", Authors: []author{{"Jane Austen"}}}); err != nil {
		log.Fatal(err)
	}
	show(e.Search(ctx, riffle.Match{Field: "author.name", Text: "austen"}, nil))
	show(e.Search(ctx, riffle.Term{Field: "isbn", Value: "0-00"}, nil))
	fmt.Println(schema.Fields["bought"].Type, schema.Fields["author.name"].Type)
	// Output:
	// emma
	// emma
	// date text
}

// A later Open adds fields to the schema stored in the index. Rules that differ from those in force
// need AlterSchema. They apply to documents put from then on.
func ExampleOptions_alterSchema() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "riffle-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	e, err := riffle.Open(dir, &riffle.Options{Schema: &riffle.Schema{Fields: map[string]riffle.Field{"notes": {}}}})
	if err != nil {
		log.Fatal(err)
	}
	if err := e.Put(ctx, "emma", map[string]any{"title": "Emma", "notes": "a gift"}); err != nil {
		log.Fatal(err)
	}
	if err := e.Close(); err != nil {
		log.Fatal(err)
	}
	unstored := &riffle.Schema{Fields: map[string]riffle.Field{"notes": {NoStore: true}}}
	if _, err := riffle.Open(dir, &riffle.Options{Schema: unstored}); err != nil {
		_, reason, _ := strings.Cut(err.Error(), "made with: ")
		fmt.Println(reason)
	}
	if e, err = riffle.Open(dir, &riffle.Options{Schema: unstored, AlterSchema: true}); err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	if err := e.Put(ctx, "jane", map[string]any{"title": "Jane Eyre", "notes": "a gift, too"}); err != nil {
		log.Fatal(err)
	}
	for _, id := range []string{"emma", "jane"} {
		fields, err := e.Get(ctx, id)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(fields)
	}
	// Output:
	// Schema.Fields["notes"].NoStore: the index has false, not true; Options.AlterSchema changes it
	// map[notes:a gift title:Emma]
	// map[title:Jane Eyre]
}

// With a static rank, of two documents that match equally well, the better known book comes first.
func ExampleRank() {
	ctx := context.Background()
	e, done := library(&riffle.Options{
		Rank:  riffle.Rank{Field: "fame", Alpha: 0.3},
		Merge: riffle.MergeOptions{Order: riffle.OrderByGlobalScore},
	})
	defer done()
	var b riffle.Batch
	b.Put("omoo", map[string]any{"title": "Omoo", "text": "Islands of the south", "fame": 0.1})
	b.Put("typee", map[string]any{"title": "Typee", "text": "Islands of the south", "fame": 0.4})
	if err := e.Apply(ctx, &b); err != nil {
		log.Fatal(err)
	}
	show(e.Search(ctx, riffle.Match{Field: "text", Text: "islands"}, nil))
	noRank := 0.0
	show(e.Search(ctx, riffle.Match{Field: "text", Text: "islands"}, &riffle.SearchOptions{Alpha: &noRank}))
	// Output:
	// typee omoo
	// omoo typee
}

// Checkpoint copies an index while it is in use, for backup.
func ExampleEngine_Checkpoint() {
	ctx := context.Background()
	e, done := library(nil)
	defer done()
	dir, err := os.MkdirTemp("", "riffle-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := e.Checkpoint(ctx, filepath.Join(dir, "backup")); err != nil {
		log.Fatal(err)
	}
	backup, err := riffle.Open(filepath.Join(dir, "backup"), &riffle.Options{ReadOnly: true})
	if err != nil {
		log.Fatal(err)
	}
	defer backup.Close()
	fmt.Println(documents(backup), "documents")
	fmt.Println(errors.Is(backup.Delete(ctx, "moby"), riffle.ErrReadOnly))
	// Output:
	// 4 documents
	// true
}

// Build makes a new index of everything at once, several times as fast as Apply.
func ExampleBuild() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "riffle-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	books := filepath.Join(dir, "books.jsonl")
	lines := `{"id": "moby", "title": "Moby Dick", "text": "Call me Ishmael."}
{"id": "emma", "title": "Emma", "text": "Handsome, clever, and rich"}
{"id": "emma", "title": "Emma", "text": "Handsome, clever, and rich, with a comfortable home"}
`
	if err := os.WriteFile(books, []byte(lines), 0o644); err != nil {
		log.Fatal(err)
	}
	res, err := riffle.Build(ctx, filepath.Join(dir, "index"), riffle.JSONLines{Files: []string{books}}, &riffle.BuildOptions{
		Bad: func(err error) error { // leave out what cannot be indexed
			fmt.Println(err)
			return nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Docs, "documents,", res.Replaced, "replaced")
	e, err := riffle.Open(filepath.Join(dir, "index"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	show(e.Search(ctx, riffle.Match{Field: "text", Text: "comfortable home"}, nil))
	// Output:
	// 3 documents, 1 replaced
	// emma
}

// To index its documents differently, an index is rebuilt from what it stores.
func ExampleReindex() {
	ctx := context.Background()
	e, done := library(nil)
	defer done()
	dir, err := os.MkdirTemp("", "riffle-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := e.Snapshot()
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	schema := e.Schema()
	schema.Fields = map[string]riffle.Field{"text": {Analyzer: "english"}}
	if _, err := riffle.Reindex(ctx, s, filepath.Join(dir, "index"), &riffle.BuildOptions{Index: riffle.Options{Schema: schema}}); err != nil {
		log.Fatal(err)
	}
	again, err := riffle.Open(filepath.Join(dir, "index"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer again.Close()
	for _, e := range []*riffle.Engine{e, again} {
		n, err := e.Count(ctx, riffle.Match{Field: "text", Text: "whales"})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(n, "documents about whales")
	}
	// Output:
	// 0 documents about whales
	// 2 documents about whales
}

// A shelf is a Source: lines of an id and a title.
type shelf string

// Documents yields the documents in the order of the lines. A line that is no document is an
// InputError, so that BuildOptions.Bad decides whether the build continues; any other error ends
// it.
func (s shelf) Documents(ctx context.Context) iter.Seq2[riffle.Document, error] {
	return func(yield func(riffle.Document, error) bool) {
		n := 0
		for line := range strings.Lines(string(s)) {
			n++
			if ctx.Err() != nil {
				return
			}
			d, err := riffle.Document{}, error(nil)
			id, title, ok := strings.Cut(strings.TrimSpace(line), ": ")
			if ok {
				d = riffle.Document{ID: id, Fields: map[string]any{"title": title}}
			} else {
				err = &riffle.InputError{File: "shelf", Line: n, Err: errors.New("no id")}
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// Build takes documents from any type that yields them.
func ExampleSource() {
	dir, err := os.MkdirTemp("", "riffle-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	res, err := riffle.Build(context.Background(), dir, shelf("moby: Moby Dick\n***\nemma: Emma\n"), &riffle.BuildOptions{
		Bad: func(err error) error {
			fmt.Println("left out:", err)
			return nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Docs, "documents")
	// Output:
	// left out: shelf:2: no id
	// 2 documents
}

// documents returns the number of documents of an Engine or a Snapshot.
func documents(x interface{ Len() (int, error) }) int {
	n, err := x.Len()
	if err != nil {
		log.Fatal(err)
	}
	return n
}

// Sort the voyages by year, the newest first, and continue behind a page.
func ExampleSearchOptions_sort() {
	e, done := library(&riffle.Options{Schema: &riffle.Schema{Fields: map[string]riffle.Field{"tag": {Type: riffle.FieldKeyword}}}})
	defer done()
	ctx := context.Background()
	keys, err := riffle.ParseSort("tag,-year")
	if err != nil {
		log.Fatal(err)
	}
	page := &riffle.SearchOptions{K: 3, Sort: keys}
	res, err := e.Search(ctx, riffle.All{}, page)
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range res.Hits {
		fmt.Println(h.ID, h.Sort)
	}
	page.After = res.Hits[2].Cursor
	show(e.Search(ctx, riffle.All{}, page))
	// Output:
	// moby [novel 1851]
	// jane [novel 1847]
	// nautilus [voyage 1870]
	// beagle
}
