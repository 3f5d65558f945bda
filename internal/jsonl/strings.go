package jsonl

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads a string whose opening quote is the next byte. The result is a part of the line or of
// p.text, valid until the next call.
func (p *Parser) str() ([]byte, error) {
	p.pos++
	rest := p.line[p.pos:]
	n, ascii := plainPrefix(rest)
	if n < len(rest) && rest[n] == '"' && (ascii || utf8.Valid(rest[:n])) {
		p.pos += n + 1
		return rest[:n], nil
	}
	return p.rewritten()
}

// rewritten reads a string whose value differs from its bytes: it has escapes or invalid UTF-8, or
// it does not end.
func (p *Parser) rewritten() ([]byte, error) {
	if !p.Borrow {
		p.text = p.text[:0]
	}
	first := len(p.text)
	for {
		rest := p.line[p.pos:]
		n, ascii := plainPrefix(rest)
		if ascii {
			p.text = append(p.text, rest[:n]...)
		} else {
			p.text = appendValid(p.text, rest[:n])
		}
		p.pos += n
		switch p.peek() {
		case '"':
			p.pos++
			return p.text[first:], nil
		case '\\':
			if err := p.escape(); err != nil {
				return nil, err
			}
		case end:
			return nil, p.unexpected("the end of a string")
		default:
			return nil, p.fault(p.pos, "control character 0x%02x in a string", p.peek())
		}
	}
}

// escape reads a backslash sequence and appends the character that it means to p.text.
func (p *Parser) escape() error {
	at := p.pos
	p.pos++
	c := p.peek()
	if c == 'u' {
		r, err := p.unicodeEscape(at)
		if err != nil {
			return err
		}
		p.text = utf8.AppendRune(p.text, r)
		return nil
	}
	var meant byte
	switch c {
	case '"', '\\', '/':
		meant = byte(c)
	case 'b':
		meant = '\b'
	case 'f':
		meant = '\f'
	case 'n':
		meant = '\n'
	case 'r':
		meant = '\r'
	case 't':
		meant = '\t'
	default:
		return p.unexpected("an escape")
	}
	p.pos++
	p.text = append(p.text, meant)
	return nil
}

// unicodeEscape reads \uXXXX, and a second one if both form a surrogate pair. A surrogate without
// its other half is U+FFFD and does not consume what follows.
func (p *Parser) unicodeEscape(at int) (rune, error) {
	r, ok := hex4(p.line[at:])
	if !ok {
		return 0, p.fault(at, `want four hexadecimal digits behind \u`)
	}
	p.pos = at + 6
	if !utf16.IsSurrogate(r) {
		return r, nil
	}
	if low, ok := hex4(p.line[p.pos:]); ok {
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			p.pos += 6
			return pair, nil
		}
	}
	return utf8.RuneError, nil
}

// hex4 decodes a \uXXXX at the start of b.
func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// appendValid appends b with every byte that is not part of valid UTF-8 replaced by U+FFFD.
// (bytes.ToValidUTF8 would replace a run by one; encoding/json does not.)
func appendValid(dst, b []byte) []byte {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		dst = utf8.AppendRune(dst, r)
		b = b[n:]
	}
	return dst
}

// plainPrefix returns how many bytes of b come before the first quote, backslash
// or control character, and whether they are all ASCII. It looks at eight bytes at
// a time: the top bit of a byte of `stop` is set where that byte ends the prefix.
// (A borrow can set bits by mistake, but only above one that is rightly set, and
// the lowest decides. See "Bit Twiddling Hacks", determine if a word has a zero byte.)
func plainPrefix(b []byte) (n int, ascii bool) {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	var high uint64
	for ; n+8 <= len(b); n += 8 {
		x := binary.LittleEndian.Uint64(b[n:])
		quote, slash := x^('"'*ones), x^('\\'*ones)
		stop := ((x-' '*ones)&^x | (quote-ones)&^quote | (slash-ones)&^slash) & tops
		if stop != 0 {
			k := bits.TrailingZeros64(stop) // 8·bytes + 7
			high |= x & (1<<(k&^7) - 1)
			return n + k/8, high&tops == 0
		}
		high |= x
	}
	for ; n < len(b); n++ {
		c := b[n]
		if c < ' ' || c == '"' || c == '\\' {
			break
		}
		high |= uint64(c)
	}
	return n, high&tops == 0
}
