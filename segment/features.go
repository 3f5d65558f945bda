package segment

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/riffle-search/riffle/internal/format"
)

// A feature is something that a segment has beyond its version. It lets the format grow without
// a new version: a segment without the feature stays one that older builds read.
//
//	name   text  in words, since an error shows it to people whose build lacks it: "positions"
//	flags  byte  1: required
//	kinds  text  the kinds of keys that it brings, ascending
//	data   text  what it says of the segment; fields go by their numbers
//
// A required feature is one without which values would be misread or answers be wrong. A build that
// does not know it refuses the segment: ErrFormat, with the name and the writer. An optional one
// is passed over, with all keys of its kinds, and a merge by such a build leaves it out. So it
// has to be something that any segment may lack: what speeds a search up, or what can be made again.
type feature struct {
	name     string
	required bool
	kinds    []Kind
	data     []byte
}

const featureRequired = 1

// knownFeatures are those that this build reads. It has none yet: what there is came with
// versions. A feature's data goes into a field of meta of its own.
var knownFeatures = map[string]bool{}

// release is what a segment says of who wrote it. Tests that show bytes have their own.
var release = format.Release

// appendText appends bytes with their length before them.
func appendText[T string | []byte](dst []byte, text T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

func (d *decoder) text(what string) []byte {
	return d.bytes(what, int(d.uint("length of "+what, uint64(d.left()))))
}

func appendFeatures(dst []byte, features []feature) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(features)))
	for _, f := range features {
		dst = appendText(dst, f.name)
		dst = append(dst, bit(f.required, featureRequired))
		dst = binary.AppendUvarint(dst, uint64(len(f.kinds)))
		for _, k := range f.kinds {
			dst = append(dst, byte(k))
		}
		dst = appendText(dst, f.data)
	}
	return dst
}

// features reads the features of a segment. One that is required and not known is an error.
func (d *decoder) features(m *meta) {
	for range d.uint("number of features", uint64(d.left())) {
		f := feature{name: string(d.text("name of a feature"))}
		flags := d.byte("flags of a feature")
		for i, k := range d.text("kinds of a feature") {
			if i > 0 && Kind(k) <= f.kinds[i-1] {
				d.fail("kind %#x of feature %q follows %#x", k, f.name, f.kinds[i-1])
			}
			f.kinds = append(f.kinds, Kind(k))
		}
		if data := d.text("data of a feature"); len(data) > 0 {
			f.data = data
		}
		if n := len(m.features); f.name == "" || n > 0 && f.name <= m.features[n-1].name {
			d.fail("feature %q is unnamed or out of order", f.name)
		}
		f.required = flags&featureRequired != 0
		if f.required && !knownFeatures[f.name] || flags&^featureRequired != 0 {
			d.lacks(m, f.name)
		}
		if d.err != nil {
			return
		}
		m.features = append(m.features, f)
	}
}

// lacks records that the segment has something that only later builds know.
func (d *decoder) lacks(m *meta, feature string) {
	if d.err == nil {
		d.err = &format.Error{Range: versions, Version: uint64(m.version), Feature: feature, Writer: m.writer}
	}
}

// flags reads a byte of flags. Since featureVersion those that are not known are a later build's.
func (d *decoder) flags(m *meta, what string, known byte) byte {
	flags := d.byte(what)
	switch strange := flags &^ known; {
	case strange == 0:
	case m.version < featureVersion:
		d.fail("%s %#x, want some of %#x", what, flags, known)
	default:
		d.lacks(m, fmt.Sprintf("%s %#x", what, strange))
	}
	return flags
}

// writerOf returns who wrote a segment of a later version, if that can be made out.
func writerOf(payload []byte) string {
	d := newDecoder(payload)
	name := d.text("writer")
	for _, c := range name {
		if c <= ' ' || c > '~' {
			return ""
		}
	}
	if len(name) > 64 {
		return ""
	}
	return string(name)
}

// brings says whether a feature of the segment brings keys of a kind.
func (m *meta) brings(kind Kind) bool {
	return slices.ContainsFunc(m.features, func(f feature) bool { return slices.Contains(f.kinds, kind) })
}

// A Format says in which form a segment is stored.
type Format struct {
	Version  int
	Writer   string   // the release of riffle that wrote it; empty before version 6
	Features []string // what it has beyond its version, by name; also what this build passes over
}

// Format returns the segment's.
func (d *Disk) Format() Format {
	f := Format{Version: int(d.meta.version), Writer: d.meta.writer}
	for _, has := range d.meta.features {
		f.Features = append(f.Features, has.name)
	}
	return f
}
