package highlight

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sentences end with a full stop, question mark or exclamation mark and white space, or with a blank
// line. As in UAX #29, quotes and brackets may come between, and a full stop before a small letter ends
// nothing. Unlike there, the end of a line is white space like any other, since lines are often
// wrapped, and initials and a few titles end nothing. Chinese and Japanese full stops need no white
// space.
//
// Whether a sentence begins at a place depends only on the text around it. So sentences are found from
// any place, in both directions, without reading the text from its beginning.

// A scanner finds sentences in a text. It counts the bytes that it reads: see TestLinear.
type scanner struct {
	text string
	work int
}

// titles end with a full stop within a sentence.
var titles = map[string]bool{
	"Mr": true, "Mrs": true, "Ms": true, "Dr": true, "Prof": true, "St": true, "Mme": true, "Mlle": true,
	"Hr": true, "Fr": true, "Sr": true, "Sra": true, "vs": true, "cf": true,
}

// longestTitle is the most bytes of a title, or of an initial.
const longestTitle = 4

// maxClosers is how many quotes and brackets may stand between a full stop and white space.
const maxClosers = 4

// begins reports whether a sentence begins at a place that is not in white space.
func (s *scanner) begins(at int) bool {
	before, lines := at, 0
	for before > 0 {
		r, n := utf8.DecodeLastRuneInString(s.text[:before])
		if !unicode.IsSpace(r) {
			break
		}
		switch r {
		case '\n':
			lines++
		case '\f', '\u2029':
			lines = 2
		}
		before -= n
	}
	s.work += at - before
	if before == 0 || lines > 1 {
		return true
	}
	spaced := before < at
	r, n := utf8.DecodeLastRuneInString(s.text[:before])
	for range maxClosers {
		if !isCloser(r) {
			break
		}
		before -= n
		r, n = utf8.DecodeLastRuneInString(s.text[:before])
	}
	switch r {
	case '。', '！', '？', '｡':
		next, _ := utf8.DecodeRuneInString(s.text[at:])
		return spaced || !isCloser(next) && !isTerminator(next)
	case '.':
		return spaced && !s.small(at) && !s.abbreviated(before-n)
	}
	return spaced && isTerminator(r) && !s.small(at)
}

// mayBegin reports whether a sentence may begin after a character. It saves calls of begins.
func mayBegin(before rune) bool {
	return unicode.IsSpace(before) || before >= utf8.RuneSelf && (isTerminator(before) || isCloser(before))
}

func isTerminator(r rune) bool {
	switch r {
	case '.', '!', '?', '…', '。', '！', '？', '｡', '؟', '۔', '।', '॥':
		return true
	}
	return false
}

func isCloser(r rune) bool {
	switch r {
	case '"', '\'', ')', ']', '}', '*', '_':
		return true
	}
	return r >= utf8.RuneSelf && unicode.In(r, unicode.Pe, unicode.Pf)
}

// small reports whether the first letter or digit at a place, after a few other characters, is a small
// letter.
func (s *scanner) small(at int) bool {
	for range maxClosers {
		r, n := utf8.DecodeRuneInString(s.text[at:])
		if n == 0 || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsSpace(r) {
			return unicode.IsLower(r)
		}
		at += n
	}
	return false
}

// abbreviated reports whether the word before a place is an initial or a title.
func (s *scanner) abbreviated(at int) bool {
	word := s.text[max(0, at-longestTitle-utf8.UTFMax):at]
	if i := strings.LastIndexFunc(word, func(r rune) bool { return !unicode.IsLetter(r) }); i >= 0 {
		_, n := utf8.DecodeRuneInString(word[i:])
		word = word[i+n:]
	}
	r, n := utf8.DecodeRuneInString(word)
	return n > 0 && n == len(word) && unicode.IsUpper(r) || titles[word]
}

// start returns the last place at which a sentence begins, from at down to low, which no more than most
// characters separate. If there is none, found is false.
func (s *scanner) start(at, low, most int) (start int, found bool) {
	next, _ := utf8.DecodeRuneInString(s.text[at:])
	for n := 0; at > 0; n++ {
		if at <= low || n > most {
			return at, false
		}
		before, size := utf8.DecodeLastRuneInString(s.text[:at])
		s.work += size
		if mayBegin(before) && !unicode.IsSpace(next) && s.begins(at) {
			return at, true
		}
		next = before
		at -= size
	}
	return 0, true
}

// end returns the end of the sentence that goes on at a place, without the white space after it, if no
// more than most characters separate the two. Otherwise found is false.
func (s *scanner) end(at, most int) (end int, found bool) {
	end = at
	before := rune(0)
	for n := 1; at < len(s.text); n++ {
		r, size := utf8.DecodeRuneInString(s.text[at:])
		s.work += size
		if !unicode.IsSpace(r) {
			if mayBegin(before) && s.begins(at) {
				return end, true
			}
			if n > most {
				return end, false
			}
			end = at + size
		}
		before = r
		at += size
	}
	return end, true
}

// skipSpace returns the first place from at on that is not white space.
func (s *scanner) skipSpace(at int) int {
	for at < len(s.text) {
		r, size := utf8.DecodeRuneInString(s.text[at:])
		if !unicode.IsSpace(r) {
			break
		}
		s.work += size
		at += size
	}
	return at
}

// skipSpaceBack returns the last place up to at that no white space precedes, at least low.
func (s *scanner) skipSpaceBack(at, low int) int {
	for at > low {
		r, size := utf8.DecodeLastRuneInString(s.text[:at])
		if !unicode.IsSpace(r) {
			break
		}
		s.work += size
		at -= size
	}
	return at
}

// back returns the place some characters before at, but not before low.
func (s *scanner) back(at, low, characters int) int {
	for ; at > low && characters > 0; characters-- {
		_, size := utf8.DecodeLastRuneInString(s.text[:at])
		s.work += size
		at -= size
	}
	return max(at, low)
}

// forward returns the place some characters after at, but not after high.
func (s *scanner) forward(at, high, characters int) int {
	for ; at < high && characters > 0; characters-- {
		_, size := utf8.DecodeRuneInString(s.text[at:])
		s.work += size
		at += size
	}
	return min(at, high)
}

// wordStart returns the first place from at on, up to high, at which a word begins after white space. If
// there is none, as in Chinese, it returns at, or the first place after it that no mark separates from
// its letter.
func (s *scanner) wordStart(at, high int) int {
	before, _ := utf8.DecodeLastRuneInString(s.text[:at])
	whole := -1
	for p := at; p < high; {
		r, size := utf8.DecodeRuneInString(s.text[p:])
		s.work += size
		if (unicode.IsSpace(before) || p == 0) && !unicode.IsSpace(r) {
			return p
		}
		if whole < 0 && !joins(r) {
			whole = p
		}
		before = r
		p += size
	}
	if unicode.IsSpace(before) || whole < 0 {
		return high
	}
	return whole
}

// wordEnd is wordStart in the other direction: the last place up to at, from low on, at which a word
// ends.
func (s *scanner) wordEnd(at, low int) int {
	if at == len(s.text) {
		return s.skipSpaceBack(at, low)
	}
	after, _ := utf8.DecodeRuneInString(s.text[at:])
	whole := -1
	for p := at; p > low; {
		r, size := utf8.DecodeLastRuneInString(s.text[:p])
		s.work += size
		if unicode.IsSpace(after) && !unicode.IsSpace(r) {
			return p
		}
		if whole < 0 && !joins(after) {
			whole = p
		}
		after = r
		p -= size
	}
	if unicode.IsSpace(after) || whole < 0 {
		return low
	}
	return whole
}

// joins reports whether a character belongs to the one before it.
func joins(r rune) bool {
	return r >= utf8.RuneSelf && (unicode.In(r, unicode.M, unicode.Sk) || r == '\u200d')
}
