package analysis

import "bytes"

// Elision removes one of the articles and the apostrophe after it (' or U+2019) from the front of a
// term, unless nothing would be left: with "l", l’été becomes été. It compares articles byte by
// byte, so lower-case terms first.
func Elision(articles ...string) Filter {
	set := make(elision, len(articles))
	for _, a := range articles {
		set[a] = true
	}
	return set
}

// An elision is the set of articles of the filter Elision.
type elision map[string]bool

// Filter implements Filter.
func (set elision) Filter(batch []Token) []Token {
	for i := range batch {
		t := &batch[i]
		at, n := apostrophe(t.Term)
		if n > 0 && at+n < len(t.Term) && set[string(t.Term[:at])] {
			t.Term = t.Term[at+n:]
		}
	}
	return batch
}

// Apostrophe cuts a term at its first apostrophe (' or U+2019), unless that comes first. Turkish
// writes it before the suffixes of names (İstanbul’da).
type Apostrophe struct{}

// Filter implements Filter.
func (Apostrophe) Filter(batch []Token) []Token {
	for i := range batch {
		if at, n := apostrophe(batch[i].Term); n > 0 && at > 0 {
			batch[i].Term = batch[i].Term[:at]
		}
	}
	return batch
}

// apostrophe returns the place and the length of the first apostrophe, or a length of 0.
func apostrophe(term []byte) (at, n int) {
	plain := bytes.IndexByte(term, '\'')
	curly := bytes.Index(term, []byte("\u2019"))
	switch {
	case plain >= 0 && (curly < 0 || plain < curly):
		return plain, 1
	case curly >= 0:
		return curly, len("\u2019")
	}
	return 0, 0
}
