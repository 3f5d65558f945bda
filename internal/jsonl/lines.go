package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// readBytes is how much is read from the source at a time, and the first size of the buffer.
const readBytes = 256 << 10

// errTooLong is the reason why a line was skipped.
var errTooLong = errors.New("line too long")

// A splitter cuts a stream into lines.
//
// Invariant: 0 <= start <= end <= len(buf); buf[start:end] has been read and not yet returned.
type splitter struct {
	r          io.Reader
	buf        []byte
	start, end int
	max        int   // bytes of the longest line
	number     int   // lines returned or skipped
	err        error // why r returned no more
}

// next returns the next line without its line feed, valid until the next call. The error is
// errTooLong, after which the next call continues, or that of the reader, io.EOF at the end. Data
// before an error of the reader other than io.EOF is a partial line, and is dropped.
func (s *splitter) next() ([]byte, error) {
	searched := 0 // bytes after start without a line feed
	for {
		if i := bytes.IndexByte(s.buf[s.start+searched:s.end], '\n'); i >= 0 {
			n := searched + i
			return s.take(n, n+1)
		}
		searched = s.end - s.start
		if searched > s.max {
			return nil, s.passOver()
		}
		if s.err != nil {
			if s.err == io.EOF && searched > 0 {
				return s.take(searched, searched)
			}
			return nil, s.err
		}
		s.fill()
	}
}

// take returns the first n bytes as a line and advances by advance.
func (s *splitter) take(n, advance int) ([]byte, error) {
	line := s.buf[s.start : s.start+n]
	s.start += advance
	s.number++
	if n > s.max {
		return nil, errTooLong
	}
	return line, nil
}

// passOver drops everything up to the next line feed.
func (s *splitter) passOver() error {
	s.number++
	for {
		if i := bytes.IndexByte(s.buf[s.start:s.end], '\n'); i >= 0 {
			s.start += i + 1
			return errTooLong
		}
		s.start, s.end = 0, 0
		if s.err != nil {
			return errTooLong // the next call reports s.err
		}
		s.fill()
	}
}

// fill reads once, after the data in the buffer. It makes room first: it moves the unfinished line
// to the front, and takes a larger buffer if that line fills more than half. A line that is not too
// long always leaves readBytes in the largest buffer.
func (s *splitter) fill() {
	limit := s.max + readBytes
	if s.buf == nil {
		s.buf = make([]byte, min(readBytes, limit))
	}
	if s.start > 0 {
		s.end = copy(s.buf, s.buf[s.start:s.end])
		s.start = 0
	}
	if s.end > len(s.buf)/2 && len(s.buf) < limit {
		grown := make([]byte, min(2*len(s.buf), limit))
		copy(grown, s.buf[:s.end])
		s.buf = grown
	}
	for range 100 {
		n, err := s.r.Read(s.buf[s.end:])
		if n < 0 || n > len(s.buf)-s.end {
			panic(fmt.Sprintf("BUG: a reader read %d bytes into %d", n, len(s.buf)-s.end))
		}
		s.end += n
		s.err = err
		if n > 0 || err != nil {
			return
		}
	}
	s.err = io.ErrNoProgress
}
