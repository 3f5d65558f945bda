package document

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/riffle-search/riffle/analysis"
)

// Extend returns the schema of an index widened by the caller's, or an error if the two disagree
// about a declaration. What the caller leaves at its zero value stays. With alter the caller's
// rules replace those of the index: Dynamic, NoStore, and the NoIndex and NoStore of the fields it
// names. Types, analyzers and sources never change: documents are indexed by them.
func (s *Schema) Extend(with *Schema, alter bool) (*Schema, error) {
	var errs []error
	if s.Analyzer != with.Analyzer {
		errs = append(errs, fmt.Errorf("Schema.Analyzer: the index has %q, not %q", s.Analyzer, with.Analyzer))
	}
	if with.Words != analysis.AnyWords && with.Words != s.Words {
		errs = append(errs, fmt.Errorf("Schema.Words: the index has %v, not %v; Reindex makes an index of other words", s.Words, with.Words))
	}
	if with.Positions != PositionsDefault && (with.Positions == PositionsStored) != (s.Positions == PositionsStored) {
		errs = append(errs, fmt.Errorf("Schema.Positions: the index has %s, not %s; Reindex makes an index of another schema", s.positionsInForce(), with.Positions))
	}
	if with.Columns != ColumnDefault && with.Columns != s.columnsInForce() {
		errs = append(errs, fmt.Errorf("Schema.Columns: the index has %s, not %s; Reindex makes an index of another schema", s.columnsInForce(), with.Columns))
	}
	merged := new(*s)
	merged.Analyzers = maps.Clone(s.Analyzers)
	for _, name := range slices.Sorted(maps.Keys(with.Analyzers)) {
		d := with.Analyzers[name]
		switch old, ok := s.Analyzers[name]; {
		case ok && !old.Equal(d):
			errs = append(errs, fmt.Errorf("Schema.Analyzers[%q]: the index has %v, not %v; give a changed analyzer another name", name, old, d))
		case !ok && s.uses(name):
			errs = append(errs, fmt.Errorf("Schema.Analyzers[%q]: fields of the index have an analyzer of that name that the schema does not declare; give this one another name", name))
		}
		if merged.Analyzers == nil {
			merged.Analyzers = analysis.Declarations{}
		}
		merged.Analyzers[name] = d
	}
	merged.Fields = maps.Clone(s.Fields)
	if merged.Fields == nil {
		merged.Fields = map[string]Field{}
	}
	rule := func(what string, differs bool, kept, given any) {
		if differs && !alter {
			errs = append(errs, fmt.Errorf("%s: the index has %v, not %v; Options.AlterSchema changes it", what, kept, given))
		}
	}
	rule("Schema.Dynamic", with.Dynamic != 0 && with.Dynamic != s.Dynamic, s.Dynamic, with.Dynamic)
	rule("Schema.NoStore", with.NoStore && !s.NoStore, s.NoStore, with.NoStore)
	if alter {
		merged.Dynamic, merged.NoStore = with.Dynamic, with.NoStore
	}
	for _, name := range slices.Sorted(maps.Keys(with.Fields)) {
		f := with.Fields[name]
		old, ok := merged.Fields[name]
		if ok && (old.Type != f.Type || old.Analyzer != f.Analyzer || !slices.Equal(old.CopyFrom, f.CopyFrom)) {
			errs = append(errs, fmt.Errorf("Schema.Fields[%q]: the index has %+v, not %+v; Reindex makes an index of another schema", name, old, f))
			continue
		}
		if ok {
			if f.Positions != PositionsDefault && (f.Positions == PositionsStored) != s.HasPositions(name) {
				errs = append(errs, fmt.Errorf("Schema.Fields[%q].Positions: not those of the index; Reindex makes an index of another schema", name))
				continue
			}
			in := old // as it will be
			if alter {
				in.NoIndex = f.NoIndex
			}
			if stored := f.Column == ColumnStored; f.Column != ColumnDefault && (s.keepsColumn(old, true) != stored || s.keepsColumn(in, true) != stored) {
				errs = append(errs, fmt.Errorf("Schema.Fields[%q].Column: not that of the index; Reindex makes an index of another schema", name))
				continue
			}
			f.Positions, f.Column = old.Positions, old.Column
			if len(f.PhrasePairs) == 0 {
				f.PhrasePairs = old.PhrasePairs
			}
		}
		if ok && !alter {
			at := fmt.Sprintf("Schema.Fields[%q]", name)
			rule(at+".NoIndex", f.NoIndex && !old.NoIndex, old.NoIndex, f.NoIndex)
			rule(at+".NoStore", f.NoStore && !old.NoStore, old.NoStore, f.NoStore)
			rule(at+".PhrasePairs", !slices.Equal(spellOut(f.PhrasePairs), old.PhrasePairs), old.PhrasePairs, f.PhrasePairs)
			f = old
		}
		if len(f.PhrasePairs) > 0 && !s.keepsPositions(f, true) {
			errs = append(errs, fmt.Errorf("Schema.Fields[%q]: %w; Reindex makes an index of another schema", name, errNoPositions))
		}
		merged.Fields[name] = f
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("riffle: schema differs from the one the index was made with: %w", err)
	}
	return merged.spellOutPairs(), nil
}

// uses reports whether a text field may have been indexed by the analyzer.
func (s *Schema) uses(name string) bool {
	if name == orStandard(s.Analyzer) {
		return true
	}
	for _, f := range s.Fields {
		if f.Analyzer == name {
			return true
		}
	}
	return false
}

// Declared returns the fields that a wider schema declares and this one leaves to its rule, in
// order. The caller must check how existing documents are indexed by them.
func (s *Schema) Declared(wider *Schema) []string {
	if s.Dynamic != DynamicIndex {
		return nil // they are not indexed
	}
	var names []string
	for name, f := range wider.Fields {
		if _, ok := s.Fields[name]; !ok && len(f.CopyFrom) == 0 && (!f.NoIndex || f.Column == ColumnStored) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// CheckWords reports whether a field that has words in documents, by this schema, may be declared
// as in a wider one.
func (s *Schema) CheckWords(name string, wider *Schema) error {
	f := wider.Fields[name]
	was, now := orStandard(s.Analyzer), orStandard(f.Analyzer, wider.Analyzer)
	switch {
	case f.Type != TextField:
		return declaredOtherwise(name, "as text", f)
	case was != now:
		return declaredOtherwise(name, fmt.Sprintf("by the analyzer %q", was), f)
	case s.HasPositions(name) && !wider.HasPositions(name):
		return declaredOtherwise(name, "with positions", f)
	case !s.HasPositions(name) && wider.HasPositions(name):
		return declaredOtherwise(name, "without positions", f)
	}
	return nil
}

// positionsInForce is Positions of the schema of an index.
func (s *Schema) positionsInForce() Positions {
	if s.Positions == PositionsStored {
		return PositionsStored
	}
	return PositionsNone
}

// CheckTerm reports whether a field that has an exact term in documents may be declared as in a
// wider schema.
func (s *Schema) CheckTerm(name string, term []byte, wider *Schema) error {
	is := KeywordField
	if len(term) > 2 && term[0] == 0 {
		if k := valueKind(term[1]); k == KindInt || k == kindUint || k == kindFloat || k == kindBool || k == kindTime {
			is = k.fieldType()
		}
	}
	f := wider.Fields[name]
	switch {
	case f.Type != is:
		return declaredOtherwise(name, "as "+is.String(), f)
	case s.HasColumn(name) && !wider.HasColumn(name):
		return declaredOtherwise(name, "with a column", f)
	case !s.HasColumn(name) && wider.HasColumn(name):
		return declaredOtherwise(name, "without a column", f)
	}
	return nil
}

// CheckPlace reports whether a field that has places in documents may be declared as in a wider
// schema.
func (s *Schema) CheckPlace(name string, wider *Schema) error {
	if f := wider.Fields[name]; f.Type != PlaceField || !wider.HasColumn(name) {
		return declaredOtherwise(name, "as places", f)
	}
	return nil
}

// CheckValue is CheckWords, CheckTerm and CheckPlace for a value in the log.
func (s *Schema) CheckValue(v *Value, wider *Schema) error {
	switch {
	case v.rules&ruleNoIndex != 0:
		return nil
	case v.Kind == KindPlace:
		if !s.HasColumn(v.Name) {
			return nil
		}
		return s.CheckPlace(v.Name, wider)
	case v.Kind == KindText && v.rules&ruleKeyword == 0:
		return s.CheckWords(v.Name, wider)
	}
	return s.CheckTerm(v.Name, AppendTerm(nil, *v), wider)
}

func declaredOtherwise(name, how string, f Field) error {
	return fmt.Errorf("riffle: Schema.Fields[%q]: documents of the index are indexed %s, so it cannot be declared as %+v; Reindex makes an index of another schema", name, how, f)
}

func orStandard(names ...string) string {
	for _, name := range names {
		if name != "" {
			return name
		}
	}
	return "standard"
}
