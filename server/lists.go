package server

import (
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/client"
)

// postings describes the lists of a term.
func (s *Server) postings(w http.ResponseWriter, r *http.Request) error {
	ix, err := s.findEngine(r)
	if err != nil {
		return err
	}
	params := r.URL.Query()
	o, err := postingsOptions(params)
	if err != nil {
		return err
	}
	lists, err := ix.engine.Postings(r.Context(), params.Get("field"), params.Get("term"), o)
	if err != nil {
		return err
	}
	answer := client.PostingsAnswer{Lists: make([]client.PostingsList, len(lists))}
	for i := range lists {
		answer.Documents += lists[i].Documents
		answer.Lists[i] = postingsListOf(&lists[i])
	}
	return writeJSON(w, http.StatusOK, answer)
}

// postingsOptions reads the parameters that say what is wanted of lists.
func postingsOptions(params url.Values) (*riffle.PostingsOptions, error) {
	o := new(riffle.PostingsOptions)
	var err error
	if o.Limit, err = number(params, "limit", riffle.DefaultRanges, 10_000); err != nil {
		return nil, err
	}
	if text := params.Get("from"); text != "" {
		if o.From, err = strconv.Atoi(text); err != nil || o.From < 0 {
			p := kindRequest.fault("must be the number of a block or an extent, from 0, not %q", text)
			p.Part = "from"
			return nil, p
		}
	}
	if text := params.Get("segment"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			p := kindRequest.fault("must be the number of a segment, not %q", text)
			p.Part = "segment"
			return nil, p
		}
		o.Segment = &n
	}
	switch level := params.Get("level"); level {
	case "", "blocks":
	case "extents":
		o.Extents = true
	default:
		p := kindRequest.fault("must be blocks or extents, not %q", level)
		p.Part = "level"
		return nil, p
	}
	return o, nil
}

func postingsListOf(l *riffle.PostingsList) client.PostingsList {
	to := client.PostingsList{
		Segment: l.Segment, Base: l.Base, SegmentDocuments: l.SegmentDocs, Documents: l.Documents, Blocks: l.Blocks, Extents: l.Extents,
		Bytes: l.Bytes, Bound: l.Bound, CachedBytes: l.CachedBytes, Visits: l.Visits, Ranges: make([]client.PostingsRange, len(l.Ranges)),
	}
	for i, r := range l.Ranges {
		to.Ranges[i] = client.PostingsRange(r)
	}
	return to
}

// cache answers with the cached lists that searches look up most.
func (s *Server) cache(w http.ResponseWriter, r *http.Request) error {
	ix, err := s.findEngine(r)
	if err != nil {
		return err
	}
	limit, err := number(r.URL.Query(), "limit", 100, 10_000)
	if err != nil {
		return err
	}
	answer, err := ix.cached(limit)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, answer)
}

// cached returns the n lists in each cache that searches look up most.
func (ix *index) cached(n int) (*client.CacheAnswer, error) {
	lists, err := ix.engine.CachedLists(n)
	if err != nil {
		return nil, err
	}
	devices, err := ix.engine.GPUCachedLists(n)
	if err != nil {
		return nil, err
	}
	answer := &client.CacheAnswer{Lists: make([]client.CachedList, len(lists)), Devices: []client.DeviceCache{}}
	for i, l := range lists {
		answer.Lists[i] = client.CachedList{
			CachedName: nameOf(l.Segment, l.Field, l.Term, l.Pair), Visits: l.Visits, Postings: l.Postings,
			Bytes: l.Bytes, Heads: l.Heads, Code: l.Code, Rows: l.Rows, Bitmap: l.Bitmap, Positions: l.Positions,
		}
	}
	if len(devices) == 0 {
		return answer, nil
	}
	st, err := ix.engine.Stats()
	if err != nil {
		return nil, err
	}
	for i, lists := range devices {
		d := client.DeviceCache{Lists: make([]client.DeviceCachedList, len(lists))}
		if st.GPU != nil && i < len(st.GPU.Devices) {
			d.Device = st.GPU.Devices[i].Info.Name
		}
		for j, l := range lists {
			d.Lists[j] = client.DeviceCachedList{
				CachedName: nameOf(l.Segment, l.Field, l.Term, l.Pair), Visits: l.Visits,
				Extents: l.Extents, CachedExtents: l.CachedExtents, CachedBytes: l.CachedBytes,
			}
		}
		answer.Devices = append(answer.Devices, d)
	}
	return answer, nil
}

// nameOf names a cached list. Terms of numbers and dates begin with a zero byte.
func nameOf(segment uint64, field, term string, pair bool) client.CachedName {
	n := client.CachedName{Segment: segment, Field: field, Term: term, Kind: "text"}
	switch {
	case field == "":
		n.Kind = "unknown"
	case pair:
		n.Kind, n.Term = "pair", strings.ReplaceAll(term, "\x00", " ")
	case strings.HasPrefix(term, "\x00") || !utf8.ValidString(term):
		n.Kind, n.Term = "value", hex.EncodeToString([]byte(term))
	}
	return n
}
