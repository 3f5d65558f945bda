package analysis

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// CJKWidth makes full-width forms of ASCII ordinary ASCII, and half-width katakana ordinary
// katakana: "Ｇｏ" becomes "Go", and "ｶﾞ" becomes "ガ".
type CJKWidth struct{}

// Filter implements Filter.
func (CJKWidth) Filter(batch []Token) []Token {
	for i := range batch {
		t := &batch[i]
		for _, c := range t.Term {
			if c == 0xef { // the first byte of U+F000 to U+FFFF
				t.Term = widthTerm(t.Term)
				break
			}
		}
	}
	return batch
}

// widthTerm maps the runes of a term. A voiced mark joins the kana before it, if there is such a
// letter.
func widthTerm(term []byte) []byte {
	var out []rune
	for _, r := range string(term) {
		switch {
		case '！' <= r && r <= '～':
			r -= '！' - '!'
		case '･' <= r && r <= 'ﾟ':
			r, _ = utf8.DecodeRune(norm.NFKC.Bytes(utf8.AppendRune(nil, r)))
			if n := len(out); n > 0 && 'ウ' <= out[n-1] && out[n-1] <= 'ヽ' && (r == '\u3099' || r == '\u309a') {
				if joined := []rune(norm.NFC.String(string([]rune{out[n-1], r}))); len(joined) == 1 {
					out[n-1] = joined[0]
					continue
				}
			}
		}
		out = append(out, r)
	}
	return []byte(string(out))
}

// CJKBigrams makes terms of each two neighboring characters of Chinese and Japanese text, which has
// no spaces between words. "東京都" gives 東京 and 京都. A character without such a neighbor is a
// term itself. Other tokens, Korean words included, pass as they are.
//
// Each character takes a position, so that a phrase of bigrams is a substring of the text.
type CJKBigrams struct {
	// Unigrams adds the single characters too.
	Unigrams bool
}

func (CJKBigrams) expands() {}

// Filter implements Filter: the batch is a whole text.
func (c CJKBigrams) Filter(batch []Token) []Token { return c.Text()(batch, true) }

// Text implements TextFilter.
func (c CJKBigrams) Text() func(batch []Token, last bool) []Token {
	return (&bigramText{CJKBigrams: c}).next
}

// A bigramText is the state of CJKBigrams for a text.
type bigramText struct {
	CJKBigrams
	out    tokenBuffer
	held   Token // the last character, if has
	term   []byte
	has    bool
	paired bool // held is in a bigram already
	shift  int  // by how much positions have moved up
}

func (x *bigramText) next(batch []Token, last bool) []Token {
	x.out.reset()
	for i := range batch {
		t := &batch[i]
		if !isCJK(t.Term) {
			x.flush()
			other := *t
			other.Position += x.shift
			x.out.add(other, t.Term)
			continue
		}
		exact := t.End-t.Start == len(t.Term)
		for from := 0; from < len(t.Term); {
			r, n := utf8.DecodeRune(t.Term[from:])
			one := *t
			one.Position += x.shift
			if exact {
				one.Start, one.End = t.Start+from, t.Start+from+n
			}
			x.character(one, r)
			if from += n; from < len(t.Term) {
				x.shift++
			}
		}
	}
	if last {
		x.flush()
		x.shift = 0
	}
	return x.out.result(last)
}

// character handles the next character.
func (x *bigramText) character(t Token, r rune) {
	if x.has && x.held.Position+1 == t.Position && (x.held.End == t.Start || x.held.Start == t.Start) {
		if x.Unigrams {
			x.out.add(x.held, x.term)
		}
		pair := x.held
		pair.End = t.End
		x.term = utf8.AppendRune(x.term, r)
		x.out.add(pair, x.term)
		x.paired = true
	} else {
		x.flush()
		x.paired = false
	}
	x.held, x.has = t, true
	x.term = utf8.AppendRune(x.term[:0], r)
}

// flush adds the last character, if no bigram has it.
func (x *bigramText) flush() {
	if x.has && (x.Unigrams || !x.paired) {
		x.out.add(x.held, x.term)
	}
	x.has = false
}

// isCJK reports whether a term is one that Words makes of Chinese and Japanese text: ideographs,
// hiragana and katakana. The marks 々 and 〻 are letters to Unicode's rules, and to Lucene and bleve.
func isCJK(term []byte) bool {
	r, _ := utf8.DecodeRune(term)
	if r < '\u2e80' {
		return false
	}
	switch r {
	case 'ー', 'ｰ', '〱', '〲', '〳', '〴', '〵', '゛', '゜', '゠':
		return true
	case '々', '〻':
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}
