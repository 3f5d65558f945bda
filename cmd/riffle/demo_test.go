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
	for _, home := range []string{"HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "LocalAppData", "AppData"} {
		t.Setenv(home, t.TempDir())
	}
	withoutTelemetry(t)
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

// withoutTelemetry turns off the telemetry of the go command, which a demo asks where Go is installed. In a home that it
// has not seen, it leaves a process behind that writes there, even after the test has removed the directory.
func withoutTelemetry(t *testing.T) {
	config, err := os.UserConfigDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(config, "go", "telemetry")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "mode"), []byte("off"), 0o666); err != nil {
		t.Fatal(err)
	}
}
