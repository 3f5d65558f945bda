package analysis

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// MaxKeywordBytes is the longest token that the keyword analyzer keeps. It equals Lucene's longest
// term.
const MaxKeywordBytes = 32766

var (
	standard   = New("standard", Words{}, Lowercase{})
	folding    = New("folding", Words{}, Lowercase{}, Fold{})
	english    = New("english", Words{}, Possessive{}, Lowercase{}, Stop(EnglishStopWords...), Porter{})
	keyword    = New("keyword", Keyword{}, Length{Max: MaxKeywordBytes})
	whitespace = New("whitespace", Whitespace{})
)

// Standard finds words in any language and lower-cases them.
func Standard() Analyzer { return standard }

// Folding is Standard without accents and other marks: see Fold.
func Folding() Analyzer { return folding }

// English does what Lucene's EnglishAnalyzer does: it finds words, removes possessives,
// lower-cases, drops 33 stop words, and stems by Porter's algorithm.
func English() Analyzer { return english }

// Errors of Lookup and Register.
var (
	ErrUnknown = errors.New("unknown analyzer")
	ErrExists  = errors.New("analyzer exists already")
)

var registry = struct {
	sync.RWMutex
	byName map[string]Analyzer
}{
	byName: map[string]Analyzer{
		"standard":   standard,
		"folding":    folding,
		"english":    english,
		"keyword":    keyword,
		"whitespace": whitespace,
	},
}

// Register makes an analyzer known to Lookup under a name. It fails with ErrExists if
// the name is taken: an index stores names, so a name must mean one thing for good.
func Register(name string, a Analyzer) error {
	if name == "" || a == nil {
		return errors.New("analysis: an analyzer needs a name and must not be nil")
	}
	registry.Lock()
	defer registry.Unlock()
	if _, ok := registry.byName[name]; ok {
		return fmt.Errorf("analysis: %w: %q", ErrExists, name)
	}
	registry.byName[name] = a
	return nil
}

// Lookup returns the analyzer with the name, or an error that matches ErrUnknown and lists the
// known names.
func Lookup(name string) (Analyzer, error) {
	registry.RLock()
	a := registry.byName[name]
	registry.RUnlock()
	if a == nil {
		return nil, fmt.Errorf("analysis: %w %q; known are %s (more: import analysis/lang or analysis/bleve)",
			ErrUnknown, name, strings.Join(Names(), ", "))
	}
	return a, nil
}

// Names returns the names that Lookup knows, sorted.
func Names() []string {
	registry.RLock()
	defer registry.RUnlock()
	return slices.Sorted(maps.Keys(registry.byName))
}
