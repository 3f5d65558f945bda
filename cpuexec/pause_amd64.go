//go:build !purego

package cpuexec

// spinPause waits some ten nanoseconds and leaves the core's shared resources to its other hardware
// thread. Spinning goroutines call it between two polls.
//
//go:noescape
func spinPause()
