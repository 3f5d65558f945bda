package segment

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/riffle-search/riffle/internal/format"
)

// A feature is an extension of a segment beyond its version. It lets the format grow without a new
// version: older builds still read segments without the feature.
//
//	name   text  in words, because the error of a build that lacks it shows it: "positions"
//	flags  byte  1: required
//	kinds  text  the kinds of its keys, ascending
//	data   text  the feature's own data; fields are given by number
//
// A build that ignored a required feature would misread values or give wrong answers. So a build
// that does not know it refuses the segment with ErrFormat, which names the feature and the writer.
// A build that does not know an optional feature ignores it, with all keys of its kinds, and drops
// it in merges. So an optional feature must be one that any segment may lack: it speeds up
// searches, or can be made again.
type feature struct {
	name     string
	required bool
	kinds    []Kind
	data     []byte
}

const featureRequired = 1

// knownFeatures are those that this build reads. The data of a feature goes into its own field of
// meta.
var knownFeatures = map[string]bool{
	wholeNorms: true, smallPlaces: true, normSums: true, pairsApart: true, plainPlaces: true, codedDocs: true, positionsFeature: true,
	pairsFeature: true, columnsFeature: true, versionsFeature: true, geoFeature: true,
}

// release is what a segment records as its writer. Tests that compare bytes replace it.
var release = format.Release

// appendText appends text, preceded by its length.
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

// features reads the features of a segment. A required one that is unknown is an error.
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

// lacks records that the segment has a feature that only later builds know.
func (d *decoder) lacks(m *meta, feature string) {
	if d.err == nil {
		d.err = &format.Error{Range: versions, Version: uint64(m.version), Feature: feature, Writer: m.writer}
	}
}

// flags reads a byte of flags. Since featureVersion, unknown flags belong to a later build.
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

// writerOf returns the writer of a segment of a later version, if it can be read.
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

// brings reports whether a feature of the segment has keys of a kind.
func (m *meta) brings(kind Kind) bool {
	return slices.ContainsFunc(m.features, func(f feature) bool { return slices.Contains(f.kinds, kind) })
}

// A Format describes the form in which a segment is stored.
type Format struct {
	Version  int
	Writer   string   // the release of riffle that wrote it; empty before version 6
	Features []string // names of the features beyond its version, including those that this build ignores
}

// Format returns the format of the segment.
func (d *Disk) Format() Format {
	f := Format{Version: int(d.meta.version), Writer: d.meta.writer}
	for _, has := range d.meta.features {
		f.Features = append(f.Features, has.name)
	}
	return f
}
