//go:build !unix

package postings

import "testing"

// guarded returns n bytes and nothing behind them.
func guarded(t testing.TB, n int) []byte { return make([]byte, n) }
