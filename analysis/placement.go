package analysis

// A placement says where in the whole text the text is that a tokenizer sees.
type placement struct {
	outer *placement

	edits    *Edits // that made the text of another, or nil
	offset   int    // where it begins in the other
	position int    // how many positions come before it
	used     int    // how many positions it has taken so far
}

// part gives text[from:to] to a tokenizer, and returns how many positions it took.
func (b *Batch) part(t Tokenizer, text []byte, from, to, position int) int {
	if from == to {
		return 0
	}
	b.correct()
	p := &placement{outer: b.place, offset: from, position: position}
	b.place = p
	t.Tokenize(text[from:to], b)
	b.correct()
	b.place = p.outer
	return p.used
}

// correct gives the tokens of the batch their final places.
func (b *Batch) correct() {
	if b.terms {
		return
	}
	for p := b.place; p != nil; p = p.outer {
		for i := b.fixed; i < b.n; i++ {
			t := &b.tokens[i]
			p.used = max(p.used, t.Position+1)
			t.Position += p.position
			if t.Start, t.End = t.Start+p.offset, t.End+p.offset; p.edits != nil {
				t.Start, t.End = p.edits.start(t.Start), p.edits.end(t.End)
			}
		}
	}
	b.fixed = b.n
}
