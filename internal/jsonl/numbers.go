package jsonl

import "strconv"

// number reads a number: int64 where it is an integer that fits, else uint64 where that does, else
// float64.
func (p *Parser) number() (any, error) {
	at := p.pos
	digits, integer, err := p.digits()
	if err != nil {
		return nil, err
	}
	if integer {
		if n, err := strconv.ParseInt(string(digits), 10, 64); err == nil {
			return n, nil
		}
		if n, err := strconv.ParseUint(string(digits), 10, 64); err == nil {
			return n, nil
		}
	}
	f, err := strconv.ParseFloat(string(digits), 64)
	if err != nil {
		return nil, p.fault(at, "%.40s is beyond the range of a float64", digits)
	}
	return f, nil
}

// digits reads the characters of a number and says whether they are those of an
// integer: -?(0|[1-9][0-9]*), without a fraction or an exponent.
func (p *Parser) digits() (text []byte, integer bool, err error) {
	start := p.pos
	if p.peek() == '-' {
		p.pos++
	}
	if p.peek() == '0' {
		p.pos++
	} else if !p.digitRun() {
		return nil, false, p.unexpected("a digit")
	}
	integer = true
	if p.peek() == '.' {
		p.pos++
		integer = false
		if !p.digitRun() {
			return nil, false, p.unexpected("a digit")
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.pos++
		integer = false
		if c := p.peek(); c == '+' || c == '-' {
			p.pos++
		}
		if !p.digitRun() {
			return nil, false, p.unexpected("a digit")
		}
	}
	return p.line[start:p.pos], integer, nil
}

// digitRun skips digits and reports whether there was one.
func (p *Parser) digitRun() bool {
	start := p.pos
	for c := p.peek(); '0' <= c && c <= '9'; c = p.peek() {
		p.pos++
	}
	return p.pos > start
}
