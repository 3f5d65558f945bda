package riffle

import (
	"errors"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/internal/document"
)

const badName = "caf\xe9"

// TestNamesRefusedAtPut puts documents whose names an index could not store. They are refused with
// the name before anything is logged.
func TestNamesRefusedAtPut(t *testing.T) {
	long := strings.Repeat("n", MaxNameBytes+1)
	type tagged struct {
		X int `riffle:"caf\xe9"`
	}
	type level map[string]int
	ix := newIndex(t, nil)
	for _, c := range []struct {
		doc         any
		field, want string
	}{
		{map[string]any{badName: "x"}, badName, `document "d": field "caf\xe9": the name is not UTF-8`},
		{map[string]int{badName: 1}, badName, `not UTF-8`},
		{map[string]any{"a": map[string]any{"b\xff": 1}}, "a.b\xff", `field "a.b\xff": the name is not UTF-8`},
		{map[string]any{"a": []any{level{"\xc3": 1}}}, "a.\xc3", `not UTF-8`},
		{tagged{1}, badName, `not UTF-8`},
		{map[string]any{long: 1}, long[:32] + "…", `a name of 1025 bytes, at most 1024 are allowed`},
		{map[string]any{long[:600]: map[string]any{long[:600]: 1}}, long[:32] + "…", `a name of 1201 bytes`},
		{map[string]any{"": 1}, "", `a field needs a name`},
	} {
		err := ix.Put(ctx, "d", c.doc)
		var de *DocumentError
		if !errors.As(err, &de) || de.ID != "d" || de.Field != c.field || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60v: %v, want %q of field %q", c.doc, err, c.want, c.field)
		}
	}
	if st, err := ix.Stats(); err != nil || st.LogRecords != 0 || st.Docs != 0 {
		t.Errorf("refused documents left %+v %v", st, err)
	}
	kept := map[string]any{long[:MaxNameBytes]: "x", "caf\u00e9": "x", "\x00": "x", "\ufffd": "x"}
	ix.put("i\xff", kept)
	ix.must(ix.Flush(ctx))
	ix.reopen(nil)
	if got, err := ix.Get(ctx, "i\xff"); err != nil || len(got) != len(kept) {
		t.Errorf("names that are allowed: %d %v", len(got), err)
	}
}

// TestNamesRefusedInOptions does the same with names that are stored as JSON or must match such
// names: schemas, analyzers, the field of the rank.
func TestNamesRefusedInOptions(t *testing.T) {
	long := strings.Repeat("n", MaxNameBytes+1)
	dir := t.TempDir()
	for _, c := range []struct {
		opts Options
		want string
	}{
		{Options{Schema: &Schema{Fields: map[string]Field{badName: {}}}}, `Options.Schema.Fields["caf\xe9"]: the name is not UTF-8`},
		{Options{Schema: &Schema{Fields: map[string]Field{long: {}}}}, `a name of 1025 bytes`},
		{Options{Schema: &Schema{Fields: map[string]Field{"a": {CopyFrom: []string{badName}}}}}, `Schema.Fields["a"]: copies from "caf\xe9": the name is not UTF-8`},
		{Options{Schema: &Schema{Fields: map[string]Field{"a": {CopyFrom: []string{""}}}}}, `Schema.Fields["a"]: copies from a field without a name`},
		{Options{Schema: &Schema{Fields: map[string]Field{"a": {Analyzer: badName}}}}, `Schema.Fields["a"]: analyzer "caf\xe9": the name is not UTF-8`},
		{Options{Schema: &Schema{Analyzer: badName}}, `Schema.Analyzer "caf\xe9": the name is not UTF-8`},
		{Options{Analyzers: map[string]analysis.Analyzer{badName: analysis.Standard()}}, `Options.Analyzers: must have names that are UTF-8 and at most 1,024 bytes long, not "caf\xe9"`},
		{Options{Rank: Rank{Field: badName}}, `Options.Rank.Field: must be UTF-8`},
	} {
		if err := c.opts.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Validate: %v, want %q", err, c.want)
		}
		if e, err := Open(dir, &c.opts); err == nil {
			t.Errorf("opened in spite of %s: %v", c.want, e.Close())
		}
		if _, err := Build(ctx, dir, nil, &BuildOptions{Index: c.opts}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Build: %v, want %q", err, c.want)
		}
	}
	if _, err := ParseSchema([]byte(`{"fields":{"caf` + "\xe9" + `":{"type":"text"}}}`)); err == nil || !strings.Contains(err.Error(), "not UTF-8") {
		t.Errorf("ParseSchema: %v", err)
	}
	type tagged struct {
		X int `riffle:"caf\xe9"`
	}
	if _, err := SchemaOf(tagged{}); err == nil || !strings.Contains(err.Error(), `field "caf\xe9": the name is not UTF-8`) {
		t.Errorf("SchemaOf: %v", err)
	}
}

// TestDocumentTooLarge puts a document of more bytes than a log record may have.
func TestDocumentTooLarge(t *testing.T) {
	text := strings.Repeat("x", 1<<20)
	var texts []string
	for range MaxDocumentBytes>>20 + 1 {
		texts = append(texts, text)
	}
	err := newIndex(t, nil).Put(ctx, "d", map[string]any{"t": texts})
	var de *DocumentError
	if !errors.As(err, &de) || de.Field != "t" || !strings.Contains(err.Error(), "takes more than 536870912 bytes") {
		t.Errorf("%v", err)
	}
}

// TestBadNamesInLog opens an index of a version that accepted names that are not UTF-8: its schema
// has another name for the field than its log.
func TestBadNamesInLog(t *testing.T) {
	ix := newIndex(t, &Options{Schema: &Schema{Dynamic: DynamicRefuse, Fields: map[string]Field{
		"caf\ufffd": {Type: FieldKeyword}, "copy": {CopyFrom: []string{"caf\ufffd"}},
	}}})
	ix.index.Schema().Fields[badName] = document.Field{Type: FieldKeyword}
	b := &Batch{ops: []document.Operation{{ID: "1", Values: []document.Value{document.Text(badName, "x y")}}}}
	ix.must(ix.Apply(ctx, b))
	ix.reopen(nil)
	if got := ix.ids(Term{badName, "x y"}); len(got) != 1 {
		t.Errorf("by its name: %v", got)
	}
	if got := ix.ids(Match{Field: "copy", Text: "y"}); len(got) != 1 {
		t.Errorf("by a copy: %v", got)
	}
	ix.must(ix.Flush(ctx))
	ix.reopen(nil)
	if got, err := ix.Get(ctx, "1"); err != nil || got[badName] != "x y" {
		t.Errorf("%v %v", got, err)
	}
}
