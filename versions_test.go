package riffle

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/format"
	"github.com/riffle-search/riffle/segment"
	"github.com/riffle-search/riffle/store"
)

// TestNewerValues opens indexes in which one value has a later version than this riffle reads. That
// is ErrFormat, which names the version, and nothing changes on disk.
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
		{"schema", meta("schema", `{"version":7,"synonyms":{"car":["auto"]}}`), "schema of version 7; "},
		{"options", meta("options", "version=9\ncodec=ans\n"), "options of version 9; "},
		{"log record", record("\x04Xanything"), "log record 2: format not supported: log record of version 4; "},
		{"index info", func(s *store.Store) error {
			m := s.Manifest()
			m.Info = []byte("\x03anything")
			return s.Commit(ctx, store.Edit{Manifest: &m})
		}, "index info of version 3; "},
		{"document in a log record", record("P\x01b\x05\x00\x05abc"), "log record 2: format not supported: stored document of version 5; "},
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

// TestVersionsOfValues: a value without a version has the first, and may state it.
func TestVersionsOfValues(t *testing.T) {
	text := `{"fields":{"text":{"type":"keyword"}},"dynamic":"store"}`
	want := parsed(t, text)
	want.Words = analysis.WordsUnicode8
	for _, kept := range []string{text, `{"version":1,` + text[1:]} {
		if got, err := publicSchema(document.ParseKept([]byte(kept))); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", kept, got, err)
		}
	}
	if kept := want.internal().Kept(); string(kept) != text {
		t.Errorf("a schema that the first version can say is kept as %s", kept)
	}
	want.Words = analysis.WordsUnicode15
	const second = `{"version":2,"fields":{"text":{"type":"keyword"}},"dynamic":"store","words":"unicode15"}`
	if kept := want.internal().Kept(); string(kept) != second {
		t.Errorf("a schema of the second version is kept as %s", kept)
	}
	if got, err := publicSchema(document.ParseKept([]byte(second))); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v, %v", second, got, err)
	}
	for _, kept := range []string{`{"version":1,"what":0}`, `{"version":2,"words":"unicode99"}`, `{"version":0}`, `{"version":"2"}`, `{"version":-1}`, text + text, "", "[]"} {
		if _, err := document.ParseKept([]byte(kept)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("schema %q: %v, want ErrCorrupt", kept, err)
		}
	}
}

// metaKind is the kind of the value that describes a segment as a whole. Kinds 01 and 80 are
// posting lists, which have no seal.
const metaKind = 0x7f

// oneSegment returns an index of one segment whose values rewrite has changed, below their seals.
func oneSegment(t *testing.T, version byte, rewrite func(kind byte, payload []byte) []byte) vfs.FS {
	t.Helper()
	fsys := vfs.NewMem()
	o := BuildOptions{Index: Options{Schema: &Schema{Positions: PositionsNone, Columns: ColumnNone}}} // without a feature
	o.Index.private.store.FS = fsys
	docs := []modelPut{{"a", modelDoc{"text": "one two", "n": 1}}, {"b", modelDoc{"text": "two"}}}
	if _, err := Build(ctx, worldDir, yieldAll(docs), &o); err != nil {
		t.Fatal(err)
	}
	changed := map[string][]byte{}
	err := eachKey(fsys, worldDir, func(key, value []byte) error {
		if key[0] == 'S' && key[9] != 0x01 && key[9] != 0x80 {
			v := append([]byte{version}, rewrite(key[9], value[1:len(value)-4])...)
			changed[string(key)] = binary.LittleEndian.AppendUint32(v, crc32.Checksum(v, crc32.MakeTable(crc32.Castagnoli)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range changed {
		setBelow(t, fsys, []byte(key), value)
	}
	return fsys
}

// TestCompactUpgrades compacts an index of one segment with an older format, in which nothing else
// is to be done.
func TestCompactUpgrades(t *testing.T) {
	fsys := oneSegment(t, 5, func(kind byte, payload []byte) []byte {
		if kind != metaKind {
			return payload
		}
		return payload[1+len(format.Release)+1:] // neither writer nor features
	})
	e, err := tuning{}.open(worldDir, fsys)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []SegmentStats{{Format: 5}, {Format: segment.Version, Writer: format.Release}, {Format: segment.Version, Writer: format.Release}} {
		st, err := e.Stats()
		if err != nil || st.Segments[0].Format != want.Format || st.Segments[0].Writer != want.Writer {
			t.Errorf("after %d Compacts: %v, %+v, want %+v", i, err, st.Segments, want)
		}
		number := st.Segments[0].Number
		if err := errors.Join(checkAll(e), e.Compact(ctx)); err != nil {
			t.Error(err)
		}
		if st, err := e.Stats(); err != nil || (st.Segments[0].Number == number) != (i > 0) {
			t.Errorf("Compact %d: %v, %+v: only the first has something to do", i, err, st.Segments)
		}
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// TestFeatures opens an index whose segment has features that this riffle lacks. An optional one
// shows only in Stats, until Compact removes it.
func TestFeatures(t *testing.T) {
	with := func(name string, flags byte) vfs.FS {
		return oneSegment(t, segment.Version, func(kind byte, payload []byte) []byte {
			if kind != metaKind {
				return payload
			}
			p := append([]byte("\x037.1\x01"), byte(len(name)))
			p = append(append(p, name...), flags, 1, 0x86, 2, 'h', 'i')
			return append(p, payload[1+len(format.Release)+1:]...)
		})
	}
	fsys := with("positions", 1)
	for _, readOnly := range []bool{true, false} {
		e, err := tuning{opts: Options{ReadOnly: readOnly}}.open(worldDir, fsys)
		if err == nil {
			e.Close()
		}
		want := `segment 1: format not supported: segment of version 7 (written by riffle 7.1) needs the feature "positions", which riffle ` + format.Release + ` lacks; open the index with riffle 7.1 or later`
		if !errors.Is(err, ErrFormat) || errors.Is(err, ErrCorrupt) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("read-only %v: %v, want %s", readOnly, err, want)
		}
	}
	e, err := tuning{}.open(worldDir, with("hints", 0))
	if err != nil {
		t.Fatal(err)
	}
	st, err := e.Stats()
	if err != nil || st.Segments[0].Writer != "7.1" || !slices.Equal(st.Segments[0].Features, []string{"hints"}) {
		t.Errorf("%v, %+v", err, st.Segments)
	}
	if n, err := e.Count(ctx, Match{Field: "text", Text: "two"}); n != 2 || err != nil {
		t.Errorf("%d documents, %v, want 2", n, err)
	}
	if err := errors.Join(checkAll(e), e.Delete(ctx, "a"), e.Compact(ctx), checkAll(e)); err != nil {
		t.Error(err)
	}
	if st, err := e.Stats(); err != nil || st.Segments[0].Writer != format.Release || len(st.Segments[0].Features) > 0 {
		t.Errorf("after Compact: %v, %+v", err, st.Segments)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
