package riffle

import (
	"bytes"
	"encoding/json"

	"github.com/riffle-search/riffle/internal/plan"
)

// Percent returns a MinShould of a Bool or a Match that is a share of the queries or words, rounded
// towards zero as in Lucene: of five, Percent(75) requires three. With a negative share, -100 to -1,
// so many may be missing: with Percent(-25) one of five, so that four are required.
func Percent(percent int) int { return plan.Percent(percent) }

// A leastJSON is a MinShould: a number, or a text such as "75%".
type leastJSON int

// MarshalJSON implements json.Marshaler.
func (n leastJSON) MarshalJSON() ([]byte, error) {
	text := plan.FormatLeast(int(n))
	if text[len(text)-1] == '%' {
		return json.Marshal(text)
	}
	return []byte(text), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *leastJSON) UnmarshalJSON(data []byte) error {
	text := string(data)
	if text == "null" { // as for any other number
		return nil
	}
	if bytes.HasPrefix(data, []byte(`"`)) {
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
	}
	least, err := plan.ParseLeast(text)
	*n = leastJSON(least)
	return err
}
