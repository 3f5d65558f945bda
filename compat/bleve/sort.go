package bleve

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A sortKey orders hits by their score, their id or the terms of a field.
type sortKey struct {
	id         bool
	field      string // unless it is empty
	descending bool

	// Of a field.
	kind  termKind
	max   bool // the greatest of several terms counts, else the least
	first bool // documents without a term come first, else last
}

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
		return key, errorf("places are not supported")
	case "field":
	default:
		return key, errorf(`by: "field", "id" or "score" is wanted, not %q`, object.By)
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
	if k.kind != stringTerms {
		var whole []string
		coded := true // all terms are of numbers and dates, as bleve tells by their form alone
		for _, term := range terms {
			shift, ok := prefixCoding(term)
			coded = coded && ok
			if ok && shift == 0 {
				whole = append(whole, term)
			}
		}
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

// decode returns what decoded_sort has for a term.
func (k *sortKey) decode(term string) string {
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
	switch k.kind {
	case numberTerms:
		f, err := strconv.ParseFloat(key, 64)
		if err != nil {
			return "", errorf("%q is no number", key)
		}
		return prefixCoded(sortableFloat(f), 0), nil
	case dateTerms:
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
