package remote

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/riffle-search/riffle"
)

// What searches send most has a binary form, because JSON took a third of their time: statistics, and the
// results of searches. It stands behind the JSON of a request or a reply, after a zero byte. The version
// of messages is that of these forms, too.
//
// A number is a varint, unsigned unless said otherwise. A float is its bits, little endian. A text is its
// length and its bytes. A list is the number of its elements, and these.
//
//	value       one of: 0 nil, 1 false, 2 true; 3 and an int64 as a signed varint; 4 and a uint64;
//	            5 and a float; 6 and a text; 7 and a time as a text (time.Time.AppendBinary);
//	            8 and latitude and longitude as floats; 9 and a list of values
//	fields      0 for nil, else the number of fields + 1, and for each its name and value
//	statistics  0 for no fields (nil), else their number + 1, and for each: name, documents, tokens,
//	            list of terms: text, documents
//	            list of functions: float
//	            traits as JSON, a text, empty for none
//	result      total, flags (1 exact, 2 incomplete), groups, fingerprint (8 bytes), numbers of the work (5),
//	            executor, duration in ns, list of groups: value, size, 1 if it comes before
//	            list of hits: id, score as a float, list of sort values, group, size of the group, version,
//	            text of the cursor, fields, fragments as JSON, a text, empty for none

const (
	tagNil = iota
	tagFalse
	tagTrue
	tagInt
	tagUint
	tagFloat
	tagText
	tagTime
	tagPlace
	tagList
)

const (
	flagExact = 1 << iota
	flagIncomplete
)

func appendText[T string | []byte](dst []byte, text T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

func appendFloatBits(dst []byte, x float64) []byte {
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
}

func appendBinary(dst []byte, v any) (_ []byte, err error) {
	switch v := v.(type) {
	case nil:
		return append(dst, tagNil), nil
	case bool:
		if v {
			return append(dst, tagTrue), nil
		}
		return append(dst, tagFalse), nil
	case int64:
		return binary.AppendVarint(append(dst, tagInt), v), nil
	case uint64:
		return binary.AppendUvarint(append(dst, tagUint), v), nil
	case float64:
		return appendFloatBits(append(dst, tagFloat), v), nil
	case string:
		return appendText(append(dst, tagText), v), nil
	case time.Time:
		b, err := v.AppendBinary(nil)
		return appendText(append(dst, tagTime), b), err
	case riffle.Point:
		return appendFloatBits(appendFloatBits(append(dst, tagPlace), v.Lat), v.Lon), nil
	case []any:
		dst = binary.AppendUvarint(append(dst, tagList), uint64(len(v)))
		for i := range v {
			if dst, err = appendBinary(dst, v[i]); err != nil {
				return dst, err
			}
		}
		return dst, nil
	}
	return dst, fmt.Errorf("remote: a value of type %T", v)
}

func appendStatistics(dst []byte, s *riffle.Statistics) ([]byte, error) {
	if s.Fields == nil {
		dst = binary.AppendUvarint(dst, 0)
	} else {
		dst = binary.AppendUvarint(dst, uint64(len(s.Fields))+1)
	}
	for name, f := range s.Fields {
		dst = appendText(dst, name)
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, f.Documents), f.Tokens)
		dst = binary.AppendUvarint(dst, uint64(len(f.Terms)))
		for term, n := range f.Terms {
			dst = binary.AppendUvarint(appendText(dst, term), n)
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(s.Functions)))
	for _, x := range s.Functions {
		dst = appendFloatBits(dst, x)
	}
	if s.Traits == nil {
		return appendText(dst, ""), nil
	}
	traits, err := json.Marshal(s.Traits)
	return appendText(dst, traits), err
}

func appendResult(dst []byte, r *riffle.Result) ([]byte, error) {
	dst = binary.AppendUvarint(dst, uint64(r.Total))
	var flags byte
	if r.TotalExact {
		flags |= flagExact
	}
	if r.Incomplete {
		flags |= flagIncomplete
	}
	dst = binary.AppendUvarint(append(dst, flags), uint64(r.Groups))
	dst = binary.LittleEndian.AppendUint64(dst, r.Fingerprint)
	for _, n := range workOf(&r.Work) {
		dst = binary.AppendUvarint(dst, uint64(*n))
	}
	dst = binary.AppendUvarint(appendText(dst, r.Executor), uint64(r.Duration))
	dst = binary.AppendUvarint(dst, uint64(len(r.GroupCounts)))
	var err error
	for _, g := range r.GroupCounts {
		if dst, err = appendBinary(dst, g.Group); err != nil {
			return dst, err
		}
		before := byte(0)
		if g.Before {
			before = 1
		}
		dst = append(binary.AppendUvarint(dst, uint64(g.Size)), before)
	}
	cursors, err := r.Cursors()
	if err != nil {
		return dst, err
	}
	dst = binary.AppendUvarint(dst, uint64(len(r.Hits)))
	for i := range r.Hits {
		if dst, err = appendHit(dst, &r.Hits[i], cursors[i]); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

func workOf(w *riffle.Work) [5]*int64 {
	return [5]*int64{&w.BlocksDecoded, &w.BlocksSkipped, &w.DocsScored, &w.BytesMoved, &w.Tasks}
}

func appendHit(dst []byte, h *riffle.Hit, cursor string) (_ []byte, err error) {
	dst = appendFloatBits(appendText(dst, h.ID), h.Score)
	dst = binary.AppendUvarint(dst, uint64(len(h.Sort)))
	for _, v := range h.Sort {
		if dst, err = appendBinary(dst, v); err != nil {
			return dst, err
		}
	}
	if dst, err = appendBinary(dst, h.Group); err != nil {
		return dst, err
	}
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(h.GroupSize)), h.Version)
	dst = appendText(dst, cursor)
	if h.Fields == nil {
		dst = binary.AppendUvarint(dst, 0)
	} else {
		dst = binary.AppendUvarint(dst, uint64(len(h.Fields))+1)
		for name, v := range h.Fields {
			if dst, err = appendBinary(appendText(dst, name), v); err != nil {
				return dst, err
			}
		}
	}
	if h.Fragments == nil {
		return appendText(dst, ""), nil
	}
	fragments, err := json.Marshal(h.Fragments)
	return appendText(dst, fragments), err
}

var errBinary = errors.New("remote: a message is damaged")

// A reader reads a binary form. After a fault it yields zeros, and err is set.
type reader struct {
	data []byte
	err  error
}

func (r *reader) fail() { r.data, r.err = nil, errBinary }

func (r *reader) uvarint() uint64 {
	n, size := binary.Uvarint(r.data)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.data = r.data[size:]
	return n
}

func (r *reader) int() int {
	n := r.uvarint()
	if n > math.MaxInt64 {
		r.fail()
		return 0
	}
	return int(n)
}

// count reads the number of elements of a list, each of at least one byte.
func (r *reader) count() int {
	n := r.uvarint()
	if n > uint64(len(r.data)) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *reader) bytes(n int) []byte {
	if n > len(r.data) {
		r.fail()
		return nil
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

func (r *reader) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) float() float64 { return math.Float64frombits(r.uint64()) }
func (r *reader) text() string   { return string(r.bytes(r.count())) }

// deepest bounds lists in lists.
const deepest = 100

func (r *reader) value(depth int) any {
	switch r.byte() {
	case tagNil:
		return nil
	case tagFalse:
		return false
	case tagTrue:
		return true
	case tagInt:
		n, size := binary.Varint(r.data)
		if size <= 0 {
			r.fail()
			return nil
		}
		r.data = r.data[size:]
		return n
	case tagUint:
		return r.uvarint()
	case tagFloat:
		return r.float()
	case tagText:
		return r.text()
	case tagTime:
		var t time.Time
		if err := t.UnmarshalBinary(r.bytes(r.count())); err != nil {
			r.fail()
		}
		return t
	case tagPlace:
		return riffle.Point{Lat: r.float(), Lon: r.float()}
	case tagList:
		n := r.count()
		list := make([]any, 0, n)
		for range n {
			if depth == deepest {
				r.fail()
			}
			if r.err != nil {
				return nil
			}
			list = append(list, r.value(depth+1))
		}
		return list
	}
	r.fail()
	return nil
}

func (r *reader) json(to any) (some bool) {
	b := r.bytes(r.count())
	if len(b) == 0 {
		return false
	}
	if err := json.Unmarshal(b, to); err != nil {
		r.fail()
	}
	return true
}

func parseStatistics(data []byte) (*riffle.Statistics, error) {
	r := &reader{data: data}
	s := &riffle.Statistics{}
	n := r.count()
	if n > 0 {
		s.Fields = make(map[string]riffle.FieldStatistics, n-1)
	}
	for range n - 1 {
		name := r.text()
		f := riffle.FieldStatistics{Documents: r.uvarint(), Tokens: r.uvarint()}
		terms := r.count()
		f.Terms = make(map[string]uint64, terms)
		for range terms {
			term := r.text()
			f.Terms[term] = r.uvarint()
		}
		s.Fields[name] = f
	}
	for range r.count() {
		s.Functions = append(s.Functions, r.float())
	}
	traits := &riffle.Traits{}
	if r.json(traits) {
		s.Traits = traits
	}
	return s, r.err
}

// parseResult returns a result, and the bytes behind it.
func parseResult(data []byte) (*riffle.Result, []byte, error) {
	r := &reader{data: data}
	to := &riffle.Result{Total: r.int()}
	flags := r.byte()
	to.TotalExact, to.Incomplete = flags&flagExact != 0, flags&flagIncomplete != 0
	to.Groups, to.Fingerprint = r.int(), r.uint64()
	for _, n := range workOf(&to.Work) {
		*n = int64(r.int())
	}
	to.Executor, to.Duration = r.text(), time.Duration(r.int())
	for range r.count() {
		to.GroupCounts = append(to.GroupCounts, riffle.GroupCount{Group: r.value(0), Size: r.int(), Before: r.byte() == 1})
	}
	n := r.count()
	to.Hits = make([]riffle.Hit, 0, min(n, riffle.MaxK))
	for range n {
		if r.err != nil {
			break
		}
		to.Hits = append(to.Hits, r.hit())
	}
	return to, r.data, r.err
}

func (r *reader) hit() (h riffle.Hit) {
	h.ID, h.Score = r.text(), r.float()
	for range r.count() {
		h.Sort = append(h.Sort, r.value(0))
	}
	h.Group, h.GroupSize, h.Version = r.value(0), r.int(), r.uvarint()
	if err := h.Cursor.UnmarshalText(r.bytes(r.count())); err != nil {
		r.fail()
	}
	if n := r.uvarint(); n > 0 {
		if n-1 > uint64(len(r.data)) {
			r.fail()
			return h
		}
		h.Fields = make(map[string]any, n-1)
		for range n - 1 {
			name := r.text()
			h.Fields[name] = r.value(0)
		}
	}
	var fragments map[string][]riffle.Fragment
	if r.json(&fragments) {
		h.Fragments = fragments
	}
	h.Sort = slices.Clip(h.Sort)
	return h
}
