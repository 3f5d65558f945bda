package server

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/riffle-search/riffle"
)

// BenchmarkOverhead is a search of one document in an index of ten, from the request to the answer, without a
// connection: what the server takes besides net/http and the engine. The engine alone is the other one.
func BenchmarkOverhead(b *testing.B) {
	s := newServer(b, nil)
	if err := s.host.create("books", nil); err != nil {
		b.Fatal(err)
	}
	e := s.host.indexes["books"].engine
	var batch riffle.Batch
	for i := range 10 {
		batch.Put(fmt.Sprint("passage-", i), map[string]any{"text": "the white whale"})
	}
	if err := e.Apply(b.Context(), &batch); err != nil {
		b.Fatal(err)
	}
	body := []byte(`{"query":{"match":{"field":"text","text":"white whale"}},"k":10}`)
	b.Run("of=server", func(b *testing.B) {
		b.ReportAllocs()
		in := bytes.NewReader(nil)
		w := &sink{header: http.Header{}}
		for b.Loop() {
			in.Reset(body)
			r, err := http.NewRequestWithContext(b.Context(), "POST", "/v1/indexes/books/search", io.NopCloser(in))
			if err != nil {
				b.Fatal(err)
			}
			r.ContentLength, r.Host = int64(len(body)), "127.0.0.1:7700"
			r.Header.Set("Content-Type", "application/json")
			clear(w.header)
			if s.ServeHTTP(w, r); w.status != http.StatusOK {
				b.Fatal(w.status)
			}
		}
	})
	b.Run("of=engine", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := e.Search(b.Context(), riffle.Match{Field: "text", Text: "white whale"}, &riffle.SearchOptions{K: 10}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A sink takes an answer.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }
func (s *sink) WriteHeader(status int)      { s.status = status }

func (s *sink) SetReadDeadline(time.Time) error  { return nil }
func (s *sink) SetWriteDeadline(time.Time) error { return nil }
