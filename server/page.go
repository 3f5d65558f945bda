package server

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/client"
)

// The page is made by templates, so that it works without JavaScript. With it, page.js asks for the part of a page
// that changes, as the user types. So there is one rendering of everything.
//
//go:embed page
var pageFiles embed.FS

var pages = template.Must(template.New("").Funcs(template.FuncMap{"count": grouped, "ms": inMilliseconds, "bytes": inUnits, "took": inTime, "visits": visits, "clock": clock, "date": date}).ParseFS(pageFiles, "page/*.html"))

const (
	pageHits    = 10 // of a page
	pageFacets  = 6  // fields with facets at most
	facetValues = 8
)

// A frame is what every page shows: its view, the indexes, and the one that is chosen.
type frame struct {
	View    string // "search", "why", "inside", "cluster", "watch" or "fault"
	Index   string
	Indexes []string
	Sharded bool // the index is one of the cluster, and has fewer views
	Cluster bool // there is one
	Data    any
}

// namesWait is how long a page waits for the names of all indexes.
const namesWait = 2 * time.Second

// frameOf returns the frame of a request and the index that it names by the parameter index, or the first one.
func (s *Server) frameOf(view string, r *http.Request) (*frame, *index, error) {
	f := &frame{View: view, Index: r.FormValue("index"), Cluster: s.opts.Cluster != nil}
	var err error
	short, cancel := context.WithTimeout(r.Context(), namesWait)
	f.Indexes, err = s.names(short)
	cancel()
	if err != nil {
		if f.Index == "" {
			return nil, nil, err
		}
		f.Indexes = []string{f.Index} // a cluster that cannot list its indexes may still answer for one
	}
	if f.Index == "" && len(f.Indexes) > 0 {
		f.Index = f.Indexes[0]
	}
	if f.Index == "" {
		return f, nil, nil
	}
	ix, err := s.named(r.Context(), f.Index)
	if err != nil {
		return nil, nil, err
	}
	f.Sharded = ix.engine == nil
	return f, ix, nil
}

// engineFrameOf is frameOf for views that only indexes of this process have.
func (s *Server) engineFrameOf(view string, r *http.Request) (*frame, *index, error) {
	f, ix, err := s.frameOf(view, r)
	if ix != nil && ix.engine == nil {
		err = kindUnsupported.fault("%s is divided over machines; this view shows indexes of one machine", ix.name)
	}
	return f, ix, err
}

// shown is a view whose faults are pages, too. Those of parts stay problems, which page.js shows, and so do faults of
// the server.
func shown(view func(*Server, http.ResponseWriter, *http.Request) error) func(*Server, http.ResponseWriter, *http.Request) error {
	return func(s *Server, w http.ResponseWriter, r *http.Request) error {
		err := view(s, w, r)
		if err == nil {
			return nil
		}
		p := faultOf(err)
		if p.Status >= 500 && p.Status != http.StatusNotImplemented || p.Status == http.StatusTooManyRequests || r.FormValue("part") != "" {
			return err
		}
		said := *p
		if p.Part != "" && !strings.HasPrefix(p.Detail, p.Part) {
			said.Detail = p.Part + ": " + p.Detail
		}
		f := &frame{View: "fault", Cluster: s.opts.Cluster != nil, Data: &said}
		if f.Indexes, err = s.names(r.Context()); err != nil {
			return err
		}
		if f.Index = r.FormValue("index"); !slices.Contains(f.Indexes, f.Index) && len(f.Indexes) > 0 {
			f.Index = f.Indexes[0]
		}
		f.Sharded = f.Index != "" && s.host.find(f.Index) == nil
		return renderAs(p.Status, w, r, f)
	}
}

// render answers with a page, or with a part of it if the parameter part asks for that.
func render(w http.ResponseWriter, r *http.Request, f *frame) error {
	return renderAs(http.StatusOK, w, r, f)
}

func renderAs(status int, w http.ResponseWriter, r *http.Request, f *frame) error {
	name, data := "page.html", any(f)
	if part := r.FormValue("part"); part != "" {
		if name, data = part, f.Data; part != "results" && part != f.View {
			p := kindRequest.fault("this page has no part %q", part)
			p.Part = "part"
			return p
		}
	}
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, data); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	return w.(*answer).whole(status, b.Bytes())
}

// asset answers with a file of the page.
func (s *Server) asset(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("file")
	if strings.HasSuffix(name, ".html") {
		return kindNotFound.fault("%s", r.URL.Path)
	}
	data, err := pageFiles.ReadFile("page/" + name)
	if err != nil {
		return kindNotFound.fault("%s", r.URL.Path)
	}
	types := map[string]string{"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
	w.Header().Set("Content-Type", types[name[strings.LastIndexByte(name, '.')+1:]])
	w.Header().Set("Cache-Control", "no-cache")
	w.Write(data)
	return nil
}

// searchPage is what the view of searches shows.
type searchPage struct {
	Index   string
	Sharded bool // the index is one of a cluster
	Query   string
	Sort    string
	Sorts   []sortChoice
	Fault   *textFault
	Answer  *client.SearchAnswer
	Hits    []pageHit
	Facets  []facet
	Chosen  []choice // values of facets that have been chosen
	Freed   string   // address of the page without those values
	First   int      // number of the first hit, from 1
	Last    int
	Before  string // address of the page before; empty on the first one
	After   string
	Ran     string // address of the plan
	Request requestForms
}

// A sortChoice is an order of hits, as ParseSort reads it.
type sortChoice struct {
	Value, Text string
	Chosen      bool
}

// A textFault is an error in the text of a query, cut where it is.
type textFault struct {
	Before, At, After string
	Reason            string
}

// A pageHit is a hit as the page shows it.
type pageHit struct {
	Number    int
	ID        string
	Title     template.HTML
	Score     float64
	Fragments []pageFragment
	Beginning string // of a text, where there are no fragments
	Fields    []pageField
	Why       string // address of its explanation
	Inside    string // address of the document
}

type pageFragment struct {
	Field string
	HTML  template.HTML
}

type pageField struct{ Name, Value string }

// A facet is a field whose values can be chosen, with the number of hits of each.
type facet struct {
	Field  string
	Values []facetValue
	Other  int // hits of other values
}

type facetValue struct {
	Value  string
	Count  int
	Chosen bool
	Toggle string // address that adds or removes it
}

type choice struct{ Field, Value, Remove string }

// facetParam begins the parameters that choose values of facets: f.color=red.
const facetParam = "f."

// searchView is the page of searches.
func (s *Server) searchView(w http.ResponseWriter, r *http.Request) error {
	f, ix, err := s.frameOf("search", r)
	if err != nil {
		return err
	}
	if ix == nil {
		f.Data = &searchPage{}
		return render(w, r, f)
	}
	p, err := ix.searchPage(w, r)
	if err != nil {
		return err
	}
	f.Data = p
	return render(w, r, f)
}

// searchPage carries out the search of a page.
func (ix *index) searchPage(w http.ResponseWriter, r *http.Request) (*searchPage, error) {
	params := r.URL.Query()
	params.Del("part")
	p := &searchPage{Index: ix.name, Sharded: ix.engine == nil, Query: params.Get("q"), Sort: params.Get("sort")}
	from, err := strconv.Atoi(cmp.Or(params.Get("from"), "0"))
	if err != nil || from < 0 {
		f := kindRequest.fault("must be the number of hits to skip, not %q", params.Get("from"))
		f.Part = "from"
		return nil, f
	}
	shown := ix.shownFields()
	req := &client.SearchRequest{
		Text: &client.Text{Text: p.Query}, K: pageHits, From: from, ExactTotal: true, Load: []string{"*"},
		Highlight: &client.Highlight{HTML: true, Fragments: 2}, Selections: map[string]riffle.Query{}, Aggregations: map[string]riffle.Aggregation{},
	}
	if p.Query == "" {
		req.Highlight = nil
	}
	if p.Sort != "" {
		if req.Sort, err = riffle.ParseSort(p.Sort); err != nil {
			return nil, err
		}
	}
	for _, field := range shown {
		req.Aggregations[field] = riffle.TermsAggregation{Field: field, Size: facetValues}
		if values := params[facetParam+field]; len(values) > 0 {
			for _, v := range values {
				p.Chosen = append(p.Chosen, choice{field, v, toggled(params, field, v)})
			}
			req.Selections[field] = anyOf(field, values)
		}
	}
	p.Sorts, p.Freed = ix.sortChoices(p.Sort), freed(params)
	p.Request = formsOf(r, ix.name, req)
	q, _, err := w.(*answer).parse(r.Context(), ix, req, readingOf(r))
	if p.Fault = queryFault(p.Query, err); p.Fault != nil {
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	o, err := searchOptions(req, r)
	if err != nil {
		return nil, err
	}
	res, err := w.(*answer).run(r.Context(), ix, q, o)
	if p.Fault = queryFault(p.Query, err); p.Fault != nil {
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	p.Answer = answerOf(res, req)
	if ix.engine != nil {
		p.Ran = whyAddress(params, ix.name, "")
	}
	p.First, p.Last = from+1, from+len(res.Hits)
	for i := range p.Answer.Hits {
		p.Hits = append(p.Hits, ix.pageHit(&p.Answer.Hits[i], from+i+1, params))
	}
	for _, field := range shown {
		if f := facetOf(field, res.Aggregations[field], params); len(f.Values) > 1 || len(f.Values) == 1 && f.Values[0].Chosen {
			p.Facets = append(p.Facets, f)
		}
	}
	if from > 0 {
		p.Before = address(params, "from", strconv.Itoa(max(0, from-pageHits)))
	}
	if p.Last < p.Answer.Total && p.Last+pageHits <= riffle.MaxK {
		p.After = address(params, "from", strconv.Itoa(from+pageHits))
	}
	return p, nil
}

// shownFields returns the fields that facets are made of: keywords with a column, the first ones by name.
func (ix *index) shownFields() []string {
	var fields []string
	for name, f := range ix.at.Schema().Fields {
		if f.Type == riffle.FieldKeyword && f.Column != riffle.ColumnNone && !f.NoIndex {
			fields = append(fields, name)
		}
	}
	slices.Sort(fields)
	return fields[:min(len(fields), pageFacets)]
}

// sortFields are offered at most, in two directions each.
const sortFields = 8

// sortChoices returns orders that the hits can have: by score, and by fields with a column, the first ones by name.
func (ix *index) sortChoices(chosen string) []sortChoice {
	all := []sortChoice{{"", "best match", chosen == ""}}
	fields := ix.at.Schema().Fields
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		f := fields[name]
		if f.Type == riffle.FieldText || f.Type == riffle.FieldPlace || f.Column == riffle.ColumnNone || len(all) > 2*sortFields {
			continue
		}
		if keys, err := riffle.ParseSort(name); err != nil || len(keys) != 1 || keys[0] != (riffle.SortKey{Field: name}) {
			continue // sort texts cannot name it
		}
		all = append(all, sortChoice{name, name + ", ascending", chosen == name}, sortChoice{"-" + name, name + ", descending", chosen == "-"+name})
	}
	if !slices.ContainsFunc(all, func(c sortChoice) bool { return c.Chosen }) {
		all = append(all, sortChoice{chosen, chosen, true})
	}
	return all
}

// beginning is how many bytes of a text the page shows where there is no fragment. A text longer than brief is no
// field among others.
const (
	beginning = 200
	brief     = 80
)

// pageHit returns a hit as the page shows it: a title, fragments or the beginning of a text, and other stored fields.
func (ix *index) pageHit(h *client.Hit, number int, params url.Values) pageHit {
	to := pageHit{Number: number, ID: string(h.ID), Score: h.Score}
	to.Why = whyAddress(params, ix.name, to.ID)
	if ix.engine != nil {
		to.Inside = "/inside?" + url.Values{"index": {ix.name}, "id": {to.ID}}.Encode() + "#document"
	}
	titled, title := "", to.ID
	for _, name := range []string{"title", "name", "subject", "headline"} {
		if text, ok := h.Fields[name].(string); ok && text != "" {
			title, titled = text, name
			break
		}
	}
	to.Title = template.HTML(template.HTMLEscapeString(title))
	for _, field := range slices.Sorted(maps.Keys(h.Fragments)) {
		for _, f := range h.Fragments[field] {
			html := template.HTML(f.HTML) // escaped by riffle.Fragment.HTML
			if field == titled && f.Text == title {
				to.Title = html
				continue
			}
			to.Fragments = append(to.Fragments, pageFragment{field, html})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h.Fields)) {
		text := plainText(h.Fields[name])
		long := len(text) > brief
		switch {
		case name == titled || long && len(to.Fragments) > 0 || len(h.Fragments[name]) > 0:
		case long && to.Beginning == "":
			to.Beginning = cut(text)
		case len(to.Fields) < 8:
			to.Fields = append(to.Fields, pageField{name, cut(text)})
		}
	}
	return to
}

// cut returns the beginning of a text.
func cut(text string) string {
	if len(text) <= beginning {
		return text
	}
	return strings.ToValidUTF8(text[:beginning], "") + "…"
}

// plainText returns a stored value as people read it.
func plainText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = plainText(v[i])
		}
		return strings.Join(parts, ", ")
	case riffle.Point:
		return fmt.Sprintf("%.5f, %.5f", v.Lat, v.Lon)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return strings.Trim(string(data), `"`)
}

// facetOf returns the values of a field that hits have, the chosen ones first.
func facetOf(field string, res riffle.AggregationResult, params url.Values) facet {
	f := facet{Field: field, Other: res.Other}
	for _, v := range params[facetParam+field] {
		f.Values = append(f.Values, facetValue{Value: v, Chosen: true, Toggle: toggled(params, field, v)})
	}
	for _, b := range res.Buckets {
		value := fmt.Sprint(b.Key)
		i := slices.IndexFunc(f.Values, func(v facetValue) bool { return v.Value == value })
		if i < 0 {
			i = len(f.Values)
			f.Values = append(f.Values, facetValue{Value: value, Toggle: toggled(params, field, value)})
		}
		f.Values[i].Count = b.Count
	}
	return f
}

// toggled returns the address of the page with a value of a facet chosen that is not, or the other way round.
func toggled(params url.Values, field, value string) string {
	to := url.Values{}
	for name, values := range params {
		to[name] = slices.Clone(values)
	}
	name := facetParam + field
	if i := slices.Index(to[name], value); i >= 0 {
		to[name] = slices.Delete(to[name], i, i+1)
	} else {
		to[name] = append(to[name], value)
	}
	to.Del("from")
	return "/?" + to.Encode()
}

// freed returns the address of the page without a value of a facet.
func freed(params url.Values) string {
	to := url.Values{}
	for name, values := range params {
		if !strings.HasPrefix(name, facetParam) && name != "from" {
			to[name] = values
		}
	}
	return "/?" + to.Encode()
}

// address returns the address of the page with another value of a parameter.
func address(params url.Values, name, value string) string {
	to := url.Values{}
	for n, values := range params {
		to[n] = values
	}
	to.Set(name, value)
	return "/?" + to.Encode()
}

// queryFault returns what is wrong with a query, or nil if err is of another kind.
func queryFault(text string, err error) *textFault {
	if err == nil {
		return nil
	}
	if parse, ok := errors.AsType[*riffle.ParseError](err); ok {
		return faultAt(text, parse)
	}
	if p := faultOf(err); p.Type == kindQuery.urn() {
		return &textFault{Reason: p.Detail}
	}
	return nil
}

// faultAt cuts a text where an error is.
func faultAt(text string, e *riffle.ParseError) *textFault {
	at := min(e.Offset, len(text))
	end := at
	for end < len(text) && (end == at || text[end]&0xC0 == 0x80) {
		end++
	}
	f := &textFault{Before: text[:at], At: text[at:end], After: text[end:], Reason: e.Reason}
	if e.Hint != "" {
		f.Reason += "; " + e.Hint
	}
	return f
}

// grouped returns a whole number with its thousands apart, by thin spaces.
func grouped(n any) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "\u202f" + digits[i:]
	}
	return digits
}

// inUnits returns a number of bytes in decimal units.
func inUnits(n int64) string {
	const units = "kMGT"
	v, unit := float64(n), -1
	for v >= 999.5 && unit < len(units)-1 {
		v, unit = v/1000, unit+1
	}
	if unit < 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.3g %cB", v, units[unit])
}

// inTime returns milliseconds in the unit that suits.
func inTime(ms float64) string {
	switch {
	case ms < 1:
		return fmt.Sprintf("%.2f ms", ms)
	case ms < 1000:
		return fmt.Sprintf("%.3g ms", ms)
	}
	return fmt.Sprintf("%.1f s", ms/1000)
}

// visits returns a number of visits, which fade on GPUs.
func visits(n float64) string {
	if n < 10 && n != float64(int64(n)) {
		return fmt.Sprintf("%.1f", n)
	}
	return grouped(int64(n))
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }
func date(t time.Time) string  { return t.UTC().Format(time.RFC3339) }
