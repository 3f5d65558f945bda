package analysis

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// MaxBatch is the most tokens that a batch holds. It is large enough that calls of filters and of
// emit cost next to nothing, and small enough that terms and tokens (some 60 KB) stay in the
// second-level cache.
const MaxBatch = 1024

// arenaBytes is how many bytes of terms a batch holds. 1,024 English words take 5 KB.
const arenaBytes = 16 << 10

// A Tokenizer finds the tokens of a text. It must be safe for use by many goroutines at once, so it
// must keep its state for a text on the stack.
type Tokenizer interface {
	// Tokenize adds the tokens of text to b in the order of their start.
	Tokenize(text []byte, b *Batch)
}

// A Filter changes the tokens of a batch in place and returns those to keep, which share the
// batch's memory and are never more than it got. It may shorten a Term or give it new memory, but
// not write past its end. It must not leave a Term empty or cut a rune in two. Filters must be safe
// for use by many goroutines at once.
//
// A Filter sees batches of a text, not the text. One that adds tokens, or looks at several at once,
// is a TextFilter as well.
type Filter interface {
	Filter(batch []Token) []Token
}

// A TextFilter is a Filter that may add tokens, and remember earlier tokens of the same text. New
// calls its method Text where it would call Filter.
type TextFilter interface {
	Filter

	// Text returns a filter for one text at a time. It is used for many texts, one after the other.
	//
	// Each call takes the next tokens of a text and returns the next tokens of the result, any
	// number of them, in the order that Analyzer requires. They are valid until the next call. The
	// filter must copy what it holds back: the batch belongs to the caller again when the call
	// returns. The last call for a text has last set, and may have no tokens. The next call after
	// that begins another text.
	Text() func(batch []Token, last bool) []Token
}

// A FilterFunc is a function that implements Filter.
type FilterFunc func(batch []Token) []Token

// Filter calls f.
func (f FilterFunc) Filter(batch []Token) []Token { return f(batch) }

// keep calls ok for each token of a batch and keeps those for which it returns true. It moves
// nothing until it drops a token.
func keep(batch []Token, ok func(*Token) bool) []Token {
	n := 0
	for i := range batch {
		if !ok(&batch[i]) {
			continue
		}
		if n != i {
			batch[n] = batch[i]
		}
		n++
	}
	return batch[:n]
}

// A Batch collects tokens from a Tokenizer and passes them on when it is full. Only New makes
// batches.
type Batch struct {
	tokens  []Token // the first n are in use
	n       int
	arena   []byte // terms of those tokens; its capacity never changes
	lower   bool
	sigma   bool // see Lowercase.FinalSigma
	filters []Filter
	texts   []func(batch []Token, last bool) []Token // parallel to filters; nil for those that are not TextFilters
	emit    func(batch []Token)
	breaker breaker  // scratch of Words
	scan    maskScan // the same, and of Whitespace

	place *placement // of the text that a tokenizer sees now, if it is not the whole text as it is
	fixed int        // the first tokens, which have their final place
	step  int        // how many tokens pass through the filters at once

	// For AnalyzeTerms, instead of tokens; see there.
	terms     bool
	keys      []uint64 // the first n are in use
	long      [][]byte
	emitTerms func(keys []uint64, long [][]byte)
}

func newBatch(lower *Lowercase, filters []Filter) *Batch {
	b := &Batch{
		tokens:  make([]Token, MaxBatch),
		arena:   make([]byte, 0, arenaBytes),
		lower:   lower != nil,
		sigma:   lower != nil && lower.FinalSigma,
		filters: filters,
		texts:   make([]func([]Token, bool) []Token, len(filters)),
		step:    MaxBatch,
	}
	for i, f := range filters {
		if _, ok := f.(expander); ok {
			b.step = expandedBatch
		}
		if t, ok := f.(TextFilter); ok {
			b.texts[i] = t.Text()
		}
	}
	return b
}

// newTermBatch returns a batch for AnalyzeTerms.
func newTermBatch(lower *Lowercase) *Batch {
	return &Batch{
		terms: true, keys: make([]uint64, MaxBatch), arena: make([]byte, 0, arenaBytes),
		lower: lower != nil, sigma: lower != nil && lower.FinalSigma,
	}
}

// Add adds the token text[start:end]. An empty range adds nothing. A run of bytes that is not UTF-8
// becomes one U+FFFD.
func (b *Batch) Add(text []byte, start, end, position int) {
	src := text[start:end]
	if len(src) == 0 {
		return
	}
	if b.n == MaxBatch || len(src) > cap(b.arena)-len(b.arena) {
		b.flush()
	}
	if b.terms {
		b.addTerm(b.copy(src))
		return
	}
	t := &b.tokens[b.n]
	b.n++
	t.Start, t.End, t.Position, t.Span, t.Keyword = start, end, position, 0, false
	t.Term = b.copy(src)
}

// addShort adds a token of n < 8 bytes: the low bytes of word, which are ASCII, and already
// lower-cased if this batch lower-cases.
func (b *Batch) addShort(word uint64, n, start, position int) {
	if b.terms {
		if b.n == MaxBatch {
			b.flush()
		}
		b.keys[b.n] = word&(1<<(8*n)-1) | uint64(n)<<56
		b.n++
		return
	}
	if b.n == MaxBatch || cap(b.arena)-len(b.arena) < 8 {
		b.flush()
	}
	at := len(b.arena)
	binary.LittleEndian.PutUint64(b.arena[at:at+8], word) // the next term overwrites the surplus
	b.arena = b.arena[:at+n]
	t := &b.tokens[b.n]
	b.n++
	t.Start, t.End, t.Position, t.Span, t.Keyword = start, start+n, position, 0, false
	t.Term = b.arena[at : at+n : at+n]
}

// maxPlain is the longest term that addPlain takes.
const maxPlain = 16

// addPlain adds, for AnalyzeTerms, the term text[start:end], which is ASCII and has at most
// maxPlain bytes. At least eight bytes of text must follow start. The bits of lower are set in each
// byte.
//
// (Writing all terms to the arena, without a branch on the length, takes a third longer.)
func (b *Batch) addPlain(text []byte, start, end int, lower uint64) {
	if b.n == MaxBatch || cap(b.arena)-len(b.arena) < maxPlain {
		b.flush()
	}
	n := end - start
	first := binary.LittleEndian.Uint64(text[start:]) | lower
	key := &b.keys[b.n]
	b.n++
	if n < 8 {
		*key = first&(1<<(8*n&63)-1) | uint64(n)<<56
		return
	}
	*key = longKey
	at := len(b.arena)
	b.arena = b.arena[:at+n]
	term := b.arena[at : at+n : at+n]
	binary.LittleEndian.PutUint64(term[n-8:], binary.LittleEndian.Uint64(text[end-8:])|lower)
	binary.LittleEndian.PutUint64(term, first)
	b.long = append(b.long, term)
}

// addTerm adds a term without its place.
func (b *Batch) addTerm(term []byte) {
	if n := len(term); n < 8 {
		var word [8]byte
		copy(word[:], term)
		b.keys[b.n] = binary.LittleEndian.Uint64(word[:]) | uint64(n)<<56
	} else {
		b.keys[b.n] = longKey
		b.long = append(b.long, term)
	}
	b.n++
}

// longKey stands for a term of eight bytes or more.
const longKey = 0xff << 56

// copy returns src in memory that filters may write to, lower-cased if this batch lower-cases. The
// capacity ends with the term, so an append cannot overwrite the next one.
func (b *Batch) copy(src []byte) []byte {
	var dst []byte
	if n := len(b.arena); len(src) <= cap(b.arena)-n {
		b.arena = b.arena[:n+len(src)]
		dst = b.arena[n : n+len(src) : n+len(src)]
	} else { // larger than a whole arena: most likely a keyword
		dst = make([]byte, len(src))
	}
	table := &asciiSame
	if b.lower {
		table = &asciiLower
	}
	seen := byte(0)
	for i, c := range src {
		seen |= c
		dst[i] = table[c]
	}
	if seen < utf8.RuneSelf {
		return dst
	}
	if !utf8.Valid(dst) {
		dst = bytes.ToValidUTF8(dst, []byte(string(utf8.RuneError)))
	}
	if b.lower {
		if b.sigma {
			finalSigma(dst)
		}
		dst = lowerTerm(dst)
	}
	return dst
}

// flush makes room in the batch.
func (b *Batch) flush() { b.pass(false) }

// pass filters and emits the tokens added since the previous call. last ends the text.
func (b *Batch) pass(last bool) {
	if b.terms {
		if b.n > 0 {
			b.emitTerms(b.keys[:b.n], b.long)
		}
		clear(b.long)
		b.n, b.arena, b.long = 0, b.arena[:0], b.long[:0]
		return
	}
	if b.place != nil {
		b.correct()
	}
	b.fixed = 0
	rest := b.tokens[:b.n]
	for len(rest) > b.step {
		b.filter(rest[:b.step:b.step], false)
		rest = rest[b.step:]
	}
	b.filter(rest, last)
	b.n, b.arena = 0, b.arena[:0]
}

// filter filters and emits some tokens. last ends the text.
func (b *Batch) filter(batch []Token, last bool) {
	for i, f := range b.filters {
		if text := b.texts[i]; text != nil {
			batch = text(batch, last)
		} else if len(batch) > 0 {
			batch = f.Filter(batch)
		}
	}
	for len(batch) > MaxBatch {
		b.emit(batch[:MaxBatch])
		batch = batch[MaxBatch:]
	}
	if len(batch) > 0 {
		b.emit(batch)
	}
}
