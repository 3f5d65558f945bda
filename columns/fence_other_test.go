//go:build !unix

package columns

import "testing"

// fenced returns n bytes. Without mmap it cannot guard the memory after them.
func fenced(t testing.TB, n int) []byte { return make([]byte, n) }
