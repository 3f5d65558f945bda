package live

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/segment"
)

// checkDeclared refuses a schema that declares a field of existing documents differently from how
// they were indexed: searches would no longer find them. It checks segments and the log.
func (ix *Index) checkDeclared(kept, wanted *document.Schema) error {
	names := kept.Declared(wanted)
	if len(names) == 0 {
		return nil
	}
	for _, s := range ix.segments {
		if s.disk == nil {
			continue
		}
		for _, name := range names {
			info, ok := s.disk.Field(name)
			switch {
			case !ok:
				if err := checkPlaces(kept, wanted, s, name); err != nil {
					return err
				}
				continue
			case info.Norms:
				if err := kept.CheckWords(name, wanted); err != nil {
					return err
				}
				continue
			}
			var refused error
			err := eachTerm(s.disk, name, func(term []byte) bool {
				refused = kept.CheckTerm(name, term, wanted)
				return refused == nil
			})
			if err != nil {
				return s.at(err)
			}
			if refused != nil {
				return refused
			}
		}
	}
	return ix.store.Replay(ix.seq+1, func(seq uint64, record []byte) error {
		ops, _, err := document.DecodeRecord(record)
		if err != nil {
			return document.AtRecord(seq, err)
		}
		for i := range ops {
			for j := range ops[i].Values {
				v := &ops[i].Values[j]
				if _, found := slices.BinarySearch(names, v.Name); !found {
					continue
				}
				if err := kept.CheckValue(v, wanted); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// checkPlaces is checkDeclared for a field of a segment that has no terms: it may have places.
func checkPlaces(kept, wanted *document.Schema, s *liveSegment, field string) error {
	c, err := s.disk.Column(field)
	if err != nil {
		return s.at(err)
	}
	if c == nil || c.Kind() != columns.Place {
		return nil
	}
	return kept.CheckPlace(field, wanted)
}

// eachTerm calls visit with the terms of a field until it returns false.
func eachTerm(r segment.Reader, field string, visit func(term []byte) bool) error {
	it, err := r.Terms(field, nil)
	if err != nil {
		return err
	}
	for it.Next() && visit(it.Term()) {
	}
	return errors.Join(it.Err(), it.Close())
}

// rankLine begins the line of the stored options that names the field of the static rank.
const rankLine = "rank.field="

// keptRank returns the field of the static rank that the stored options name.
func keptRank(options []byte) string {
	for line := range strings.Lines(string(options)) {
		if name, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), rankLine); ok {
			return name
		}
	}
	return ""
}

// errRecord stops a replay at the first record.
var errRecord = errors.New("there is a record")

// checkRank refuses a field for the static rank other than that of the existing documents.
func (ix *Index) checkRank(kept string) error {
	if kept == "" || ix.opts.RankField == "" || kept == ix.opts.RankField {
		return nil
	}
	if len(ix.store.Manifest().Segments) == 0 {
		err := ix.store.Replay(ix.seq+1, func(uint64, []byte) error { return errRecord })
		if err != errRecord {
			return err
		}
	}
	return fmt.Errorf("riffle: Options.Rank.Field: documents of the index have their static rank from %q, not from %q; Reindex makes an index of another one", kept, ix.opts.RankField)
}
