package analysis

import (
	"iter"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A Token is one term of a text and its place there.
type Token struct {
	// Term is what is indexed: never empty, always valid UTF-8. It is valid only until emit
	// returns.
	Term []byte

	// Start and End are byte offsets: the token was made from text[Start:End]. They refer to the
	// original text, so they stay true when a filter shortens, folds or stems the term. 0 <= Start
	// < End <= len(text).
	Start, End int

	// Position counts the tokens that the tokenizer found, from 0. A token that a filter drops
	// leaves a gap, so words around a stop word are not adjacent in phrases. Tokens that share a
	// position are alternatives.
	Position int

	// Span is how many positions the token takes. It is more than 1 for an alternative to several
	// tokens, such as a synonym of several words. 0 means 1.
	Span int32

	// Keyword protects the term from stemmers: see KeywordMarker.
	Keyword bool
}

// Next returns the position of the tokens that follow t.
func (t *Token) Next() int { return t.Position + max(1, int(t.Span)) }

// An Analyzer turns text into tokens. All methods may be called by many
// goroutines at once.
type Analyzer interface {
	// Name is the analyzer's name in Lookup, if it is registered.
	Name() string

	// Analyze calls emit with the tokens of text in the order of their Start (ties in the order of
	// their End), in batches of 1 to MaxBatch tokens. A text without tokens makes no call.
	// Positions never fall. emit may change the batch and its terms, which belong to the analyzer
	// again when emit returns.
	//
	// Analyze accepts any bytes. It neither writes to text nor keeps it.
	Analyze(text []byte, emit func(batch []Token))
}

// New makes an analyzer of a tokenizer and the filters that its tokens pass through, in that order.
//
// A Lowercase that comes first, or right after Possessive, costs almost nothing: terms are
// lower-cased while they are copied out of the text.
func New(name string, t Tokenizer, filters ...Filter) Analyzer {
	c := &chain{name: name, tokenizer: t, given: filters}
	c.lower, c.filters = fuseLowercase(filters)
	c.pool.New = func() any { return newBatch(c.lower, c.filters) }
	c.termPool.New = func() any { return newTermBatch(c.lower) }
	return c
}

// A chain is the analyzer that New makes.
type chain struct {
	name      string
	tokenizer Tokenizer
	given     []Filter
	lower     *Lowercase // if set, terms are lower-cased as they are added to a batch
	filters   []Filter   // remaining filters
	pool      sync.Pool
	termPool  sync.Pool // batches of AnalyzeTerms

	ruled [endOfRules]atomic.Pointer[chain] // this analyzer with other rules: see WithRules
	bare  atomic.Pointer[chain]             // this analyzer without filters: see Unfiltered
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
	// After a panic in emit or in a tokenizer the batch may be half full, so it does not return to
	// the pool.
	c.pool.Put(b)
}

// A TermAnalyzer is an Analyzer that can omit the places of terms in the text, which saves a third
// of the time. Analyzers from New are TermAnalyzers.
type TermAnalyzer interface {
	Analyzer

	// AnalyzeTerms calls emit with the terms that Analyze finds, in that order, in batches of 1 to
	// MaxBatch. A term of at most seven bytes is a number: its bytes, little-endian, with their
	// count in the top byte. For a longer term that byte is 255, and the term is the next element
	// of long. Both slices belong to the analyzer again when emit returns.
	//
	// It returns false, and makes no call, when this analyzer has a filter and so supports only
	// Analyze.
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

// Tokens iterates over the tokens of a string, which is not copied. A token's Term is valid until
// the next iteration. Leaving the loop early is correct but saves little: the rest of the text is
// still analyzed.
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
