package main

import "github.com/riffle-search/riffle/internal/format"

// versions returns the versions of all formats that this build writes.
func versions() string { return format.Written() }
