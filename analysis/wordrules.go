package analysis

import (
	"fmt"
	"slices"
	"strings"
)

// WordRules say what a word is: a version of Unicode's rules and tables. An index keeps the rules
// that it was made with, so that a query finds the words of its documents.
type WordRules uint8

const (
	// AnyWords leaves the choice to whoever uses the analyzer: an index applies its own rules, and
	// without an index they are NewestWords.
	AnyWords WordRules = iota

	// WordsUnicode8 are the rules of Unicode 8, as blevesearch/segment implements them. Emoji make
	// no words. Indexes of the first releases have these rules.
	WordsUnicode8

	// WordsUnicode15 are the rules of Unicode 15, as clipperhouse/uax29 implements them. Emoji are
	// words.
	WordsUnicode15

	// WordsBleve are those of bleve's tokenizer "unicode": WordsUnicode8, but a run of underscores
	// is a word, and letters that Unicode leaves to dictionaries (Thai, Lao, Khmer, Myanmar) or
	// that came after Unicode 8 are not. Marks without a letter make no words, as in bleve where
	// something stands before them.
	WordsBleve

	endOfRules
)

// NewestWords are the rules of a new index.
const NewestWords = WordsUnicode15

var ruleNames = [...]string{"any", "unicode8", "unicode15", "bleve"}

// String returns the name of the rules, which schemas use.
func (r WordRules) String() string {
	if int(r) < len(ruleNames) {
		return ruleNames[r]
	}
	return fmt.Sprintf("WordRules(%d)", uint8(r))
}

// Check returns an error unless this build has the rules.
func (r WordRules) Check() error {
	if r >= endOfRules {
		return fmt.Errorf("unknown word rules %d", uint8(r))
	}
	return nil
}

// MarshalText writes the name of the rules.
func (r WordRules) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the name of rules.
func (r *WordRules) UnmarshalText(name []byte) error {
	i := slices.Index(ruleNames[:], string(name))
	if i < 0 {
		return fmt.Errorf("unknown word rules %q (want one of %s)", name, strings.Join(ruleNames[:], ", "))
	}
	*r = WordRules(i)
	return nil
}

// WithRules returns an analyzer that finds words by the given rules wherever a says AnyWords. It
// returns a itself if it says so nowhere, or if New did not make it.
func WithRules(a Analyzer, r WordRules) Analyzer {
	if c, ok := a.(*chain); ok {
		return c.withRules(r)
	}
	return a
}

// A ruledTokenizer may contain Words.
type ruledTokenizer interface {
	Tokenizer

	// withRules returns the tokenizer with rules in place of AnyWords, and whether that differs.
	withRules(r WordRules) (Tokenizer, bool)
}

func (w Words) withRules(r WordRules) (Tokenizer, bool) {
	if w.Rules != AnyWords {
		return w, false
	}
	w.Rules = r
	return w, true
}

// withRules returns the analyzer for an index with these rules. Each is made once.
func (c *chain) withRules(r WordRules) Analyzer {
	if r == AnyWords || r == NewestWords || r >= endOfRules {
		return c
	}
	t, ok := c.tokenizer.(ruledTokenizer)
	if !ok {
		return c
	}
	if made := c.ruled[r].Load(); made != nil {
		return made
	}
	other, differs := t.withRules(r)
	if !differs {
		return c
	}
	c.ruled[r].CompareAndSwap(nil, New(c.name, other, c.given...).(*chain))
	return c.ruled[r].Load()
}
