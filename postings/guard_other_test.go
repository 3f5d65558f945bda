//go:build !unix

package postings

import "testing"

// guarded returns n bytes. Without mmap it cannot guard the memory after them.
func guarded(t testing.TB, n int) []byte { return make([]byte, n) }
