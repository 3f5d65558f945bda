package main

import (
	"context"
	"io"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/examples/stdlib/library"
)

// demoName is the folder of the demo in the user's cache directory. It is not that of examples/stdlib, which could not
// be run beside the demo otherwise.
const demoName = "riffle-demo"

// openDemo opens an index of Go's standard library, and makes it first if needed.
func openDemo(ctx context.Context, log io.Writer, l *riffle.Listener) (*riffle.Engine, error) {
	dir, err := library.DefaultDir(demoName)
	if err != nil {
		return nil, err
	}
	return library.Open(ctx, dir, "", log, l)
}
