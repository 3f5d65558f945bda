package segment

import "testing"

// TestSizesAddUp checks that every byte that a merge wrote is in one of the parts.
func TestSizesAddUp(t *testing.T) {
	s, m := damaged(t) // a segment with keys of every kind
	d, err := Open(s)
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.Sizes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var bytes, postings uint64
	for key, value := range s.values {
		bytes += uint64(len(key) + len(value))
	}
	for _, doc := range m {
		for _, f := range doc.fields {
			postings += uint64(len(f.terms))
		}
	}
	sum := got.Docs + got.Freqs + got.Positions + got.Directory + got.Dictionary + got.IDs + got.Norms + got.Columns + got.Stored + got.Other
	if sum != bytes || got.Postings != postings {
		t.Errorf("parts of %d bytes and %d postings, want %d and %d: %+v", sum, got.Postings, bytes, postings, got)
	}
}
