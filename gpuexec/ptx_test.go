//go:build cuda

package gpuexec

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPTX looks at what the compiler made: floats must round as on the CPU, and the scores that a
// thread block shares must be added up where they are, by the atomics of shared memory.
func TestPTX(t *testing.T) {
	files, err := ptxFiles.ReadDir("kernels")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	inexact := regexp.MustCompile(`\b(fma|mad)\.[a-z.]*f(32|64)|\.approx|\.full|\.ftz|\bdiv\.r[^n]`)
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".ptx")
		text := ptx(name)
		if !strings.Contains(text, ".target sm_80") || !strings.Contains(text, ".visible .entry ") {
			t.Errorf("%s: no kernel for sm_80", name)
		}
		if found := inexact.FindString(text); found != "" {
			t.Errorf("%s rounds otherwise than the CPU: %s", name, found)
		}
	}
	for _, name := range []string{"or_tile", "or_maxscore", "and_tile"} {
		if !strings.Contains(ptx(name), "atom.shared.add.u32") {
			t.Errorf("%s adds no scores in shared memory", name)
		}
	}
}

// TestSharedVariables looks whether kernels name all static shared variables to changed_by_others: forgetting one is
// a fault that the emulator does not show.
func TestSharedVariables(t *testing.T) {
	files, err := filepath.Glob("kernels/*.cu")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d kernels, %v", len(files), err)
	}
	found := 0
	declared := regexp.MustCompile(`(?m)^\s*__shared__ \w+ (.*);$`)
	named := regexp.MustCompile(`changed_by_others\(([^)]*)\)`)
	for _, f := range files {
		source, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, m := range named.FindAllStringSubmatch(string(source), -1) {
			names = append(names, strings.Split(m[1], ", ")...)
		}
		for _, m := range declared.FindAllStringSubmatch(string(source), -1) {
			for _, v := range strings.Split(m[1], ", ") {
				found++
				if v, _, _ = strings.Cut(v, "["); !slices.Contains(names, v) {
					t.Errorf("%s: %s is not named to changed_by_others", f, v)
				}
			}
		}
	}
	if found == 0 {
		t.Error("no static shared variable was found")
	}
}
