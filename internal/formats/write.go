package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/internal/hook"
)

func main() {
	var err error
	switch {
	case len(os.Args) == 2 && os.Args[1] != "-large" && os.Args[1] != "-coded":
		err = writeFolder(os.Args[1])
	case len(os.Args) == 3 && os.Args[1] == "-large":
		err = writeLarge(os.Args[2])
	case len(os.Args) == 3 && os.Args[1] == "-coded":
		err = writeCoded(os.Args[2])
	default:
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/formats testdata/formats/NAME\n       go run ./internal/formats -large testdata/large/NAME\n       go run ./internal/formats -coded testdata/coded/NAME")
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "formats:", err)
		os.Exit(1)
	}
}

// writeFolder writes a new folder.
func writeFolder(dir string) error {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	index := filepath.Join(dir, "index")
	if err := writeIndex(index); err != nil {
		return err
	}
	text, err := answersOf(index)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "answers"), []byte(text), 0o666),
		os.WriteFile(filepath.Join(dir, "versions"), []byte(versions()), 0o666),
	)
}

var rank = riffle.Rank{Field: "rank", Alpha: 0.25}

// writeIndex writes the index: segments of every order and codec, deletions in each of them, and
// a log that is not sealed.
func writeIndex(dir string) error {
	byGraph := riffle.Options{Schema: &schema, Merge: riffle.MergeOptions{Order: riffle.OrderByGraph}}
	err := with(dir, byGraph, func(e *riffle.Engine) error {
		return errors.Join(put(e, 0, graphDocs), e.Compact(ctx))
	})
	if err != nil {
		return err
	}
	first := graphDocs
	for _, codec := range []riffle.Codec{riffle.CodecPacked, riffle.CodecPFor, riffle.CodecRice} {
		err := with(dir, riffle.Options{Codec: codec}, func(e *riffle.Engine) error {
			return errors.Join(put(e, first, first+runDocs), e.Flush(ctx))
		})
		if err != nil {
			return err
		}
		first += runDocs
	}
	byScore := riffle.Options{Merge: riffle.MergeOptions{Order: riffle.OrderByGlobalScore}, Schema: placeSchema(), AlterSchema: true} // schema 4 and 6
	hook.Set(&byScore, hook.Knobs{LayerBytes: 1})
	err = with(dir, byScore, func(e *riffle.Engine) error {
		moved := &riffle.Batch{Position: []byte(sealedPosition)} // index info 1
		err := errors.Join(put(e, first, logged), change(e, 0, logged-20), putSealedPlaces(e), putUpdated(e), putLayered(e), e.Apply(ctx, moved), e.Flush(ctx))
		err = errors.Join(err, update(e, 2), updateLayered(e, 0), e.Flush(ctx)) // index info 2
		err = errors.Join(err, updateLayered(e, layeredDocs-1), e.Flush(ctx))   // updates 2
		return errors.Join(err, put(e, logged, docs), change(e, logged-20, docs))
	})
	if err != nil {
		return err
	}
	if err := with(dir, byScore, putTagged); err != nil { // stored document 2
		return err
	}
	if err := with(dir, byScore, putPosition); err != nil { // log record 2
		return err
	}
	if err := with(dir, byScore, putUnsigned); err != nil { // stored document 3
		return err
	}
	if err := with(dir, byScore, putLoggedPlace); err != nil { // stored document 4
		return err
	}
	return with(dir, byScore, func(e *riffle.Engine) error { return update(e, updates) }) // log record 3
}

// pairSchema is the schema with pairs of words, which the last segment and the log have, and the other
// segments lack, and with two fields for updates.
func pairSchema() *riffle.Schema {
	s := schema
	s.Fields = maps.Clone(s.Fields)
	body := s.Fields["body"]
	body.PhrasePairs = []string{"every", "w0", "w1", "w2", "w3"}
	s.Fields["body"] = body
	s.Fields["sold"] = riffle.Field{Type: riffle.FieldNumber, NoIndex: true, Column: riffle.ColumnStored}
	s.Fields["left"] = s.Fields["sold"]
	return &s
}

var ctx = context.Background()

// with opens an index without background merges, calls do, and closes it.
func with(dir string, o riffle.Options, do func(*riffle.Engine) error) error {
	o.Rank, o.Merge.Disabled = rank, true
	e, err := riffle.Open(dir, &o)
	if err != nil {
		return err
	}
	return errors.Join(do(e), e.Close())
}

// put applies the documents from first to end-1 in their first form.
func put(e *riffle.Engine, first, end int) error {
	var b riffle.Batch
	for n := first; n < end; n++ {
		b.Put(id(n), document(n, 0))
	}
	return e.Apply(ctx, &b)
}

// change replaces and deletes documents from first to end-1, as replaced and deleted say.
func change(e *riffle.Engine, first, end int) error {
	var b riffle.Batch
	for n := first; n < end; n++ {
		switch {
		case deleted(n):
			b.Delete(id(n))
		case replaced(n):
			b.Put(id(n), document(n, 1))
		}
	}
	return e.Apply(ctx, &b)
}
