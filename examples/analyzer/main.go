// Analyzer searches a parts catalogue with a custom analyzer. Part numbers are written in many ways
// (M8x40, "m 8 x 40", M8×40), and a workshop has other names for things than the catalogue.
//
//	go run ./examples/analyzer
//
// An analyzer is a tokenizer and filters. Both are small interfaces: an application adds what
// package analysis lacks by implementing them, as sizes and synonyms do here. A registered analyzer
// has a name, which a schema can use.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/analysis"
)

// parts is the catalogue's analyzer. Filters run in the order given: words are in lower case,
// without accents and stemmed when synonyms looks them up.
var parts = analysis.New("parts", sizes{},
	analysis.Lowercase{}, analysis.Fold{},
	analysis.Stop("with", "and", "for", "the", "of"),
	analysis.Porter{},
	synonyms{"×": "x", "spanner": "wrench", "bolt": "screw", "disc": "washer"},
)

// An index stores the names of its analyzers, not the analyzers, so a name must always mean the
// same. Give changed rules a new name. Options.Analyzers makes a name known to one Engine alone.
func init() {
	if err := analysis.Register("parts", parts); err != nil {
		log.Fatal(err)
	}
}

// sizes is a tokenizer of runs of letters and runs of digits, so that M8x40 is the four words m, 8,
// x and 40, however it is spaced.
type sizes struct{}

// Tokenize implements analysis.Tokenizer.
func (sizes) Tokenize(text []byte, b *analysis.Batch) {
	position, start, kind := 0, 0, none
	for at := 0; at < len(text); {
		r, n := utf8.DecodeRune(text[at:])
		if k := kindOf(r); k != kind {
			if kind != none {
				b.Add(text, start, at, position)
				position++
			}
			start, kind = at, k
		}
		at += n
	}
	if kind != none {
		b.Add(text, start, len(text), position)
	}
}

const (
	none = iota // between words
	letter
	digit
)

func kindOf(r rune) int {
	switch {
	case unicode.IsLetter(r), unicode.IsMark(r), r == '×':
		return letter
	case unicode.IsDigit(r):
		return digit
	}
	return none
}

// synonyms is a filter that replaces terms. Documents and queries go through the same analyzer, so
// both arrive at the same term.
type synonyms map[string]string

// Filter implements analysis.Filter.
func (s synonyms) Filter(batch []analysis.Token) []analysis.Token {
	for i := range batch {
		if to, ok := s[string(batch[i].Term)]; ok {
			batch[i].Term = []byte(to) // the old term's memory may be too short
		}
	}
	return batch
}

var catalogue = map[string]string{
	"10021": "Hex screw M8x40, stainless",
	"10022": "Hex screw M8x60, stainless",
	"10040": "Hex nut M8",
	"20007": "Open-end wrench, 13 mm",
	"20008": "Open-end wrench, 8 mm",
	"30115": "Washer for M8",
	"40002": "Façade anchor 8×80",
}

func main() {
	dir, err := os.MkdirTemp("", "riffle-analyzer-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := run(context.Background(), dir, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dir string, w io.Writer) error {
	e, err := riffle.Open(dir, &riffle.Options{Schema: &riffle.Schema{
		Fields: map[string]riffle.Field{"name": {Type: riffle.FieldText, Analyzer: "parts"}},
	}})
	if err != nil {
		return err
	}
	defer e.Close()
	var b riffle.Batch
	for number, name := range catalogue {
		b.Put(number, map[string]any{"name": name})
	}
	if err := e.Apply(ctx, &b); err != nil {
		return err
	}
	for _, text := range []string{"bolt m 8 × 40", "SPANNER 13mm", "discs M8", "facade 8x80"} {
		fmt.Fprintf(w, "%s  (%s)\n", text, strings.Join(analysis.Terms(parts, text), " "))
		res, err := e.Search(ctx, riffle.Match{Field: "name", Text: text, Mode: riffle.ModeAnd},
			&riffle.SearchOptions{Load: []string{"name"}})
		if err != nil {
			return err
		}
		for _, h := range res.Hits {
			fmt.Fprintf(w, "  %s  %s\n", h.ID, h.Fields["name"])
		}
	}
	return nil
}
