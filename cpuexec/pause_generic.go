//go:build !amd64 || purego

package cpuexec

import "sync/atomic"

var spinLoad atomic.Uint32

// spinPause passes some ten nanoseconds. Whoever spins calls it between two looks.
func spinPause() {
	for range 16 {
		spinLoad.Load()
	}
}
