package server

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/riffle-search/riffle"
)

// The view Why draws the plan of a search along the numbers of the documents: for each list, which blocks were decoded,
// of which only bounds were compared, and which were skipped.

// planPage is how a search ran.
type planPage struct {
	Executor string
	Profile  *riffle.Profile
	Phases   []phase
	Rows     []planRow
	Columns  int   // units of the width of a row
	Edges    []int // where segments begin after the first, in units
	Docs     uint32
	Rise     *rise
}

// A phase is a part of the time of a search, as a rectangle of a bar of 100 units.
type phase struct {
	Name, Took string
	X, W       string
	Number     int // for its colour
}

// A planRow is the list of a word, in all segments.
type planRow struct {
	Field, Term               string
	Weight, Bound             float64
	Postings                  int
	Blocks                    riffle.ProfileBlocks
	Decoded, Bounded, Skipped string // paths, of rowHeight units

	columns []drawnColumn
}

// A drawnColumn is how many blocks fall on a unit of a row, by what was done with them.
type drawnColumn struct{ decoded, bounded, skipped float64 }

// A rise is how the threshold rose.
type rise struct {
	Points   string // of a line of 100 by 30 units
	From, To riffle.ProfileThreshold
}

const (
	planRows    = 24 // lists of most words; a prefix stands for more
	planColumns = 6000
	rowHeight   = 8
)

// whyAddress returns the address of the view Why for a search, or for one of its hits.
func whyAddress(params url.Values, index, id string) string {
	to := maps.Clone(params)
	to.Set("index", index)
	to.Del("id")
	if id != "" {
		to.Set("id", id)
	}
	return "/why?" + to.Encode()
}

// planOf searches as the view of searches does, and returns how that ran.
func (ix *index) planOf(w http.ResponseWriter, ctx context.Context, q riffle.Query, params url.Values) (*planPage, error) {
	o := &riffle.SearchOptions{K: pageHits, Profile: &riffle.ProfileOptions{Lists: 1000, Runs: 20_000}}
	if from, err := strconv.Atoi(params.Get("from")); err == nil && from > 0 {
		o.From = from
	}
	if sort := params.Get("sort"); sort != "" {
		var err error
		if o.Sort, err = riffle.ParseSort(sort); err != nil {
			return nil, err
		}
	}
	o.Selections = selectionsOf(params)
	res, err := w.(*answer).run(ctx, ix, q, &SearchOptions{SearchOptions: *o})
	if err != nil {
		return nil, err
	}
	return drawPlan(res.Result), nil
}

// selectionsOf returns the values of facets that the parameters of the page choose, as filters.
func selectionsOf(params url.Values) map[string]riffle.Query {
	all := map[string]riffle.Query{}
	for name, values := range params {
		if field, ok := strings.CutPrefix(name, facetParam); ok {
			all[field] = anyOf(field, values)
		}
	}
	return all
}

// anyOf matches documents that have one of the values of a field.
func anyOf(field string, values []string) riffle.Query {
	q := riffle.Bool{}
	for _, v := range values {
		q.Should = append(q.Should, riffle.Term{Field: field, Value: v})
	}
	return q
}

// drawPlan draws the profile of a result.
func drawPlan(res *riffle.Result) *planPage {
	p := &planPage{Executor: res.Executor, Profile: res.Profile, Phases: phasesOf(res.Profile.Times), Rise: riseOf(res.Profile.Threshold)}
	for _, s := range p.Profile.Segments {
		p.Docs = max(p.Docs, s.First+s.Docs)
	}
	rows := map[string]*planRow{}
	var all []*planRow
	for i := range p.Profile.Lists {
		l := &p.Profile.Lists[i]
		name := l.Field + ":" + l.Term
		row := rows[name]
		if row == nil {
			row = &planRow{Field: l.Field, Term: l.Term, Weight: l.Weight}
			rows[name], all = row, append(all, row)
		}
		row.Postings += l.Postings
		row.Bound = max(row.Bound, l.Bound)
		row.Blocks.Decoded += l.Blocks.Decoded
		row.Blocks.Bounded += l.Blocks.Bounded
		row.Blocks.Skipped += l.Blocks.Skipped
	}
	if len(all) > planRows { // those with most blocks
		kept := slices.Clone(all)
		slices.SortStableFunc(kept, func(a, b *planRow) int { return cmp.Compare(b.blocks(), a.blocks()) })
		kept = kept[:planRows]
		all = slices.DeleteFunc(all, func(r *planRow) bool { return !slices.Contains(kept, r) })
		p.Profile.Omitted += len(rows) - planRows
	}
	p.Columns = min(500, planColumns/max(1, len(all)))
	for _, row := range all {
		row.columns = make([]drawnColumn, p.Columns)
	}
	for i := range p.Profile.Lists {
		l := &p.Profile.Lists[i]
		if row := rows[l.Field+":"+l.Term]; row.columns != nil {
			for j := range l.Runs {
				row.add(&l.Runs[j], p.Docs)
			}
		}
	}
	for _, row := range all {
		row.draw()
		p.Rows = append(p.Rows, *row)
	}
	for _, s := range p.Profile.Segments[min(1, len(p.Profile.Segments)):] {
		p.Edges = append(p.Edges, int(uint64(s.First)*uint64(p.Columns)/uint64(p.Docs)))
	}
	return p
}

func (r *planRow) blocks() int { return r.Blocks.Decoded + r.Blocks.Bounded + r.Blocks.Skipped }

// Blocks of a run are spread evenly between its documents.
func (r *planRow) add(run *riffle.ProfileRun, docs uint32) {
	unit := float64(docs) / float64(len(r.columns))
	first, last := float64(run.First)/unit, (float64(run.Last)+1)/unit
	for i := int(first); i < len(r.columns) && float64(i) < last; i++ {
		share := (min(last, float64(i+1)) - max(first, float64(i))) / (last - first)
		c := &r.columns[i]
		c.decoded += share * float64(run.Decoded)
		c.bounded += share * float64(run.Bounded)
		c.skipped += share * float64(run.Blocks-run.Decoded-run.Bounded)
	}
}

// draw makes the paths: in each column the states are stacked by their shares of the blocks there, decoded ones at the
// bottom. Where any block was decoded or bounded, one unit shows it.
func (r *planRow) draw() {
	var decoded, bounded, skipped steps
	for i, c := range r.columns {
		all := c.decoded + c.bounded + c.skipped
		if all == 0 {
			continue
		}
		d := heightOf(c.decoded / all)
		b := min(rowHeight-d, heightOf(c.bounded/all)) + d
		if c.skipped == 0 {
			b = rowHeight
		}
		decoded.add(i, rowHeight-d, d)
		bounded.add(i, rowHeight-b, b-d)
		skipped.add(i, 0, rowHeight-b)
	}
	r.Decoded, r.Bounded, r.Skipped = decoded.path(), bounded.path(), skipped.path()
}

// heightOf returns a share as units of a row: 0 for nothing alone.
func heightOf(share float64) int {
	if share == 0 {
		return 0
	}
	return max(1, int(rowHeight*share+0.5))
}

// steps are rectangles, of which neighbours of the same height are one.
type steps struct {
	b                   strings.Builder
	from, to, y, height int
}

func (s *steps) add(x, y, height int) {
	if height > 0 && x == s.to && y == s.y && height == s.height {
		s.to++
		return
	}
	s.flush()
	s.from, s.to, s.y, s.height = x, x+1, y, height
}

func (s *steps) flush() {
	if s.height > 0 && s.to > s.from {
		fmt.Fprintf(&s.b, "M%d %dh%dv%dh-%dz", s.from, s.y, s.to-s.from, s.height, s.to-s.from)
	}
	s.from, s.to, s.height = 0, -1, 0
}

func (s *steps) path() string {
	s.flush()
	return s.b.String()
}

// phasesOf returns the phases that follow one another.
func phasesOf(t riffle.ProfileTimes) []phase {
	total := t.Analyse + t.Plan + t.Execute + t.Fetch
	var all []phase
	at := 0.0
	for i, f := range []struct {
		name string
		took time.Duration
	}{{"analyse", t.Analyse}, {"plan", t.Plan}, {"execute", t.Execute}, {"fetch", t.Fetch}} {
		w := 100 * float64(f.took) / float64(max(1, total))
		took := inMilliseconds(f.took)
		if f.name == "execute" && (t.GPU > 0 || t.Wait > 0) {
			took += fmt.Sprintf(": CPU %s, GPU %s, wait %s", inMilliseconds(t.CPU), inMilliseconds(t.GPU), inMilliseconds(t.Wait))
		}
		all = append(all, phase{f.name, took, strconv.FormatFloat(at, 'f', 2, 64), strconv.FormatFloat(w, 'f', 2, 64), i + 1})
		at += w
	}
	return all
}

// inMilliseconds returns a duration as people compare it.
func inMilliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/1e6, 'f', 3, 64) + " ms"
}

// riseOf draws how the threshold rose, if it did.
func riseOf(steps []riffle.ProfileThreshold) *rise {
	if len(steps) < 2 {
		return nil
	}
	from, to := steps[0], steps[len(steps)-1]
	var b strings.Builder
	y := func(t riffle.ProfileThreshold) float64 { return 29 - 28*t.Score/to.Score }
	for i, t := range steps {
		x := 100 * float64(t.Decoding-from.Decoding) / float64(max(1, to.Decoding-from.Decoding))
		if i > 0 {
			fmt.Fprintf(&b, " %.1f,%.1f", x, y(steps[i-1]))
		}
		fmt.Fprintf(&b, " %.1f,%.1f", x, y(t))
	}
	return &rise{b.String()[1:], from, to}
}
