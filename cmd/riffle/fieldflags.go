package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/analysis"
)

// fieldFlags are the flags that describe fields.
type fieldFlags struct {
	schemaFile string
	analyzer   string
	copies     []string
	only       []string
	store      bool
	positions  choice[riffle.Positions]
	columns    choice[riffle.Column]
}

func (ff *fieldFlags) declare(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&ff.schemaFile, "schema", "", "JSON file that describes the fields")
	c.MarkFlagFilename("schema", "json")
	f.StringVar(&ff.analyzer, "analyzer", "", "analyzer of text fields that name none: standard (the default), english, whitespace, keyword, ...")
	c.RegisterFlagCompletionFunc("analyzer", completeAnalyzers)
	f.StringArrayVar(&ff.copies, "copy-to", nil, "index fields as one more: body=title,text is a field body with both, joined by a space (may be repeated)")
	f.StringSliceVar(&ff.only, "only", nil, "index just these fields as text (and those of --copy-to); others are stored")
	ff.positions = choice[riffle.Positions]{names: []string{"positions", "none"}, parse: func(s string) (p riffle.Positions, err error) {
		return p, p.UnmarshalText([]byte(s))
	}}
	ff.positions.declare(c, "positions", "whether words of text fields have positions, which phrases need and which take more than half of an index (a new one has them by default)")
	ff.columns = choice[riffle.Column]{names: []string{"stored", "none"}, parse: func(s string) (c riffle.Column, err error) {
		return c, c.UnmarshalText([]byte(s))
	}}
	ff.columns.declare(c, "columns", "whether values of fields that are not text have columns, for ranges, sorting and facets (those of a new index have them by default)")
	f.BoolVar(&ff.store, "store", true, "keep the fields for get and search; --store=false keeps ids only")
}

// schema returns the schema that the flags describe. Without flags it is nil: the schema of the
// index or, for a new one, everything indexed and stored.
func (ff *fieldFlags) schema() (*riffle.Schema, error) {
	if ff.schemaFile == "" && ff.analyzer == "" && len(ff.copies) == 0 && len(ff.only) == 0 && ff.store && ff.positions.value == riffle.PositionsDefault && ff.columns.value == riffle.ColumnDefault {
		return nil, nil
	}
	s := new(riffle.Schema)
	if ff.schemaFile != "" {
		text, err := os.ReadFile(ff.schemaFile)
		if err != nil {
			return nil, err
		}
		if s, err = riffle.ParseSchema(text); err != nil {
			return nil, fmt.Errorf("%s: %w", ff.schemaFile, err)
		}
	}
	if s.Fields == nil {
		s.Fields = map[string]riffle.Field{}
	}
	if ff.analyzer != "" {
		s.Analyzer = ff.analyzer
	}
	if ff.positions.value != riffle.PositionsDefault {
		s.Positions = ff.positions.value
	}
	if ff.columns.value != riffle.ColumnDefault {
		s.Columns = ff.columns.value
	}
	s.NoStore = s.NoStore || !ff.store
	if len(ff.only) > 0 {
		ff.restrict(s)
	}
	return s, ff.addCopies(s)
}

// restrict makes only the named fields indexed.
func (ff *fieldFlags) restrict(s *riffle.Schema) {
	for name, f := range s.Fields {
		f.NoIndex = f.NoIndex || !slices.Contains(ff.only, name)
		s.Fields[name] = f
	}
	for _, name := range ff.only {
		if _, ok := s.Fields[name]; !ok {
			s.Fields[name] = riffle.Field{Type: riffle.FieldText}
		}
	}
	if s.Dynamic == riffle.DynamicIndex {
		s.Dynamic = riffle.DynamicStore
	}
}

func (ff *fieldFlags) addCopies(s *riffle.Schema) error {
	for _, rule := range ff.copies {
		name, list, ok := strings.Cut(rule, "=")
		from := strings.Split(list, ",")
		if !ok || name == "" || slices.Contains(from, "") {
			return usagef("--copy-to %s: want NAME=FIELD,FIELD...", rule)
		}
		if _, ok := s.Fields[name]; ok {
			return usagef("--copy-to %s: field %q is described already", rule, name)
		}
		s.Fields[name] = riffle.Field{Type: riffle.FieldText, CopyFrom: from}
	}
	return nil
}

// counter returns a function that tells which fields count as text: those that a schema indexes,
// copies or stores.
func counter(s *riffle.Schema) func(field string) bool {
	if s == nil {
		return func(string) bool { return true }
	}
	copied := map[string]bool{}
	for _, f := range s.Fields {
		for _, from := range f.CopyFrom {
			copied[from] = true
		}
	}
	return func(name string) bool {
		f, known := s.Fields[name]
		indexed, stored := s.Dynamic == riffle.DynamicIndex, s.Dynamic <= riffle.DynamicStore
		if known {
			indexed, stored = !f.NoIndex, !f.NoStore
		}
		return indexed || stored && !s.NoStore || copied[name]
	}
}

func completeAnalyzers(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return analysis.Names(), cobra.ShellCompDirectiveNoFileComp
}
