package document

import (
	"sync"

	"github.com/riffle-search/riffle/analysis"
)

// Resolver returns a function that finds the analyzers of an index with this schema: those that it
// declares, then those of lookup, all with the index's rules of words. The name "" is the analyzer of
// fields that name none. Each declared one is made once.
func (s *Schema) Resolver(lookup func(name string) (analysis.Analyzer, error)) func(name string) (analysis.Analyzer, error) {
	var mu sync.Mutex
	made := map[string]analysis.Analyzer{}
	find := s.declared(lookup)
	return func(name string) (analysis.Analyzer, error) {
		name = orStandard(name, s.Analyzer)
		mu.Lock()
		defer mu.Unlock()
		a := made[name]
		if a == nil {
			found, err := find(name)
			if err != nil {
				return nil, err
			}
			a = analysis.WithRules(found, s.Words)
			if _, ok := s.Analyzers[name]; ok {
				made[name] = a
			}
		}
		return a, nil
	}
}

// declared returns lookup, preceded by the analyzers that the schema declares.
func (s *Schema) declared(lookup func(name string) (analysis.Analyzer, error)) func(name string) (analysis.Analyzer, error) {
	return func(name string) (analysis.Analyzer, error) {
		if d, ok := s.Analyzers[name]; ok {
			return d.Analyzer(name)
		}
		return lookup(name)
	}
}
