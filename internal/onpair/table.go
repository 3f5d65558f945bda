package onpair

import (
	"encoding/binary"
	"slices"

	"github.com/riffle-search/riffle/internal/corrupt"
)

const (
	// MaxSymbols is how many symbols a table can have, including the 256 bytes.
	MaxSymbols = 1 << 15

	maxSymbolBytes = 15
	pairBytes      = 4
)

// A symbol is up to maxSymbolBytes bytes, and their number in the last byte.
type symbol [maxSymbolBytes + 1]byte

func (s *symbol) bytes() []byte { return s[:s[maxSymbolBytes]] }

// join returns the symbol of two in a row. ok is false if that would be too long.
func join(left, right *symbol) (s symbol, ok bool) {
	n := left[maxSymbolBytes] + right[maxSymbolBytes]
	if n > maxSymbolBytes {
		return s, false
	}
	copy(s[copy(s[:], left.bytes()):], right.bytes())
	s[maxSymbolBytes] = n
	return s, true
}

// A Table decodes strings. It never changes, and any number of goroutines can use it.
type Table struct {
	symbols []symbol
	pairs   []byte // as in the format
}

// Open reads a table. It keeps data. The error of a damaged one is a *corrupt.Error with the offset
// of the pair.
func Open(data []byte) (*Table, error) {
	if len(data)%pairBytes != 0 || len(data)/pairBytes > MaxSymbols-256 {
		return nil, corrupt.New(0, "a table of %d bytes, want at most %d pairs of %d", len(data), MaxSymbols-256, pairBytes)
	}
	t := &Table{symbols: make([]symbol, 256, 256+len(data)/pairBytes), pairs: data}
	for b := range t.symbols {
		t.symbols[b][0], t.symbols[b][maxSymbolBytes] = byte(b), 1
	}
	for at := 0; at < len(data); at += pairBytes {
		left, right := int(binary.LittleEndian.Uint16(data[at:])), int(binary.LittleEndian.Uint16(data[at+2:]))
		if max(left, right) >= len(t.symbols) {
			return nil, corrupt.New(at, "symbol %d is a pair of %d and %d", len(t.symbols), left, right)
		}
		s, ok := join(&t.symbols[left], &t.symbols[right])
		if !ok {
			return nil, corrupt.New(at, "symbol %d has more than %d bytes", len(t.symbols), maxSymbolBytes)
		}
		t.symbols = append(t.symbols, s)
	}
	return t, nil
}

// Bytes returns the table in the form that Open reads.
func (t *Table) Bytes() []byte { return t.pairs }

// Memory is roughly the memory that the table takes.
func (t *Table) Memory() int64 { return int64(cap(t.symbols)*len(symbol{}) + cap(t.pairs)) }

// decodeCodes is how many codes are decoded before the room is checked again.
const decodeCodes = 64

// AppendDecoded appends the string that an Encoder has made text of. The error of damaged text is a
// *corrupt.Error with an offset in it.
func (t *Table) AppendDecoded(dst, text []byte) ([]byte, error) {
	if len(text)%2 != 0 {
		return appendPlain(dst, text)
	}
	symbols := t.symbols
	for first := 0; first < len(text); first += 2 * decodeCodes {
		codes := text[first:min(first+2*decodeCodes, len(text))]
		n := len(dst)
		dst = slices.Grow(dst, decodeCodes*len(symbol{}))
		room := dst[:cap(dst)]
		for i := 1; i < len(codes); i += 2 {
			c := uint(codes[i-1]) | uint(codes[i])<<8
			if c >= uint(len(symbols)) {
				return dst, corrupt.New(first+i-1, "code %d, want less than %d", c, len(symbols))
			}
			s := &symbols[c]
			*(*symbol)(room[n:]) = *s
			n += int(s[maxSymbolBytes])
		}
		dst = room[:n]
	}
	return dst, nil
}

// appendPlain appends a string that is not coded.
func appendPlain(dst, text []byte) ([]byte, error) {
	skip := 1 + int(text[0])
	if skip > 2 || skip > len(text) {
		return dst, corrupt.New(0, "a string of %d bytes that is not coded begins with %d", len(text), text[0])
	}
	return append(dst, text[skip:]...), nil
}
