package analysis

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// DefaultMaxBytes is the default length limit of tokens of Words and Whitespace, as in Lucene
// (which counts UTF-16 units).
const DefaultMaxBytes = 255

// Words finds the words of a text by the default rules of Unicode Standard Annex
// #29, "Unicode Text Segmentation", and keeps those that hold a letter, a digit or an emoji.
// See the package comment for what that means for common text.
type Words struct {
	// Rules are the version of the rules. AnyWords, the default, are those of the index, if New got
	// these Words or a tokenizer of this package around them. Another tokenizer that calls Tokenize
	// should say which.
	Rules WordRules

	// MaxBytes cuts longer words at rune boundaries into pieces of at most this many bytes. Each
	// piece is a token with its own position. 0 means DefaultMaxBytes; less than utf8.UTFMax means
	// utf8.UTFMax.
	MaxBytes int

	// window replaces windowBytes if it is not 0. Tests set it to a few bytes.
	window int
}

// Tokenize implements Tokenizer.
func (w Words) Tokenize(text []byte, b *Batch) {
	s := wordScan{text: text, b: b, maxBytes: maxTokenBytes(w.MaxBytes), window: cmp.Or(w.window, windowBytes), rules: cmp.Or(w.Rules, NewestWords)}
	if useMasks {
		lower := uint64(0)
		if b.lower {
			lower = 0x20 * lowBits // digits have it already
		}
		b.scan.begin(s, wordClasses, lower)
		b.scan.words(func(s *wordScan, i int) int {
			if s.text[i] >= utf8.RuneSelf {
				return s.span(i)
			}
			return s.ascii(i)
		})
		return
	}
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c >= utf8.RuneSelf:
			i = s.span(i)
		case wordClass[c]&inWord != 0:
			if n := s.short(i); n > 0 {
				i += n
			} else {
				i = s.ascii(i)
			}
		default:
			i++
		}
	}
}

func maxTokenBytes(n int) int {
	if n == 0 {
		n = DefaultMaxBytes
	}
	return max(n, utf8.UTFMax)
}

// A wordScan is one pass of Words over a text.
type wordScan struct {
	text     []byte
	b        *Batch
	maxBytes int
	window   int // bytes of text for one call of the segmenter
	rules    WordRules
	position int // of the next token
}

// add adds the word text[start:end], cut into pieces if it is too long. It cuts a word only when
// its end is known, which keeps an endless word linear. Lucene starts afresh at each cut; that
// would look for the word's end once per piece.
func (s *wordScan) add(start, end int) {
	for end-start > s.maxBytes {
		cut := runeStart(s.text, start+s.maxBytes)
		s.b.Add(s.text, start, cut, s.position)
		s.position++
		start = cut
	}
	s.b.Add(s.text, start, end, s.position)
	s.position++
}

// Classes of ASCII characters, as bits. The class of characters that may join two letters (or two
// digits) is the letter's (digit's) bit shifted by midShift. So one expression tells whether a
// character joins its neighbors: see joins.
const (
	letter    = 1 << 0 // ALetter of UAX #29
	digit     = 1 << 1 // Numeric
	underline = 1 << 2 // ExtendNumLet
	midLetter = letter << midShift
	midNum    = digit << midShift
	boundary  = 1 << 7 // no rule joins it to the preceding character

	midShift = 4
	inWord   = letter | digit | underline
)

// wordClass holds the class of each byte; bytes of multi-byte runes have none.
var wordClass = func() (t [256]uint8) {
	for c := range utf8.RuneSelf {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
			t[c] = letter
		case '0' <= c && c <= '9':
			t[c] = digit
		default:
			t[c] = boundary
		}
	}
	t['_'] = underline
	t[':'] = midLetter
	t[','], t[';'] = midNum, midNum
	t['.'], t['\''] = midLetter|midNum, midLetter|midNum
	t['"'] = 0 // joins Hebrew letters, so it ends a span only within ASCII
	return t
}()

// wordClasses are the classes for masks. An underscore is odd, because it may be all of a word.
var wordClasses = newCharClasses(
	func(c byte) bool { return wordClass[c]&inWord != 0 },
	func(c byte) bool { return wordClass[c]&underline != 0 },
	func(c byte) bool { return wordClass[c]&(inWord|boundary) == 0 },
)

// joins reports whether the ASCII character c joins the characters around it to
// one word (rules WB6, WB7, WB11 and WB12).
func joins(before, c, after byte) bool {
	return wordClass[before]&(wordClass[c]>>midShift)&wordClass[after] != 0
}

// short handles the word at text[i] if it is plain: up to seven ASCII letters and digits, followed
// by a character that joins nothing. Three of four English words are. It returns the word's length,
// or 0 for any other word.
//
// It looks at all eight bytes at once: a loop that ends after the length of a word is mispredicted
// nearly every time.
func (s *wordScan) short(i int) int {
	if len(s.text)-i < 8 || s.maxBytes < 8 {
		return 0
	}
	word := binary.LittleEndian.Uint64(s.text[i:])
	letters, alnum := asciiAlnum(word)
	n := bits.TrailingZeros64(^alnum&highBits) >> 3 // 8 if the word does not end here
	if n == 8 || wordClass[s.text[i+n]]&boundary == 0 {
		return 0
	}
	if s.b.lower {
		word |= letters >> 2 // 0x80 to 0x20, the bit that lower case adds
	}
	s.b.addShort(word, n, i, s.position)
	s.position++
	return n
}

// The same bit in each byte of an eight-byte word.
const (
	lowBits  = 0x0101010101010101
	highBits = 0x80 * lowBits
)

// asciiAlnum sets the high bit of each byte that is an ASCII letter, and of each that is a letter
// or a digit. For c < 0x80, c + (0x80 - lo) carries into the high bit if and only if c >= lo, and
// never beyond.
func asciiAlnum(x uint64) (letters, alnum uint64) {
	low := x &^ highBits
	lower := low | 0x20*lowBits
	letters = (lower + (0x80-'a')*lowBits) &^ (lower + (0x80-'z'-1)*lowBits)
	digits := (low + (0x80-'0')*lowBits) &^ (low + (0x80-'9'-1)*lowBits)
	ascii := ^x & highBits
	return letters & ascii, (letters | digits) & ascii
}

// ascii handles the word that begins at text[i], a character of class inWord, and returns where to
// continue. It leaves a word that contains or touches a non-ASCII character to span: the next rune
// could be a letter, or a mark that belongs to the last one.
func (s *wordScan) ascii(i int) int {
	text := s.text
	seen := uint8(0)
	for j := i; ; j++ {
		for j < len(text) && wordClass[text[j]]&inWord != 0 {
			seen |= wordClass[text[j]]
			j++
		}
		if j < len(text) && text[j] >= utf8.RuneSelf {
			return s.span(i)
		}
		if j+1 < len(text) {
			if text[j+1] >= utf8.RuneSelf && wordClass[text[j]]&boundary == 0 {
				return s.span(i)
			}
			if joins(text[j-1], text[j], text[j+1]) {
				continue
			}
		}
		if seen&(letter|digit) != 0 || s.rules == WordsBleve {
			s.add(i, j)
		}
		return j
	}
}
