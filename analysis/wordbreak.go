package analysis

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/segment"
)

// windowBytes is how much text the segmenter gets at once. It returns all tokens of its input, so a
// document of 100 MB in one script without spaces would otherwise cost gigabytes.
const windowBytes = 16 << 10

// A breaker is the memory for the segmenter's answers, kept between calls.
type breaker struct {
	words [][]byte
	types []int
}

// span handles the text from i up to the next place that no rule of UAX #29 joins, and returns that
// place: the next ASCII character of class boundary, or the next byte that is not UTF-8. It
// consumes at least one byte.
func (s *wordScan) span(i int) int {
	end := spanEnd(s.text, i)
	switch {
	case end == i:
		return i + 1 // not UTF-8: a separator
	case s.rules == WordsUnicode15:
		s.current(i, end)
		return end
	}
	run := -1 // start of the current run of unsegmented letters, or -1
	for size := s.window; i < end; {
		window := s.text[i:end]
		if len(window) > size {
			window = window[:runeStart(window, size)]
		}
		n := s.segments(i, len(window), i+len(window) == end, &run)
		if n == 0 { // one word fills the window
			size *= 2
			continue
		}
		i, size = i+n, s.window
	}
	if run >= 0 {
		s.add(run, end)
	}
	return end
}

// spanEnd returns where the span that begins at i ends.
func spanEnd(text []byte, i int) int {
	for i < len(text) {
		if text[i] < utf8.RuneSelf {
			if wordClass[text[i]]&boundary != 0 {
				break
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		i += size
	}
	return i
}

// runeStart returns the last place <= i where a rune begins. It returns i if there is none within
// the length of a rune, because then text[i] is in no rune.
func runeStart(text []byte, i int) int {
	for at := i; at >= 0 && at > i-utf8.UTFMax; at-- {
		if utf8.RuneStart(text[at]) {
			return at
		}
	}
	return i
}

// segments handles the segments that the segmenter finds in text[i:i+n]. It returns how many bytes
// it has handled. That is n if the window is the last of its span.
//
// Otherwise the last two segments are uncertain and left to the next window. A segment's end
// depends on the next rune, or, where that rune may stand inside a word ("can't"), on the rune
// after it. Either segment may continue. Marks belong to the rune before them and do not count.
func (s *wordScan) segments(i, n int, last bool, run *int) int {
	br := &s.b.breaker
	text := s.text[i : i+n]
	var done int
	br.words, br.types, done, _ = segment.SegmentWordsDirect(text, br.words[:0], br.types[:0])
	words := br.words
	if last {
		// The segmenter stops early only at bytes that are not UTF-8, and this text has none.
		if done != n {
			panic("BUG: analysis: segmenter left valid UTF-8 unread")
		}
	} else {
		words = words[:max(len(words)-2, 0)]
	}
	at := i
	for k, w := range words {
		s.segment(at, at+len(w), br.types[k], run)
		at += len(w)
	}
	return at - i
}

// segment handles text[start:end], one segment of the segmenter.
func (s *wordScan) segment(start, end, typ int, run *int) {
	if typ == segment.None {
		if s.rules != WordsBleve {
			s.loose(start, end, run)
		}
		return
	}
	if *run >= 0 {
		s.add(*run, start)
		*run = -1
	}
	word := s.text[start:end]
	switch {
	case s.rules != WordsBleve && allConnectors(word):
	case s.rules == WordsBleve && allMarks(word): // it belongs to what is before it, which this scan has passed over
	default:
		s.add(start, end)
	}
}

// loose handles a segment that is not a word but may still hold letters: the segmenter's tables are
// those of Unicode 8, and UAX #29 leaves the words of scripts without spaces (Thai, Lao, Khmer,
// Myanmar) to dictionaries. A run of such letters, with their marks, becomes one word, as Lucene
// does for those scripts. Without it such text would be unsearchable.
func (s *wordScan) loose(start, end int, run *int) {
	for at := start; at < end; {
		r, size := utf8.DecodeRune(s.text[at:end])
		switch {
		case unicode.IsLetter(r):
			if *run < 0 {
				*run = at
			}
		case *run >= 0 && !unicode.In(r, unicode.M, unicode.Cf):
			s.add(*run, at)
			*run = -1
		}
		at += size
	}
}

// allMarks reports whether a word has nothing but marks.
func allMarks(word []byte) bool {
	return word[0] >= utf8.RuneSelf && bytes.IndexFunc(word, func(r rune) bool { return !unicode.In(r, unicode.M, unicode.Cf) }) < 0
}

// allConnectors reports whether a word has no letter or digit. The segmenter takes a run of
// underscores (ExtendNumLet, category Pc) for a word, and letters that have become marks since
// Unicode 8.
func allConnectors(word []byte) bool {
	if first := word[0]; first < utf8.RuneSelf && first != '_' {
		return false
	}
	return bytes.IndexFunc(word, func(r rune) bool {
		return !unicode.In(r, unicode.Pc, unicode.M, unicode.Cf)
	}) < 0
}
