package analysis

import (
	"iter"
	"sync"
	"unsafe"
)

// A Token is one term of a text and the place it was found at.
type Token struct {
	// Term is what is indexed: never empty, always valid UTF-8. It is valid
	// only while the batch it came in is being handled.
	Term []byte

	// Start and End are byte offsets: the token was made from text[Start:End].
	// They speak of the text as it was given, so they stay true when a filter
	// shortens, folds or stems the term. 0 <= Start < End <= len(text).
	Start, End int

	// Position counts the tokens that the tokenizer found, from 0. A token that a
	// filter drops leaves a hole, so phrases do not close over stop words. Tokens
	// that share a position are alternatives.
	Position int

	// Span is how many positions the token takes: more than 1 when it stands beside
	// alternatives of several tokens, as a synonym of several words does. 0 means 1.
	Span int
}

// Next returns the position of the tokens that follow on t.
func (t *Token) Next() int { return t.Position + max(1, t.Span) }

// An Analyzer turns text into tokens. All methods may be called by many
// goroutines at once.
type Analyzer interface {
	// Name is what Lookup knows the analyzer by, or would.
	Name() string

	// Analyze calls emit with the tokens of text in the order of their Start (ties
	// in the order of their End), in batches of 1 to MaxBatch tokens; a text without
	// tokens makes no call. Positions never fall. The batch and the terms in it belong to the
	// analyzer again when emit returns; until then emit may change them.
	//
	// Analyze neither writes to text nor keeps it, whatever bytes it holds.
	Analyze(text []byte, emit func(batch []Token))
}

// New makes an analyzer of a tokenizer and the filters that its tokens pass
// through, in that order.
//
// A Lowercase that comes first, or behind Possessive alone, costs next to
// nothing: it is done while the term is copied out of the text.
func New(name string, t Tokenizer, filters ...Filter) Analyzer {
	c := &chain{name: name, tokenizer: t}
	c.lower, c.filters = fuseLowercase(filters)
	c.pool.New = func() any { return newBatch(c.lower, c.filters) }
	c.termPool.New = func() any { return newTermBatch(c.lower) }
	return c
}

// A chain is the analyzer that New makes.
type chain struct {
	name      string
	tokenizer Tokenizer
	lower     bool     // terms are lower-cased as they are added to a batch
	filters   []Filter // what is left to do
	pool      sync.Pool
	termPool  sync.Pool // batches of AnalyzeTerms
}

func (c *chain) Name() string { return c.name }

func (c *chain) Analyze(text []byte, emit func(batch []Token)) {
	if len(text) == 0 {
		return
	}
	b := c.pool.Get().(*Batch)
	b.emit = emit
	c.tokenizer.Tokenize(text, b)
	b.pass(true)
	b.emit = nil
	// A panic in emit or in a tokenizer loses the batch to the garbage collector: it
	// may be half full.
	c.pool.Put(b)
}

// A TermAnalyzer is an Analyzer that can leave out where in the text terms stand, which
// saves a third of the time. Analyzers that New makes are.
type TermAnalyzer interface {
	Analyzer

	// AnalyzeTerms calls emit with the terms that Analyze finds, in that order, in batches of 1 to MaxBatch.
	// A term of at most seven bytes is a number: its bytes, little-endian, with their count
	// in the top byte. For a longer one that byte is 255, and its bytes are the next of long. Both
	// slices belong to the analyzer again when emit returns.
	//
	// It returns false, and makes no call, when this analyzer can do nothing but Analyze: when
	// it has a filter.
	AnalyzeTerms(text []byte, emit func(keys []uint64, long [][]byte)) bool
}

// AnalyzeTerms implements TermAnalyzer.
func (c *chain) AnalyzeTerms(text []byte, emit func(keys []uint64, long [][]byte)) bool {
	if len(c.filters) > 0 {
		return false
	}
	if len(text) == 0 {
		return true
	}
	b := c.termPool.Get().(*Batch)
	b.emitTerms = emit
	c.tokenizer.Tokenize(text, b)
	b.flush()
	b.emitTerms = nil
	c.termPool.Put(b)
	return true
}

// AnalyzeString is a.Analyze for a string. The string is not copied: an
// Analyzer promises not to write to its text.
func AnalyzeString(a Analyzer, text string, emit func(batch []Token)) {
	if len(text) == 0 {
		return
	}
	a.Analyze(unsafe.Slice(unsafe.StringData(text), len(text)), emit)
}

// Tokens iterates over the tokens of a string, which is not copied. A token's
// Term is valid until the loop's next turn. Leaving the loop early is correct but saves
// little: the rest of the text is still analyzed.
//
//	for t := range analysis.Tokens(analysis.English(), "The running dogs") {
//		fmt.Printf("%s ", t.Term) // run dog
//	}
func Tokens(a Analyzer, text string) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		done := false
		AnalyzeString(a, text, func(batch []Token) {
			for i := 0; i < len(batch) && !done; i++ {
				done = !yield(batch[i])
			}
		})
	}
}

// Terms returns the terms of a text, copied: for queries, tests and other short
// texts.
func Terms(a Analyzer, text string) []string {
	var terms []string
	for t := range Tokens(a, text) {
		terms = append(terms, string(t.Term))
	}
	return terms
}
