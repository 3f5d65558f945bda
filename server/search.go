package server

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/client"
)

// search answers a search whose request is the body.
func (s *Server) search(w http.ResponseWriter, r *http.Request) error {
	ix, err := s.find(r)
	if err != nil {
		return err
	}
	data, err := s.readBody(w, r)
	if err != nil {
		return err
	}
	req, ok := readPlainSearch(data)
	if !ok {
		req = new(client.SearchRequest)
		if err := readValue(data, req); err != nil {
			return err
		}
	}
	return ix.search(w, r, req)
}

// searchText answers a search whose query is a text in the query language.
func (s *Server) searchText(w http.ResponseWriter, r *http.Request) error {
	ix, err := s.find(r)
	if err != nil {
		return err
	}
	req, err := requestOf(r.URL.Query())
	if err != nil {
		return err
	}
	return ix.search(w, r, req)
}

// requestOf reads a request from the parameters of a URL.
func requestOf(params url.Values) (*client.SearchRequest, error) {
	text := &client.Text{Text: params.Get("q"), Mode: params.Get("mode"), TimeZone: params.Get("time_zone"), Fields: names(params.Get("fields"))}
	req := &client.SearchRequest{Text: text, Load: names(params.Get("load"))}
	bad := func(name string, err error) error {
		f := kindRequest.caused(err)
		f.Part = name
		return f
	}
	for name := range params {
		var err error
		switch value := params.Get(name); name {
		case "q", "mode", "time_zone", "fields", "load", "timeout", "token":
		case "k":
			req.K, err = strconv.Atoi(value)
		case "from":
			req.From, err = strconv.Atoi(value)
		case "after":
			req.After = client.Cursor(value)
		case "sort":
			req.Sort, err = riffle.ParseSort(value)
		case "exact_total":
			req.ExactTotal, err = strconv.ParseBool(value)
		case "cursors":
			req.Cursors, err = strconv.ParseBool(value)
		case "allow_missing":
			req.AllowMissing, err = strconv.ParseBool(value)
		case "lenient":
			text.Lenient, err = strconv.ParseBool(value)
		case "profile":
			var profile bool
			if profile, err = strconv.ParseBool(value); profile {
				req.Profile = &client.ProfileOptions{}
			}
		case "highlight":
			req.Highlight = &client.Highlight{Fields: names(value), HTML: true}
		default:
			err = errors.New("there is no such parameter; POST takes all options")
		}
		if err != nil {
			return nil, bad(name, err)
		}
	}
	return req, nil
}

// names reads names that commas separate.
func names(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

func (ix *index) search(w http.ResponseWriter, r *http.Request, req *client.SearchRequest) error {
	q, notes, err := w.(*answer).parse(r.Context(), ix, req, readingOf(r))
	if err != nil {
		return err
	}
	o, err := searchOptions(req, r)
	if err != nil {
		return err
	}
	res, err := w.(*answer).run(r.Context(), ix, q, o)
	if err != nil {
		return err
	}
	return writeAnswer(w, res, req, notes)
}

// count answers how many documents match.
func (s *Server) count(w http.ResponseWriter, r *http.Request) error {
	ix, err := s.find(r)
	if err != nil {
		return err
	}
	var req client.CountRequest
	if err := s.readJSON(w, r, &req); err != nil {
		return err
	}
	q, _, err := ix.query(r.Context(), req.Query, req.Text, readingOf(r))
	if err != nil {
		return err
	}
	n, err := ix.at.Count(r.Context(), q, readingOf(r))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, client.CountAnswer{Count: n})
}

// query returns the query of a request. Of a lenient text, notes say what was searched as words.
func (ix *index) query(ctx context.Context, q riffle.Query, text *client.Text, read Reading) (riffle.Query, []client.Note, error) {
	switch {
	case q != nil && text != nil:
		return nil, nil, kindRequest.fault("query and text exclude each other")
	case q != nil:
		return q, nil, nil
	case text == nil || text.Text == "":
		return riffle.All{}, nil, nil
	}
	return ix.parse(ctx, text, read)
}

// parse is query for a text that is not empty.
func (ix *index) parse(ctx context.Context, text *client.Text, read Reading) (q riffle.Query, notes []client.Note, err error) {
	o := &riffle.ParseOptions{Fields: text.Fields, Boosts: text.Boosts, TimeZone: text.TimeZone, Lenient: text.Lenient}
	if text.Mode != "" {
		if o.Mode, err = riffle.ParseMode(text.Mode); err != nil {
			f := kindRequest.caused(err)
			f.Part = "text.mode"
			return nil, nil, f
		}
	}
	o.Note = func(e *riffle.ParseError) {
		notes = append(notes, client.Note{Offset: e.Offset, Reason: e.Reason, Hint: e.Hint})
	}
	q, err = ix.at.ParseQuery(ctx, text.Text, o, read)
	return q, notes, err
}

// readingOf returns what a read must see, which the parameters of its URL say.
func readingOf(r *http.Request) Reading {
	if r.URL.RawQuery == "" {
		return Reading{}
	}
	params := r.URL.Query()
	return Reading{Token: strings.Join(params["token"], ","), Linearizable: params.Get("linearizable") == "true"}
}

// searchOptions returns the options of a request.
func searchOptions(req *client.SearchRequest, r *http.Request) (*SearchOptions, error) {
	o := &SearchOptions{After: req.After, AllowMissing: req.AllowMissing, Reading: readingOf(r)}
	o.SearchOptions = riffle.SearchOptions{
		K: req.K, From: req.From, Sort: req.Sort, Collapse: req.Collapse, ExactTotal: req.ExactTotal, NoHits: req.NoHits,
		Load: req.Load, Versions: req.Versions, Aggregations: req.Aggregations, Selections: req.Selections, Partial: req.Partial,
		Alpha: req.Alpha, Now: req.Now, Deadline: time.Duration(req.Deadline), FailLate: req.FailLate,
	}
	if h := req.Highlight; h != nil {
		o.Highlight = &riffle.HighlightOptions{Fields: h.Fields, Fragments: h.Fragments, Size: h.Size, BySize: h.BySize, InOrder: h.InOrder, Lead: h.Lead}
	}
	if p := req.Profile; p != nil {
		if err := within("profile.lists", p.Lists, maxProfileLists); err != nil {
			return nil, err
		}
		if err := within("profile.runs", p.Runs, maxProfileRuns); err != nil {
			return nil, err
		}
		o.Profile = &riffle.ProfileOptions{Lists: p.Lists, Runs: p.Runs}
	}
	if sim := req.Similarity; sim != nil {
		o.Similarity = &riffle.BM25{K1: orZero(sim.K1), B: orZero(sim.B)}
	}
	switch req.Processor {
	case "", "auto":
	case "cpu":
		o.Processor = riffle.ProcessorCPU
	case "gpu":
		o.Processor = riffle.ProcessorGPU
	default:
		f := kindRequest.fault(`must be "auto", "cpu" or "gpu", not %q`, req.Processor)
		f.Part = "processor"
		return nil, f
	}
	return o, nil
}

// The most of a profile that an answer has: some megabytes.
const (
	maxProfileLists = 1000
	maxProfileRuns  = 20_000
)

// within returns an error about a part of a request unless it lies in 0 to most.
func within(part string, n, most int) error {
	if n >= 0 && n <= most {
		return nil
	}
	f := kindRequest.fault("must lie in 0 to %d, not %d", most, n)
	f.Part = part
	return f
}

// orZero returns a parameter of BM25 as options have it: 0 for the default, riffle.BM25Zero for 0.
func orZero(p *float64) float64 {
	if p == nil {
		return 0
	}
	if *p == 0 {
		return riffle.BM25Zero
	}
	return *p
}

// answerOf returns the answer to a request, without cursors.
func answerOf(res *Found, req *client.SearchRequest) *client.SearchAnswer {
	html := req.Highlight != nil && req.Highlight.HTML
	return &client.SearchAnswer{
		Hits: hitsOf(res.Hits, html), Total: res.Total, TotalExact: res.TotalExact, Groups: res.Groups, Incomplete: res.Incomplete,
		Aggregations: aggregationsOf(res.Aggregations), Work: client.Work(res.Work), Executor: res.Executor, Took: float64(res.Duration) / 1e6,
		Profile: res.Profile, Missing: res.Missing,
	}
}

func hitsOf(hits []riffle.Hit, html bool) []client.Hit {
	all := make([]client.Hit, len(hits))
	for i := range hits {
		h := &hits[i]
		all[i] = client.Hit{
			ID: client.ID(h.ID), Score: h.Score, Sort: h.Sort, Group: h.Group, GroupSize: h.GroupSize, Version: h.Version, Fields: h.Fields,
		}
		if len(h.Fragments) > 0 {
			all[i].Fragments = make(map[string][]client.Fragment, len(h.Fragments))
		}
		for field, list := range h.Fragments {
			all[i].Fragments[field] = fragmentsOf(list, html)
		}
	}
	return all
}

func aggregationsOf(results map[string]riffle.AggregationResult) map[string]client.AggregationResult {
	if len(results) == 0 {
		return nil
	}
	all := make(map[string]client.AggregationResult, len(results))
	for name, r := range results {
		to := client.AggregationResult{Other: r.Other, Missing: r.Missing, Distinct: r.Distinct, Stats: r.Stats, Percentiles: r.Percentiles, Hits: hitsOf(r.Hits, false)}
		for _, b := range r.Buckets {
			to.Buckets = append(to.Buckets, client.Bucket{Key: b.Key, Count: b.Count, Sub: aggregationsOf(b.Sub)})
		}
		all[name] = to
	}
	return all
}

func fragmentsOf(list []riffle.Fragment, html bool) []client.Fragment {
	all := make([]client.Fragment, len(list))
	for i, f := range list {
		all[i] = client.Fragment{Value: f.Value, Start: f.Start, End: f.End, Text: f.Text, Before: f.Before, After: f.After, Score: f.Score, Matches: [][2]int{}}
		for _, m := range f.Matches {
			all[i].Matches = append(all[i].Matches, [2]int{m.Start, m.End})
		}
		if html {
			all[i].HTML = f.HTML()
		}
	}
	return all
}
