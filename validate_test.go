package riffle

import (
	"strings"
	"testing"

	"github.com/riffle-search/riffle/analysis"
)

// TestValidate compares what Validate and Apply say of batches. TestBadDocuments does it for more
// documents that are refused.
func TestValidate(t *testing.T) {
	long := strings.Repeat("w", MaxTermBytes+1)
	o := &Options{Rank: Rank{Field: "rank"}, Analyzers: map[string]analysis.Analyzer{"whole": oneTerm(long)}, Schema: &Schema{
		Dynamic: DynamicRefuse,
		Fields: map[string]Field{
			"text": {Type: FieldText}, "whole": {Type: FieldText, Analyzer: "whole"}, "rank": {Type: FieldNumber},
			"at": {Type: FieldDate}, "where": {Type: FieldPlace},
			"sold": {Type: FieldNumber, NoIndex: true, Column: ColumnStored},
		},
	}}
	ix := newIndex(t, o)
	ix.put("kept", map[string]any{"text": "x"})
	for _, c := range []struct {
		name string
		fill func(*Batch)
		want string // part of the error, or "" if the batch is applied
	}{
		{"good", func(b *Batch) { b.Put("a", map[string]any{"text": strings.Repeat("whale ", MaxTermBytes)}) }, ""},
		{"update", func(b *Batch) { b.Update("kept", map[string]any{"sold": 17}) }, ""},
		{"delete", func(b *Batch) { b.Delete("nobody") }, ""},
		{"nothing", func(*Batch) {}, ""},
		{"unknown field", func(b *Batch) { b.Put("a", map[string]any{"x": 1}) }, "the schema has no such field"},
		{"long term", func(b *Batch) { b.Put("a", map[string]any{"whole": long}) }, "its analyzer made a term"},
		{"rank", func(b *Batch) { b.Put("a", map[string]any{"rank": 2}) }, "a static rank is a number in [0, 1]"},
		{"date", func(b *Batch) { b.Put("a", map[string]any{"at": "yesterday"}) }, "at"},
		{"place", func(b *Batch) { b.Put("a", map[string]any{"where": map[string]any{"lat": 91, "lon": 0}}) }, "where"},
		{"update of a text", func(b *Batch) { b.Update("kept", map[string]any{"text": "y"}) }, "no column"},
		{"no id", func(b *Batch) { b.Delete("") }, "must not be empty"},
	} {
		var b Batch
		c.fill(&b)
		refused := ix.Validate(t.Context(), &b)
		err := ix.Apply(t.Context(), &b)
		switch {
		case (refused == nil) != (err == nil) || err != nil && refused.Error() != err.Error():
			t.Errorf("%s: Validate says %v, Apply %v", c.name, refused, err)
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
