package riffle

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// filesOf returns a hash of every file below a directory, by its name.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		sums[path[len(dir)+1:]] = fmt.Sprintf("%d bytes %x", len(data), sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

// copyOpen copies the directory of an open index. It starts over if a file is removed meanwhile.
func copyOpen(t *testing.T, to, from string) {
	t.Helper()
	for {
		err := os.CopyFS(to, os.DirFS(from))
		if err == nil {
			return
		}
		if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if err := os.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFailedOpenChangesNothing damages every file of a closed index, and of one whose process was
// killed, and opens it. An Open that fails leaves every file unchanged.
func TestFailedOpenChangesNothing(t *testing.T) {
	top := t.TempDir()
	closed, crashed := filepath.Join(top, "closed"), filepath.Join(top, "crashed")
	damagedIndex(t, closed, nil)
	e, err := damageTuning.open(closed, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Put(ctx, "last", map[string]any{"text": "w1"}); err != nil {
		t.Fatal(err)
	}
	copyOpen(t, crashed, closed)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	failed, opened := 0, 0
	for _, intact := range []string{closed, crashed} {
		for name := range filesOf(t, intact) {
			data, err := os.ReadFile(filepath.Join(intact, name))
			if err != nil {
				t.Fatal(err)
			}
			for how, bad := range damagedData(data) {
				what := fmt.Sprintf("%s, %s %s", filepath.Base(intact), name, how)
				dir := filepath.Join(top, "damaged")
				if err := os.CopyFS(dir, os.DirFS(intact)); err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(dir, name)
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
				if bad != nil {
					if err := os.WriteFile(path, bad, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if openChangesNothing(t, what, dir, damageTuning.opts, ErrCorrupt, ErrFormat) {
					failed++
				} else {
					opened++
				}
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	t.Logf("%d opens failed, %d did not", failed, opened)
	if failed < 40 {
		t.Error("too few: the test tests nothing")
	}
}

// TestFailedReplayChangesNothing damages a segment whose documents the log replaces. Replay has to
// look them up, and reads what nothing else of Open reads.
func TestFailedReplayChangesNothing(t *testing.T) {
	top := t.TempDir()
	live, intact := filepath.Join(top, "live"), filepath.Join(top, "intact")
	e, err := damageTuning.open(live, nil)
	if err != nil {
		t.Fatal(err)
	}
	put := func(text string) {
		var b Batch
		for i := range 8000 { // ids that fill blocks of their own
			b.Put(fmt.Sprint(i*7919), map[string]any{"text": text})
		}
		if err := e.Apply(ctx, &b); err != nil {
			t.Fatal(err)
		}
	}
	put("w1 w2")
	if err := e.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	put("w3")
	copyOpen(t, intact, live)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	inReplay, places := 0, 24
	if brief() {
		places = 8
	}
	for name := range filesOf(t, intact) {
		if filepath.Ext(name) != ".sst" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(intact, name))
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at < len(data); at += max(1, len(data)/places) {
			dir := filepath.Join(top, "damaged")
			bad := append([]byte(nil), data...)
			bad[at] ^= 4
			if err := errors.Join(os.CopyFS(dir, os.DirFS(intact)), os.WriteFile(filepath.Join(dir, name), bad, 0o600)); err != nil {
				t.Fatal(err)
			}
			before := filesOf(t, dir)
			e, err := Open(dir, &damageTuning.opts)
			if err == nil {
				_ = e.Close()
			} else {
				if after := filesOf(t, dir); !reflect.DeepEqual(before, after) {
					t.Errorf("%s flipped at %d, %v: changed files:\n%v\nbefore\n%v", name, at, err, after, before)
				}
				if strings.Contains(err.Error(), "log record") {
					inReplay++
				}
			}
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
	if inReplay == 0 {
		t.Error("no damage was met where the log is replayed: the test tests nothing")
	}
}

// damagedData returns the possible remains of a file; nil if it is gone.
func damagedData(data []byte) map[string][]byte {
	all := map[string][]byte{"missing": nil}
	if n := len(data); n > 0 {
		all["empty"], all["cut in half"], all["zeroed"] = []byte{}, data[:n/2], make([]byte, n)
		for _, at := range []int{0, n / 3, n - 1} {
			bad := append([]byte(nil), data...)
			bad[at] ^= 16
			all[fmt.Sprintf("flipped at %d", at)] = bad
		}
	}
	return all
}

// openChangesNothing opens an index, for writing and for reading. It reports whether that failed
// with one of some errors, and makes sure that a failure changed nothing.
func openChangesNothing(t *testing.T, what, dir string, o Options, want ...error) (failed bool) {
	t.Helper()
	before := filesOf(t, dir)
	for _, readOnly := range []bool{true, false} {
		o.ReadOnly = readOnly
		e, err := Open(dir, &o)
		if err == nil {
			if err := e.Close(); err != nil && !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s: close: %v", what, err)
			}
		} else {
			failed = true
			known := false
			for _, w := range want {
				known = known || errors.Is(err, w)
			}
			if !known {
				t.Errorf("%s: %v", what, err)
			}
		}
		if readOnly || err != nil {
			if after := filesOf(t, dir); !reflect.DeepEqual(before, after) {
				t.Errorf("%s: Open, read-only %v, error %v, changed files:\n%v\nbefore\n%v", what, readOnly, err, after, before)
			}
		}
	}
	return failed
}

func parsed(t *testing.T, text string) *Schema {
	t.Helper()
	s, err := ParseSchema([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRefusedOpenChangesNothing opens intact indexes with unsuitable options, and directories that
// are not indexes.
func TestRefusedOpenChangesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	e, err := Open(dir, &Options{Schema: parsed(t, `{"fields":{"text":{"type":"text"}}}`)})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.Put(ctx, "a", map[string]any{"text": "one"}), e.Close()); err != nil {
		t.Fatal(err)
	}
	before := filesOf(t, dir)
	for _, schema := range []string{`{"fields":{"text":{"type":"keyword"}}}`, `{"fields":{"text":{"type":"text"},"more":{"type":"text","analyzer":"unheard of"}}}`} {
		e, err := Open(dir, &Options{Schema: parsed(t, schema)})
		if err == nil {
			e.Close()
			t.Errorf("opens with the schema %s", schema)
		}
		if after := filesOf(t, dir); !reflect.DeepEqual(before, after) {
			t.Errorf("schema %s, %v: changed files:\n%v\nbefore\n%v", schema, err, after, before)
		}
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "letter.txt"), []byte("dear"), 0o600); err != nil {
		t.Fatal(err)
	}
	before = filesOf(t, other)
	_, openErr := Open(other, nil)
	_, buildErr := Build(ctx, other, yieldAll([]modelPut{{id: "a", doc: modelDoc{"text": "w1"}}}), nil)
	for _, err := range []error{openErr, buildErr} {
		if err != nil && !errors.Is(err, ErrFormat) {
			t.Error(err)
		}
	}
	if openErr == nil || !reflect.DeepEqual(before, filesOf(t, other)) {
		t.Errorf("a directory of other files: open: %v, build: %v, then %v", openErr, buildErr, filesOf(t, other))
	}
}
