package analysis

// Shingles adds sequences of Min to Max neighboring words as terms, so that a frequent phrase is
// found like a word. "quick brown fox" with Min and Max 2 adds "quick brown" and "brown fox".
//
// A shingle has the position of its first word, and the place from its first to its last. A word that
// a filter has dropped is replaced by Filler. Tokens that share a position are neighbors in their
// order, so place Shingles before filters that add tokens.
type Shingles struct {
	// Min and Max are in words. A Min below 2 means 2, a Max below Min means Min; at most 16.
	Min, Max int

	// Separator stands between the words of a shingle. The default is a space.
	Separator string

	// Filler stands for a dropped word. The default is an underscore.
	Filler string

	// NoWords drops the words themselves.
	NoWords bool
}

// maxShingle is the most words of a shingle.
const maxShingle = 16

func (Shingles) expands() {}

// Filter implements Filter: the batch is a whole text.
func (s Shingles) Filter(batch []Token) []Token { return s.Text()(batch, true) }

// Text implements TextFilter.
func (s Shingles) Text() func(batch []Token, last bool) []Token {
	x := &shingleText{Shingles: s}
	x.Min = min(max(x.Min, 2), maxShingle)
	x.Max = min(max(x.Max, x.Min), maxShingle)
	if x.Separator == "" {
		x.Separator = " "
	}
	if x.Filler == "" {
		x.Filler = "_"
	}
	return x.more
}

// A shingleText is the state of Shingles for a text.
type shingleText struct {
	Shingles
	slots []Token // words, and fillers, which have no term
	first int     // slots before it have been handled; the last of them may be fillers of later shingles
	next  int     // the position after the last word
	terms []byte  // of slots
	out   tokenBuffer
	parts [][]byte
}

func (x *shingleText) more(batch []Token, last bool) []Token {
	x.out.reset()
	for i := range batch {
		x.push(batch[i])
		for x.first+x.Max <= len(x.slots) {
			x.shingle()
		}
	}
	if last {
		for x.first < len(x.slots) {
			x.shingle()
		}
		x.slots, x.terms, x.first, x.next = x.slots[:0], x.terms[:0], 0, 0
	}
	return x.out.result(last)
}

// push appends a word, after the fillers before it. In the middle of a long gap no shingle has a
// word, so it is shortened.
func (x *shingleText) push(t Token) {
	if keep := x.Max - 1; x.first > MaxBatch {
		n := copy(x.slots, x.slots[x.first-keep:])
		x.slots, x.first = x.slots[:n], keep
		x.terms = nil // older terms are in use
	}
	for range min(t.Position-x.next, 2*(x.Max-1)) {
		x.slots = append(x.slots, Token{})
	}
	n := len(x.terms)
	x.terms = append(x.terms, t.Term...)
	t.Term = x.terms[n:len(x.terms):len(x.terms)]
	x.slots = append(x.slots, t)
	x.next = t.Position + 1
}

// shingle handles the next slot. If it is a word it adds the word and the shingles that it is the
// first word of: those that end earlier first.
func (x *shingleText) shingle() {
	at := x.first
	x.first++
	if x.slots[at].Term == nil {
		return
	}
	fillers := 0
	for fillers < x.Max-1 && fillers < at && x.slots[at-fillers-1].Term == nil {
		fillers++
	}
	t := x.slots[at]
	if !x.NoWords {
		x.out.add(t, t.Term)
	}
	t.Span, t.Keyword = 0, false
	for to := at; to < min(at+x.Max, len(x.slots)); to++ {
		if x.slots[to].Term != nil {
			t.End = max(t.End, x.slots[to].End)
		}
		for from := at; from >= at-fillers; from-- {
			if n := to - from + 1; x.Min <= n && n <= x.Max {
				x.out.add(t, x.join(x.slots[from:to+1])...)
			}
		}
	}
}

// join returns the terms of a shingle and what stands between them.
func (x *shingleText) join(slots []Token) [][]byte {
	x.parts = x.parts[:0]
	for i := range slots {
		if i > 0 {
			x.parts = append(x.parts, []byte(x.Separator))
		}
		if term := slots[i].Term; term != nil {
			x.parts = append(x.parts, term)
		} else {
			x.parts = append(x.parts, []byte(x.Filler))
		}
	}
	return x.parts
}
