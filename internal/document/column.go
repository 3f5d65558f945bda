package document

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/riffle-search/riffle/columns"
)

// Column says whether the values of a field are kept by document, too, in a column: for ranges, sorting,
// facets and aggregations.
type Column uint8

const (
	ColumnDefault Column = iota // of a field: as Schema.Columns says; of a schema: see there
	ColumnNone                  // no column: a smaller index
	ColumnStored                // values have a column
)

var columnNames = [...]string{"", "none", "stored"}

func (c Column) String() string {
	if int(c) < len(columnNames) {
		return columnNames[c]
	}
	return fmt.Sprintf("Column(%d)", uint8(c))
}

// MarshalText writes the name.
func (c Column) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads a name.
func (c *Column) UnmarshalText(b []byte) error {
	i := slices.Index(columnNames[:], string(b))
	if i < 0 {
		return fmt.Errorf("unknown column %q (want one of %s)", b, strings.Join(columnNames[1:], ", "))
	}
	*c = Column(i)
	return nil
}

// HasColumn reports whether the values of a field have a column. Those of a field that is not declared
// have one if they are not text.
func (s *Schema) HasColumn(field string) bool {
	f, known := s.Fields[field]
	return s.keepsColumn(f, known)
}

// keepsColumn is HasColumn for a field, which is perhaps not declared. A field that cannot be searched
// has a column only if it says so itself.
func (s *Schema) keepsColumn(f Field, known bool) bool {
	switch {
	case known && f.Type == TextField:
		return false
	case known && f.Column != ColumnDefault:
		return f.Column == ColumnStored
	case known && f.NoIndex, !known && s.Dynamic != DynamicIndex:
		return false
	case known && f.Type == PlaceField: // which has nothing else
		return true
	}
	return s.Columns == ColumnStored
}

// mentionsColumns reports whether the schema, or a field of it, says anything about columns.
func (s *Schema) mentionsColumns() bool {
	if s.Columns != ColumnDefault {
		return true
	}
	for _, f := range s.Fields {
		if f.Column != ColumnDefault {
			return true
		}
	}
	return false
}

// columnsInForce is Columns of the schema of an index.
func (s *Schema) columnsInForce() Column {
	if s.Columns == ColumnStored {
		return ColumnStored
	}
	return ColumnNone
}

// keepsColumn reports whether a value has a place in the column of its field; known says whether the
// schema has the field.
func (iv *Inverter) keepsColumn(v *Value, f Field, known bool) bool {
	switch {
	case !iv.Schema.keepsColumn(f, known):
		return false
	case v.Kind == KindText && !isKeyword(v, f, known) && (!known || f.Type != DateField):
		return false
	}
	return v.rules&ruleNoIndex == 0 || known && f.Column == ColumnStored
}

// addToColumn adds a value to the column of its field.
func (iv *Inverter) addToColumn(v *Value, f Field, known bool) {
	if v.Kind == KindText && known && f.Type == DateField {
		t, err := ParseTime(v.Str)
		if err == nil { // else it is one of a replayed document: only stored
			iv.chunk.Value(v.Name, columns.OfTime(t))
		}
		return
	}
	iv.chunk.Value(v.Name, v.Column())
}

// Column returns the value as one of a column. A text is a keyword.
func (v *Value) Column() columns.Value {
	switch v.Kind {
	case KindInt:
		return columns.OfInt(int64(v.num))
	case kindUint:
		return columns.OfUint(v.num)
	case kindFloat:
		return columns.OfFloat(math.Float64frombits(v.num))
	case kindBool:
		return columns.OfBool(v.num != 0)
	case kindTime:
		return columns.OfTime(v.time())
	case KindPlace:
		return columns.OfPlace(v.Point())
	}
	return columns.OfString(v.Str)
}

// time returns the instant of a value of kindTime, in UTC.
func (v *Value) time() time.Time {
	var b [12]byte
	copy(b[:], v.Str)
	return time.Unix(int64(binary.BigEndian.Uint64(b[:8])^1<<63), int64(binary.BigEndian.Uint32(b[8:]))).UTC()
}
