package riffle

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/plan"
	"github.com/riffle-search/riffle/internal/search"
)

// A SortKey is one key of SearchOptions.Sort. Exactly one of Field, Score and ID is set.
//
// Lower values come first, unless Desc is set. Booleans come before numbers, these before times, and
// these before strings, which are compared by their bytes. All numbers have one exact order, whatever
// their types.
type SortKey struct {
	// Field is a field with a column (Field.Column): a number, date, boolean, keyword or place. Places
	// without From are in the order of their geohashes.
	Field string `json:"field,omitempty"`

	// From sorts a field of places by their distances from a point, in metres: those of
	// WithinDistance. Hit.Sort has the distance.
	From *Point `json:"from,omitempty"`

	Score bool `json:"score,omitempty"` // with Desc, the best match comes first
	ID    bool `json:"id,omitempty"`    // in the order of bytes

	Desc bool `json:"desc,omitempty"` // descending: higher values come first

	// Missing says where documents without a value come, in both directions.
	Missing MissingOrder `json:"missing,omitzero"`

	// Mode chooses the value of a document that has several.
	Mode SortMode `json:"mode,omitzero"`
}

// A MissingOrder says where documents without a value come.
type MissingOrder uint8

const (
	MissingLast MissingOrder = iota
	MissingFirst
)

// A SortMode chooses among the values of a document.
type SortMode uint8

const (
	ModeDefault SortMode = iota // the least when ascending, the greatest when descending
	ModeMin
	ModeMax
	ModeMedian // the lower one of an even number of values
)

var (
	missingNames  = [...]string{MissingLast: "last", MissingFirst: "first"}
	sortModeNames = [...]string{ModeDefault: "default", ModeMin: "min", ModeMax: "max", ModeMedian: "median"}
)

func (m MissingOrder) String() string {
	if int(m) < len(missingNames) {
		return missingNames[m]
	}
	return fmt.Sprintf("MissingOrder(%d)", uint8(m))
}

// MarshalText implements encoding.TextMarshaler: "last" or "first".
func (m MissingOrder) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (m *MissingOrder) UnmarshalText(b []byte) error {
	for i, name := range missingNames {
		if name == string(b) {
			*m = MissingOrder(i)
			return nil
		}
	}
	return fmt.Errorf(`unknown order of missing values %q (want "last" or "first")`, b)
}

func (m SortMode) String() string {
	if int(m) < len(sortModeNames) {
		return sortModeNames[m]
	}
	return fmt.Sprintf("SortMode(%d)", uint8(m))
}

// MarshalText implements encoding.TextMarshaler: "default", "min", "max" or "median".
func (m SortMode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (m *SortMode) UnmarshalText(b []byte) error {
	for i, name := range sortModeNames {
		if name == string(b) {
			*m = SortMode(i)
			return nil
		}
	}
	return fmt.Errorf(`unknown sort mode %q (want "default", "min", "max" or "median")`, b)
}

// The names that ParseSort has for what is not a field.
const (
	sortByScore = "_score"
	sortByID    = "_id"
)

// ParseSort reads sort keys from a text such as "-price,name": names of fields, separated by commas. A
// name that - precedes is descending. "_score" is the score, so that "-_score" puts the best match first,
// and "_id" is the id. The name may be followed by :first or :last, where documents without a value
// come, and by :min, :max or :median, which value counts of several: "-price:first:max".
// "place:from=52.52/13.405" sorts places by their distance from a point, by latitude and longitude or by
// its geohash.
//
// The text cannot express names of fields with a comma or a colon, or that begin with a sign.
func ParseSort(text string) ([]SortKey, error) {
	if text == "" {
		return nil, nil
	}
	var keys []SortKey
	for i, part := range strings.Split(text, ",") {
		k, err := parseSortKey(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("sort key %d, %q: %w", i+1, part, err)
		}
		keys = append(keys, k)
	}
	return keys, nil
}

func parseSortKey(text string) (k SortKey, err error) {
	name, rest, more := strings.Cut(text, ":")
	if after, ok := strings.CutPrefix(name, "-"); ok {
		name, k.Desc = after, true
	} else {
		name = strings.TrimPrefix(name, "+")
	}
	switch name {
	case "":
		return k, fmt.Errorf("it names no field")
	case sortByScore:
		k.Score = true
	case sortByID:
		k.ID = true
	default:
		k.Field = name
	}
	for more {
		var option string
		option, rest, more = strings.Cut(rest, ":")
		if from, ok := strings.CutPrefix(option, "from="); ok {
			p, err := ParsePoint(strings.ReplaceAll(from, "/", ","))
			if err != nil {
				return k, err
			}
			k.From = &p
			continue
		}
		if k.Missing.UnmarshalText([]byte(option)) != nil && k.Mode.UnmarshalText([]byte(option)) != nil {
			return k, fmt.Errorf("unknown option %q (want first, last, min, max, median or from=POINT)", option)
		}
	}
	return k, nil
}

// String returns the key as ParseSort reads it.
func (k SortKey) String() string {
	text := k.Field
	switch {
	case k.Score:
		text = sortByScore
	case k.ID:
		text = sortByID
	}
	if k.Desc {
		text = "-" + text
	}
	if k.From != nil {
		text += ":from=" + strings.ReplaceAll(k.From.String(), ",", "/")
	}
	if k.Missing != MissingLast {
		text += ":" + k.Missing.String()
	}
	if k.Mode != ModeDefault {
		text += ":" + k.Mode.String()
	}
	return text
}

// UnmarshalJSON reads a key from an object of its fields, or from a string as ParseSort does.
func (k *SortKey) UnmarshalJSON(b []byte) (err error) {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*k, err = parseSortKey(text)
		return err
	}
	type object SortKey
	return json.Unmarshal(b, (*object)(k))
}

// sortKeys validates sort keys, which are elements of part.
func sortKeys(part string, keys []SortKey) (all []search.SortKey, err error) {
	for i, k := range keys {
		part := fmt.Sprintf("%s[%d]", part, i)
		s := search.SortKey{Desc: k.Desc, MissingFirst: k.Missing == MissingFirst, Field: k.Field}
		kinds := 0
		for by, is := range [...]bool{cpuexec.ByColumn: k.Field != "", cpuexec.ByScore: k.Score, cpuexec.ByID: k.ID} {
			if is {
				s.By = cpuexec.By(by)
				kinds++
			}
		}
		switch {
		case kinds != 1:
			return nil, plan.Errorf(part, "must have exactly one of Field, Score and ID")
		case k.From != nil && k.Field == "":
			return nil, plan.Errorf(part+".From", "goes with a Field")
		case k.Missing > MissingFirst:
			return nil, plan.Errorf(part+".Missing", "must be MissingLast or MissingFirst, not %d", k.Missing)
		case k.Mode > ModeMedian:
			return nil, plan.Errorf(part+".Mode", "must be ModeDefault, ModeMin, ModeMax or ModeMedian, not %d", k.Mode)
		}
		if k.From != nil {
			if err := k.From.Check(); err != nil {
				return nil, plan.Errorf(part+".From", "%w", err)
			}
			from := *k.From
			s.From = &from
		}
		switch {
		case k.Mode == ModeMedian:
			s.Mode = cpuexec.MedianValue
		case k.Mode == ModeMax, k.Mode == ModeDefault && k.Desc:
			s.Mode = cpuexec.GreatestValue
		}
		all = append(all, s)
	}
	return all, nil
}

// byScoreAlone reports whether keys ask for the order that searches have without any.
func byScoreAlone(keys []SortKey) bool { return len(keys) == 1 && keys[0].Score && keys[0].Desc }

// bestFirst is the order of scores as keys.
var bestFirst = []SortKey{{Score: true, Desc: true}}

// A Collapse says how documents are grouped, of which SearchOptions.Collapse returns one each. Other
// engines call that a search for distinct results. The number of distinct values is Result.Groups, less
// the group without a value, or a CardinalityAggregation for more than one field. The values themselves
// are a TermsAggregation, with a TopHitsAggregation for several hits of each.
//
// A search with it visits every match, and has all groups in memory: see Options.CollapseBytes.
type Collapse struct {
	// Field is a field with a column, as that of a SortKey. Of several values of a document the least
	// counts. Documents without a value are a group, too.
	Field string `json:"field"`

	// Count asks for Result.GroupCounts: the sizes of all groups, for an answer that is put together from
	// those of several indexes.
	Count bool `json:"count,omitempty"`
}

// A GroupCount is a group of a search with SearchOptions.Collapse.
type GroupCount struct {
	Group  any  // as Hit.Group
	Size   int  // as Hit.GroupSize
	Before bool // its hit is not after SearchOptions.After
}

// groupCounts returns all groups of a run.
func groupCounts(x *search.Run) []GroupCount {
	counts := make([]GroupCount, 0, x.Groups())
	x.EachGroup(func(value any, size int, before bool) {
		counts = append(counts, GroupCount{value, size, before})
	})
	return counts
}
