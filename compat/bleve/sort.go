package bleve

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A sortKey orders hits by their score, their id, the terms of a field, or the distance of its places.
type sortKey struct {
	id         bool
	field      string // unless it is empty
	descending bool
	from       *origin // of distances

	// Of a field.
	kind  termKind
	max   bool // the greatest of several terms counts, else the least
	first bool // documents without a term come first, else last
}

// An origin is a point that distances are measured from, in a unit.
type origin struct{ lon, lat, unit float64 }

// distance returns the distance of a place, in metres.
func (o *origin) distance(p place) float64 {
	lon, lat := p.degrees()
	return haversine(o.lon, o.lat, lon, lat) * 1000
}

// term returns the term for the distance of a place.
func (o *origin) term(p place) string { return prefixCoded(sortableFloat(o.distance(p)/o.unit), 0) }

// noDistance is the term for documents without a place. It is that of no number.
var noDistance = prefixCoded(math.MaxInt64, 0)

// A termKind says which terms of a field count.
type termKind uint8

const (
	anyTerms    termKind = iota // whole numbers and dates if the document has no others, else all
	stringTerms                 // all, those of parts of numbers included
	numberTerms                 // whole numbers and dates
	dateTerms                   // as numberTerms; search_after and decoded_sort are dates
)

var termKinds = map[string]termKind{"auto": anyTerms, "string": stringTerms, "number": numberTerms, "date": dateTerms}

// Terms that stand for those of a document that has none.
const lowTerm = "\x00"

var highTerm = strings.Repeat(string(utf8.MaxRune), 3)

func parseSortKey(text json.RawMessage) (key sortKey, err error) {
	var by string
	if json.Unmarshal(text, &by) == nil {
		if by != "" && (by[0] == '-' || by[0] == '+') {
			key.descending, by = by[0] == '-', by[1:]
		}
		switch by {
		case "_id":
			key.id = true
		case "_score":
			return key, nil
		default:
			key.field = by
		}
		return key, key.check()
	}
	var object struct {
		By         string `json:"by"`
		Field      string `json:"field"`
		Descending any    `json:"desc"`
		Type       any    `json:"type"`
		Mode       any    `json:"mode"`
		Missing    any    `json:"missing"`
		Location   any    `json:"location"`
		Unit       any    `json:"unit"`
	}
	if err := json.Unmarshal(text, &object); err != nil {
		return key, errorf("a text or an object is wanted")
	}
	key.descending = object.Descending == true
	switch object.By {
	case "id":
		key.id = true
		return key, nil
	case "score":
		return key, nil
	case "geo_distance":
		lon, lat, ok := pointIn(object.Location)
		if !ok {
			return key, errorf(`location: it is no point: {"lon": 13.4, "lat": 52.5}, [13.4, 52.5], "52.5,13.4" or a geohash is wanted`)
		}
		key.field, key.from = object.Field, &origin{lon, lat, 1}
		if name, ok := object.Unit.(string); ok {
			if key.from.unit, err = parseDistanceUnit(name); err != nil {
				return key, placed("unit", err)
			}
		}
		return key, key.check()
	case "field":
	default:
		return key, errorf(`by: "field", "geo_distance", "id" or "score" is wanted, not %q`, object.By)
	}
	key.field = object.Field
	if name, ok := object.Type.(string); ok {
		if key.kind, ok = termKinds[name]; !ok {
			return key, errorf(`type: "auto", "string", "number" or "date" is wanted, not %q`, name)
		}
	}
	switch object.Mode {
	case "max":
		key.max = true
	case "min", "default":
	default:
		if name, ok := object.Mode.(string); ok {
			return key, errorf(`mode: "default", "min" or "max" is wanted, not %q`, name)
		}
	}
	switch object.Missing {
	case "first":
		key.first = true
	case "last":
	default:
		if name, ok := object.Missing.(string); ok {
			return key, errorf(`missing: "first" or "last" is wanted, not %q`, name)
		}
	}
	return key, key.check()
}

// check refuses what has no terms to sort by.
func (k *sortKey) check() error {
	if k.field == "" && !k.id {
		return errorf("it names no field")
	}
	return nil
}

// term returns the term by which a document is sorted, of those that it has, which ascend.
func (k *sortKey) term(terms []string) string {
	if k.from != nil {
		if whole, _ := wholeTerms(terms); len(whole) > 0 {
			return k.from.term(placeNumbered(prefixDecoded(whole[0])))
		}
		return noDistance
	}
	if k.kind != stringTerms {
		whole, coded := wholeTerms(terms)
		if k.kind != anyTerms || coded && len(whole) > 0 {
			terms = whole
		}
	}
	switch {
	case len(terms) == 0 && k.first == k.descending:
		return highTerm
	case len(terms) == 0:
		return lowTerm
	case k.max:
		return terms[len(terms)-1]
	}
	return terms[0]
}

// wholeTerms returns the terms of whole numbers and dates among others, and whether all are terms of numbers:
// bleve tells by their form alone.
func wholeTerms(terms []string) (whole []string, coded bool) {
	coded = true
	for _, term := range terms {
		shift, ok := prefixCoding(term)
		coded = coded && ok
		if ok && shift == 0 {
			whole = append(whole, term)
		}
	}
	return whole, coded
}

// decode returns what decoded_sort has for a term.
func (k *sortKey) decode(term string) string {
	if k.from != nil {
		return strconv.FormatFloat(floatOf(prefixDecoded(term)), 'f', -1, 64)
	}
	if k.kind != numberTerms && k.kind != dateTerms || term == lowTerm || term == highTerm {
		return term
	}
	n := prefixDecoded(term)
	if k.kind == dateTerms {
		return time.Unix(0, n).UTC().Format(time.RFC3339Nano)
	}
	return strconv.FormatFloat(floatOf(n), 'f', -1, 64)
}

// encode returns the term for a key of search_after or search_before.
func (k *sortKey) encode(key string) (string, error) {
	switch {
	case k.from != nil || k.kind == numberTerms:
		f, err := strconv.ParseFloat(key, 64)
		if err != nil {
			return "", errorf("%q is no number", key)
		}
		return prefixCoded(sortableFloat(f), 0), nil
	case k.kind == dateTerms:
		t, err := time.Parse(time.RFC3339Nano, key)
		if err != nil {
			return "", errorf("%q is no date", key)
		}
		return prefixCoded(t.UnixNano(), 0), nil
	}
	return key, nil
}

// prefixDecoded returns the number of a term of prefixCoded with shift 0.
func prefixDecoded(term string) int64 {
	bits := uint64(0)
	for _, b := range []byte(term[1:]) {
		bits = bits<<7 | uint64(b)
	}
	return int64(bits ^ 1<<63)
}

// byField reports whether a key is a field.
func (r *request) byField() bool {
	return slices.ContainsFunc(r.sort, func(k sortKey) bool { return k.field != "" })
}
