package server

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/client"
)

// rectangles returns the bars of a path: from, to and height above the floor.
func rectangles(t *testing.T, path string) (all [][3]float64) {
	t.Helper()
	bars := regexp.MustCompile(`^(?:M[0-9.]+ [0-9]+V[0-9.]+H[0-9.]+V[0-9]+z)*$`)
	if !bars.MatchString(path) {
		t.Fatalf("no bars: %s", path)
	}
	for bar := range strings.SplitSeq(strings.TrimSuffix(path, "z"), "z") {
		var x, floor, y, end, again float64
		if _, err := fmt.Sscanf(bar, "M%f %fV%fH%fV%f", &x, &floor, &y, &end, &again); err != nil || floor != again {
			t.Fatalf("%s: %v", bar, err)
		}
		all = append(all, [3]float64{x, end, floor - y})
	}
	return all
}

// TestTimeline: bars lie between the beginning of the first event and the end of the last one, seals above merges, and
// the largest segment has the highest bar.
func TestTimeline(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 1, 2, 3, 4, s, 0, time.UTC) }
	h := new(history)
	h.add(client.HistoryEvent{Kind: "seal", End: at(10), TookMS: 10_000, Segment: 1, Bytes: 100})
	h.add(client.HistoryEvent{Kind: "seal", End: at(12), TookMS: 1, Segment: 2, Bytes: 25})
	h.add(client.HistoryEvent{Kind: "merge", End: at(20), TookMS: 5_000, Segment: 3, Bytes: 100, Inputs: []uint64{1, 2}})
	tl := timelineOf(h.newest())
	seals, merges := rectangles(t, tl.Seals), rectangles(t, tl.Merges)
	if !tl.From.Equal(at(0)) || !tl.To.Equal(at(20)) || tl.Written != 225 || len(tl.Events) != 3 || tl.Events[0].Kind != "merge" || len(seals) != 2 || len(merges) != 1 {
		t.Fatalf("%+v", tl)
	}
	if seals[0] != [3]float64{598, 600, 18} || seals[1] != [3]float64{0, 500, 36} || merges[0] != [3]float64{750, 1000, 36} {
		t.Errorf("%v, %v", seals, merges)
	}
	if none := timelineOf(new(history).newest()); len(none.Events) != 0 || none.Seals != "" {
		t.Errorf("%+v", none)
	}
	if once := timelineOf(&client.HistoryAnswer{Events: []client.HistoryEvent{{Kind: "seal", End: at(1)}}}); rectangles(t, once.Seals)[0] != [3]float64{0, 2, 1} {
		t.Errorf("%+v", once)
	}
}

// TestHistoryIsBounded: the oldest events are forgotten, and the answer says from when on all are there.
func TestHistoryIsBounded(t *testing.T) {
	h := new(history)
	for i := range keptEvents + 3 {
		h.sealed(riffle.SealEvent{Segment: uint64(i + 1), Docs: i})
	}
	a := h.newest()
	if len(a.Events) != keptEvents || a.Events[0].Segment != keptEvents+3 || a.Events[keptEvents-1].Segment != 4 || a.Since.IsZero() || a.Since.After(a.Events[keptEvents-1].End) {
		t.Errorf("%d events from %+v to %+v, since %v", len(a.Events), a.Events[0], a.Events[len(a.Events)-1], a.Since)
	}
}

// TestHistoryOfDropped: a new index of a name does not have the history of the one before.
func TestHistoryOfDropped(t *testing.T) {
	s := newServer(t, nil)
	for range 2 {
		must(t, s.host.create("books", nil))
		e := s.host.all()[0].engine
		must(t, e.Put(t.Context(), "1", map[string]any{"title": "x"}))
		must(t, e.Flush(t.Context()))
		if n := len(s.histories.of("books").newest().Events); n != 1 {
			t.Errorf("%d events after one seal", n)
		}
		must(t, s.host.drop("books"))
	}
}

// TestListsPage: the drawing of a list covers its documents in no more columns than it may have, the highest bar is the
// list's bound, and the pages of the table have all blocks.
func TestListsPage(t *testing.T) {
	const docs = 80_000
	s := newServer(t, nil)
	must(t, s.host.create("books", nil))
	ix := s.host.all()[0]
	b := new(riffle.Batch)
	for i := range docs {
		b.Put(strconv.Itoa(i), map[string]any{"t": strings.Repeat("all ", 1+i*i%7)})
	}
	must(t, ix.engine.Apply(t.Context(), b))
	must(t, ix.engine.Flush(t.Context()))
	seen := 0
	for from := 0; ; from += listRows {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/inside?from="+strconv.Itoa(from), nil)
		p, err := ix.listsPage(r, "t", "all")
		must(t, err)
		l := p.Lists[0]
		bars := rectangles(t, l.Path)
		if len(p.Lists) != 1 || p.Documents != docs || len(bars) > listColumns || l.Drawn == "block" || l.PostingsList.Blocks != docs/128 {
			t.Fatalf("%d bars of %s each for %d blocks", len(bars), l.Drawn, l.PostingsList.Blocks)
		}
		highest, next := 0.0, 0.0
		for _, bar := range bars {
			if bar[0] != next {
				t.Errorf("a bar begins at %v, want %v", bar[0], next)
			}
			next, highest = bar[1], max(highest, bar[2])
		}
		if next != listWidth || highest != listHeight {
			t.Errorf("bars end at %v and are %v high", next, highest)
		}
		for _, row := range l.Rows {
			if row.Number != seen || row.Share > 100 {
				t.Fatalf("row %d is %+v", seen, row)
			}
			seen++
		}
		if (l.Before == "") != (from == 0) {
			t.Errorf("before block %d: %q", from, l.Before)
		}
		if l.After == "" {
			break
		}
	}
	if seen != docs/128 {
		t.Errorf("%d blocks in tables, want %d", seen, docs/128)
	}
}

// TestCachePage: lists on GPUs are shown with what of them is cached; names that are no text are no links.
func TestCachePage(t *testing.T) {
	ix := &index{name: "books"}
	p := &cachePage{Devices: []devicePage{{Name: "a GPU", Used: 1000, Bytes: 2000, Lists: []cacheRow{
		{CachedName: nameOf(3, "t", "whale", false), Visits: 8, Kept: 2, Extents: 3, Bytes: 500},
		{CachedName: nameOf(3, "", "", false), Visits: 0.5, Kept: 1, Extents: 1, Bytes: 100},
		{CachedName: nameOf(3, "t", "white\x00whale", true), Visits: 2},
		{CachedName: nameOf(3, "n", "\x00i\x80", false), Visits: 2},
	}}}}
	ix.relate(p.Devices[0].Lists)
	var b bytes.Buffer
	must(t, pages.ExecuteTemplate(&b, "cache", p))
	for _, text := range []string{"a GPU: 1 kB of 2 kB", "2 of 3", `term=whale#list">whale</a>`, `width="100.0"`, `width="20.0"`, "unknown", "white whale <span", "006980", ">0.5<"} {
		if !strings.Contains(b.String(), text) {
			t.Errorf("lacks %s:\n%s", text, &b)
		}
	}
	if n := strings.Count(b.String(), "<a "); n != 1 {
		t.Errorf("%d links, want one", n)
	}
}
