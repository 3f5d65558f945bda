package riffle

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// TestCodecs writes one index with every codec: searches give the same answers, and sizes differ as
// expected.
func TestCodecs(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 92))
	var b Batch
	for i := range 3000 {
		text := strings.Repeat("all ", 1+rng.IntN(3))
		for n := range rng.IntN(20) {
			text += fmt.Sprintf("w%d ", rng.IntN(1+n*n))
		}
		b.Put(fmt.Sprint(i), map[string]any{"text": text})
	}
	bytes := map[Codec]uint64{}
	var want []Hit
	for c := range Codec(len(kinds)) {
		e, err := Open(t.TempDir(), &Options{Codec: c, Durability: SyncNone})
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%v: %v", c, err)
			}
		}
		must(err)
		must(e.Apply(t.Context(), &b))
		must(e.Compact(t.Context()))
		got, err := e.Search(t.Context(), Match{Field: "text", Text: "all w0 w7 w100"}, &SearchOptions{K: 100})
		must(err)
		if c == 0 {
			want = got.Hits
		}
		if len(want) < 100 || !reflect.DeepEqual(got.Hits, want) {
			t.Errorf("%v: %v, want %v", c, got.Hits, want)
		}
		sizes, err := e.Sizes(t.Context())
		must(err)
		bytes[c] = sizes.Docs + sizes.Freqs
		must(e.Check(t.Context(), func(err error) { t.Errorf("%v: %v", c, err) }))
		must(e.Close())
	}
	if bytes[CodecInterpolative] >= bytes[CodecRice] || bytes[CodecRice] >= bytes[CodecPacked] || bytes[CodecPFor] >= bytes[CodecPacked] {
		t.Errorf("bytes by codec: %v", bytes)
	}
}

func TestParseCodec(t *testing.T) {
	for c := range Codec(len(kinds)) {
		if got, err := ParseCodec(c.String()); err != nil || got != c {
			t.Errorf("ParseCodec(%q) = %v, %v", c, got, err)
		}
	}
	if _, err := ParseCodec("gzip"); err == nil || (Codec(9)).String() != "Codec(9)" {
		t.Errorf("%v, %v", err, Codec(9))
	}
}
