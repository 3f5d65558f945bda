// Package plainjson reads JSON of a plain form in one pass, without reflection: objects whose members are in any
// order but each there once, strings without escapes, whole numbers, true and false. Most requests of programs are
// plain.
//
// It reports no errors. What is not plain, wrong or just unusual, is left to package encoding/json, which then reads
// the same bytes from their beginning: so errors, their places and all corner cases are its own. A Reader may refuse
// anything, but what it accepts must have the value that encoding/json gives it. Raw is the exception: whoever takes
// bytes from it must check them.
package plainjson

import "unicode/utf8"

// A Reader reads one JSON value. Its methods return false where the JSON is not plain; the Reader is then of no
// further use.
type Reader struct {
	data []byte
	at   int
}

// NewReader returns a Reader of JSON.
func NewReader(data []byte) Reader { return Reader{data: data} }

// Object reads an object. For each member it calls member, which must read the value. The name is valid until then.
func (r *Reader) Object(member func(name []byte) bool) bool {
	if !r.take('{') {
		return false
	}
	if r.take('}') {
		return true
	}
	for {
		name, ok := r.text()
		if !ok || !r.take(':') || !member(name) {
			return false
		}
		if !r.take(',') {
			return r.take('}')
		}
	}
}

// String reads a string.
func (r *Reader) String() (string, bool) {
	text, ok := r.text()
	return string(text), ok
}

// Strings reads an array of strings.
func (r *Reader) Strings() ([]string, bool) {
	if !r.take('[') {
		return nil, false
	}
	list := []string{}
	if r.take(']') {
		return list, true
	}
	for {
		s, ok := r.String()
		if !ok {
			return nil, false
		}
		list = append(list, s)
		if !r.take(',') {
			return list, r.take(']')
		}
	}
}

// Int reads a whole number of at most 18 digits.
func (r *Reader) Int() (int, bool) {
	negative := r.take('-')
	r.space()
	n, first := 0, r.at
	if negative && (first == 0 || r.data[first-1] != '-') {
		return 0, false // a space behind the sign
	}
	for ; r.at < len(r.data) && '0' <= r.data[r.at] && r.data[r.at] <= '9'; r.at++ {
		if r.at-first == 18 {
			return 0, false
		}
		n = 10*n + int(r.data[r.at]-'0')
	}
	digits := r.at - first
	if digits == 0 || digits > 1 && r.data[first] == '0' || !r.ends() {
		return 0, false
	}
	if negative {
		n = -n
	}
	return n, true
}

// Bool reads true or false.
func (r *Reader) Bool() (value, ok bool) {
	r.space()
	rest := string(r.data[r.at:min(len(r.data), r.at+5)])
	switch {
	case rest == "false":
		r.at += 5
		return false, r.ends()
	case len(rest) >= 4 && rest[:4] == "true":
		r.at += 4
		return true, r.ends()
	}
	return false, false
}

// Raw returns the bytes of an object. They end where its brace is closed; nothing else is checked.
func (r *Reader) Raw() ([]byte, bool) {
	r.space()
	first, depth := r.at, 0
	for ; r.at < len(r.data); r.at++ {
		switch r.data[r.at] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				r.at++
				return r.data[first:r.at], true
			}
		case '"':
			for r.at++; r.at < len(r.data) && r.data[r.at] != '"'; r.at++ {
				if r.data[r.at] == '\\' {
					r.at++
				}
			}
		}
		if depth == 0 {
			return nil, false
		}
	}
	return nil, false
}

// End reports whether nothing but space is left.
func (r *Reader) End() bool {
	r.space()
	return r.at == len(r.data)
}

// text reads a string, and returns the bytes between its quotes.
func (r *Reader) text() ([]byte, bool) {
	if !r.take('"') {
		return nil, false
	}
	ascii := true
	for i := r.at; i < len(r.data); i++ {
		switch c := r.data[i]; {
		case c == '"':
			text := r.data[r.at:i]
			r.at = i + 1
			return text, ascii || utf8.Valid(text)
		case c == '\\' || c < ' ':
			return nil, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, false
}

// take takes a byte that is the next one but for space, or says that it is not.
func (r *Reader) take(c byte) bool {
	r.space()
	if r.at < len(r.data) && r.data[r.at] == c {
		r.at++
		return true
	}
	return false
}

// ends reports whether a number or a word ends here.
func (r *Reader) ends() bool {
	if r.at == len(r.data) {
		return true
	}
	switch r.data[r.at] {
	case ' ', '\t', '\n', '\r', ',', '}', ']':
		return true
	}
	return false
}

func (r *Reader) space() {
	for r.at < len(r.data) {
		switch r.data[r.at] {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return
		}
	}
}
