package store

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// A Manifest says what the index consists of. It is replaced as a whole, in the
// same atomic write as everything else that a Commit changes.
type Manifest struct {
	// Segments are the live segments. Their order is the caller's and is kept.
	Segments []Segment

	// LogSeq is the last log record whose effects are in Segments and in their deletions. Later
	// records are to be replayed; this one and earlier ones are gone from the log. It never
	// decreases.
	LogSeq uint64

	// Info belongs to the caller.
	Info []byte

	// Next is the number that the next segment gets. Commit fills it in.
	Next uint64

	// sums has the checksum in the seal of every value of deletions, updates and meta, by key. So the manifest
	// vouches for them: if Pebble loses a table, it reveals what is missing or out of date.
	sums map[string]uint32
}

// A Segment is the manifest's entry of one live segment.
type Segment struct {
	Number uint64
	Info   []byte // belongs to the caller
}

// clone copies the manifest so that neither side sees the other's changes.
func (m *Manifest) clone() Manifest {
	c := *m
	c.Info = slices.Clone(m.Info)
	c.sums = maps.Clone(m.sums)
	c.Segments = slices.Clone(m.Segments)
	for i := range c.Segments {
		c.Segments[i].Info = slices.Clone(c.Segments[i].Info)
	}
	return c
}

// live returns the set of live segment numbers.
func (m *Manifest) live() map[uint64]bool {
	set := make(map[uint64]bool, len(m.Segments))
	for _, s := range m.Segments {
		set[s.Number] = true
	}
	return set
}

// updated returns the fields of a segment whose columns have updates.
func (m *Manifest) updated(segment uint64) (fields []string) {
	prefix := string(updatesKey(segment, ""))
	for key := range m.sums {
		if field, ok := strings.CutPrefix(key, prefix); ok {
			fields = append(fields, field)
		}
	}
	return fields
}

// appendManifest appends the payload, all numbers as varints:
//
//	next segment number, log sequence, length of info, info,
//	number of segments, then for each: number, length of info, info,
//	number of sums, then for each in key order: length of key, key, checksum
func appendManifest(dst []byte, m *Manifest) []byte {
	dst = binary.AppendUvarint(dst, m.Next)
	dst = binary.AppendUvarint(dst, m.LogSeq)
	dst = appendBytes(dst, m.Info)
	dst = binary.AppendUvarint(dst, uint64(len(m.Segments)))
	for _, s := range m.Segments {
		dst = binary.AppendUvarint(dst, s.Number)
		dst = appendBytes(dst, s.Info)
	}
	dst = binary.AppendUvarint(dst, uint64(len(m.sums)))
	for _, key := range slices.Sorted(maps.Keys(m.sums)) {
		dst = appendBytes(dst, []byte(key))
		dst = binary.AppendUvarint(dst, uint64(m.sums[key]))
	}
	return dst
}

func appendBytes(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// decodeManifest reads what appendManifest wrote. Offsets in its errors count
// from the start of the payload. Nothing in the result aliases data.
func decodeManifest(data []byte) (Manifest, error) {
	d := manifestDecoder{data: data}
	var m Manifest
	m.Next = d.uint("next segment number", math.MaxUint64)
	m.LogSeq = d.uint("log sequence", math.MaxUint64)
	m.Info = d.bytes("info")
	d.segments(&m)
	d.sums(&m)
	if d.err == nil && d.pos < len(data) {
		d.fail("%d bytes too many", len(data)-d.pos)
	}
	if d.err != nil {
		return Manifest{}, d.err
	}
	return m, nil
}

func (d *manifestDecoder) segments(m *Manifest) {
	seen := make(map[uint64]bool)
	for n := d.uint("number of segments", math.MaxUint64); n > 0 && d.err == nil; n-- {
		s := Segment{Number: d.uint("segment number", math.MaxUint64)}
		s.Info = d.bytes("segment info")
		if seen[s.Number] {
			d.fail("segment %d is listed twice", s.Number)
		}
		if s.Number >= m.Next {
			d.fail("segment %d is listed, but the next number is %d", s.Number, m.Next)
		}
		seen[s.Number] = true
		m.Segments = append(m.Segments, s)
	}
}

func (d *manifestDecoder) sums(m *Manifest) {
	m.sums = make(map[string]uint32)
	last := ""
	for n := d.uint("number of sums", math.MaxUint64); n > 0 && d.err == nil; n-- {
		key := string(d.bytes("key"))
		if key <= last {
			d.fail("key %q follows %q", key, last)
		}
		m.sums[key] = uint32(d.uint("checksum", math.MaxUint32))
		last = key
	}
}

// A manifestDecoder reads from front to back and remembers the first fault;
// after one, everything reads as zero.
type manifestDecoder struct {
	data []byte
	pos  int
	err  error
}

func (d *manifestDecoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = corrupt.New(d.pos, format, args...)
	}
}

// uint reads a varint that may not exceed limit.
func (d *manifestDecoder) uint(what string, limit uint64) uint64 {
	if d.err != nil {
		return 0
	}
	v, n := binary.Uvarint(d.data[d.pos:])
	if n <= 0 {
		d.fail("%s: no varint in the last %d bytes", what, len(d.data)-d.pos)
		return 0
	}
	if v > limit {
		d.fail("%s is %d, want at most %d", what, v, limit)
		return 0
	}
	d.pos += n
	return v
}

// bytes reads a length and a copy of as many bytes.
func (d *manifestDecoder) bytes(what string) []byte {
	n := d.uint("length of "+what, math.MaxUint64)
	if d.err != nil {
		return nil
	}
	if left := len(d.data) - d.pos; n > uint64(left) {
		d.fail("%s: %d bytes, but %d are left", what, n, left)
		return nil
	}
	d.pos += int(n)
	return append([]byte(nil), d.data[d.pos-int(n):d.pos]...)
}
