package jsonl

import "fmt"

// A LineError says which line is not a document, and why. Reading can continue after it.
type LineError struct {
	File   string // as it was opened; "-" is standard input
	Line   int    // counted from 1
	Column int    // first byte that is wrong, counted from 1; 0 for the line as a whole
	Reason string
}

// Error reads FILE:LINE:COLUMN: reason.
func (e *LineError) Error() string {
	if e.Column == 0 {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Reason)
}
