package riffle

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/store"
)

// TestNewerValues opens indexes in which one value is of a later version than this riffle
// reads. That is ErrFormat, which names the version, and nothing changes on disk.
func TestNewerValues(t *testing.T) {
	meta := func(name, text string) func(*store.Store) error {
		return func(s *store.Store) error {
			return s.Commit(ctx, store.Edit{Meta: map[string][]byte{name: []byte(text)}})
		}
	}
	record := func(rec string) func(*store.Store) error {
		return func(s *store.Store) error {
			b, err := store.PackLog([][]byte{[]byte(rec)})
			if err != nil {
				return err
			}
			wait, err := s.Append(s.NextSeq(), b, true)
			if err != nil {
				return err
			}
			return wait(ctx)
		}
	}
	for _, c := range []struct {
		name   string
		change func(*store.Store) error
		want   string
	}{
		{"schema", meta(metaSchema, `{"version":2,"synonyms":{"car":["auto"]}}`), "schema of version 2; "},
		{"options", meta(metaOptions, "version=9\ncodec=ans\n"), "options of version 9; "},
		{"log record", record("\x02Xanything"), "log record 2: format not supported: log record of version 2; "},
		{"document in a log record", record("P\x01b\x05\x00\x03abc"), "log record 2: format not supported: stored document of version 3; "},
	} {
		dir := t.TempDir()
		e, err := Open(dir, &Options{Schema: parsed(t, `{"fields":{"text":{"type":"text"}}}`)})
		if err == nil {
			err = errors.Join(e.Put(ctx, "a", map[string]any{"text": "one"}), e.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		s, err := store.Open(dir, nil)
		if err == nil {
			err = errors.Join(c.change(s), s.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		before := filesOf(t, dir)
		for _, readOnly := range []bool{false, true} {
			e, err := Open(dir, &Options{ReadOnly: readOnly})
			if err == nil {
				e.Close()
			}
			if !errors.Is(err, ErrFormat) || errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, read-only %v: %v, want ErrFormat with %q", c.name, readOnly, err, c.want)
			}
		}
		if after := filesOf(t, dir); !reflect.DeepEqual(before, after) {
			t.Errorf("%s: the failed Open changed files:\n%v\nbefore\n%v", c.name, after, before)
		}
	}
}

// TestVersionsOfValues: what states no version is of the first, and may state it.
func TestVersionsOfValues(t *testing.T) {
	text := `{"fields":{"text":{"type":"keyword"}},"dynamic":"store"}`
	want := parsed(t, text)
	for _, kept := range []string{text, `{"version":1,` + text[1:]} {
		if got, err := parseKeptSchema([]byte(kept)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", kept, got, err)
		}
	}
	for _, kept := range []string{`{"version":1,"what":0}`, `{"version":0}`, `{"version":"2"}`, `{"version":-1}`, text + text, "", "[]"} {
		if _, err := parseKeptSchema([]byte(kept)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("schema %q: %v, want ErrCorrupt", kept, err)
		}
	}
	for _, kept := range []string{"", "version=1\n", "codec=packed\n", "unheard-of=1\nversion=7\n"} {
		if err := checkKeptOptions([]byte(kept)); err != nil {
			t.Errorf("options %q: %v", kept, err)
		}
	}
	for _, kept := range []string{"version=0\n", "version=x", "version="} {
		if err := checkKeptOptions([]byte(kept)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("options %q: %v, want ErrCorrupt", kept, err)
		}
	}
	vals := sampleValues()
	if got, err := parseValues(append([]byte{0, 1}, appendValues(nil, vals)...)); err != nil || !reflect.DeepEqual(got, vals) {
		t.Errorf("a document with its version: %v, %v", got, err)
	}
	ops := []operation{{id: "a", values: vals}, {id: "b", del: true}}
	if got, err := decodeRecord(append([]byte{1}, encodeRecords(ops)[0]...)); err != nil || !reflect.DeepEqual(got, ops) {
		t.Errorf("a record with its version: %v, %v", got, err)
	}
	for _, data := range []string{"\x00\x00", "\x00\x00\x02"} {
		if _, err := parseValues([]byte(data)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("values %q: %v, want ErrCorrupt", data, err)
		}
	}
	if _, err := decodeRecord([]byte("\x00P")); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a record of version 0: %v, want ErrCorrupt", err)
	}
}
