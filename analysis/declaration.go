package analysis

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Declaration is an analyzer as data, so that a schema can hold it. The package comment has the
// format and the components.
type Declaration struct {
	CharFilters []Component `json:"char_filters,omitempty"`
	Tokenizer   Component   `json:"tokenizer,omitzero"` // by default words
	Filters     []Component `json:"filters,omitempty"`
}

// A Component names a char filter, a tokenizer or a filter, and gives its parameters. In JSON it is
// an object with the member "type" and a member for each parameter, or the type alone, a string, if
// there are none.
type Component struct {
	Type   string
	Params map[string]any // values as encoding/json writes and reads them
}

// Declarations are analyzers by name.
type Declarations map[string]Declaration

// Bounds of a declaration, which keep the time and the memory of an analyzer linear.
const (
	maxComponents = 32 // of a kind
	maxExpanders  = 2  // filters that make many tokens of one
	maxNesting    = 4  // tokenizers within tokenizers
)

// UnmarshalJSON reads declarations. An error names the analyzer and the place in it.
func (ds *Declarations) UnmarshalJSON(text []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return errors.New("analyzers: an object is wanted")
	}
	if raw == nil { // null
		*ds = nil
		return nil
	}
	*ds = Declarations{}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		var d Declaration
		if err := d.UnmarshalJSON(raw[name]); err != nil {
			return fmt.Errorf("analyzers[%q]: %w", name, err)
		}
		(*ds)[name] = d
	}
	return nil
}

// UnmarshalJSON reads a declaration. Unknown members are errors.
func (d *Declaration) UnmarshalJSON(text []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil || raw == nil {
		return errors.New(`an object is wanted, with "tokenizer" and "filters"`)
	}
	*d = Declaration{}
	for _, member := range slices.Sorted(maps.Keys(raw)) {
		var err error
		switch member {
		case "char_filters":
			d.CharFilters, err = readComponents(member, raw[member])
		case "tokenizer":
			if err = d.Tokenizer.UnmarshalJSON(raw[member]); err != nil {
				err = fmt.Errorf("tokenizer: %w", err)
			}
		case "filters":
			d.Filters, err = readComponents(member, raw[member])
		default:
			err = fmt.Errorf("unknown member %q (want char_filters, tokenizer or filters)", member)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func readComponents(member string, text []byte) ([]Component, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("%s: a list is wanted", member)
	}
	cs := make([]Component, len(raw))
	for i := range raw {
		if err := cs[i].UnmarshalJSON(raw[i]); err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", member, i, err)
		}
	}
	return cs, nil
}

// UnmarshalJSON reads a component.
func (c *Component) UnmarshalJSON(text []byte) error {
	*c = Component{}
	if text = bytes.TrimSpace(text); len(text) > 0 && text[0] == '"' {
		if err := json.Unmarshal(text, &c.Type); err != nil {
			return err
		}
	} else {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&c.Params); err != nil || c.Params == nil {
			return errors.New(`a name or an object with "type" is wanted`)
		}
		if _, err := d.Token(); err != io.EOF {
			return errors.New("more than one JSON value")
		}
		c.Type, _ = c.Params["type"].(string)
		if delete(c.Params, "type"); len(c.Params) == 0 {
			c.Params = nil
		}
	}
	if c.Type == "" {
		return errors.New(`it has no "type"`)
	}
	return nil
}

// MarshalJSON writes a component: always the same bytes for the same parameters.
func (c Component) MarshalJSON() ([]byte, error) {
	name, err := json.Marshal(c.Type)
	if err != nil || len(c.Params) == 0 {
		return name, err
	}
	params, err := json.Marshal(c.Params) // with sorted keys
	if err != nil {
		return nil, err
	}
	return append(append([]byte(`{"type":`), name...), append([]byte{','}, params[1:]...)...), nil
}

// IsZero reports whether a component is left out.
func (c Component) IsZero() bool { return c.Type == "" && len(c.Params) == 0 }

// String returns the declaration as JSON.
func (d Declaration) String() string {
	b, err := json.Marshal(d)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return string(b)
}

// Equal reports whether two declarations are the same JSON.
func (d Declaration) Equal(other Declaration) bool { return d.String() == other.String() }

// Analyzer makes the analyzer. An error names the component, such as filters[2], and what is wrong
// with it.
func (d Declaration) Analyzer(name string) (Analyzer, error) {
	a, err := d.assemble(name)
	if err != nil {
		return nil, fmt.Errorf("analysis: analyzer %q: %w", name, err)
	}
	return a, nil
}

func (d Declaration) assemble(name string) (Analyzer, error) {
	if n := max(len(d.CharFilters), len(d.Filters)); n > maxComponents {
		return nil, fmt.Errorf("%d components of a kind, at most %d are allowed", n, maxComponents)
	}
	as := &Assembly{name: name}
	var chars []CharFilter
	for i, c := range d.CharFilters {
		f, err := build(charFilters, "char filter", c, as)
		if err != nil {
			return nil, fmt.Errorf("char_filters[%d]%w", i, err)
		}
		chars = append(chars, f)
	}
	tokenizer, err := as.Tokenizer(d.Tokenizer)
	if err != nil {
		return nil, fmt.Errorf("tokenizer%w", err)
	}
	as.tokenizer = FilterText(tokenizer, chars...)
	expanders, synonyms := 0, 0
	for i, c := range d.Filters {
		f, err := build(tokenFilters, "filter", c, as)
		if err != nil {
			return nil, fmt.Errorf("filters[%d]%w", i, err)
		}
		if _, ok := f.(expander); ok {
			expanders++
		}
		if _, ok := f.(*Synonyms); ok {
			synonyms++
		}
		switch {
		case expanders > maxExpanders:
			return nil, fmt.Errorf("filters[%d] (%s): at most %d filters may make several tokens of one", i, c.Type, maxExpanders)
		case synonyms > 1:
			return nil, fmt.Errorf("filters[%d] (%s): an analyzer has at most one of this type", i, c.Type)
		}
		as.filters = append(as.filters, f)
	}
	return New(name, as.tokenizer, as.filters...), nil
}

// An Assembly is an analyzer that is being made of a declaration. Constructors of components get it.
type Assembly struct {
	name      string
	tokenizer Tokenizer
	filters   []Filter
	depth     int
}

// Before returns the analyzer of the components before a filter, by which a filter with words of
// its own must read these.
func (as *Assembly) Before() Analyzer {
	return New(as.name, as.tokenizer, slices.Clone(as.filters)...)
}

// Tokenizer makes a tokenizer that is a parameter of another. The zero Component is words.
func (as *Assembly) Tokenizer(c Component) (Tokenizer, error) {
	if c.IsZero() {
		c.Type = "words"
	}
	if as.depth++; as.depth > maxNesting {
		return nil, placed{c, fmt.Errorf("more than %d tokenizers within each other", maxNesting)}
	}
	defer func() { as.depth-- }()
	return build(tokenizers, "tokenizer", c, as)
}

// A placed error is about a component. Its text follows the component's place.
type placed struct {
	c   Component
	err error
}

func (e placed) Error() string { return fmt.Sprintf(" (%s): %v", short(e.c.Type), e.err) }
func (e placed) Unwrap() error { return e.err }

// short returns a name as an error shows it.
func short(name string) string {
	const most = 40
	if len(name) > most {
		name = name[:runeStart([]byte(name), most)] + "…"
	}
	return strings.ToValidUTF8(name, "\ufffd")
}

// validText reports whether a parameter can be in terms.
func validText(param, value string) error {
	if !utf8.ValidString(value) {
		return fmt.Errorf("%s: it is not UTF-8", param)
	}
	return nil
}
