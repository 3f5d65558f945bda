package server

import (
	"net/http"
	"sync"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/client"
)

// keptEvents is how many events of an index are kept: some 50 KB.
const keptEvents = 256

// A history has the last seals and merges of an index, as the listener of its engine was told.
type history struct {
	mu     sync.Mutex
	events []client.HistoryEvent // a ring once it is full
	next   int                   // the oldest one then
	since  time.Time             // events before are not known
}

// histories are those of all indexes by name. An index that comes before its listener, or has none, has an empty one.
type histories struct {
	mu     sync.Mutex
	byName map[string]*history
}

// of returns the history of an index.
func (h *histories) of(index string) *history {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byName == nil {
		h.byName = map[string]*history{}
	}
	if h.byName[index] == nil {
		h.byName[index] = &history{since: time.Now()}
	}
	return h.byName[index]
}

// forget forgets the history of an index that has been dropped.
func (h *histories) forget(index string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.byName, index)
}

func (h *history) add(ev client.HistoryEvent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.events) < keptEvents {
		h.events = append(h.events, ev)
		return
	}
	h.since = h.events[h.next].End
	h.events[h.next] = ev
	h.next = (h.next + 1) % keptEvents
}

// newest returns all events, the newest first.
func (h *history) newest() *client.HistoryAnswer {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := &client.HistoryAnswer{Events: make([]client.HistoryEvent, 0, len(h.events)), Since: h.since.UTC()}
	for i := range h.events {
		a.Events = append(a.Events, h.events[(h.next+len(h.events)-1-i)%len(h.events)])
	}
	return a
}

func (h *history) sealed(ev riffle.SealEvent) {
	h.add(client.HistoryEvent{
		Kind: "seal", End: time.Now().UTC(), TookMS: milliseconds(ev.Duration), Segment: ev.Segment, Documents: ev.Docs, Bytes: ev.Bytes,
	})
}

func (h *history) merged(ev riffle.MergeEvent) {
	h.add(client.HistoryEvent{
		Kind: "merge", End: time.Now().UTC(), TookMS: milliseconds(ev.Duration), Segment: ev.Segment, Documents: ev.Docs, Bytes: ev.Bytes,
		Inputs: ev.Inputs, InputDocuments: ev.InputDocs, InputBytes: ev.InputBytes,
	})
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// history answers with the last seals and merges of an index.
func (s *Server) history(w http.ResponseWriter, r *http.Request) error {
	ix, err := s.findEngine(r)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, s.histories.of(ix.name).newest())
}
