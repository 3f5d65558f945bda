package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/format"
)

// TestFormat runs testdata/format: stores in, keys and bytes out.
func TestFormat(t *testing.T) {
	datadriven.Walk(t, "testdata/format", func(t *testing.T, path string) {
		h := newHistory(t)
		var err error
		if h.s, err = Open(damagedDir, &Options{FS: vfs.NewMem(), logID: 0x1111111111111111}); err != nil {
			t.Fatal(err)
		}
		writers := map[uint64]*SegmentWriter{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "append":
				h.appendLines(d.Input)
				return fmt.Sprintf("the log goes on with %d\n", h.s.NextSeq())
			case "segment":
				w := h.segmentLines(d.Input)
				writers[w.Number()] = w
				return fmt.Sprintf("segment %d\n", w.Number())
			case "commit":
				return h.commitLines(d, writers)
			case "keys":
				return h.rawKeys()
			case "unseal":
				return unsealLines(d.Input)
			case "name":
				return nameLines(d.Input)
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
		if err := h.s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func (h *history) appendLines(input string) {
	var records [][]byte
	for line := range strings.Lines(input) {
		records = append(records, []byte(strings.TrimSpace(line)))
	}
	wait, err := h.s.Append(h.s.NextSeq(), pack(h.t, records...), true)
	if err == nil {
		err = wait(h.t.Context())
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// segmentLines takes lines of "quoted key, quoted value".
func (h *history) segmentLines(input string) *SegmentWriter {
	w, err := h.s.NewSegment()
	if err != nil {
		h.t.Fatal(err)
	}
	for line := range strings.Lines(input) {
		var key, value string
		if _, err := fmt.Sscanf(line, "%q %q", &key, &value); err != nil {
			h.t.Fatal(err)
		}
		if err := w.Set([]byte(key), []byte(value)); err != nil {
			h.t.Fatal(err)
		}
	}
	if err := w.Finish(); err != nil {
		h.t.Fatal(err)
	}
	return w
}

// commitLines: commit segments=(1,2) log=3 ingest=(2) drop=(4) deletions=(1,text) meta=(name,text)
func (h *history) commitLines(d *datadriven.TestData, writers map[uint64]*SegmentWriter) string {
	numbers := func(arg string) (ns []uint64) {
		if a, ok := d.Arg(arg); ok {
			for _, v := range a.Vals {
				n, err := strconv.ParseUint(v, 10, 64)
				if err != nil {
					h.t.Fatal(err)
				}
				ns = append(ns, n)
			}
		}
		return ns
	}
	e := Edit{Manifest: &Manifest{LogSeq: numbers("log")[0]}, Drop: numbers("drop")}
	for _, n := range numbers("segments") {
		e.Manifest.Segments = append(e.Manifest.Segments, Segment{Number: n})
	}
	for _, n := range numbers("ingest") {
		e.Ingest = append(e.Ingest, writers[n])
	}
	if a, ok := d.Arg("deletions"); ok {
		n, _ := strconv.ParseUint(a.Vals[0], 10, 64)
		e.Deletions = map[uint64][]byte{n: []byte(a.Vals[1])}
	}
	if a, ok := d.Arg("updates"); ok {
		n, _ := strconv.ParseUint(a.Vals[0], 10, 64)
		e.Updates = map[UpdatesOf][]byte{{n, a.Vals[1]}: []byte(a.Vals[2])}
	}
	if a, ok := d.Arg("meta"); ok {
		e.Meta = map[string][]byte{a.Vals[0]: []byte(a.Vals[1])}
	}
	if err := h.s.Commit(h.t.Context(), e); err != nil {
		return err.Error() + "\n"
	}
	return h.rawKeys()
}

// rawKeys prints everything in Pebble.
func (h *history) rawKeys() string {
	it, err := h.s.db.NewIter(&pebble.IterOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	defer it.Close()
	var b strings.Builder
	for ok := it.First(); ok; ok = it.Next() {
		fmt.Fprintf(&b, "%x = %x  %s\n", it.Key(), it.Value(), KeyString(it.Key()))
	}
	return b.String()
}

// unsealLines takes a hexadecimal key and value.
func unsealLines(input string) string {
	var key, value []byte
	if _, err := fmt.Sscanf(input, "%x %x", &key, &value); err != nil {
		return err.Error() + "\n"
	}
	payload, _, err := unseal(key, value)
	if err != nil {
		return corrupt.At(err, KeyString(key)).Error() + "\n"
	}
	return fmt.Sprintf("%q\n", payload)
}

func nameLines(input string) string {
	var b strings.Builder
	for line := range strings.Lines(input) {
		var key []byte
		if _, err := fmt.Sscanf(line, "%x", &key); err != nil && strings.TrimSpace(line) != "-" {
			return err.Error() + "\n"
		}
		fmt.Fprintln(&b, KeyString(key))
	}
	return b.String()
}

// TestSeal flips every bit of a sealed value and of its key.
func TestSeal(t *testing.T) {
	key, payload := logKey(7), []byte("a record")
	value := make([]byte, len(payload)+sealBytes)
	sum := sealInto(value, key, payload)
	if got, gotSum, err := unseal(key, value); err != nil || !slices.Equal(got, payload) || gotSum != sum {
		t.Fatalf("%q, %08x, %v", got, gotSum, err)
	}
	for _, damaged := range [][]byte{value, key} {
		for bit := range len(damaged) * 8 {
			damaged[bit/8] ^= 1 << (bit % 8)
			if _, _, err := unseal(key, value); !errors.Is(err, corrupt.Err) {
				t.Errorf("bit %d flipped: %v", bit, err)
			}
			damaged[bit/8] ^= 1 << (bit % 8)
		}
	}
}

func TestManifestRoundTrip(t *testing.T) {
	want := Manifest{
		Segments: []Segment{{Number: 300, Info: []byte("x")}, {Number: 2}},
		LogSeq:   1 << 40,
		Info:     []byte("caller's"),
		Next:     301,
		sums:     map[string]uint32{"D\x00": 1, "Mschema": 1<<32 - 1},
	}
	data := appendManifest(nil, &want)
	got, err := decodeManifest(data)
	if err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Fatalf("%+v, %v\nwant %+v", got, err, want)
	}
	for n := range data {
		if _, err := decodeManifest(data[:n]); !errors.Is(err, corrupt.Err) {
			t.Errorf("cut after %d bytes: %v", n, err)
		}
	}
}

// FuzzManifest starts after the checksum.
func FuzzManifest(f *testing.F) {
	f.Add(appendManifest(nil, &Manifest{Next: 1}))
	f.Add(appendManifest(nil, &Manifest{
		Segments: []Segment{{Number: 300, Info: []byte("x")}, {Number: 2}}, Next: 301,
		sums: map[string]uint32{"D\x00": 1, "Mschema": 2},
	}))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decodeManifest(data)
		if err != nil {
			if !errors.Is(err, corrupt.Err) {
				t.Fatalf("not reported as corruption: %v", err)
			}
			return
		}
		again, err := decodeManifest(appendManifest(nil, &m))
		if err != nil || fmt.Sprintf("%+v", again) != fmt.Sprintf("%+v", m) {
			t.Fatalf("round trip: %+v, %v, want %+v", again, err, m)
		}
	})
}

// TestVersions: this package writes the newest version that it reads, and a value with a later seal
// is not damage.
func TestVersions(t *testing.T) {
	if format.Store.Newest != FormatVersion || format.Sealed.Newest != sealVersion {
		t.Errorf("%+v and %+v, want %d and %d", format.Store, format.Sealed, FormatVersion, sealVersion)
	}
	key, value := metaKey("schema"), make([]byte, 4+sealBytes)
	sealInto(value, key, []byte("what"))
	value[0]++
	binary.LittleEndian.PutUint32(value[len(value)-4:], sealSum(key, value[:len(value)-4]))
	if _, _, err := unseal(key, value); !errors.Is(err, ErrFormat) || errors.Is(err, corrupt.Err) {
		t.Errorf("a later seal: %v, want ErrFormat", err)
	}
}
