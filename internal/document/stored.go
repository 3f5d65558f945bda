package document

import (
	"fmt"
	"strconv"
	"time"
)

// Stored are the values of a document that an index stores, with their rules. Flatten takes them
// unchanged.
type Stored []Value

// As returns the values with the types that a schema declares, if a value means the same in both: a
// number as its digits, a text as the number or boolean that it spells. Others stay, and the
// inverter refuses them.
func (vals Stored) As(s *Schema) Stored {
	for i := range vals {
		v := &vals[i]
		f, declared := s.Fields[v.Name]
		if !declared || f.Type == v.Type() {
			continue
		}
		r := v.rules
		switch {
		case (f.Type == TextField || f.Type == KeywordField) && v.Kind != KindText:
			*v = Text(v.Name, v.text())
		case f.Type == NumberField && v.Kind == KindText:
			if n, err := strconv.ParseInt(v.Str, 10, 64); err == nil {
				*v = Int(v.Name, n)
			} else if u, err := strconv.ParseUint(v.Str, 10, 64); err == nil {
				*v = Uint(v.Name, u)
			} else if x, err := strconv.ParseFloat(v.Str, 64); err == nil && x-x == 0 { // finite
				*v = Float(v.Name, x)
			}
		case f.Type == BoolField && v.Kind == KindText:
			if b, err := strconv.ParseBool(v.Str); err == nil {
				*v = Bool(v.Name, b)
			}
		}
		v.rules = r
	}
	return vals
}

// text returns a value as JSON spells it.
func (v Value) text() string {
	switch x := v.any().(type) {
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	case time.Time:
		return x.Format(time.RFC3339Nano)
	default:
		return fmt.Sprint(x)
	}
}
