// Package invariants switches on checks that are too expensive for production.
//
// Guard each with the constant, so that without it the compiler drops the check and the evaluation
// of its arguments:
//
//	if invariants.Enabled {
//		invariants.Check(score <= bound, "document %d scores %d above the bound %d of its block", doc, score, bound)
//	}
//
// A failed check is a bug of riffle's own, so it panics. `go test -tags invariants` and `go test
// -race` run with all checks on.
package invariants

import "fmt"

// Check panics with the message when ok is false, in every build.
func Check(ok bool, format string, args ...any) {
	if !ok {
		panic("BUG: " + fmt.Sprintf(format, args...))
	}
}
