package bleve

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A value is one value of a field of a document, as the mapping has made it. An index stores it as a
// text that begins with what its analyzer and the answer to a request need to know:
//
//	kind and flags, the analyzer of a text or the layout of a date, places in lists, and the value
//
// each followed by a separator, but the last. The text "Go" of a list's second element is, with | for
// the separator, "tsiva|en|1|Go".
type value struct {
	field   string
	kind    byte
	stored  bool
	indexed bool
	vectors bool // include_term_vectors: words have places, so phrases and locations find them
	inAll   bool

	how    string   // analyzer of a text, or layout of a date
	places []uint64 // its number in the list that has it, and in lists around that

	text   string
	number float64
	nanos  int64 // of a date, since 1970
	truth  bool
	place  place
}

// Kinds of values.
const (
	textValue   = 't'
	numberValue = 'n'
	dateValue   = 'd'
	boolValue   = 'b'
	placeValue  = 'g'
)

// separator is a control character that names of analyzers and layouts of dates lack.
const separator = "\x1f"

// encode returns the text that an index stores.
func (v *value) encode() string {
	var b strings.Builder
	b.WriteByte(v.kind)
	for i, on := range [...]bool{v.stored, v.indexed, v.vectors, v.inAll} {
		if on {
			b.WriteByte("siva"[i])
		}
	}
	b.WriteString(separator + v.how + separator)
	for i, p := range v.places {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatUint(p, 10))
	}
	b.WriteString(separator)
	switch v.kind {
	case textValue:
		b.WriteString(v.text)
	case numberValue:
		b.WriteString(strconv.FormatFloat(v.number, 'g', -1, 64))
	case dateValue:
		b.WriteString(strconv.FormatInt(v.nanos, 10))
	case boolValue:
		b.WriteString(strconv.FormatBool(v.truth))
	case placeValue:
		b.WriteString(strconv.FormatInt(v.place.number(), 10))
	}
	return b.String()
}

var errEncoding = errors.New("bleve: a stored value is not one that this package has written")

// decode is the inverse of encode.
func decode(field, stored string) (v value, err error) {
	parts := strings.SplitN(stored, separator, 4)
	if len(parts) != 4 || parts[0] == "" {
		return v, errEncoding
	}
	v = value{field: field, kind: parts[0][0], how: parts[1]}
	for _, flag := range parts[0][1:] {
		switch flag {
		case 's':
			v.stored = true
		case 'i':
			v.indexed = true
		case 'v':
			v.vectors = true
		case 'a':
			v.inAll = true
		default:
			return v, errEncoding
		}
	}
	if parts[2] != "" {
		for p := range strings.SplitSeq(parts[2], ",") {
			n, err := strconv.ParseUint(p, 10, 64)
			if err != nil {
				return v, errEncoding
			}
			v.places = append(v.places, n)
		}
	}
	switch v.kind {
	case textValue:
		v.text = parts[3]
	case numberValue:
		v.number, err = strconv.ParseFloat(parts[3], 64)
	case dateValue:
		v.nanos, err = strconv.ParseInt(parts[3], 10, 64)
	case boolValue:
		v.truth, err = strconv.ParseBool(parts[3])
	case placeValue:
		var n int64
		n, err = strconv.ParseInt(parts[3], 10, 64)
		v.place = placeNumbered(n)
	default:
		err = errEncoding
	}
	if err != nil {
		return v, errEncoding
	}
	return v, nil
}

// answer returns the value as bleve has it in a result.
func (v *value) answer() any {
	switch v.kind {
	case numberValue:
		return v.number
	case dateValue:
		return formatDate(v.nanos, v.how)
	case boolValue:
		return v.truth
	case placeValue:
		lon, lat := v.place.degrees()
		return []float64{lon, lat}
	}
	return v.text
}

// sortable returns a number or a date as the integer by which bleve orders it.
func (v *value) sortable() (n int64, ok bool) {
	switch v.kind {
	case numberValue:
		return sortableFloat(v.number), true
	case dateValue:
		return v.nanos, true
	}
	return 0, false
}

// sortableFloat maps numbers to integers of the same order.
func sortableFloat(f float64) int64 {
	n := int64(math.Float64bits(f))
	if n < 0 {
		n ^= math.MaxInt64
	}
	return n
}

// floatOf is the inverse of sortableFloat.
func floatOf(n int64) float64 {
	if n < 0 {
		n ^= math.MaxInt64
	}
	return math.Float64frombits(uint64(n))
}

// exactTerms are the terms of a value that is not a text: of a number or a date, one for each four
// bits that are left out at its end, by which ranges take few terms; of a place, one for each nine; and
// T or F.
func (v *value) exactTerms() []string {
	switch v.kind {
	case placeValue:
		return prefixTerms(v.place.number(), placeStep)
	case boolValue:
		if v.truth {
			return []string{"T"}
		}
		return []string{"F"}
	}
	n, _ := v.sortable()
	return prefixTerms(n, precisionStep)
}

func prefixTerms(n int64, step uint) []string {
	terms := make([]string, 0, 64/precisionStep)
	for shift := uint(0); shift < 64; shift += step {
		terms = append(terms, prefixCoded(n, shift))
	}
	return terms
}

// How many bits of a number, or of a place, the next of its terms leaves out.
const (
	precisionStep = 4
	placeStep     = 9
)

// prefixCoded returns the term of a number without its last bits: a byte that says how many, then
// seven bits a byte, so that terms of one length have the order of the numbers.
func prefixCoded(n int64, shift uint) string {
	var buf [11]byte
	size := int((63-shift)/7) + 2
	buf[0] = ' ' + byte(shift)
	bits := (uint64(n) ^ 1<<63) >> shift
	for i := size - 1; i > 0; i-- {
		buf[i] = byte(bits & 0x7f)
		bits >>= 7
	}
	return string(buf[:size])
}

// prefixCoding returns how many bits a term of prefixCoded leaves out, if the term has the form of one.
func prefixCoding(term string) (shift int, ok bool) {
	if term == "" || term[0] < ' ' || term[0] > ' '+63 {
		return 0, false
	}
	shift = int(term[0] - ' ')
	return shift, len(term) == (63-shift)/7+2
}

// A termSpan is a range of terms, both ends of which belong to it.
type termSpan struct{ from, to string }

// numberSpans returns the ranges of terms that together stand for the numbers of a range: few, because
// all but the ends of the range are covered by terms of many numbers.
func numberSpans(from, to int64) (spans []termSpan) {
	if from > to {
		return nil
	}
	for shift := uint(0); ; shift += precisionStep {
		step := int64(1) << (shift + precisionStep)
		mask := (int64(1)<<precisionStep - 1) << shift
		low, high := from&mask != 0, to&mask != mask
		nextFrom, nextTo := from&^mask, to&^mask
		if low {
			nextFrom = (from + step) &^ mask
		}
		if high {
			nextTo = (to - step) &^ mask
		}
		add := func(from, to int64) {
			spans = append(spans, termSpan{prefixCoded(from, shift), prefixCoded(to|(int64(1)<<shift-1), shift)})
		}
		if shift+precisionStep >= 64 || nextFrom > nextTo || nextFrom < from || nextTo > to {
			add(from, to)
			return spans
		}
		if low {
			add(from, from|mask)
		}
		if high {
			add(to&^mask, to)
		}
		from, to = nextFrom, nextTo
	}
}

func (v *value) String() string { return fmt.Sprintf("%s=%v", v.field, v.answer()) }
