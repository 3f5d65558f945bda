package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestBusy: a request is sent again, whole, as often as Retries says.
func TestBusy(t *testing.T) {
	var bodies []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		if len(bodies) == 2 {
			io.WriteString(w, `{"count": 7}`)
			return
		}
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusTooManyRequests)
		io.WriteString(w, `{"type": "urn:riffle:problem:busy", "title": "The server is busy", "status": 429}`)
	}))
	defer s.Close()
	c := New(s.URL, &Options{Retries: 2})
	if n, err := c.Count(t.Context(), "books", &CountRequest{}); n != 7 || err != nil {
		t.Error(n, err)
	}
	if len(bodies) != 2 || bodies[0] != "{}" || bodies[1] != "{}" {
		t.Errorf("bodies %q", bodies)
	}
	_, err := c.Count(t.Context(), "books", &CountRequest{})
	if p, ok := errors.AsType[*Problem](err); !ok || p.Type != "urn:riffle:problem:busy" || len(bodies) != 5 {
		t.Errorf("%v after %d requests", err, len(bodies))
	}
	c = New(s.URL, &Options{Retries: -1})
	if _, err := c.Count(t.Context(), "books", &CountRequest{}); err == nil || len(bodies) != 6 {
		t.Errorf("%v after %d requests", err, len(bodies))
	}
}

// TestBusyEnds: waiting ends with the context, and the error has the problem and the reason.
func TestBusyEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"3600"}}, Body: http.NoBody, Request: r,
			}, nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		err := New("http://busy", &Options{HTTP: &http.Client{Transport: busy}}).Health(ctx)
		if p, ok := errors.AsType[*Problem](err); !ok || p.Status != 429 || !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("it waited for %v", took)
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestCutOff: an answer without its end is an error, not a short answer.
func TestCutOff(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if r.Method == http.MethodPost {
			io.WriteString(w, `{"line": 1, "status": 200}`+"\n")
			return // without the summary
		}
		io.WriteString(w, `{"id": "a", "version": 1, "fields": {}}`+"\n")
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer s.Close()
	c := New(s.URL, nil)
	docs, errs := 0, 0
	for _, err := range c.Export(t.Context(), "books", "") {
		if err != nil {
			errs++
		} else {
			docs++
		}
	}
	if docs != 1 || errs != 1 {
		t.Errorf("%d documents, %d errors", docs, errs)
	}
	w := c.Writer(t.Context(), "books", nil)
	if err := w.Put("a", map[string]any{}); err != nil {
		t.Error(err)
	}
	if _, err := w.Close(); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "changes 1 to 1") {
		t.Error(err)
	}
}

// TestNoProblem: what a proxy answers is a problem, too, and a URL that cannot be used is an error.
func TestNoProblem(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no backend", http.StatusBadGateway)
	}))
	defer s.Close()
	err := New(s.URL, nil).Ready(t.Context())
	if p, ok := errors.AsType[*Problem](err); !ok || p.Status != 502 || p.Detail != "no backend" {
		t.Error(err)
	}
	if err := New("://", nil).Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "://") {
		t.Error(err)
	}
}
