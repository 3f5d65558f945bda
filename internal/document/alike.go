package document

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// SearchedAlike reports the first difference between two schemas that queries would notice: in how
// fields are declared for searching, and in analyzers. What is stored, and what happens to other
// fields, may differ.
func (s *Schema) SearchedAlike(o *Schema) error {
	if a, b := orStandard(s.Analyzer), orStandard(o.Analyzer); a != b {
		return fmt.Errorf("their analyzers of text are %q and %q", a, b)
	}
	if s.Words != o.Words {
		return fmt.Errorf("their rules of words are %v and %v", s.Words, o.Words)
	}
	for _, name := range namesOf(s.Analyzers, o.Analyzers) {
		a, inS := s.Analyzers[name]
		b, inO := o.Analyzers[name]
		if inS != inO || !reflect.DeepEqual(a, b) {
			return fmt.Errorf("their schemas declare the analyzer %q differently, or only one does", name)
		}
	}
	for _, name := range namesOf(s.Fields, o.Fields) {
		f, inS := s.Fields[name]
		g, inO := o.Fields[name]
		if inS != inO {
			return fmt.Errorf("only one of their schemas declares the field %q", ShortName(name))
		}
		a := Field{Type: f.Type, Analyzer: orStandard(f.Analyzer, s.Analyzer), NoIndex: f.NoIndex}
		b := Field{Type: g.Type, Analyzer: orStandard(g.Analyzer, o.Analyzer), NoIndex: g.NoIndex}
		if !reflect.DeepEqual(a, b) {
			return fmt.Errorf("their schemas declare the field %q differently: %+v and %+v", ShortName(name), f, g)
		}
	}
	return nil
}

// namesOf returns the names in two maps, in order.
func namesOf[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	if all == nil {
		all = make(map[string]V, len(b))
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}
