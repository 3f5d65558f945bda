package document

import (
	"fmt"
	"slices"
	"strings"
)

// Positions says whether the words of text have positions in the index, which phrases need.
type Positions uint8

const (
	PositionsDefault Positions = iota // of a field: as Schema.Positions says; of a schema: see there
	PositionsNone                     // no positions: a smaller index, without phrases
	PositionsStored                   // words have positions
)

var positionsNames = [...]string{"", "none", "positions"}

func (p Positions) String() string {
	if int(p) < len(positionsNames) {
		return positionsNames[p]
	}
	return fmt.Sprintf("Positions(%d)", uint8(p))
}

// MarshalText writes the name.
func (p Positions) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a name.
func (p *Positions) UnmarshalText(b []byte) error {
	i := slices.Index(positionsNames[:], string(b))
	if i < 0 {
		return fmt.Errorf("unknown positions %q (want one of %s)", b, strings.Join(positionsNames[1:], ", "))
	}
	*p = Positions(i)
	return nil
}

// HasPositions reports whether the words of a field have positions. Only text has words.
func (s *Schema) HasPositions(field string) bool {
	f, known := s.Fields[field]
	return s.keepsPositions(f, known)
}

// keepsPositions is HasPositions for a field, which is perhaps not declared. Terms of a field that is
// not may be exact ones: these are at position 0.
func (s *Schema) keepsPositions(f Field, known bool) bool {
	switch {
	case known && f.Type != TextField:
		return false
	case known && f.Positions != PositionsDefault:
		return f.Positions == PositionsStored
	}
	return s.Positions == PositionsStored
}

// mentionsPositions reports whether the schema, or a field of it, says anything about positions.
func (s *Schema) mentionsPositions() bool {
	if s.Positions != PositionsDefault {
		return true
	}
	for _, f := range s.Fields {
		if f.Positions != PositionsDefault {
			return true
		}
	}
	return false
}
