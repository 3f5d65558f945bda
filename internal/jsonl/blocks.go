package jsonl

import (
	"bytes"
	"fmt"
	"io"
	"slices"
)

// Block appends about size bytes of whole lines to dst, for callers that split and parse lines on
// other goroutines; see [Lines]. first is the number of the first line. A file is always cut at the
// same places, however its bytes arrive.
//
// At the end it returns io.EOF and nothing else. A *LineError says that the next line is too long;
// Block may be called again for the lines after it. Every other error is final. A size is less than
// MaxLineBytes. Block must not be mixed with Next or Line on one Reader.
func (r *Reader) Block(dst []byte, size int) (block []byte, first int, err error) {
	if r.err != nil {
		return dst, 0, r.err
	}
	begin := len(dst)
	dst = append(dst, r.rest...)
	r.rest = r.rest[:0]
	for want := begin + size; ; want = begin + min(2*(len(dst)-begin), r.lines.max+1) {
		dst = r.lines.readTo(dst, want)
		if r.lines.err == io.EOF && len(dst) > begin && len(dst)-begin <= r.lines.max {
			break // the last line needs no line feed
		}
		if end := begin + bytes.LastIndexByte(dst[begin:], '\n') + 1; end > begin {
			r.rest = append(r.rest, dst[end:]...)
			dst = dst[:end]
			break
		}
		if len(dst)-begin > r.lines.max {
			return dst[:begin], 0, r.tooLong()
		}
		if r.lines.err != nil { // a partial line precedes a fault, or nothing precedes the end
			r.fail(r.lines.err)
			return dst[:begin], 0, r.err
		}
	}
	first = r.lines.number + 1
	r.lines.number += bytes.Count(dst[begin:], []byte{'\n'})
	if dst[len(dst)-1] != '\n' {
		r.lines.number++
	}
	return dst, first, nil
}

// tooLong skips the rest of a line that is too long.
func (r *Reader) tooLong() error {
	buf := make([]byte, 0, readBytes)
	for r.lines.err == nil {
		buf = r.lines.readTo(buf[:0], readBytes)
		if i := bytes.IndexByte(buf, '\n'); i >= 0 {
			r.rest = append(r.rest, buf[i+1:]...)
			break
		}
	}
	r.lines.number++
	return r.At(r.lines.number, &LineError{Reason: fmt.Sprintf("longer than %d bytes", r.lines.max)})
}

// readTo reads until dst has want bytes or s.err says why there are no more.
func (s *splitter) readTo(dst []byte, want int) []byte {
	if n := want - len(dst); n > 0 {
		dst = slices.Grow(dst, n)
	}
	for idle := 0; len(dst) < want && s.err == nil; {
		n, err := s.r.Read(dst[len(dst):want])
		if n < 0 || n > want-len(dst) {
			panic(fmt.Sprintf("BUG: a reader read %d bytes into %d", n, want-len(dst)))
		}
		dst, s.err = dst[:len(dst)+n], err
		if idle++; n > 0 {
			idle = 0
		} else if idle == 100 && err == nil {
			s.err = io.ErrNoProgress
		}
	}
	return dst
}

// Lines calls f with each line of a block that is not blank, and its number, until f
// returns false. first is the number of the block's first line.
func Lines(block []byte, first int, f func(number int, line []byte) bool) {
	for number := first; len(block) > 0; number++ {
		line := block
		if i := bytes.IndexByte(block, '\n'); i >= 0 {
			line, block = block[:i], block[i+1:]
		} else {
			block = nil
		}
		if number == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if !blank(line) && !f(number, line) {
			return
		}
	}
}
