package server

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/riffle-search/riffle/client"
)

// A timeline shows the last seals and merges of an index as bars from their beginning to their end, as high as the
// segments that they made are large.
type timeline struct {
	Events        []client.HistoryEvent // listed, the newest first
	More          int                   // drawn, but not listed
	From, To      time.Time
	Seals, Merges string // paths, in a box of listWidth by 2·laneHeight: seals above, merges below
	Written       int64  // bytes of all
}

const (
	laneHeight     = 40
	listedEvents   = 12
	narrowestEvent = 2 // units of the drawing
)

// timelineOf draws events, of which the newest come first.
func timelineOf(h *client.HistoryAnswer) *timeline {
	t := &timeline{Events: h.Events[:min(len(h.Events), listedEvents)]}
	if len(h.Events) == 0 {
		return t
	}
	t.More = len(h.Events) - len(t.Events)
	t.From, t.To = begin(&h.Events[0]), h.Events[0].End
	most := int64(1)
	for i := range h.Events {
		ev := &h.Events[i]
		if at := begin(ev); at.Before(t.From) {
			t.From = at
		}
		if ev.End.After(t.To) {
			t.To = ev.End
		}
		most = max(most, ev.Bytes)
		t.Written += ev.Bytes
	}
	var seals, merges strings.Builder
	for i := range h.Events {
		ev := &h.Events[i]
		to, floor := &seals, laneHeight
		if ev.Kind == "merge" {
			to, floor = &merges, 2*laneHeight
		}
		x, end := t.place(begin(ev)), t.place(ev.End)
		if end-x < narrowestEvent { // as wide towards the left, so that it does not leave the box
			x = max(0, end-narrowestEvent)
			end = x + narrowestEvent
		}
		height := max(1, (laneHeight-4)*math.Sqrt(float64(ev.Bytes)/float64(most)))
		to.WriteString("M" + unit(x) + " " + strconv.Itoa(floor) + "V" + unit(float64(floor)-height) + "H" + unit(end) + "V" + strconv.Itoa(floor) + "z")
	}
	t.Seals, t.Merges = seals.String(), merges.String()
	return t
}

func begin(ev *client.HistoryEvent) time.Time {
	return ev.End.Add(-time.Duration(ev.TookMS * float64(time.Millisecond)))
}

// place returns where a time is in the drawing.
func (t *timeline) place(at time.Time) float64 {
	whole := t.To.Sub(t.From)
	if whole <= 0 {
		return 0
	}
	return listWidth * float64(at.Sub(t.From)) / float64(whole)
}

func unit(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
