package document

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/segment"
)

// Field.PhrasePairs: lists of pairs of frequent words, with which phrases of these words need not read
// the positions of each.

// EnglishPairs stands in Field.PhrasePairs for englishWords, and NoPairs for none.
const (
	EnglishPairs = "_english_"
	NoPairs      = "_none_"
)

// maxPairWords bounds Field.PhrasePairs: the lists grow faster than the words.
const maxPairWords = 64

// englishWords are the most frequent words of English text.
var englishWords = []string{
	"a", "and", "as", "at", "be", "by", "for", "he", "his", "i",
	"in", "is", "it", "of", "on", "that", "the", "to", "was", "with",
}

// spellOutPairs replaces names in the PhrasePairs of fields by the words for which they stand, so that the
// schema that an index keeps has words. It returns s if there is nothing to replace.
func (s *Schema) spellOutPairs() *Schema {
	var fields map[string]Field
	for name, f := range s.Fields {
		if len(f.PhrasePairs) == 0 {
			continue
		}
		if fields == nil {
			fields = make(map[string]Field, len(s.Fields))
			for name, f := range s.Fields {
				fields[name] = f
			}
		}
		f.PhrasePairs = spellOut(f.PhrasePairs)
		fields[name] = f
	}
	if fields == nil {
		return s
	}
	s = new(*s)
	s.Fields = fields
	return s
}

// spellOut replaces names by words, which it sorts.
func spellOut(names []string) (words []string) {
	for _, w := range names {
		switch w {
		case EnglishPairs:
			words = append(words, englishWords...)
		case NoPairs:
		default:
			words = append(words, w)
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// mentionsPairs reports whether a field has pairs.
func (s *Schema) mentionsPairs() bool {
	for _, f := range s.Fields {
		if len(f.PhrasePairs) > 0 {
			return true
		}
	}
	return false
}

// checkPairs reports what is wrong with the PhrasePairs of a field.
func (s *Schema) checkPairs(f Field, lookup func(string) (analysis.Analyzer, error)) error {
	switch {
	case len(f.PhrasePairs) == 0:
		return nil
	case f.Type != TextField:
		return fmt.Errorf("phrase_pairs go with a text field, this one is %s", f.Type)
	case f.Positions == PositionsNone, f.Positions == PositionsDefault && s.Positions == PositionsNone:
		return errNoPositions
	case slices.Contains(f.PhrasePairs, NoPairs) && len(f.PhrasePairs) > 1:
		return fmt.Errorf("phrase_pairs: %q goes with no other word", NoPairs)
	}
	n := len(f.PhrasePairs)
	if slices.Contains(f.PhrasePairs, EnglishPairs) {
		n += len(englishWords) - 1
	}
	if n > maxPairWords {
		return fmt.Errorf("phrase_pairs: %d words, at most %d are allowed", n, maxPairWords)
	}
	a, err := lookup(orStandard(f.Analyzer, s.Analyzer))
	if err != nil {
		return nil // Validate reports it elsewhere
	}
	for _, w := range f.PhrasePairs {
		if w == EnglishPairs || w == NoPairs {
			continue
		}
		if _, err := pairTerm(a, w); err != nil {
			return fmt.Errorf("phrase_pairs: %w", err)
		}
	}
	return nil
}

var errNoPositions = errors.New("phrase_pairs go with positions, and the field has none")

// pairTerm returns the term that an analyzer makes of a word, or "" if it drops the word.
func pairTerm(a analysis.Analyzer, word string) (string, error) {
	var terms []string
	analysis.AnalyzeString(a, word, func(batch []analysis.Token) {
		for _, t := range batch {
			terms = append(terms, string(t.Term))
		}
	})
	switch {
	case len(terms) == 0 && strings.TrimSpace(word) == "":
		return "", errors.New("an empty word")
	case len(terms) == 0:
		return "", nil
	case len(terms) > 1:
		return "", fmt.Errorf("%q is several words to the analyzer", ShortName(word))
	case strings.Contains(terms[0], "\x00") || len(terms[0]) > maxPairBytes:
		return "", fmt.Errorf("%q has a zero byte or is longer than %d bytes", ShortName(word), maxPairBytes)
	}
	return terms[0], nil
}

// maxPairBytes is the longest word that may be in a pair.
const maxPairBytes = 1 << 10

// A pairFinder finds the pairs of words of one field, while its documents are inverted.
type pairFinder struct {
	field string   // of the pairs
	words string   // as segment.FieldInfo.Pairs
	terms [][]byte // of the pair of words i and j, at i*n + j
	n     int

	// A word of up to seven bytes is found by its key (segment.Chunk.AddWords): each has a slot of its own.
	keys  []uint64
	of    []uint8 // the word of a slot
	odd   uint64
	shift uint
	long  map[string]uint8 // the other words

	found []placedWord // of the current document
}

// A placedWord is a word with its position.
type placedWord struct {
	at   uint32
	word uint8
}

// newPairFinder returns the finder of pairs of terms in a field.
func newPairFinder(field string, terms []string) *pairFinder {
	f := &pairFinder{field: segment.PairField(field), words: segment.JoinPairWords(terms), long: map[string]uint8{}}
	terms = strings.Split(f.words, "\x00")
	f.n = len(terms)
	var keys []uint64
	var numbers []uint8
	for i, a := range terms {
		for _, b := range terms {
			f.terms = append(f.terms, segment.PairTerm(nil, a, b))
		}
		if len(a) > 7 {
			f.long[a] = uint8(i)
			continue
		}
		var key [8]byte
		copy(key[:], a)
		key[7] = byte(len(a))
		keys, numbers = append(keys, binary.LittleEndian.Uint64(key[:])), append(numbers, uint8(i))
	}
	size := 16
	for size < 8*len(keys) {
		size *= 2
	}
	f.odd = 0x9e3779b97f4a7c15
	for tries := 1; !f.place(keys, numbers, size); tries++ {
		f.odd *= 0xd1342543de82ef95 // stays odd
		if tries%64 == 0 {
			size *= 2
		}
	}
	return f
}

// place gives each key a slot, and reports whether no two share one.
func (f *pairFinder) place(keys []uint64, numbers []uint8, size int) bool {
	f.keys, f.of, f.shift = make([]uint64, size), make([]uint8, size), 64
	for n := size; n > 1; n /= 2 {
		f.shift--
	}
	for i, key := range keys {
		at := key * f.odd >> f.shift
		if f.keys[at] != 0 {
			return false
		}
		f.keys[at], f.of[at] = key, numbers[i]
	}
	return true
}

// find notes a word at a position.
func (f *pairFinder) find(term []byte, at uint32) {
	if len(term) > 7 {
		f.findLong(term, at)
		return
	}
	var key [8]byte
	copy(key[:], term)
	key[7] = byte(len(term))
	k := binary.LittleEndian.Uint64(key[:])
	if slot := k * f.odd >> f.shift; f.keys[slot] == k && k != 0 {
		f.found = append(f.found, placedWord{at, f.of[slot]})
	}
}

func (f *pairFinder) findLong(term []byte, at uint32) {
	if word, ok := f.long[string(term)]; ok {
		f.found = append(f.found, placedWord{at, word})
	}
}

// longMark is the number in the keys of segment.Chunk.AddWords that stands for a long term.
const longMark = 0xff

// findWords notes words at consecutive positions, given as to segment.Chunk.AddWords.
func (f *pairFinder) findWords(keys []uint64, long [][]byte, at uint32) {
	f.found = slices.Grow(f.found, len(keys))
	n, room := len(f.found), f.found[:cap(f.found)]
	slots, of, odd, shift := f.keys, f.of[:len(f.keys)], f.odd, f.shift&63
	mask := uint64(len(slots) - 1)
	for i, key := range keys {
		slot := key * odd >> shift & mask
		room[n] = placedWord{at + uint32(i), of[slot]}
		if slots[slot] == key {
			n++
		}
	}
	f.found = room[:n]
	if len(f.long) == 0 {
		return
	}
	for i, key := range keys {
		if key>>56 == longMark {
			f.findLong(long[0], at+uint32(i))
			long = long[1:]
		}
	}
}

// addTo adds the pairs of the words found in a document of the given length to a chunk, and forgets them.
func (f *pairFinder) addTo(c *segment.Chunk, length uint32) {
	found := f.found
	f.found = found[:0]
	if !slices.IsSortedFunc(found, comparePlaced) {
		slices.SortFunc(found, comparePlaced)
	}
	found = slices.Compact(found) // alternatives at a position may be the same word
	begun := false
	for i, a := range found {
		for _, b := range found[i+1:] {
			if b.at > a.at+1 {
				break
			}
			if b.at == a.at {
				continue
			}
			if !begun {
				c.Field(f.field, false)
				begun = true
			}
			c.Add(f.terms[int(a.word)*f.n+int(b.word)])
		}
	}
	if begun {
		c.EndField(true, length)
	}
}

func comparePlaced(a, b placedWord) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.word, b.word))
}

// pairsOf returns the finder of a field, or nil if it has no pairs.
func (iv *Inverter) pairsOf(name string, f Field) (*pairFinder, error) {
	if len(f.PhrasePairs) == 0 {
		return nil, nil
	}
	if p, ok := iv.finders[name]; ok {
		return p, nil
	}
	a, err := iv.Analyzer(f.Analyzer)
	if err != nil {
		return nil, err
	}
	var terms []string
	for _, w := range f.PhrasePairs {
		term, err := pairTerm(a, w)
		if err != nil {
			return nil, err
		}
		if term != "" {
			terms = append(terms, term)
		}
	}
	if iv.finders == nil {
		iv.finders = map[string]*pairFinder{}
	}
	if iv.finders[name] = nil; len(terms) > 0 {
		iv.finders[name] = newPairFinder(name, terms)
	}
	return iv.finders[name], nil
}
