package analysis

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"
)

// current finds the words of text[start:end], a span, by WordsUnicode15. No rule joins the span to
// the text around it, except # and * to a keycap.
func (s *wordScan) current(start, end int) {
	i := start
	if hash := s.keycapBefore(start, end); hash {
		n := s.segmentLen(start-1, end)
		s.add(start-1, start-1+n)
		i += n - 1
	}
	run := -1 // start of the current run of unsegmented letters, or -1
	for i < end {
		n := s.segmentLen(i, end)
		kind, from := segmentKind(s.text[i : i+n])
		if run >= 0 && kind != unsegmentedPart {
			s.add(run, i)
			run = -1
		}
		switch {
		case kind == wordPart:
			s.add(i+from, i+n)
		case kind == unsegmentedPart && run < 0:
			run = i
		}
		i += n
	}
	if run >= 0 {
		s.add(run, end)
	}
}

// segmentLen returns the length of the first segment of text[i:end].
func (s *wordScan) segmentLen(i, end int) int {
	n, _, _ := words.SplitFunc(s.text[i:end], true)
	if n <= 0 {
		panic("BUG: analysis: the segmenter does not advance")
	}
	return n
}

// keycapBefore reports whether the span text[start:end] is the rest of #️⃣ or *️⃣.
func (s *wordScan) keycapBefore(start, end int) bool {
	if start == 0 || s.text[start-1] != '#' && s.text[start-1] != '*' {
		return false
	}
	rest := bytes.TrimPrefix(s.text[start:end], []byte(string(emojiStyle)))
	return bytes.HasPrefix(rest, []byte(string(keycap)))
}

// Kinds of segments.
const (
	noPart          = iota
	wordPart        // a word
	unsegmentedPart // one of a run of segments that is a word
)

// segmentKind returns the kind of a segment, and where in it the word begins. That is after its
// start where a skin tone or a joiner ties an emoji to a character that is no part of a word.
func segmentKind(segment []byte) (kind, from int) {
	first, _ := utf8.DecodeRune(segment)
	if unicode.IsLetter(first) {
		if unicode.In(first, unsegmented...) {
			return unsegmentedPart, 0
		}
		return wordPart, 0
	}
	emoji := -1          // where the first emoji begins
	flag := -1           // where the first half of a flag begins
	before, at := -1, -1 // where the previous rune begins, and the joiners before this one
	var last rune
	for i, n := 0, 0; i < len(segment); i += n {
		var r rune
		r, n = utf8.DecodeRune(segment[i:])
		if inWords(r) {
			return wordPart, 0
		}
		begin := i
		if r == joiner {
			if last != joiner {
				at = i
			}
		} else {
			if last == joiner {
				begin = at
			}
			switch {
			case emoji >= 0:
			case unicode.Is(pictographs, r):
				emoji = begin
			case r == emojiStyle && takesEmojiStyle(last):
				emoji = before
			case regionalIndicator(r) && flag < 0:
				flag = i
			case regionalIndicator(r):
				emoji = flag
			}
		}
		before, last = begin, r
	}
	if emoji >= 0 {
		return wordPart, emoji
	}
	return noPart, 0
}

// inWords reports whether a character makes its segment a word: letters, digits, and what Unicode
// treats as letters, such as Ⅷ and ⓐ. Marks do not, nor do № and ½.
func inWords(r rune) bool {
	if unicode.In(r, unicode.L, unicode.Nd, unicode.Nl) {
		return true
	}
	return unicode.Is(unicode.Other_Alphabetic, r) && !unicode.Is(unicode.M, r)
}

// unsegmented are the scripts whose words Unicode leaves to dictionaries (the line-breaking class
// SA). A run of their letters, with marks, is one word, as in Lucene: otherwise such text would be
// found by single letters only.
var unsegmented = []*unicode.RangeTable{
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tai_Le, unicode.New_Tai_Lue,
	unicode.Tai_Tham, unicode.Tai_Viet, unicode.Ahom,
}
