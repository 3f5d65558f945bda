//go:build !linux

package protocol

import "time"

// CPUTime is the wall's where no other clock is known.
func CPUTime() time.Duration { return wallTime() }
