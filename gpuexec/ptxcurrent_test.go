package gpuexec

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestPTXIsCurrent checks that all committed PTX was made from the sources that are there, headers
// included, by the hashes that kernels/ptx.sh puts at its beginning. The emulator runs the sources,
// so it does not notice PTX that has another idea of a struct than the host.
func TestPTXIsCurrent(t *testing.T) {
	for _, folder := range []string{"kernels", "baselines", "invert", "device/testdata"} {
		sources, err := filepath.Glob(folder + "/*.cu")
		if err != nil || len(sources) == 0 {
			t.Fatalf("%s has %d sources, %v", folder, len(sources), err)
		}
		for _, source := range sources {
			ptx := strings.TrimSuffix(source, ".cu") + ".ptx"
			text, err := os.ReadFile(ptx)
			if err != nil {
				t.Error(err)
				continue
			}
			for _, fault := range stale(text, source, os.DirFS(".")) {
				t.Errorf("%s: %s: run go generate ./gpuexec/...", ptx, fault)
			}
		}
	}
}

var hashed = regexp.MustCompile(`(?m)^// ([0-9a-f]{64})  (.+)$`)

// stale returns the ways in which the PTX of a source differs from what would be made now.
func stale(ptx []byte, source string, files fs.FS) (faults []string) {
	var named []string
	for _, m := range hashed.FindAllSubmatch(ptx, -1) {
		name := string(m[2])
		named = append(named, name)
		if text, err := fs.ReadFile(files, name); err != nil {
			faults = append(faults, err.Error())
		} else if fmt.Sprintf("%x", sha256.Sum256(text)) != string(m[1]) {
			faults = append(faults, name+" has changed since")
		}
	}
	if !slices.Contains(named, source) {
		faults = append(faults, "it does not say that it was made from "+source)
	}
	return faults
}

// TestPTXStale changes a source and a header behind PTX, and takes a header away.
func TestPTXStale(t *testing.T) {
	const source = "baselines/and_rounds.cu"
	ptx, err := os.ReadFile("baselines/and_rounds.ptx")
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for _, m := range hashed.FindAllSubmatch(ptx, -1) {
		text, err := os.ReadFile(string(m[2]))
		if err != nil {
			t.Fatal(err)
		}
		files[string(m[2])] = &fstest.MapFile{Data: text}
	}
	if faults := stale(ptx, source, files); len(faults) > 0 {
		t.Fatal(faults)
	}
	for _, name := range []string{source, "kernels/layout.cuh"} {
		is := files[name]
		files[name] = &fstest.MapFile{Data: append(slices.Clone(is.Data), '\n')}
		changed := stale(ptx, source, files)
		delete(files, name)
		for _, faults := range [][]string{changed, stale(ptx, source, files)} {
			if len(faults) != 1 || !strings.Contains(faults[0], name) {
				t.Errorf("%s is not as it was: %q", name, faults)
			}
		}
		files[name] = is
	}
	if faults := stale(nil, source, files); len(faults) != 1 {
		t.Errorf("PTX without hashes: %q", faults)
	}
}
