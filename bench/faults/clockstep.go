//go:build clockstep

package main

import (
	"time"
	_ "unsafe" // for linkname
)

// canStepClock says that package time is the one with a step (overlay.go).
const canStepClock = true

//go:linkname timeStep time.riffleStep
var timeStep int64

func stepClock(d time.Duration) { timeStep = int64(d / time.Second) }
