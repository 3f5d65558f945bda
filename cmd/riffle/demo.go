package main

import (
	"context"
	"io"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/examples/stdlib/library"
)

// openDemo opens an index of Go's standard library, and makes it first if needed.
func openDemo(ctx context.Context, log io.Writer, l *riffle.Listener) (*riffle.Engine, error) {
	dir, err := library.DefaultDir()
	if err != nil {
		return nil, err
	}
	return library.Open(ctx, dir, "", log, l)
}
