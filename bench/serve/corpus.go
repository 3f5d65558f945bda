package main

import (
	"io"
	"strings"

	"github.com/riffle-search/riffle/internal/jsonl"
)

// eachPassage calls f with the id and the text of each document of the corpus.
func eachPassage(f func(id, text string) error) error {
	for _, path := range strings.Split(*corpus, ",") {
		r, err := jsonl.Open(path)
		if err != nil {
			return err
		}
		defer r.Close()
		var doc jsonl.Document
		for err = r.Next(&doc); err == nil; err = r.Next(&doc) {
			for _, field := range doc.Fields {
				if text, ok := field.Value.(string); ok && field.Name == "text" {
					if err := f(doc.ID, text); err != nil {
						return err
					}
				}
			}
		}
		if err != io.EOF {
			return err
		}
	}
	return nil
}
