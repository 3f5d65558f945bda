package store

import (
	"encoding/binary"
	"fmt"
)

// Key spaces: the first byte of every key in Pebble. Numbers of retired spaces must not be reused. That of
// segments is the last, because a table of Pebble's own that spans it would draw segments into compactions.
const (
	spaceUpdates   byte = 'C' // segment number, field -> sealed updates of a column
	spaceDeletions byte = 'D' // segment number -> sealed deletions bitmap
	spaceManifest  byte = 'F' // -> sealed manifest; one key
	spaceLog       byte = 'L' // sequence number -> sealed log record
	spaceMeta      byte = 'M' // name -> sealed text
	spaceSegment   byte = 'S' // segment number, segment key -> the segment's own value
)

// firstPlainKind is the lowest first byte of the segment keys in the table without compression.
const firstPlainKind = 0x80

// firstLateKind is the lowest first byte of those in a further plain table, whose values few searches
// need.
const firstLateKind = 0xe0

// prefixLen is the length of the prefix of a segment's own key: the space and the segment number.
const prefixLen = 1 + 8

// formatName names the meta value that holds FormatVersion. Callers must not use the name.
const formatName = "format"

var manifestKey = []byte{spaceManifest}

func metaKey(name string) []byte { return append([]byte{spaceMeta}, name...) }

func logKey(seq uint64) []byte { return numbered(spaceLog, seq) }

func deletionsKey(segment uint64) []byte { return numbered(spaceDeletions, segment) }

func updatesKey(segment uint64, field string) []byte {
	return append(numbered(spaceUpdates, segment), field...)
}

// segmentPrefix begins every key of a segment.
func segmentPrefix(segment uint64) []byte { return numbered(spaceSegment, segment) }

// segmentEnd is the first key after those of a segment.
func segmentEnd(segment uint64) []byte {
	if segment+1 == 0 {
		return []byte{spaceSegment + 1}
	}
	return segmentPrefix(segment + 1)
}

func numbered(space byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64(append(make([]byte, 0, prefixLen+24), space), n)
}

// keyNumber returns the number in a key of a numbered space.
func keyNumber(key []byte) (n uint64, ok bool) {
	if len(key) < prefixLen {
		return 0, false
	}
	return binary.BigEndian.Uint64(key[1:]), true
}

// isOurs reports whether a key belongs to one of riffle's spaces.
func isOurs(key []byte) bool {
	n := len(key)
	switch key[0] {
	case spaceManifest:
		return n == 1
	case spaceMeta:
		return true
	case spaceLog, spaceDeletions:
		return n == prefixLen
	case spaceSegment, spaceUpdates:
		return n >= prefixLen
	}
	return false
}

// KeyString describes a key in Pebble, for errors and for people who inspect an index. It accepts
// any bytes.
func KeyString(key []byte) string {
	if len(key) == 0 {
		return "empty key"
	}
	n, isNumbered := keyNumber(key)
	exact := isNumbered && len(key) == prefixLen
	switch space := key[0]; {
	case space == spaceManifest && len(key) == 1:
		return "manifest"
	case space == spaceMeta:
		return fmt.Sprintf("meta %q", key[1:])
	case space == spaceLog && exact:
		return fmt.Sprintf("log record %d", n)
	case space == spaceDeletions && exact:
		return fmt.Sprintf("deletions of segment %d", n)
	case space == spaceUpdates && isNumbered:
		return fmt.Sprintf("updates of segment %d, field %q", n, key[prefixLen:])
	case space == spaceSegment && exact:
		return fmt.Sprintf("segment %d", n)
	case space == spaceSegment && isNumbered:
		return fmt.Sprintf("segment %d, key %x", n, key[prefixLen:])
	}
	return fmt.Sprintf("unknown key %x", key)
}
