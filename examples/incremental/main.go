// Incremental keeps a small index of notes up to date while it searches it. Documents are added,
// replaced and deleted, and each change is visible to the next search. A snapshot continues to see
// the index as it was.
//
//	go run ./examples/incremental
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/riffle-search/riffle"
)

func main() {
	dir, err := os.MkdirTemp("", "riffle-incremental-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := run(context.Background(), dir, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dir string, w io.Writer) error {
	e, err := riffle.Open(dir, nil)
	if err != nil {
		return err
	}
	defer e.Close()

	// A batch is applied as a whole: searches see all of it or nothing.
	var b riffle.Batch
	b.Put("milk", map[string]any{"text": "Buy milk and bread", "done": false})
	b.Put("call", map[string]any{"text": "Call the dentist about Monday", "done": false})
	b.Put("book", map[string]any{"text": "Bring the book back on Monday", "done": false})
	if err := e.Apply(ctx, &b); err != nil {
		return err
	}
	if err := show(ctx, w, e, "Three notes", "monday"); err != nil {
		return err
	}

	// A snapshot is the index at this moment, whatever changes later.
	before, err := e.Snapshot()
	if err != nil {
		return err
	}
	defer before.Close()

	// Putting an id again replaces its document. There is no partial update: read the stored
	// fields, change them, put them back.
	note, err := e.Get(ctx, "call")
	if err != nil {
		return err
	}
	note["done"] = true
	if err := e.Put(ctx, "call", note); err != nil {
		return err
	}
	if err := e.Put(ctx, "milk", map[string]any{"text": "Buy milk on Monday", "done": false}); err != nil {
		return err
	}
	if err := show(ctx, w, e, "One done, one changed", "monday"); err != nil {
		return err
	}

	if err := e.Delete(ctx, "book"); err != nil {
		return err
	}
	if err := show(ctx, w, e, "One deleted", "monday"); err != nil {
		return err
	}
	if err := show(ctx, w, before, "The snapshot still has", "monday"); err != nil {
		return err
	}

	// Replaced and deleted documents keep their space until a merge. Merges run in the background;
	// Compact does all pending ones at once.
	st, err := e.Stats()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d documents, %d to be merged away", st.Docs, st.Deleted)
	if err := e.Compact(ctx); err != nil {
		return err
	}
	if st, err = e.Stats(); err != nil {
		return err
	}
	fmt.Fprintf(w, "; after Compact %d and %d\n", st.Docs, st.Deleted)
	return nil
}

// A searcher is an Engine, which searches the current index, or a Snapshot.
type searcher interface {
	Search(context.Context, riffle.Query, *riffle.SearchOptions) (*riffle.Result, error)
}

// show prints the notes that have the words and are not done.
func show(ctx context.Context, w io.Writer, s searcher, title, words string) error {
	res, err := s.Search(ctx, riffle.Bool{
		Must:   []riffle.Query{riffle.Match{Field: "text", Text: words}},
		Filter: []riffle.Query{riffle.Term{Field: "done", Value: false}},
	}, &riffle.SearchOptions{Load: []string{"text"}})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s:\n", title)
	for _, h := range res.Hits {
		fmt.Fprintf(w, "  %-5s %s\n", h.ID, h.Fields["text"])
	}
	return nil
}
