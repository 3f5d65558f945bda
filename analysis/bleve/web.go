package bleve

import (
	"bytes"
	"sync"
	"unicode/utf8"

	"github.com/riffle-search/riffle/analysis"
)

// webText is the tokenizer of web: addresses of mail and of the web, @names and #tags are one token,
// and the rest of the text is words.
type webText struct{}

// Tokenize implements analysis.Tokenizer.
func (webText) Tokenize(text []byte, b *analysis.Batch) {
	analysis.Exceptions{Find: findWeb, Rest: words}.Tokenize(text, b)
}

// A webScan finds what bleve's regular expression of web matches. With L for the runes that an address
// of the web may end with, the expression is an alternative of
//
//	mail      atoms joined by dots, or "quoted" with escapes; @; labels joined by dots, or [an IP address]
//	web       \b, a prefix, (run | round)+, then round or L, where
//	          prefix is scheme: with one to three slashes or a letter, digit or %; www, up to three digits
//	          and a dot; or host, dot, two to four letters and a slash
//	          run is [^\s()<>]+, and round is runs and (runs) in round brackets
//	@name     up to 15 letters, digits and underscores
//	#tag      letters, digits and underscores
//
// Package regexp needs time in the square of the text where a match must wait for a longer one that
// fails far ahead, as each tag of #a#b#c waits for a mail that begins there. So tables say for each
// place of the text what begins there. They are filled from the end of the text, and take linear time.
type webScan struct {
	text []byte

	// By the place of a rune. Ends of runs of bytes are the place itself where none begins.
	class      []webClass
	wordEnd    []int // of a run of letters, digits, _ and -
	hostEnd    []int // of a run of letters, digits, dots and -
	runEnd     []int // of a run of [^\s()<>]
	roundEnd   []int // of a round, or 0
	addressEnd []int // of the longest (run | round)* and a round or L, or 0
	at         []int // place of the @ behind an unquoted name that begins here, or 0
	quoteEnd   []int // place of the quote that ends a quoted name of which this is the inside, or 0
	literalEnd []int // of the longest [address] of which this is the inside behind the colon, or 0

	domainEnd []int // by the place of an @: of the domain behind it; 0 is unknown, -1 is none
}

// A webClass is the set of the kinds that a rune is of.
type webClass uint16

const (
	atomRune webClass = 1 << iota
	labelRune
	letterRune // in either case, as the following
	wordRune
	nameRune
	hostRune
	runRune
	lastRune // L
	quotedRune
	escapedRune
	literalRune
)

// ofASCII are the kinds of the ASCII characters.
var ofASCII = sync.OnceValue(func() (of [utf8.RuneSelf]webClass) {
	set := func(class webClass, is func(c byte) bool) {
		for c := range of {
			if is(byte(c)) {
				of[c] |= class
			}
		}
	}
	in := func(set string) func(byte) bool {
		return func(c byte) bool { return bytes.IndexByte([]byte(set), c) >= 0 }
	}
	lower := func(c byte) bool { return 'a' <= c && c <= 'z' }
	digit := func(c byte) bool { return '0' <= c && c <= '9' }
	letter := func(c byte) bool { return lower(c | 0x20) }
	alphanumeric := func(c byte) bool { return letter(c) || digit(c) }
	space, bracket := in("\t\n\f\r "), in("()<>")
	control := func(c byte) bool { return 1 <= c && c < ' ' && !in("\t\n\r")(c) || c == 0x7f }
	set(labelRune, func(c byte) bool { return lower(c) || digit(c) })
	set(atomRune, func(c byte) bool { return lower(c) || digit(c) || in("!#$%&'*+/=?^_`{|}~-")(c) })
	set(letterRune, letter)
	set(nameRune, func(c byte) bool { return alphanumeric(c) || c == '_' })
	set(wordRune, func(c byte) bool { return alphanumeric(c) || in("_-")(c) })
	set(hostRune, func(c byte) bool { return alphanumeric(c) || in(".-")(c) })
	set(runRune, func(c byte) bool { return !space(c) && !bracket(c) })
	set(lastRune, func(c byte) bool { return !space(c) && !bracket(c) && !in("`![]{};:'\".,?")(c) })
	set(quotedRune, func(c byte) bool { return control(c) || c > ' ' && !in("\"\\")(c) })
	set(escapedRune, func(c byte) bool { return c > 0 && !in("\n\r")(c) })
	set(literalRune, func(c byte) bool { return control(c) || c > ' ' })
	return of
})

// classOf returns the kinds of a rune. Bleve's expression is insensitive to case, by which ſ is an s and
// the Kelvin sign a k.
func classOf(r rune) webClass {
	switch r {
	case '\u017f', '\u212a':
		return letterRune | wordRune | nameRune | hostRune | runRune | lastRune
	case '«', '»', '“', '”', '‘', '’':
		return runRune
	}
	return runRune | lastRune
}

var webScans = sync.Pool{New: func() any { return new(webScan) }}

// findWeb calls found for each match in a text.
func findWeb(text []byte, found func(start, end int)) {
	if !mayHaveAddress(text) {
		return
	}
	s := webScans.Get().(*webScan)
	s.scan(text)
	for at := 0; at < len(text); {
		if end := s.match(at); end > 0 {
			found(at, end)
			at = end
			continue
		}
		_, size := utf8.DecodeRune(text[at:])
		at += size
	}
	s.text = nil
	webScans.Put(s)
}

// mayHaveAddress reports whether a text has a character that every match has, or www.
func mayHaveAddress(text []byte) bool {
	for i, c := range text {
		switch c {
		case '@', '#', ':', '/':
			return true
		case 'w', 'W':
			if isWWW(text[i:]) {
				return true
			}
		}
	}
	return false
}

func isWWW(text []byte) bool {
	return len(text) >= 3 && text[0]|0x20 == 'w' && text[1]|0x20 == 'w' && text[2]|0x20 == 'w'
}

// scan fills the tables.
func (s *webScan) scan(text []byte) {
	s.text = text
	n := len(text) + 2 // what begins behind the end is nothing
	if cap(s.class) < n {
		s.class = make([]webClass, n)
		for _, table := range s.tables() {
			*table = make([]int, n)
		}
	}
	s.class = s.class[:n]
	clear(s.class)
	for _, table := range s.tables() {
		*table = (*table)[:n]
		clear(*table)
	}
	for i := len(text); i < n; i++ {
		s.wordEnd[i], s.hostEnd[i], s.runEnd[i] = i, i, i
	}
	ascii := ofASCII()
	starts := s.domainEnd[:0] // not in use yet
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r < utf8.RuneSelf {
			s.class[i] = ascii[r]
		} else {
			s.class[i] = classOf(r)
		}
		starts = append(starts, i)
		i += size
	}
	next := len(text)
	for k := len(starts) - 1; k >= 0; k-- {
		i := starts[k]
		s.fill(i, next)
		next = i
	}
	clear(s.domainEnd)
}

func (s *webScan) tables() [9]*[]int {
	return [...]*[]int{&s.wordEnd, &s.hostEnd, &s.runEnd, &s.roundEnd, &s.addressEnd, &s.at, &s.quoteEnd, &s.literalEnd, &s.domainEnd}
}

// is reports whether the rune at a place is of a kind. None is at the end.
func (s *webScan) is(i int, class webClass) bool { return s.class[i]&class != 0 }

// has reports whether an ASCII character is at a place.
func (s *webScan) has(i int, c byte) bool { return i < len(s.text) && s.text[i] == c }

// fill fills the tables for the rune from i to next, those behind it being filled.
func (s *webScan) fill(i, next int) {
	end := func(table []int, class webClass) {
		table[i] = i
		if s.is(i, class) {
			table[i] = table[next]
		}
	}
	end(s.wordEnd, wordRune)
	end(s.hostEnd, hostRune)
	end(s.runEnd, runRune)
	if s.text[i] == '(' {
		s.roundEnd[i] = s.round(i)
	}
	if behind := s.onward(i, next); behind > 0 && s.addressEnd[behind] > 0 {
		s.addressEnd[i] = s.addressEnd[behind]
	} else if s.is(i, lastRune) {
		s.addressEnd[i] = next
	} else {
		s.addressEnd[i] = s.roundEnd[i]
	}
	if s.is(i, atomRune) {
		switch {
		case s.has(next, '@'):
			s.at[i] = next
		case s.has(next, '.'):
			s.at[i] = s.at[next+1]
		default:
			s.at[i] = s.at[next]
		}
	}
	escape := s.text[i] == '\\' && s.is(i+1, escapedRune)
	switch {
	case s.text[i] == '"':
		s.quoteEnd[i] = i
	case escape:
		s.quoteEnd[i] = s.quoteEnd[i+2]
	case s.is(i, quotedRune):
		s.quoteEnd[i] = s.quoteEnd[next]
	}
	if s.literalEnd[i] = s.literalInside(i); s.literalEnd[i] == 0 && s.text[i] == ']' {
		s.literalEnd[i] = next
	}
}

// onward returns the place behind the rune or the round at i, as a part of an address, or 0.
func (s *webScan) onward(i, next int) int {
	if s.is(i, runRune) {
		return next
	}
	return s.roundEnd[i]
}

// round returns the end of the round that begins at i, or 0. The brackets in a round have no others
// within, so another round that begins on the way is short or ends the search.
func (s *webScan) round(i int) int {
	for i++; ; {
		switch {
		case s.runEnd[i] > i:
			i = s.runEnd[i]
		case s.has(i, ')'):
			return i + 1
		case s.has(i, '(') && s.runEnd[i+1] > i+1 && s.has(s.runEnd[i+1], ')'):
			i = s.runEnd[i+1] + 1
		default:
			return 0
		}
	}
}

// literalInside returns the end of the longest [address] that has at least the character at i before
// the bracket, or 0.
func (s *webScan) literalInside(i int) int {
	end := 0
	if s.is(i, literalRune) {
		end = s.literalEnd[i+1]
	}
	if end == 0 && s.has(i, '\\') && s.is(i+1, escapedRune) {
		end = s.literalEnd[i+2]
	}
	return end
}

// match returns the end of the match that begins at i, or 0.
func (s *webScan) match(i int) int {
	if end := s.mail(i); end > 0 {
		return end
	}
	if s.isBoundary(i) {
		if end := s.address(i); end > 0 {
			return end
		}
	}
	const longestName = 15
	switch s.text[i] {
	case '@':
		return s.names(i+1, longestName)
	case '#':
		return s.names(i+1, len(s.text))
	}
	return 0
}

// names returns the end of at most so many characters of a name, or 0 if there is none.
func (s *webScan) names(i, most int) (end int) {
	for ; most > 0 && s.is(i, nameRune); most-- {
		_, size := utf8.DecodeRune(s.text[i:])
		i += size
		end = i
	}
	return end
}

// isBoundary reports whether an ASCII word begins or ends at i.
func (s *webScan) isBoundary(i int) bool {
	isWord := func(i int) bool {
		return i >= 0 && i < len(s.text) && s.text[i] < utf8.RuneSelf && s.is(i, nameRune)
	}
	return isWord(i-1) != isWord(i)
}

// address returns the end of the address of the web that begins at i, or 0.
func (s *webScan) address(i int) int {
	if s.is(i, letterRune) {
		if end := s.behindScheme(i); end > 0 {
			return end
		}
	}
	if isWWW(s.text[i:]) {
		dot := i + len("www")
		for dot < i+len("www000") && dot < len(s.text) && '0' <= s.text[dot] && s.text[dot] <= '9' {
			dot++
		}
		if s.has(dot, '.') {
			if end := s.behindPrefix(dot + 1); end > 0 {
				return end
			}
		}
	}
	slash := s.hostEnd[i]
	if slash == i || !s.has(slash, '/') {
		return 0
	}
	letters, dot := 0, slash
	for letters <= 4 {
		r, size := utf8.DecodeLastRune(s.text[:dot])
		dot -= size
		if r == '.' || dot <= i {
			break
		}
		if !s.is(dot, letterRune) {
			return 0
		}
		letters++
	}
	if letters < 2 || letters > 4 || dot <= i || !s.has(dot, '.') {
		return 0
	}
	return s.behindPrefix(slash + 1)
}

// behindScheme returns the end of the address that begins with the letter of a scheme at i, or 0.
func (s *webScan) behindScheme(i int) int {
	_, size := utf8.DecodeRune(s.text[i:])
	colon := s.wordEnd[i+size]
	if colon == i+size || !s.has(colon, ':') {
		return 0
	}
	slashes := 0
	for slashes < 3 && s.has(colon+1+slashes, '/') {
		slashes++
	}
	for n := slashes; n > 0; n-- {
		if end := s.behindPrefix(colon + 1 + n); end > 0 {
			return end
		}
	}
	if s.has(colon+1, '%') || s.is(colon+1, hostRune) && !s.has(colon+1, '.') && !s.has(colon+1, '-') {
		_, size := utf8.DecodeRune(s.text[colon+1:])
		return s.behindPrefix(colon + 1 + size)
	}
	return 0
}

// behindPrefix returns the end of an address whose prefix ends at i, or 0.
func (s *webScan) behindPrefix(i int) int {
	if i >= len(s.text) {
		return 0
	}
	_, size := utf8.DecodeRune(s.text[i:])
	behind := s.onward(i, i+size)
	if behind == 0 {
		return 0
	}
	return s.addressEnd[behind]
}

// mail returns the end of the address of mail that begins at i, or 0.
func (s *webScan) mail(i int) int {
	at := s.at[i]
	if s.text[i] == '"' {
		if quote := s.quoteEnd[i+1]; quote > 0 && s.has(quote+1, '@') {
			at = quote + 1
		}
	}
	if at == 0 {
		return 0
	}
	if s.domainEnd[at] == 0 {
		s.domainEnd[at] = -1
		if end := s.domain(at + 1); end > 0 {
			s.domainEnd[at] = end
		}
	}
	return max(s.domainEnd[at], 0)
}

// domain returns the end of the domain that begins at i, or 0.
func (s *webScan) domain(i int) (end int) {
	if s.has(i, '[') {
		return s.literal(i + 1)
	}
	for labels := 1; s.is(i, labelRune); labels++ {
		last := i // of the label's letters and digits
		for ; s.is(i, labelRune) || s.has(i, '-'); i++ {
			if s.text[i] != '-' {
				last = i
			}
		}
		if labels > 1 {
			end = last + 1
		}
		if last+1 != i || !s.has(i, '.') {
			break
		}
		i++
	}
	return end
}

// literal returns the end of the IP address in brackets whose inside begins at i, or 0: four numbers
// below 256, or three and a tag, a colon and anything.
func (s *webScan) literal(i int) int {
	for range 3 {
		if i = s.octet(i); i == 0 || !s.has(i, '.') {
			return 0
		}
		i++
	}
	if end := s.octet(i); end > 0 && s.has(end, ']') {
		return end + 1
	}
	tag := i
	for s.is(i, labelRune) || s.has(i, '-') {
		i++
	}
	if i == tag || s.text[i-1] == '-' || !s.has(i, ':') {
		return 0
	}
	return s.literalInside(i + 1)
}

// octet returns the end of the digits at i, if they are a number below 256, or 0.
func (s *webScan) octet(i int) int {
	number, digits := 0, 0
	for ; digits < 4 && i < len(s.text) && '0' <= s.text[i] && s.text[i] <= '9'; i++ {
		number = 10*number + int(s.text[i]-'0')
		digits++
	}
	if digits == 0 || digits > 3 || number > 255 {
		return 0
	}
	return i
}
