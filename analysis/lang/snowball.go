package lang

import (
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"

	"github.com/riffle-search/riffle/analysis"
)

// maxStemBytes is the longest term that is stemmed. No language has such long words, and Snowball's
// programs take quadratic time.
const maxStemBytes = 255

// Snowball stems terms, which must be in lower case, by the algorithm of a language, except
// keywords (analysis.KeywordMarker). It panics if
// Languages does not include the name.
//
// If a stem is empty, the term stays.
func Snowball(language string) analysis.Filter {
	stem := algorithms[language]
	if stem == nil {
		panic(fmt.Sprintf("lang: no stemmer for %q; there are %s", language, strings.Join(Languages(), ", ")))
	}
	f := &snowball{}
	f.pool.New = func() any { return &stemmer{algorithm: stem, seed: maphash.MakeSeed()} }
	return f
}

// A snowball is the filter that Snowball makes: a pool of stemmers.
type snowball struct{ pool sync.Pool }

func (f *snowball) Filter(batch []analysis.Token) []analysis.Token {
	s := f.pool.Get().(*stemmer)
	for i := range batch {
		if !batch[i].Keyword {
			batch[i].Term = s.stem(batch[i].Term)
		}
	}
	f.pool.Put(s)
	return batch
}

// cacheSlots is how many stems a stemmer caches. Words repeat in text, and a Snowball program takes
// microseconds and several allocations per word.
const cacheSlots = 4096

// A stemmer belongs to one goroutine at a time.
type stemmer struct {
	algorithm func(*snowballstem.Env) bool
	env       snowballstem.Env
	seed      maphash.Seed
	cache     [cacheSlots]struct{ term, stem string }
}

// stem returns the stem, written over the term if it fits.
func (s *stemmer) stem(term []byte) []byte {
	if len(term) > maxStemBytes {
		return term
	}
	c := &s.cache[maphash.Bytes(s.seed, term)%cacheSlots]
	if c.term != string(term) {
		c.term = string(term)
		s.env.SetCurrent(c.term)
		s.env.LimitBackward = 0
		s.algorithm(&s.env)
		c.stem = s.env.Current()
		if c.stem == "" || !utf8.ValidString(c.stem) {
			c.stem = c.term
		}
	}
	return append(term[:0], c.stem...)
}
