package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// The wall clock of one process cannot be stepped from outside: a time namespace moves only the
// monotonic clock, and Go programs read the clock without libc, which faketime replaces. So the nodes
// are built with a copy of package time whose Now adds a step. Timers do not notice, as with a clock
// that an administrator sets.
const (
	nowBegins = "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {"
	nowSteps  = "\tsec, nsec, mono := runtimeNow()\n\tsec += riffleStep\n\tif mono == 0 {"
	stepIs    = "\n//go:linkname riffleStep\nvar riffleStep int64\n"
)

// buildNode builds this program with a clock that steps, into a file of a folder, and returns its name.
// The first time takes minutes, since every package is compiled anew.
func buildNode(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", err
	}
	timeGo := filepath.Join(runtime.GOROOT(), "src/time/time.go")
	if out, err := exec.Command("go", "env", "GOROOT").Output(); err == nil {
		timeGo = filepath.Join(strings.TrimSpace(string(out)), "src/time/time.go")
	}
	source, err := os.ReadFile(timeGo)
	if err != nil {
		return "", err
	}
	stepping := strings.Replace(string(source), nowBegins, nowSteps, 1)
	if stepping == string(source) {
		return "", fmt.Errorf("%s: Now does not begin as expected: the nodes cannot have a clock that steps", timeGo)
	}
	changed, list := filepath.Join(dir, "time.go"), filepath.Join(dir, "overlay.json")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{timeGo: changed}})
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.WriteFile(changed, []byte(stepping+stepIs), 0o600), os.WriteFile(list, overlay, 0o600)); err != nil {
		return "", err
	}
	program := filepath.Join(dir, "node")
	return program, output(exec.Command("go", "build", "-overlay", list, "-tags", "clockstep", "-o", program, "github.com/riffle-search/riffle/bench/faults"))
}
