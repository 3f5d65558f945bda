package riffle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/internal/datemath"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/language"
	"github.com/riffle-search/riffle/internal/plan"
)

// A Syntax is a set of what ParseQuery understands besides bleve's query string.
type Syntax = language.Syntax

const (
	SyntaxOperators      = language.Operators      // a AND b, a OR b, NOT a
	SyntaxGroups         = language.Groups         // (a b), title:(a b), (a b)^2, and (a b c)~2: two of three
	SyntaxRanges         = language.Ranges         // year:[1850 TO 1860}, name:>m
	SyntaxSlop           = language.Slop           // "white whale"~3
	SyntaxPhrasePrefixes = language.PhrasePrefixes // "white wha"*
	SyntaxExistence      = language.Existence      // year:* for documents with a year, *:* for all
	SyntaxSeveralFields  = language.SeveralFields  // title^3,text:word
	SyntaxNear           = language.Nearness       // NEAR("white whale" ship, 10)
	SyntaxExact          = language.Exact          // tag:=value, ++filter, word^=2, {"match": …}
	SyntaxRepairs        = language.Repairs        // tabs and line ends end words, \* is a star, word~2^3, word~auto

	SyntaxAdditions = language.Additions // all of them
)

// A ParseError says what is wrong with the text of a query, and where.
//
//	type ParseError struct {
//		Offset int    // in bytes from the beginning of the text
//		Reason string // what is wrong
//		Hint   string // what to write instead; may be empty
//	}
type ParseError = language.Error

// ParseOptions are options of ParseQuery. The zero value is the default.
type ParseOptions struct {
	// Engine is the index to search. Its schema says which fields have numbers, dates or booleans;
	// its analyzers, which words count. The query can be used with any other index.
	Engine *Engine

	// Schema does the same without an index. Its analyzers are those that it declares, and those of
	// package analysis. Without Engine and Schema all words count, fuzzy ones are not analysed, and
	// what stands in a range tells what it is: 1850 is a number, 1850-01-01 a date, "1850" a text.
	Schema *Schema

	// Fields are searched for what names no field, each with its boost. A document matches if one of
	// them does. Without Fields, everything must name a field. If they are empty but not nil, as those
	// of an index that has no text yet, what names no field matches nothing.
	Fields []string
	Boosts map[string]float64

	// Mode is ModeOr, the default, or ModeAnd: then all clauses without a sign are required.
	Mode Mode

	// Raw leaves prefixes, patterns, expressions and ranges of texts as they are, as bleve does.
	// Otherwise they are normalized as the words of their field are: see Prefix.
	Raw bool

	// TimeZone is that of relative dates, and of others without an offset: Europe/Berlin or +02:00, for
	// example. The default is UTC.
	TimeZone string

	// Without are additions to switch off. With SyntaxAdditions the language is bleve's.
	Without Syntax

	// Lenient turns errors of the text into calls of Note, if that is not nil. What cannot be read is
	// searched as words. It needs Fields.
	Lenient bool
	Note    func(*ParseError)

	MaxBytes   int // of the text; 0 stands for 1 MiB
	MaxDepth   int // of queries in each other, 1 to 100; 0 stands for 100
	MaxClauses int // words, phrases, groups and so on, each once for every field named for it; 0 stands for 1,024
}

// Defaults of ParseOptions.
const (
	defaultMaxBytes   = 1 << 20
	defaultMaxClauses = 1024
)

// ParseQuery reads a query from a text that a person has written, such as
//
//	title:"moby dick" +year:>=1850 -whal*
//
// The language is bleve's query string with the additions of Syntax; docs/QUERIES.md describes it. An
// error of the text is a *ParseError, one of the options a *QueryError. An empty text matches nothing.
//
// Clauses whose text has no words, such as stop words, are dropped, as in bleve: +the +house finds
// house. If nothing else is left, nothing matches.
//
// The text that a Query's String method returns reads back as the same query, with a nil
// *ParseOptions. That needs texts that are UTF-8, and the query must be valid and within the bounds that
// MaxBytes, MaxDepth and MaxClauses have there.
func ParseQuery(text string, o *ParseOptions) (Query, error) {
	c, err := newCompiler(o)
	if err != nil {
		return nil, err
	}
	if most := c.o.MaxBytes; len(text) > most {
		if err := c.fail(most, fmt.Sprintf("the text has %d bytes, more than %d", len(text), most), ""); err != nil {
			return nil, err
		}
		for most > 0 && !utf8.RuneStart(text[most]) {
			most--
		}
		text = text[:most]
	}
	res, err := language.Parse(text, language.Options{
		Syntax: SyntaxAdditions &^ c.o.Without, Lenient: c.o.Lenient, MaxDepth: c.o.MaxDepth, MaxClauses: c.o.MaxClauses,
	})
	if err != nil {
		return nil, err
	}
	for _, e := range res.Notes {
		c.note(e)
	}
	c.text, c.clauses = text, res.Count
	return c.query(res.Query)
}

// newCompiler checks the options.
func newCompiler(o *ParseOptions) (*compiler, error) {
	c := &compiler{}
	if o != nil {
		c.o = *o
	}
	for _, b := range []struct {
		name         string
		value        *int
		most, preset int
	}{
		{"MaxBytes", &c.o.MaxBytes, 1 << 30, defaultMaxBytes},
		{"MaxDepth", &c.o.MaxDepth, maxQueryDepth, maxQueryDepth},
		{"MaxClauses", &c.o.MaxClauses, 1 << 30, defaultMaxClauses},
	} {
		if *b.value < 0 || *b.value > b.most {
			return nil, plan.Errorf("ParseOptions."+b.name, "must lie in 0 to %d, not %d", b.most, *b.value)
		}
		if *b.value == 0 {
			*b.value = b.preset
		}
	}
	if c.o.TimeZone != "" {
		var err error
		if c.zone, err = datemath.Zone(c.o.TimeZone); err != nil {
			return nil, plan.Errorf("ParseOptions.TimeZone", "%w", err)
		}
	}
	if c.o.Mode != ModeOr && c.o.Mode != ModeAnd {
		return nil, plan.Errorf("ParseOptions.Mode", "must be ModeOr or ModeAnd, not %d", c.o.Mode)
	}
	if c.o.Lenient && c.o.Fields == nil {
		return nil, plan.Errorf("ParseOptions.Lenient", "needs Fields, in which it searches for what cannot be read")
	}
	for _, name := range c.o.Fields {
		f := language.Field{Name: name, Boost: 1}
		f.Boost, f.Boosted = c.o.Boosts[name]
		c.fields = append(c.fields, f)
	}
	if len(c.fields) > 0 {
		if err := c.match(c.fields, "", 1).Validate(); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.o.Boosts)) {
		if !slices.Contains(c.o.Fields, name) {
			return nil, plan.Errorf("ParseOptions.Boosts", "field %q is not one of Fields", name)
		}
	}
	switch {
	case c.o.Engine != nil:
		c.schema, c.analyzer = c.o.Engine.index.Schema(), c.o.Engine.index.Analyzer
	case c.o.Schema != nil:
		c.schema = c.o.Schema.internal()
		c.analyzer = c.schema.Resolver(analysis.Lookup)
	}
	return c, nil
}

// type of a field, if the schema says.
func (c *compiler) typeOf(field string) (t FieldType, known bool) {
	if c.schema == nil {
		return 0, false
	}
	f, declared := c.schema.Fields[field]
	return f.Type, declared
}

// excluded says why the schema excludes a field; the reason is empty if it does not. Whether an index
// has the field is for the search to say.
func (c *compiler) excluded(name string) (reason, hint string) {
	if c.schema == nil {
		return "", ""
	}
	f, declared := c.schema.Fields[name]
	switch {
	case declared && f.NoIndex && !c.schema.HasColumn(name):
		return fmt.Sprintf("field %q is not indexed, so it cannot be searched", document.ShortName(name)), ""
	case declared || c.schema.Dynamic == DynamicIndex:
		return "", ""
	}
	hint = `write \: for a colon`
	if names := slices.Sorted(maps.Keys(c.schema.Fields)); len(names) > 0 {
		hint = "fields are " + strings.Join(names[:min(len(names), 20)], ", ")
	}
	return fmt.Sprintf("the schema has no field %q", document.ShortName(name)), hint
}

// hasWords reports whether the text of a query has words in one of some fields, as far as is known.
func (c *compiler) hasWords(fields []language.Field, text string) bool {
	if c.analyzer == nil {
		return true
	}
	for _, f := range fields {
		t, declared := c.typeOf(f.Name)
		if declared && t != FieldText {
			return true
		}
		a, err := c.analyzer(c.schema.Fields[f.Name].Analyzer)
		if err != nil {
			return true // which the search reports
		}
		for range analysis.Tokens(a, text) {
			return true
		}
	}
	return false
}
