package document

import (
	"fmt"
	"strings"
)

// rules are the struct tag's rules for a field's values. They apply whether or not a schema
// declares the field; for a declared field the schema decides about keywords.
type rules uint8

const (
	ruleNoIndex  rules = 1 << iota // not searchable
	ruleNoStore                    // not stored for retrieval
	ruleKeyword                    // a text is one term
	ruleAnalyzer                   // a text has an analyzer, which only a schema can name
	rulePlace                      // a place in other forms than geo.Point, which only a schema can say

	keptRules = ruleNoIndex | ruleNoStore | ruleKeyword // those that a log record keeps

	// hasRules is the bit of a kind that announces rules.
	hasRules = 0x80
)

// parseTag reads the items of a tag after the name.
func parseTag(items []string) (r rules, analyzer string, err error) {
	for _, item := range items {
		switch name, ok := strings.CutPrefix(item, "analyzer="); {
		case ok:
			r |= ruleAnalyzer
			analyzer = name
		case item == "place":
			r |= rulePlace
		case item == "keyword":
			r |= ruleKeyword
		case item == "noindex":
			r |= ruleNoIndex
		case item == "nostore":
			r |= ruleNoStore
		default:
			return 0, "", fmt.Errorf("tag item %q is not understood", item)
		}
	}
	return r, analyzer, nil
}

// beyond returns the rules that a stored value keeps: those that its field does not have by the
// schema.
func (r rules) beyond(f Field, known bool) rules {
	r &= ruleNoIndex | ruleKeyword
	if known {
		r &^= ruleKeyword
	}
	if known && f.NoIndex {
		r = 0
	}
	return r
}
