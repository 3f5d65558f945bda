//go:build !linux

package dispatch

import "time"

// Times on cores are not known on this system.
var threadTime func(*Plan) time.Duration
