package server

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/riffle-search/riffle"
)

var stateRects = regexp.MustCompile(`M(\d+) (\d+)h(\d+)v(\d+)h-(\d+)z`)

// heights adds the rectangles of a path to the heights of the columns that it covers, and returns how many it has.
func heights(t *testing.T, path string, columns []int) (rects int) {
	t.Helper()
	whole := ""
	for _, m := range stateRects.FindAllStringSubmatch(path, -1) {
		var n [6]int
		for i := 1; i < len(m); i++ {
			n[i], _ = strconv.Atoi(m[i])
		}
		if n[3] != n[5] || n[2]+n[4] > rowHeight || n[3] == 0 || n[4] == 0 {
			t.Errorf("the rectangle %s", m[0])
		}
		for x := n[1]; x < n[1]+n[3]; x++ {
			columns[x] += n[4]
		}
		whole += m[0]
		rects++
	}
	if whole != path {
		t.Errorf("the path %s has more than rectangles", path)
	}
	return rects
}

// TestDrawPlan: in each column where a list has documents, the states fill the height, and each that occurs there shows.
func TestDrawPlan(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	for range 300 {
		docs := uint32(1 + rng.IntN(100_000))
		p := &riffle.Profile{Segments: []riffle.ProfileSegment{{Docs: docs / 2}, {First: docs / 2, Docs: docs - docs/2}}}
		sum := riffle.ProfileBlocks{}
		for s, seg := range p.Segments {
			l := riffle.ProfileList{Segment: s, Field: "f", Term: "t"}
			for at := seg.First; at < seg.First+seg.Docs; {
				r := riffle.ProfileRun{First: at, Last: min(at+rng.Uint32N(docs/4+1), seg.First+seg.Docs-1), Blocks: 1 + rng.IntN(40)}
				switch rng.IntN(4) {
				case 0:
					r.Decoded = r.Blocks
				case 1:
					r.Bounded = r.Blocks
				case 2:
					r.Decoded, r.Bounded = rng.IntN(r.Blocks/2+1), rng.IntN(r.Blocks/2+1)
				}
				l.Blocks.Decoded, l.Blocks.Bounded, l.Blocks.Skipped = l.Blocks.Decoded+r.Decoded, l.Blocks.Bounded+r.Bounded, l.Blocks.Skipped+r.Blocks-r.Decoded-r.Bounded
				l.Runs, at = append(l.Runs, r), r.Last+1
			}
			sum.Decoded, sum.Bounded, sum.Skipped = sum.Decoded+l.Blocks.Decoded, sum.Bounded+l.Blocks.Bounded, sum.Skipped+l.Blocks.Skipped
			p.Lists = append(p.Lists, l)
		}
		drawn := drawPlan(&riffle.Result{Profile: p})
		if len(drawn.Rows) != 1 || drawn.Rows[0].Blocks != sum || drawn.Docs != docs {
			t.Fatalf("%d rows for two lists of a word, %+v of %+v", len(drawn.Rows), drawn.Rows[0].Blocks, sum)
		}
		row := drawn.Rows[0]
		all := make([]int, drawn.Columns)
		if n := heights(t, row.Decoded, all); (n > 0) != (sum.Decoded > 0) {
			t.Errorf("%d decoded blocks are %d rectangles", sum.Decoded, n)
		}
		heights(t, row.Bounded, all)
		heights(t, row.Skipped, all)
		for x, h := range all {
			if h != rowHeight {
				t.Fatalf("column %d of %d, %d documents: the states have %d units", x, drawn.Columns, docs, h)
			}
		}
	}
}

// TestPlanPage: the view Why draws the lists of a search, with or without a hit, and a search of many words in bounds.
func TestPlanPage(t *testing.T) {
	s := newServer(t, nil)
	var words strings.Builder
	docs := make([]string, 3000)
	for i := range docs {
		docs[i] = fmt.Sprintf(`{"put": "d%d", "fields": {"text": "all w%d", "shelf": "s%d"}}`, i, i%40, i%3)
	}
	for i := range 40 {
		fmt.Fprintf(&words, "w%d+", i)
	}
	for _, text := range []string{
		`PUT /v1/indexes/a` + "\n" + `{"schema": {"fields": {"text": {"type": "text"}, "shelf": {"type": "keyword"}}}}`,
		"POST /v1/indexes/a/documents\n[" + strings.Join(docs, ",") + "]",
	} {
		if res := send(s, readRequest(t, text)); res.StatusCode >= 300 {
			t.Fatal(printAnswer(t, res))
		}
	}
	get := func(path string) string {
		t.Helper()
		r := readRequest(t, "GET "+path)
		body := printAnswer(t, send(s, r))
		if !strings.HasPrefix(body, strconv.Itoa(http.StatusOK)) {
			t.Fatalf("%s: %s", path, body)
		}
		return body
	}
	whole := get("/why?index=a&q=all+w7")
	for _, text := range []string{"<h1>How this search ran</h1>", "Options.GPU", "block-max MaxScore", "text:w7: 1 blocks decoded, 0 bounded, 0 skipped", `class="decoded" d="M`, `<td class="n">75</td>`, "execute"} {
		if !strings.Contains(whole, text) {
			t.Errorf("the plan lacks %s:\n%s", text, whole)
		}
	}
	if strings.Contains(whole, `class="tree"`) {
		t.Error("a plan without a hit has an explanation")
	}
	hit := get("/why?index=a&q=all+w7&id=d7&part=why")
	if !strings.Contains(hit, `class="tree"`) || !strings.Contains(hit, "text:w7: 1 blocks decoded") || strings.Contains(hit, "<!doctype") {
		t.Errorf("the part for a hit: %s", hit)
	}
	if chosen := get("/why?index=a&q=w7&f.shelf=s1&sort=shelf"); !strings.Contains(chosen, "<code>sort</code>") {
		t.Errorf("the plan of a sorted search: %s", chosen)
	}
	if none := get("/why?index=a&q=shelf:s*"); !strings.Contains(none, "read no posting list") {
		t.Errorf("the plan of a prefix: %s", none)
	}
	many := get("/why?index=a&q=" + words.String())
	if n := strings.Count(many, `class="row"`) - 1; n != planRows || !strings.Contains(many, "16 lists with fewer blocks") || len(many) > 60_000 {
		t.Errorf("%d rows, %d bytes", n, len(many))
	}
	if search := get("/?index=a&q=all&f.shelf=s1"); !strings.Contains(search, `<a href="/why?f.shelf=s1&amp;index=a&amp;q=all">How it ran</a>`) {
		t.Errorf("the page of a search does not lead to its plan: %s", search)
	}
}
