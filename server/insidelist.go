package server

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/riffle-search/riffle"
)

// A listView is the list of a term in a segment, drawn along the numbers of its documents.
type listView struct {
	riffle.PostingsList
	Drawn  string  // what a column of the drawing is: "block", or several of them
	Path   string  // of the drawing, in a box of listWidth by listHeight
	Apart  bool    // columns are wide enough for lines between them
	Each   float64 // bits a posting; 0 if unknown
	Blocks string  // address that shows the table

	Rows          []listRow // of the table, if it is shown
	Before, After string    // addresses of the parts of the table before and after
}

// A listRow is a block in the table.
type listRow struct {
	riffle.PostingsRange
	Each  float64 // bits a posting
	Share float64 // of the highest bound of all lists, in percent
}

const (
	listWidth   = 1000
	listHeight  = 60
	listColumns = 512 // of all drawings together: so a page stays small
	listRows    = 50
	mostLists   = 32 // that are drawn: those of the first segments
)

// listsPage is what the view Inside shows of a term.
type listsPage struct {
	Documents int
	Bound     float64
	Search    string // address of the search for the term
	Lists     []listView
	More      int // segments that are not drawn
}

// listsPage describes the lists of a term. The parameter segment chooses one whose blocks are listed.
func (ix *index) listsPage(r *http.Request, field, term string) (*listsPage, error) {
	params := url.Values{"index": {ix.name}, "field": {field}, "term": {term}}
	chosen, err := postingsOptions(url.Values{"segment": {r.FormValue("segment")}, "from": {r.FormValue("from")}})
	if err != nil {
		return nil, err
	}
	blocks, err := ix.engine.Postings(r.Context(), field, term, &riffle.PostingsOptions{Limit: listColumns})
	if err != nil {
		return nil, err
	}
	p := &listsPage{Search: "/?" + url.Values{"index": {ix.name}, "q": {field + ":" + strconv.Quote(term)}}.Encode()}
	for i := range blocks {
		p.Documents += blocks[i].Documents
		p.Bound = max(p.Bound, blocks[i].Bound)
	}
	if len(blocks) == 1 && chosen.Segment == nil {
		chosen.Segment = &blocks[0].Segment
	}
	p.More = max(0, len(blocks)-mostLists)
	blocks = blocks[:len(blocks)-p.More]
	columns := listColumns / max(1, len(blocks))
	extents, err := ix.engine.Postings(r.Context(), field, term, &riffle.PostingsOptions{Extents: true, Limit: 1 << 30})
	if err != nil {
		return nil, err
	}
	for i := range blocks {
		l := listView{PostingsList: blocks[i]}
		ranges := l.Ranges
		if l.PostingsList.Blocks > columns && i < len(extents) && extents[i].Segment == l.Segment {
			ranges = extents[i].Ranges
		}
		l.draw(ranges, len(ranges) == l.PostingsList.Blocks, columns, p.Bound)
		if l.Documents > 0 {
			l.Each = 8 * float64(l.Bytes) / float64(l.Documents)
		}
		params.Set("segment", strconv.FormatUint(l.Segment, 10))
		params.Del("from")
		l.Blocks = listAddress(params)
		if chosen.Segment != nil && *chosen.Segment == l.Segment {
			if err := l.list(r, ix, chosen.From, i, params, p.Bound); err != nil {
				return nil, err
			}
		}
		l.Ranges = nil
		p.Lists = append(p.Lists, l)
	}
	return p, nil
}

func listAddress(params url.Values) string { return "/inside?" + params.Encode() + "#list" }

// draw makes the path of the bounds of ranges, which are blocks or extents, in so many columns at most.
func (l *listView) draw(ranges []riffle.PostingsRange, blocks bool, columns int, highest float64) {
	each := max(1, (len(ranges)+columns-1)/columns)
	l.Apart = len(ranges)/each <= 64
	switch of := each; {
	case blocks && of == 1:
		l.Drawn = "block"
	case blocks:
		l.Drawn = strconv.Itoa(of) + " blocks"
	default:
		l.Drawn = strconv.Itoa(32*of) + " blocks"
	}
	var b strings.Builder
	for i := 0; i < len(ranges); i += each {
		some := ranges[i:min(i+each, len(ranges))]
		bound := 0.0
		for _, r := range some {
			bound = max(bound, r.Bound)
		}
		x := func(doc uint32) string {
			return strconv.FormatFloat(listWidth*float64(doc)/float64(max(1, l.SegmentDocs)), 'f', 1, 64)
		}
		y := listHeight * (1 - bound/max(highest, 1e-300))
		b.WriteString("M" + x(some[0].First) + " " + strconv.Itoa(listHeight) + "V" + strconv.FormatFloat(y, 'f', 1, 64) +
			"H" + x(some[len(some)-1].Last+1) + "V" + strconv.Itoa(listHeight) + "z")
	}
	l.Path = b.String()
}

// list lists blocks from a number on. A segment in memory may have two lists: of is the number of this one.
func (l *listView) list(r *http.Request, ix *index, from, of int, params url.Values, highest float64) error {
	part, err := ix.engine.Postings(r.Context(), params.Get("field"), params.Get("term"), &riffle.PostingsOptions{From: from, Limit: listRows})
	if err != nil {
		return err
	}
	if of >= len(part) || part[of].Segment != l.Segment {
		return nil // it has been merged meanwhile
	}
	for _, b := range part[of].Ranges {
		l.Rows = append(l.Rows, listRow{b, float64(b.Bits) / float64(max(1, b.Postings)), 100 * b.Bound / max(highest, 1e-300)})
	}
	if from > 0 {
		params.Set("from", strconv.Itoa(max(0, from-listRows)))
		l.Before = listAddress(params)
	}
	if from+listRows < part[of].Blocks {
		params.Set("from", strconv.Itoa(from+listRows))
		l.After = listAddress(params)
	}
	return nil
}
