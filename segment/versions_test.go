package segment

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
)

var writeVersion = flag.Bool("write-version", false, "write testdata/v<Version>; for a new version only")

// versionModel is the content of the segment of a version in testdata: every kind of value, and one
// list of each shape. It must never change.
func versionModel(version int) model {
	rng := rand.New(rand.NewPCG(2009, 2017))
	m := make(model, 300)
	for i := range m {
		d := modelDoc{id: fmt.Sprintf("doc-%03d", 7*i%300), rank: uint16(100 * (i % 600)), fields: make(map[string]modelField)}
		if i%5 == 0 {
			d.stored = fmt.Sprintf("{\"n\": %d}", i)
		}
		body := map[string]uint32{"all": 1, fmt.Sprintf("one%d", i): 2}
		if i%3 > 0 {
			body["most"] = 1 + rng.Uint32N(5)
		}
		d.fields["body"] = modelField{norms: true, length: uint32(3 + i%60), terms: body}
		if i%2 == 0 {
			d.fields["tag"] = modelField{terms: map[string]uint32{"even": 1}}
		}
		if version >= 5 && i%37 == 1 {
			d.fields["seldom"] = modelField{norms: true, length: uint32(i), terms: map[string]uint32{"s": uint32(i)}}
		}
		if version >= 5 && i == 77 {
			d.fields["once"] = modelField{norms: true, length: 1, terms: map[string]uint32{"o": 1}}
		}
		m[i] = d
	}
	return m
}

// TestVersions opens the segment of each format version in testdata. It also fails when a version
// has none there.
func TestVersions(t *testing.T) {
	if versions.Newest != Version {
		t.Fatalf("format.Segment says %d, and Version is %d", versions.Newest, Version)
	}
	if *writeVersion {
		want := versionModel(Version)
		order := Order{Kind: ByGlobalScore, Alpha: 1, BM25: blockmax.DefaultBM25}
		_, _, s := merge(t, []Input{{Reader: want.memory().View()}}, MergeOptions{Order: order})
		writeSegment(t, s)
	}
	for v := int(versions.Oldest); v <= Version; v++ {
		want := versionModel(v)
		s := readSegment(t, fmt.Sprintf("testdata/v%d/segment", v))
		Check(t.Context(), s, func(err error) { t.Errorf("version %d: %v", v, err) })
		d, err := Open(s)
		if err != nil {
			t.Fatalf("version %d: %v", v, err)
		}
		sorted := make(model, len(want))
		for _, doc := range want {
			n, ok, err := d.Lookup(doc.id)
			if !ok || err != nil {
				t.Fatalf("version %d: id %q: %v, %v", v, doc.id, ok, err)
			}
			sorted[n] = doc
		}
		requireEqual(t, sorted, d)
	}
}

// writeSegment writes a line for each key: key and value in hexadecimal.
func writeSegment(t *testing.T, s *mapStore) {
	path := fmt.Sprintf("testdata/v%d/segment", Version)
	var out bytes.Buffer
	s.sort()
	for _, key := range s.keys {
		fmt.Fprintf(&out, "%x %x\n", key, s.values[key])
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

func readSegment(t testing.TB, path string) *mapStore {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := newMapStore(t)
	for line := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		k, err := hex.DecodeString(key)
		if err != nil {
			t.Fatal(err)
		}
		v, err := hex.DecodeString(value)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Set(k, v); err != nil {
			t.Fatal(err)
		}
	}
	return s
}
