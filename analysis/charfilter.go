package analysis

import "sort"

// A CharFilter changes a text before a tokenizer sees it. Tokens still have their place in the
// original text. It must be safe for use by many goroutines at once.
type CharFilter interface {
	// Edit calls e.Replace for the parts of text to replace, from the first to the last. text is
	// read-only.
	Edit(text []byte, e *Edits)
}

// FilterText returns a tokenizer for texts that first pass through the char filters, in that order.
func FilterText(t Tokenizer, filters ...CharFilter) Tokenizer {
	if len(filters) == 0 {
		return t
	}
	return &filteredText{t, filters}
}

// A filteredText is the tokenizer that FilterText makes.
type filteredText struct {
	tokenizer Tokenizer
	filters   []CharFilter
}

func (f *filteredText) withRules(r WordRules) (Tokenizer, bool) {
	if t, ok := f.tokenizer.(ruledTokenizer); ok {
		if t, ok := t.withRules(r); ok {
			return &filteredText{t, f.filters}, true
		}
	}
	return f, false
}

// Tokenize implements Tokenizer.
func (f *filteredText) Tokenize(text []byte, b *Batch) {
	b.correct()
	outer := b.place
	for _, c := range f.filters {
		e := Edits{text: text}
		if c.Edit(text, &e); len(e.list) > 0 {
			text = append(e.out, text[e.done:]...)
			b.place = &placement{outer: b.place, edits: &e}
		}
	}
	f.tokenizer.Tokenize(text, b)
	b.correct()
	b.place = outer
}

// Edits are the changes of a CharFilter to a text.
type Edits struct {
	text []byte
	done int    // text[:done] is in out
	out  []byte // the new text so far
	list []edit
}

// An edit replaced text[oldStart:oldEnd], which was not empty, by out[newStart:newEnd].
type edit struct{ oldStart, oldEnd, newStart, newEnd int }

// Replace puts other bytes in the place of text[start:end]. Start must not be before the end of the
// previous call. An empty range changes nothing: every byte of the new text comes from somewhere in
// the old one.
func (e *Edits) Replace(start, end int, with []byte) {
	if start < e.done || end > len(e.text) {
		panic("analysis: edits overlap, or are not in order")
	}
	if start >= end {
		return
	}
	if e.out == nil {
		e.out = make([]byte, 0, len(e.text)+64)
	}
	e.out = append(e.out, e.text[e.done:start]...)
	at := len(e.out)
	e.out = append(e.out, with...)
	e.list = append(e.list, edit{start, end, at, len(e.out)})
	e.done = end
}

// before returns the last edit that begins at or before a place of the new text, or nil.
func (e *Edits) before(at int) *edit {
	i := sort.Search(len(e.list), func(i int) bool { return e.list[i].newStart > at })
	if i == 0 {
		return nil
	}
	return &e.list[i-1]
}

// start returns where in the old text a token begins.
func (e *Edits) start(at int) int {
	switch d := e.before(at); {
	case d == nil:
		return at
	case at < d.newEnd:
		return d.oldStart
	default:
		return at - d.newEnd + d.oldEnd
	}
}

// end returns where in the old text a token ends that ends at a place of the new text, which is not
// 0.
func (e *Edits) end(at int) int {
	switch d := e.before(at - 1); {
	case d == nil:
		return at
	case at-1 < d.newEnd:
		return d.oldEnd
	default:
		return at - d.newEnd + d.oldEnd
	}
}
