package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/riffle-search/riffle"
)

// TestDemoTwice: a second demo says what keeps it from starting. The example over the same documents has an index of its
// own.
func TestDemoTwice(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir()) // elsewhere than on Linux
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	e, err := riffle.Open(filepath.Join(cache, demoName), nil) // as the first demo does
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	_, err = openDemo(t.Context(), t.Output(), nil)
	if !errors.Is(err, riffle.ErrLocked) || !strings.Contains(err.Error(), "another process has the index open") {
		t.Errorf("a second demo: %v", err)
	}
	example, err := os.ReadFile("../../examples/stdlib/main.go")
	if err != nil || !strings.Contains(string(example), `DefaultDir("riffle-library")`) || demoName == "riffle-library" {
		t.Errorf("the example has the demo's index: %v", err)
	}
}
