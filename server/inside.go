package server

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"

	"github.com/riffle-search/riffle"
)

// insidePage shows what an index is made of.
type insidePage struct {
	Index    string
	Stats    *riffle.Stats
	Bytes    int64 // of all segments
	Segments []segmentRow
	Schema   string

	Field, Prefix string             // whose terms are listed
	Terms         []riffle.TermCount // nil if no field is chosen
	More          bool               // there are more terms

	Term  string // whose lists are shown
	Found *listsPage

	History *timeline
	Cache   *cachePage

	ID       string
	Missing  bool // there is no document with the id
	Document *riffle.Document
	Fields   []pageField // of the document
}

// A segmentRow is a segment, with its size relative to the largest one.
type segmentRow struct {
	riffle.SegmentStats
	Share float64 // of the bytes of the largest, in percent
}

const insideTerms = 100 // listed at most

// insideView shows the segments, merges, fields, terms, lists, documents and caches of an index.
func (s *Server) insideView(w http.ResponseWriter, r *http.Request) error {
	f, ix, err := s.engineFrameOf("inside", r)
	if err != nil {
		return err
	}
	if ix == nil {
		return render(w, r, f)
	}
	p := &insidePage{Index: ix.name, Field: r.FormValue("field"), Prefix: r.FormValue("prefix"), Term: r.FormValue("term"), ID: r.FormValue("id")}
	p.History = timelineOf(s.histories.of(ix.name).newest())
	schema, err := json.MarshalIndent(ix.engine.Schema(), "", "  ")
	if err != nil {
		return err
	}
	p.Schema = string(schema)
	if p.Stats, err = ix.engine.Stats(); err != nil {
		return err
	}
	largest := int64(1)
	for i := range p.Stats.Segments {
		p.Bytes += p.Stats.Segments[i].Bytes
		largest = max(largest, p.Stats.Segments[i].Bytes)
	}
	for _, st := range p.Stats.Segments {
		p.Segments = append(p.Segments, segmentRow{st, 100 * float64(st.Bytes) / float64(largest)})
	}
	if p.Field != "" {
		for t, err := range ix.engine.Terms(r.Context(), p.Field, p.Prefix) {
			if err != nil {
				return err
			}
			if p.More = len(p.Terms) == insideTerms; p.More {
				break
			}
			p.Terms = append(p.Terms, t)
		}
	}
	if p.Field != "" && p.Term != "" {
		if p.Found, err = ix.listsPage(r, p.Field, p.Term); err != nil {
			return err
		}
	}
	if p.Cache, err = ix.cachePage(p.Stats); err != nil {
		return err
	}
	if p.ID != "" {
		d, err := ix.engine.Document(r.Context(), p.ID)
		if p.Missing = errors.Is(err, riffle.ErrNotFound); err != nil && !p.Missing {
			return err
		}
		if !p.Missing {
			p.Document = &d
			for _, name := range slices.Sorted(maps.Keys(d.Fields)) {
				p.Fields = append(p.Fields, pageField{name, plainText(d.Fields[name])})
			}
		}
	}
	f.Data = p
	return render(w, r, f)
}
