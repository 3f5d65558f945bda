//go:build cuda

package gpuexec

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/gpuexec/baselines"
)

// TestPTX checks the compiler's output: floats must round as on the CPU, and the scores that a
// thread block shares must be added in place, by the atomics of shared memory.
func TestPTX(t *testing.T) {
	texts := map[string]string{}
	for _, of := range []struct {
		files fs.FS
		glob  string
	}{{ptxFiles, "kernels/*.ptx"}, {baselines.Kernels, "*.ptx"}} {
		names, err := fs.Glob(of.files, of.glob)
		if err != nil || len(names) == 0 {
			t.Fatalf("%d files, %v", len(names), err)
		}
		for _, name := range names {
			texts[name] = read(of.files, name)
		}
	}
	inexact := regexp.MustCompile(`\b(fma|mad)\.[a-z.]*f(32|64)|\.approx|\.full|\.ftz|\bdiv\.r[^n]`)
	for name, text := range texts {
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
	// Warps of or_flat meet from different places, which __syncthreads and other aligned barriers do not allow.
	if found := regexp.MustCompile(`\bbar\.sync\s[^;]*;|barrier\.sync\.aligned`).FindString(ptx("or_flat")); found != "" {
		t.Errorf("or_flat has an aligned barrier: %s", found)
	}
}

// sources returns the files of kernels and baselines with the given ending.
func sources(t *testing.T, end string) (names []string) {
	for _, room := range []string{"kernels", "baselines"} {
		some, err := filepath.Glob(room + "/*" + end)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, some...)
	}
	return names
}

// TestSharedVariables checks that kernels pass all static shared variables to changed_by_others.
// The emulator does not reveal an omission.
func TestSharedVariables(t *testing.T) {
	files := sources(t, ".cu")
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
