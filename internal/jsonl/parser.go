package jsonl

import (
	"fmt"
	"strconv"
	"unsafe"
)

// A Parser turns lines into documents. The zero value is ready. It keeps scratch space and the
// field names it has seen, so goroutines must not share it.
type Parser struct {
	// Borrow makes the strings of documents parts of the line or of the parser's memory. They are
	// then valid until the next call of Parse, unless the line is overwritten; no text is copied
	// needlessly.
	Borrow bool

	line []byte
	pos  int // next byte of line

	doc      *Document
	path     []byte // name of the member being read; inside an object, of the object and a dot
	elements int    // array elements so far
	hasID    bool
	seen     nameSet

	text  []byte            // the last string that had to be rewritten; with Borrow, those of the line
	known map[string]string // names of earlier lines, so that each is allocated once
}

// Names kept in Parser.known: enough for any schema, and bounded for lines whose
// names are data.
const maxKnown = 1024

// Parse reads the document of one line into d, overwriting it. After an error, which is a
// *LineError without file and line, the contents of d are undefined.
func (p *Parser) Parse(line []byte, d *Document) error {
	d.reset()
	p.line, p.pos, p.doc = line, 0, d
	p.path, p.elements, p.hasID = p.path[:0], 0, false
	if cap(p.text) > 1<<20 {
		p.text = nil // do not keep the memory of one huge string for a whole file
	}
	p.text = p.text[:0]
	p.seen.reset()
	err := p.document()
	p.line, p.doc = nil, nil
	return err
}

func (p *Parser) document() error {
	if p.token() != '{' {
		return p.unexpected("an object")
	}
	p.pos++
	if err := p.object(1); err != nil {
		return err
	}
	if p.token() != end {
		return p.unexpected("the end of the line")
	}
	if !p.hasID {
		return &LineError{Reason: `no "id"`}
	}
	return nil
}

// object reads members up to the closing brace. The opening one has been read.
func (p *Parser) object(depth int) error {
	if depth > MaxDepth {
		return p.fault(p.pos-1, "objects nested deeper than %d", MaxDepth)
	}
	if p.token() == '}' {
		p.pos++
		return nil
	}
	for {
		if err := p.member(depth); err != nil {
			return err
		}
		switch p.token() {
		case ',':
			p.pos++
		case '}':
			p.pos++
			return nil
		default:
			return p.unexpected("',' or '}'")
		}
	}
}

// member reads one name, colon and value.
func (p *Parser) member(depth int) error {
	if p.token() != '"' {
		return p.unexpected("a name in double quotes")
	}
	at, outer := p.pos, len(p.path)
	key, err := p.str()
	if err != nil {
		return err
	}
	name, err := p.name(at, key)
	if err != nil {
		return err
	}
	if p.token() != ':' {
		return p.unexpected("':'")
	}
	p.pos++
	if err := p.value(name, depth); err != nil {
		return err
	}
	p.path = p.path[:outer]
	return nil
}

// name appends a key to the path and returns the path, which must be a new name in this document.
func (p *Parser) name(at int, key []byte) (string, error) {
	if len(key) == 0 {
		return "", p.fault(at, "empty name")
	}
	if len(p.path)+len(key) > MaxNameBytes {
		return "", p.fault(at, "name longer than %d bytes", MaxNameBytes)
	}
	p.path = append(p.path, key...)
	name, ok := p.known[string(p.path)]
	if !ok {
		name = string(p.path)
		if p.known == nil {
			p.known = make(map[string]string)
		}
		if len(p.known) < maxKnown {
			p.known[name] = name
		}
	}
	if !p.seen.add(name) {
		return "", p.fault(at, "%q is there twice", name)
	}
	if p.seen.len() > MaxFields {
		return "", p.fault(at, "more than %d names", MaxFields)
	}
	return name, nil
}

// value reads the value of a member and makes it the id, a field, or nothing.
func (p *Parser) value(name string, depth int) error {
	c := p.token()
	if name == "id" {
		return p.id(c)
	}
	switch c {
	case '{':
		p.pos++
		p.path = append(p.path, '.')
		return p.object(depth + 1)
	case '[':
		p.pos++
		return p.array(name)
	case 'n':
		return p.literal("null")
	}
	v, err := p.scalar(c, "a value")
	if err == nil {
		p.add(name, v)
	}
	return err
}

// scalar reads a string, a number or a boolean, which begins with c.
func (p *Parser) scalar(c int, want string) (any, error) {
	switch {
	case c == '"':
		s, err := p.str()
		if err != nil {
			return nil, err
		}
		return p.kept(s), nil
	case c == '-' || '0' <= c && c <= '9':
		return p.number()
	case c == 't':
		return true, p.literal("true")
	case c == 'f':
		return false, p.literal("false")
	}
	return nil, p.unexpected(want)
}

// id reads the document's id: a string, or an integer as its digits.
func (p *Parser) id(c int) error {
	at := p.pos
	var id []byte
	var err error
	switch {
	case c == '"':
		if id, err = p.str(); err != nil {
			return err
		}
		if len(id) == 0 {
			return p.fault(at, `"id" is empty`)
		}
	case c == '-' || '0' <= c && c <= '9':
		var integer bool
		if id, integer, err = p.digits(); err != nil {
			return err
		}
		if !integer {
			return p.fault(at, `"id" is %.40s, want a string or an integer`, id)
		}
	case c == end:
		return p.unexpected("a value")
	default:
		return p.fault(at, `"id" must be a string or an integer`)
	}
	p.doc.ID, p.hasID = p.kept(id), true
	return nil
}

// array reads values and nulls up to the closing bracket. The opening one has been read. The value
// is a []string while all elements are strings.
func (p *Parser) array(name string) error {
	texts := []string{}
	var values []any // all of them, from the first that is not a string
	for first := true; ; first = false {
		c := p.token()
		if c == ']' && first {
			break
		}
		if p.elements++; p.elements > MaxElements {
			return p.fault(p.pos, "more than %d array elements", MaxElements)
		}
		switch {
		case c == '"' && values == nil:
			s, err := p.str()
			if err != nil {
				return err
			}
			texts = append(texts, p.kept(s))
		case c == 'n':
			if err := p.literal("null"); err != nil {
				return err
			}
		case c == '[' || c == '{':
			return p.fault(p.pos, "the array %q may hold strings, numbers and booleans, no arrays or objects", name)
		default:
			v, err := p.scalar(c, "a string, a number or a boolean")
			if err != nil {
				return err
			}
			for _, s := range texts {
				values = append(values, s)
			}
			texts = nil
			values = append(values, v)
		}
		if c = p.token(); c == ']' {
			break
		}
		if c != ',' {
			return p.unexpected("',' or ']'")
		}
		p.pos++
	}
	p.pos++
	if values != nil {
		p.add(name, values)
	} else {
		p.add(name, texts)
	}
	return nil
}

// kept returns bytes of str or digits as a permanent string.
func (p *Parser) kept(b []byte) string {
	if p.Borrow {
		return unsafe.String(unsafe.SliceData(b), len(b))
	}
	return string(b)
}

func (p *Parser) add(name string, value any) {
	p.doc.Fields = append(p.doc.Fields, Field{Name: name, Value: value})
}

// literal reads true, false or null, whose first byte has been seen.
func (p *Parser) literal(word string) error {
	for i := range len(word) {
		if p.peek() != int(word[i]) {
			return p.unexpected(word)
		}
		p.pos++
	}
	return nil
}

// end is what peek and token return after the last byte of the line.
const end = -1

// peek returns the next byte without reading it.
func (p *Parser) peek() int {
	if p.pos == len(p.line) {
		return end
	}
	return int(p.line[p.pos])
}

// token skips white space and returns the next byte without reading it.
func (p *Parser) token() int {
	for p.pos < len(p.line) {
		switch c := p.line[p.pos]; c {
		case ' ', '\t', '\r', '\n':
			p.pos++
		default:
			return int(c)
		}
	}
	return end
}

// fault reports an error at a byte of the line.
func (p *Parser) fault(at int, format string, args ...any) error {
	return &LineError{Column: at + 1, Reason: fmt.Sprintf(format, args...)}
}

// unexpected reports that the grammar does not allow the next byte.
func (p *Parser) unexpected(want string) error {
	switch c := p.peek(); {
	case c == end:
		return p.fault(p.pos, "the line ends where %s should be", want)
	case c < ' ' || c > '~':
		return p.fault(p.pos, "found byte 0x%02x, want %s", c, want)
	default:
		return p.fault(p.pos, "found %s, want %s", strconv.QuoteRune(rune(c)), want)
	}
}
