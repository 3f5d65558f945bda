//go:build !linux

package dispatch

import "time"

// Times on cores are not known on this system.
var threadTime, processTime func() time.Duration
