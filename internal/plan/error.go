package plan

import "fmt"

// An Error says which part of a query or of its options is invalid.
type Error struct {
	Part string // the clause or option, such as "Match" or "SearchOptions.K"
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("riffle: %s: %v", e.Part, e.Err) }

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an *Error.
func Errorf(part, format string, args ...any) error {
	return &Error{Part: part, Err: fmt.Errorf(format, args...)}
}
