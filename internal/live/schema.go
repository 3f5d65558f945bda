package live

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/format"
	"github.com/riffle-search/riffle/segment"
	"github.com/riffle-search/riffle/store"
)

// loadSchemas returns the schema stored in the index (an empty one for a new index), and that
// schema widened by the caller's, which applies from then on.
func (ix *Index) loadSchemas() (kept, wanted *document.Schema, err error) {
	text, err := ix.store.Meta(metaSchema)
	if err != nil {
		return nil, nil, err
	}
	kept = new(document.Schema)
	given := ix.opts.Schema
	switch {
	case text == nil:
		kept = kept.New()
		wanted = given.New()
	default:
		if kept, err = document.ParseKept(text); err != nil {
			return nil, nil, err
		}
		if wanted = kept; given != nil {
			if wanted, err = kept.Extend(given, ix.opts.AlterSchema); err != nil {
				return nil, nil, err
			}
		}
	}
	if o := ix.opts.Merge.Order; o.Kind == segment.ByField && !wanted.HasColumn(o.Field) {
		return nil, nil, fmt.Errorf("riffle: Options.Merge.OrderField: field %q has no column to order documents by; Schema.Fields[%q].Column makes one in a new index, Reindex in this one", o.Field, o.Field)
	}
	return kept, wanted, wanted.Validate(ix.opts.Analyzer)
}

// changeSchema puts another schema in force and stores it in the index. Documents that are still in
// the log must be sealed first: the new schema might refuse them.
func (ix *Index) changeSchema(wanted *document.Schema) error {
	if ix.opts.Store.ReadOnly || ix.opts.Building { // a build stores it at its end
		ix.setSchema(wanted, false)
		return nil
	}
	if wanted.String() != ix.schema.String() {
		if err := ix.Flush(ix.background); err != nil {
			return err
		}
	}
	ix.setSchema(wanted, false)
	text, err := ix.store.Meta(metaSchema)
	if err != nil {
		return err
	}
	opened, err := ix.store.Meta(metaOptions)
	if err != nil {
		return err
	}
	rank, options := keptRank(opened), ix.opts.Text
	if bytes.Equal(text, wanted.Kept()) && (ix.opts.RankField == "" || rank == ix.opts.RankField) {
		return nil
	}
	if ix.opts.RankField == "" { // the next Open must know that documents have a rank
		options = strings.Replace(options, rankLine+"\n", rankLine+rank+"\n", 1)
	}
	return ix.store.Commit(ix.background, store.Edit{Meta: map[string][]byte{
		metaSchema:  wanted.Kept(),
		metaOptions: []byte(options),
	}})
}

// setSchema is for Open alone: nothing may be using the schema. With replay, documents from the log
// come next.
func (ix *Index) setSchema(s *document.Schema, replay bool) {
	ix.schema, ix.analyzers = s, s.Resolver(ix.opts.Analyzer)
	ix.inverters = sync.Pool{New: func() any { return document.NewInverter(s, ix.opts.RankField, ix.analyzers, replay) }}
}

// checkKeptOptions checks the version of the options stored in an index: lines `name=value`. From
// version 2 on the first line is `version=` and the number. Of the others only rank.field is read
// (keptRank), so lines may be added and removed; a line that older builds must not ignore needs a
// new version (format.Options).
func checkKeptOptions(text []byte) error {
	line, _, _ := strings.Cut(string(text), "\n")
	version, ok := strings.CutPrefix(line, "version=")
	if !ok {
		return nil
	}
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return corrupt.At(corrupt.New(0, "%v", err), "options")
	}
	return format.Options.Check(n)
}
