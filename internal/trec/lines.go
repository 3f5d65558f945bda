package trec

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxLine bounds the length of a line in bytes. Topics are the only free text
// here, and none comes near it.
const maxLine = 1 << 20

// A LineError says which line of a file is wrong.
type LineError struct {
	File   string
	Line   int // counted from 1
	Reason string
}

func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason) }

// eachLine calls fn with every line of r that is not blank. The error fn returns
// becomes a LineError; one of the reader ends the walk as it is.
func eachLine(file string, r io.Reader, fn func(number int, line string) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 64<<10), maxLine)
	n := 0
	for s.Scan() {
		n++
		line := s.Text()
		if n == 1 {
			line = strings.TrimPrefix(line, "\ufeff") // the byte order mark some editors leave
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		if err := fn(n, line); err != nil {
			return &LineError{File: file, Line: n, Reason: err.Error()}
		}
	}
	err := s.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		return &LineError{File: file, Line: n + 1, Reason: fmt.Sprintf("longer than %d bytes", maxLine)}
	}
	if err != nil {
		return fmt.Errorf("%s:%d: %w", file, n+1, err)
	}
	return nil
}
