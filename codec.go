package riffle

import (
	"fmt"

	"github.com/riffle-search/riffle/postings"
)

// A Codec says how posting lists are stored. Searches give the same answers with any codec. A
// segment keeps its codec until it is merged, so one index may hold several.
// bench/results/2026-11-20-codecs.md lists sizes and times.
type Codec uint8

const (
	// CodecInterpolative is the smallest. Postings that a search needs are unpacked when they are
	// read into the list cache, at about 7 ns a posting; in the cache lists are CodecPacked.
	CodecInterpolative Codec = iota

	// CodecPacked stores lists in the form in which they are searched. They take half as much again
	// on disk and are read at the speed of a copy. It suits an index that changes all the time, or
	// is many times larger than Options.CacheBytes.
	CodecPacked

	// CodecPFor and CodecRice store blocks with exceptions, or partly in unary, and keep that form
	// in memory: smaller than CodecPacked there too, and slower to search.
	CodecPFor
	CodecRice
)

// kinds maps the codecs to those of package postings.
var kinds = [...]postings.Kind{CodecInterpolative: postings.Interpolative, CodecPacked: postings.Packed, CodecPFor: postings.PFor, CodecRice: postings.Rice}

func (c Codec) String() string {
	if int(c) < len(kinds) {
		return kinds[c].String()
	}
	return fmt.Sprintf("Codec(%d)", uint8(c))
}

// ParseCodec reads "interpolative", "packed", "pfor" or "rice".
func ParseCodec(name string) (Codec, error) {
	for c := range Codec(len(kinds)) {
		if c.String() == name {
			return c, nil
		}
	}
	return 0, fmt.Errorf(`unknown codec %q (want "interpolative", "packed", "pfor" or "rice")`, name)
}
