//go:build !linux

package protocol

import "time"

// cpuTime is the wall's where no other clock is known.
func cpuTime() time.Duration { return wallTime() }
