package analysis

// EnglishStopWords are the 33 that Lucene's EnglishAnalyzer drops by default.
var EnglishStopWords = []string{
	"a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in",
	"into", "is", "it", "no", "not", "of", "on", "or", "such", "that", "the",
	"their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
}

// Stop drops the tokens whose term is one of the words. It compares bytes, so give the words as the
// preceding filters leave them, usually lower-cased.
func Stop(words ...string) Filter {
	s := &stopSet{words: make(map[string]struct{}, len(words))}
	for _, w := range words {
		if w == "" {
			continue // no term is empty
		}
		s.words[w] = struct{}{}
		s.maybe[stopSlot([]byte(w))] |= stopLenBit(len(w))
	}
	return s
}

// A stopSet rejects most terms that are not stop words by their first and last byte and their
// length, without hashing them.
type stopSet struct {
	words map[string]struct{}
	maybe [1 << 10]uint64
}

// stopSlot combines the first and last byte of a term. Lower-case letters differ in their five low
// bits, so those of ordinary words lose nothing.
func stopSlot(term []byte) int {
	return int(term[0]&31)<<5 | int(term[len(term)-1]&31)
}

func stopLenBit(n int) uint64 { return 1 << min(n, 63) }

func (s *stopSet) has(term []byte) bool {
	if s.maybe[stopSlot(term)]&stopLenBit(len(term)) == 0 {
		return false
	}
	_, ok := s.words[string(term)]
	return ok
}

func (s *stopSet) Filter(batch []Token) []Token {
	return keep(batch, func(t *Token) bool { return !s.has(t.Term) })
}
