package segment

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/format"
)

func init() { release = "0.1" } // goldens must not change with every release

// withFeatures is a segment of some documents whose meta value has the features and names another
// release as the writer.
func withFeatures(t *testing.T, features ...feature) (*mapStore, model) {
	t.Helper()
	m := randomModel(rand.New(rand.NewPCG(6, 6)), 300, "d")
	_, _, s := merge(t, []Input{{Reader: m.memory().View()}}, MergeOptions{})
	changeMeta(t, s, func(v *meta) { v.writer, v.features = "7.1", features })
	return s, m
}

func changeMeta(t *testing.T, s *mapStore, change func(*meta)) {
	t.Helper()
	key := string([]byte{byte(kindMeta)})
	v, err := openMeta(s.values[key])
	if err != nil {
		t.Fatal(err)
	}
	change(v)
	s.values[key] = endSealed(v.appendTo(startSealed(nil)))
}

// TestUnknownFeatures checks that a segment with an unknown optional feature, which has keys of its
// own kind, is read, checked and merged, and that the merge drops both. With an unknown required
// feature it is ErrFormat, which names the feature and the writer, and not corruption.
func TestUnknownFeatures(t *testing.T) {
	hint := feature{name: "hints", kinds: []Kind{0x06, 0xfe}, data: []byte("of body, mostly")}
	s, m := withFeatures(t, hint)
	add := func(key string) {
		s.keys, s.sorted = append(s.keys, key), false
		s.values[key] = []byte("no version, no checksum: nobody here knows")
	}
	for _, key := range []string{"\x06", "\x06\x00\x01why", "\xfe\x00\x00\x00\x00"} {
		add(key)
	}
	Check(t.Context(), s, func(err error) { t.Errorf("with an optional feature: %v", err) })
	d, err := Open(s)
	if err != nil {
		t.Fatal(err)
	}
	requireEqual(t, m, d)
	if f := d.Format(); f.Version != Version || f.Writer != "7.1" || !slices.Equal(f.Features, []string{"hints"}) {
		t.Errorf("the format is %+v", f)
	}
	into, _, merged := merge(t, []Input{{Reader: d}}, MergeOptions{})
	if f := into.Format(); f.Version != Version || f.Writer != "0.1" || !slices.Equal(f.Features, []string{pairsApart}) {
		t.Errorf("after a merge the format is %+v", f)
	}
	if merged.values["\x06"] != nil || merged.values["\xfe\x00\x00\x00\x00"] != nil {
		t.Error("the merge has keys of a feature that nobody knows")
	}
	add("\xfd")
	requireFault(t, s, "\xfd") // no feature has keys of that kind

	s, _ = withFeatures(t, hint, feature{name: "positions", required: true, kinds: []Kind{kindPosition}})
	_, err = Open(s)
	requireLacks(t, err, "positions", "7.1")
	Check(t.Context(), s, func(err error) { requireLacks(t, err, "positions", "7.1") })
}

// requireLacks fails the test unless err names what a segment needs and who wrote it.
func requireLacks(t *testing.T, err error, lacks, writer string) {
	t.Helper()
	var f *format.Error
	if !errors.As(err, &f) || !errors.Is(err, ErrFormat) || errors.Is(err, corrupt.Err) {
		t.Fatalf("%v, want ErrFormat for %q", err, lacks)
	}
	if f.Feature != lacks || f.Writer != writer || !strings.Contains(err.Error(), "riffle "+writer) {
		t.Errorf("%v: feature %q of %q, want %q of %q", err, f.Feature, f.Writer, lacks, writer)
	}
}

// TestKnownFeature checks that a known required feature is accepted.
func TestKnownFeature(t *testing.T) {
	knownFeatures["vectors"] = true
	defer delete(knownFeatures, "vectors")
	s, m := withFeatures(t, feature{name: "vectors", required: true})
	d, err := Open(s)
	if err != nil {
		t.Fatal(err)
	}
	requireEqual(t, m, d)
}

// TestUnknownFlags checks that since version 6, flags and orders that this build does not know are
// features that it lacks. In older versions they are corruption.
func TestUnknownFlags(t *testing.T) {
	for _, c := range []struct {
		payload, lacks string
	}{
		{"\x037.1\x00" + "\x00\x04\x00\x00\x00", "flags 0x4"},
		{"\x037.1\x00" + "\x00\x00\x09\x00\x00", "order 9"},
		{"\x037.1\x00" + "\x01\x00\x00\x00\x01" + "\x01f\x81\x00\x00\x00\x00", "flags of a field 0x80"},
		{"\x037.1\x01" + "\x01a\x02\x00\x00", "a"},
	} {
		_, err := decodeMeta([]byte(c.payload), Version)
		requireLacks(t, err, c.lacks, "7.1")
		if before := c.payload[5:]; c.lacks != "a" {
			if _, err := decodeMeta([]byte(before), 5); !errors.Is(err, corrupt.Err) || errors.Is(err, ErrFormat) {
				t.Errorf("%s in version 5: %v, want corruption", c.lacks, err)
			}
		}
	}
}

// TestLaterVersion checks that the error of a later version names the writer.
func TestLaterVersion(t *testing.T) {
	for _, c := range []struct{ payload, writer string }{
		{"\x037.1 and what nobody knows", "7.1"},
		{"\x03\x00\x01\x02", ""},
		{"\x7f7.1", ""},
		{"", ""},
	} {
		_, err := openMeta(endSealed(append([]byte{Version + 1}, c.payload...)))
		var f *format.Error
		if !errors.As(err, &f) || f.Version != Version+1 || f.Writer != c.writer {
			t.Errorf("%q: %v, want ErrFormat with writer %q", c.payload, err, c.writer)
		}
	}
}

// TestDamagedFeatures checks that bytes that no build could have written are corruption.
func TestDamagedFeatures(t *testing.T) {
	for name, features := range map[string][]feature{
		"no name":       {{}},
		"one twice":     {{name: "a"}, {name: "a"}},
		"not ascending": {{name: "b"}, {name: "a"}},
		"kinds twice":   {{name: "a", kinds: []Kind{7, 7}}},
	} {
		v := meta{writer: "7.1", features: features}
		if _, err := decodeMeta(v.appendTo(nil), Version); !errors.Is(err, corrupt.Err) {
			t.Errorf("%s: %v, want corruption", name, err)
		}
	}
	v := meta{writer: "7.1", features: []feature{{name: "a", kinds: []Kind{6, 7}, data: []byte("data")}}}
	whole := v.appendTo(nil)
	for n := range whole {
		if _, err := decodeMeta(whole[:n], Version); !errors.Is(err, corrupt.Err) {
			t.Errorf("%d bytes of %d: %v, want corruption", n, len(whole), err)
		}
	}
}
