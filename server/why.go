package server

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/client"
)

// whyPage explains the score of a hit, if one is named, and how its search ran.
type whyPage struct {
	Index, Query, ID string
	Tree             *client.Explanation
	Bar              []share
	Plan             *planPage
}

// A share is what a part of the query adds to a score, as a rectangle of a bar of 100 units.
type share struct {
	Text    string
	Score   float64
	X, W    string // in units
	Percent string
	Number  int // of the part, from 1, for its colour
}

// whyView explains how a document gets its score, and how the search for it ran.
func (s *Server) whyView(w http.ResponseWriter, r *http.Request) error {
	f, ix, err := s.frameOf("why", r)
	if err != nil {
		return err
	}
	if ix == nil {
		return kindNoIndex.fault("the parameter index names none")
	}
	p := &whyPage{Index: ix.name, Query: r.FormValue("q"), ID: r.FormValue("id")}
	q, _, err := ix.query(r.Context(), nil, &client.Text{Text: p.Query}, readingOf(r))
	if err != nil {
		return err
	}
	if p.ID != "" {
		x, err := ix.at.Explain(r.Context(), q, p.ID, readingOf(r))
		if err != nil {
			return err
		}
		p.Tree, p.Bar = explanationOf(x), sharesOf(x)
	}
	if ix.engine != nil {
		if p.Plan, err = ix.planOf(w, r.Context(), q, r.URL.Query()); err != nil {
			return err
		}
	}
	f.Data = p
	return render(w, r, f)
}

// sharesOf returns what the parts of a query add to a score. They go down to where one part is not the sum of those
// below it, such as the weight and the impact of a word.
func sharesOf(x *riffle.Explanation) []share {
	var leaves []*riffle.Explanation
	var walk func(x *riffle.Explanation)
	walk = func(x *riffle.Explanation) {
		sum := 0.0
		for _, p := range x.Parts {
			if p.Matches {
				sum += p.Score
			}
		}
		if len(x.Parts) > 0 && abs(sum-x.Score) <= 1e-6*abs(x.Score) {
			for _, p := range x.Parts {
				walk(p)
			}
		} else if x.Matches && x.Score > 0 {
			leaves = append(leaves, x)
		}
	}
	walk(x)
	var all []share
	at, total := 0.0, 0.0
	for _, l := range leaves {
		total += l.Score
	}
	for i, l := range leaves {
		w := 100 * l.Score / total
		all = append(all, share{l.Text, l.Score, strconv.FormatFloat(at, 'f', 2, 64), strconv.FormatFloat(w, 'f', 2, 64), fmt.Sprintf("%.0f %%", w), i%6 + 1})
		at += w
	}
	return all
}

func abs(v float64) float64 { return max(v, -v) }
