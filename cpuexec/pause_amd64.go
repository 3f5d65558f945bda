//go:build !purego

package cpuexec

// spinPause passes some ten nanoseconds without using what the core shares with
// another hardware thread. Whoever spins calls it between two looks.
//
//go:noescape
func spinPause()
