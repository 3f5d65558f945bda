package riffle

import (
	"fmt"

	"github.com/riffle-search/riffle/postings"
)

// A Codec says how posting lists are stored. Searches give the same answers with any codec. A
// segment keeps its codec until it is merged, so one index may hold several.
// bench/results/2026-11-20-codecs.md has sizes and times.
type Codec uint8

const (
	// Interpolative is the smallest. What a search needs is unpacked when it is read
	// into the list cache, at about 7 ns a posting; from then on lists are Packed.
	Interpolative Codec = iota

	// Packed stores lists as they are searched. They take half as much again on disk and are
	// read at the speed of a copy: for an index that changes all the time, or is many times
	// larger than Options.CacheBytes.
	Packed

	// PFor and Rice store blocks with exceptions, or in unary parts, and leave them so in
	// memory: smaller than Packed there too, and slower to search.
	PFor
	Rice
)

// kinds are what package postings calls the codecs.
var kinds = [...]postings.Kind{Interpolative: postings.Interpolative, Packed: postings.Packed, PFor: postings.PFor, Rice: postings.Rice}

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
