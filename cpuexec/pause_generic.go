//go:build !amd64 || purego

package cpuexec

import "sync/atomic"

var spinLoad atomic.Uint32

// spinPause waits some ten nanoseconds. Spinning goroutines call it between two polls.
func spinPause() {
	for range 16 {
		spinLoad.Load()
	}
}
