package server_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"os"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/client"
	"github.com/riffle-search/riffle/server"
)

// A program serves indexes, and another one uses them by package client.
func Example() {
	dir, err := os.MkdirTemp("", "riffle")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := server.New(&server.Options{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close(context.Background())
	h := httptest.NewServer(s) // http.Server in a program
	defer h.Close()

	ctx, c := context.Background(), client.New(h.URL, nil)
	if err := c.CreateIndex(ctx, "books", &riffle.Schema{Analyzer: "english"}); err != nil {
		log.Fatal(err)
	}
	w := c.Writer(ctx, "books", nil)
	for id, title := range map[string]string{"moby": "Moby Dick; or, The Whale", "jungle": "The Jungle Book"} {
		if err := w.Put(id, map[string]any{"title": title}); err != nil {
			log.Fatal(err)
		}
	}
	sum, err := w.Close()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sum.Changes, "changes")
	a, err := c.Search(ctx, "books", &client.SearchRequest{Query: riffle.Match{Field: "title", Text: "whales"}, Load: []string{"title"}})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range a.Hits {
		fmt.Println(hit.ID, hit.Fields["title"])
	}
	_, err = c.Document(ctx, "books", "nobody")
	fmt.Println(err)
	// Output:
	// 2 changes
	// moby Moby Dick; or, The Whale
	// There is no such document: riffle: no such document
}
