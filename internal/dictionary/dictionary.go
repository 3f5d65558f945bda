// Package dictionary holds the sorted terms of a field and finds those that match a pattern: a
// prefix or a range, wildcards, a regular expression, or a word with a few letters changed.
//
// Terms stand one after another in a flat text, so that a pattern is sought in all of them at once
// where it has a literal part, and a common prefix is compared once for the terms that share it. A
// term takes its length and 4 bytes, and 10 bytes more once a fuzzy word has been sought: a signature
// of 64 bits and a place. A finite-state transducer would take less memory, since terms share
// beginnings and ends, but it must be walked byte by byte, and finds a literal inside terms only by
// visiting them all.
//
// The package knows nothing of postings: whoever has a term's number or bytes finds its list.
package dictionary

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
)

// pageTerms bounds the terms of a page, so that a term's place in it fits in 16 bits.
const pageTerms = 1 << 16

// pageText bounds the text of a page, in bytes, so that ends fit in 32 bits. A longer term has a
// page of its own.
const pageText = 1 << 24

// A Dictionary is a sorted list of distinct terms. They are numbered from 0 on. All methods may be
// called by many goroutines at once.
type Dictionary struct {
	pages []*page
	terms int
	grams dictionaryGrams
}

// A page is a run of terms.
type page struct {
	first int // number of its first term
	text  []byte
	ends  []uint32 // of each term in text

	grouping sync.Once
	groups   lengthGroups

	indexing atomic.Bool // grams has been made, or is being made
	grams    atomic.Pointer[gramIndex]
}

// A Builder makes a Dictionary.
type Builder struct{ d Dictionary }

// Add adds a term, which must be greater than the one before. The bytes are copied.
func (b *Builder) Add(term []byte) {
	d := &b.d
	if n := len(d.pages); n == 0 || len(d.pages[n-1].ends) == pageTerms || len(d.pages[n-1].text)+len(term) > pageText {
		if n > 0 {
			d.pages[n-1].trim()
		}
		d.pages = append(d.pages, &page{first: d.terms})
	}
	p := d.pages[len(d.pages)-1]
	p.text = append(p.text, term...)
	p.ends = append(p.ends, uint32(len(p.text)))
	d.terms++
}

// Dictionary returns the dictionary of all terms that were added. The builder must not be used
// afterwards.
func (b *Builder) Dictionary() *Dictionary {
	if n := len(b.d.pages); n > 0 {
		b.d.pages[n-1].trim()
	}
	return &b.d
}

func (p *page) trim() {
	p.text, p.ends = slices.Clip(p.text), slices.Clip(p.ends)
}

// Len is the number of terms.
func (d *Dictionary) Len() int { return d.terms }

// Bytes is the memory that the dictionary takes once a fuzzy word has been sought in it.
func (d *Dictionary) Bytes() int {
	n := 0
	for _, p := range d.pages {
		n += len(p.text) + 4*len(p.ends) + groupBytes*len(p.ends) + 256
	}
	return n
}

// Term returns the term with a number in 0 to Len-1. The bytes belong to the dictionary.
func (d *Dictionary) Term(i int) []byte {
	p := d.page(i)
	return p.term(i - p.first)
}

// page returns the page of a term.
func (d *Dictionary) page(i int) *page {
	n, _ := slices.BinarySearchFunc(d.pages, i+1, func(p *page, i int) int { return cmp.Compare(p.first, i) })
	return d.pages[n-1]
}

func (p *page) term(i int) []byte { return p.text[p.start(i):p.ends[i]] }

// start is the offset of a term in text.
func (p *page) start(i int) uint32 {
	if i == 0 {
		return 0
	}
	return p.ends[i-1]
}

// Search returns the number of the first term >= term, or Len if there is none.
func (d *Dictionary) Search(term []byte) int {
	return sort.Search(d.terms, func(i int) bool { return bytes.Compare(d.Term(i), term) >= 0 })
}

// Prefix returns the range from, to of the terms that begin with a prefix: from <= number < to.
func (d *Dictionary) Prefix(prefix []byte) (from, to int) {
	from, to = d.Search(prefix), d.terms
	if next := Successor(prefix); next != nil {
		to = d.Search(next)
	}
	return from, to
}

// Successor returns the least string that is greater than all strings with a prefix, or nil if
// there is none.
func Successor(prefix []byte) []byte {
	for n := len(prefix); n > 0; n-- {
		if prefix[n-1] != 0xff {
			next := bytes.Clone(prefix[:n])
			next[n-1]++
			return next
		}
	}
	return nil
}

// spans yields the pages that a range of terms lies in, with the range of places in each.
func (d *Dictionary) spans(from, to int, yield func(p *page, from, to int) bool) {
	for _, p := range d.pages {
		a, b := max(from-p.first, 0), min(to-p.first, len(p.ends))
		if a < b && !yield(p, a, b) {
			return
		}
	}
}
