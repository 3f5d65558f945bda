package main

import "github.com/riffle-search/riffle/internal/format"

// versions is the version of every format that this build writes.
func versions() string { return format.Written() }
