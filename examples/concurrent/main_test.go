package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestConcurrent runs the whole program; under the race detector it is also a
// check of the engine.
func TestConcurrent(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), t.TempDir(), &out); err != nil {
		t.Fatal(err)
	}
	if want := "1000 moves by 2 writers\n100 accounts hold 1000 coins"; !strings.HasPrefix(out.String(), want) {
		t.Errorf("%s\nwant %s", out.String(), want)
	}
}
