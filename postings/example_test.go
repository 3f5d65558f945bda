package postings_test

import (
	"fmt"

	"github.com/riffle-search/riffle/postings"
)

// A term in three documents: viewed while it grows, stored, and read again.
func Example() {
	var b postings.Builder
	b.Add(3, 1, 10) // document 3, once, length code 10
	b.Add(4, 1, 8)
	view := b.View(postings.MaxDoc)
	b.Add(9, 3, 12)
	fmt.Println("the view still has", view.Count)

	enc := b.Encode()
	fmt.Printf("stored: % x\n", enc.Entry)

	list, err := postings.Open(enc.Entry, nil) // a short list needs no Loader
	if err != nil {
		fmt.Println(err)
		return
	}
	var c postings.Cursor
	c.Reset(list)
	for doc := c.Next(); doc != postings.End; doc = c.Next() {
		fmt.Println("document", doc, "frequency", c.TF())
	}
	fmt.Println(c.Err(), list.ListImpacts)
	// Output:
	// the view still has 2
	// stored: 04 12 01 1b 01 08 02 03 64
	// document 3 frequency 1
	// document 4 frequency 1
	// document 9 frequency 3
	// <nil> [{1 8} {3 12}]
}
