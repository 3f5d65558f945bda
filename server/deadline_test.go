package server

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestLateRequestsAreAnswered: over a connection, a request that takes too long gets an answer that says so.
func TestLateRequestsAreAnswered(t *testing.T) {
	s := newServer(t, &Options{Searches: 1})
	if r := send(s, readRequest(t, "PUT /v1/indexes/books")); r.StatusCode != http.StatusCreated {
		t.Fatal(r.Status)
	}
	if err := s.gates[searchQueue].enter(t.Context()); err != nil { // nobody else has a turn
		t.Fatal(err)
	}
	defer s.gates[searchQueue].leave(time.Now())
	h := httptest.NewServer(s)
	defer h.Close()
	for _, c := range []struct{ name, head, body string }{
		{"waiting for a turn", "GET /v1/indexes/books/search?q=x&timeout=20ms HTTP/1.1\r\n", ""},
		{"waiting for the body", "POST /v1/indexes/books/documents?timeout=20ms HTTP/1.1\r\nContent-Type: application/x-ndjson\r\nContent-Length: 1000\r\n", `{"put": "1", "fields": {}}` + "\n"},
		{"waiting for a short body", "PUT /v1/indexes/books/documents/1?timeout=20ms HTTP/1.1\r\nContent-Length: 1000\r\n", "{"},
	} {
		for range 8 {
			conn, err := net.Dial("tcp", h.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			conn.SetDeadline(time.Now().Add(10 * time.Second))
			fmt.Fprintf(conn, "%sHost: localhost\r\n\r\n%s", c.head, c.body)
			r, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if text := printAnswer(t, r); r.StatusCode != http.StatusServiceUnavailable || !strings.Contains(text, "urn:riffle:problem:timeout") {
				t.Fatalf("%s: %s", c.name, text)
			}
			conn.Close()
		}
	}
}
