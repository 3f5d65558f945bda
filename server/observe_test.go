package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
)

// A spanLog is a provider of spans that keeps those that have ended.
type spanLog struct {
	embedded.TracerProvider
	mu    sync.Mutex
	made  byte
	ended []*loggedSpan
}

type loggedSpan struct {
	trace.Span  // does nothing
	log         *spanLog
	name        string
	of          trace.SpanContext
	parent      trace.SpanContext
	attrs       map[attribute.Key]attribute.Value
	fault       string
	start, stop time.Time
}

func (l *spanLog) Tracer(string, ...trace.TracerOption) trace.Tracer { return &spanTracer{log: l} }

type spanTracer struct {
	embedded.Tracer
	log *spanLog
}

func (t *spanTracer) Start(ctx context.Context, name string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	l := t.log
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made++
	parent, c := trace.SpanContextFromContext(ctx), trace.NewSpanStartConfig(o...)
	id := parent.TraceID()
	if !parent.IsValid() {
		id = trace.TraceID{1, l.made}
	}
	s := &loggedSpan{Span: trace.SpanFromContext(context.Background()), log: l, name: name, parent: parent, attrs: map[attribute.Key]attribute.Value{}, start: c.Timestamp()}
	s.of = trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: trace.SpanID{2, l.made}, TraceFlags: trace.FlagsSampled})
	s.SetAttributes(c.Attributes()...)
	return trace.ContextWithSpan(ctx, s), s
}

func (s *loggedSpan) SpanContext() trace.SpanContext        { return s.of }
func (s *loggedSpan) IsRecording() bool                     { return true }
func (s *loggedSpan) SetStatus(_ codes.Code, reason string) { s.fault = reason }
func (s *loggedSpan) SetAttributes(attrs ...attribute.KeyValue) {
	for _, a := range attrs {
		s.attrs[a.Key] = a.Value
	}
}
func (s *loggedSpan) End(o ...trace.SpanEndOption) {
	c := trace.NewSpanEndConfig(o...)
	s.stop = c.Timestamp()
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.log.ended = append(s.log.ended, s)
}

// take returns the names of the spans that have ended since the last call, and the spans by name.
func (l *spanLog) take() (names []string, spans map[string]*loggedSpan) {
	l.mu.Lock()
	defer l.mu.Unlock()
	spans = map[string]*loggedSpan{}
	for _, s := range l.ended {
		names = append(names, s.name)
		spans[s.name] = s
	}
	l.ended = nil
	return names, spans
}

const (
	clientTrace = "0af7651916cd43dd8448eb211c80319c"
	traceparent = "00-" + clientTrace + "-b7ad6b7169203331-01"
)

// TestSpans: a request has a span, of the trace of its client, and what it does has spans within it.
func TestSpans(t *testing.T) {
	log := new(spanLog)
	s := newServer(t, &Options{Tracer: log})
	prepareBooks(t, s)
	log.take()
	for _, test := range []struct {
		request string
		spans   []string // in the order of their ends
	}{
		{"GET /v1/indexes/books/search?q=whale", []string{"parse", "analyse", "plan", "execute", "fetch", "search", "GET /v1/indexes/{index}/search"}},
		{"POST /v1/indexes/books/search\n{\"query\": {\"all\": {}}}", []string{"analyse", "plan", "execute", "fetch", "search", "POST /v1/indexes/{index}/search"}},
		{"POST /v1/indexes/books/search\n{\"query\": {\"all\": {}}, \"profile\": {}}", []string{"analyse", "plan", "execute", "fetch", "search", "POST /v1/indexes/{index}/search"}},
		{"GET /?q=whale", []string{"parse", "analyse", "plan", "execute", "fetch", "search", "GET /{$}"}},
		{"PUT /v1/indexes/books/documents/1\n{\"title\": \"Omoo\"}", []string{"apply", "PUT /v1/indexes/{index}/documents/{id}"}},
		{"POST /v1/indexes/books/documents\nContent-Type: application/x-ndjson\n{\"put\": \"2\", \"fields\": {}}", []string{"apply", "POST /v1/indexes/{index}/documents"}},
		{"POST /v1/indexes/books/compact", []string{"seal", "POST /v1/indexes/{index}/compact"}},
	} {
		r := readRequest(t, test.request)
		r.Header.Set("Traceparent", traceparent)
		res := send(s, r)
		if res.StatusCode >= 300 {
			t.Fatal(printAnswer(t, res))
		}
		if body := printAnswer(t, res); strings.Contains(body, `"profile"`) != strings.Contains(test.request, "profile") {
			t.Errorf("%s: a profile that was not asked for, or none that was: %s", test.request, body)
		}
		names, spans := log.take()
		if !slices.Equal(names, test.spans) {
			t.Errorf("%s: spans %q, want %q", test.request, names, test.spans)
			continue
		}
		at := time.Time{}
		for _, name := range []string{"analyse", "plan", "execute", "fetch", "aggregate"} {
			if phase := spans[name]; phase != nil {
				if phase.parent.SpanID() != spans["search"].of.SpanID() || !phase.start.Before(phase.stop) || !at.IsZero() && !phase.start.Equal(at) {
					t.Errorf("%s: %s from %v to %v, after a phase that ends at %v", test.request, name, phase.start, phase.stop, at)
				}
				at = phase.stop
			}
		}
		last := spans[names[len(names)-1]]
		if last.parent.TraceID().String() != clientTrace || last.of.TraceID() != last.parent.TraceID() || last.attrs["riffle.request"].AsString() != res.Header.Get("Riffle-Request") ||
			last.attrs["http.response.status_code"].AsInt64() != int64(res.StatusCode) {
			t.Errorf("%s: %+v", test.request, last)
		}
		inner := spans[names[len(names)-2]]
		switch {
		case inner.attrs["riffle.index"].AsString() != "books":
			t.Errorf("%s: %s is of index %q", test.request, inner.name, inner.attrs["riffle.index"].AsString())
		case inner.name == "seal":
			if inner.parent.IsValid() || !inner.start.Before(inner.stop) {
				t.Errorf("a seal from %v to %v of %+v", inner.start, inner.stop, inner.parent)
			}
		case inner.parent.SpanID() != last.of.SpanID():
			t.Errorf("%s: %s is not within the request", test.request, inner.name)
		case inner.name == "search" && !strings.HasPrefix(inner.attrs["riffle.executor"].AsString(), "cpu/"):
			t.Errorf("%s: %+v", test.request, inner.attrs)
		}
	}
	send(s, readRequest(t, "POST /v1/indexes/books/search\n{\"query\": {\"all\": {}}, \"k\": -1}"))
	if _, spans := log.take(); spans["search"] == nil || spans["search"].fault == "" {
		t.Errorf("a search that fails has the span %+v", spans["search"])
	}
}

// TestLog: every request has a record with its id and its trace.
func TestLog(t *testing.T) {
	keys, secrets := newKeys(t, RoleAdmin)
	var out bytes.Buffer
	s := newServer(t, &Options{Keys: keys, Log: slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	s.mux.HandleFunc("GET /fails", func(w http.ResponseWriter, r *http.Request) {
		s.serve(&route{"GET /fails", RoleNone, noQueue, func(*Server, http.ResponseWriter, *http.Request) error { panic("a fault") }}, w, r)
	})
	for _, test := range []struct {
		path, level, key string
		status           int
		fault            string
	}{
		{"/v1/indexes", "DEBUG", "key-admin", 200, ""},
		{"/v1/indexes/none/schema", "DEBUG", "key-admin", 404, `"none"`},
		{"/fails", "ERROR", "", 500, "panic: a fault"},
	} {
		out.Reset()
		r := readRequest(t, "GET "+test.path)
		r.Header.Set("Authorization", "Bearer "+secrets[0])
		r.Header.Set("Traceparent", traceparent)
		res := send(s, r)
		var record struct {
			Level, Request, Trace, Method, Path, Key, Error string
			Status, Bytes, Took                             int64
		}
		if err := json.Unmarshal(out.Bytes(), &record); err != nil {
			t.Fatalf("%s: %v: %s", test.path, err, out.String())
		}
		body, _ := io.ReadAll(res.Body)
		if record.Level != test.level || record.Request != res.Header.Get("Riffle-Request") || record.Trace != clientTrace || record.Method != "GET" ||
			record.Path != test.path || record.Key != test.key || record.Status != int64(test.status) || res.StatusCode != test.status ||
			record.Bytes != int64(len(body)) || record.Took <= 0 {
			t.Errorf("%s: %s with the record %s", test.path, res.Status, out.String())
		}
		if (test.fault == "") != (record.Error == "") || !strings.Contains(record.Error, test.fault) {
			t.Errorf("%s: the error %q, want %q", test.path, record.Error, test.fault)
		}
		if strings.Contains(out.String(), secrets[0]) {
			t.Error("the log has a secret")
		}
	}
}

// TestSlowQuery: a search that takes long has a record with its query and what it cost.
func TestSlowQuery(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, nil))
	s := newServer(t, &Options{Log: log, SlowQuery: time.Nanosecond})
	prepareBooks(t, s)
	for _, request := range []string{
		"POST /v1/indexes/books/search\n{\"query\": {\"match\": {\"field\": \"title\", \"text\": \"whale moby\"}}, \"k\": 7}",
		"GET /v1/indexes/books/search?fields=title&q=whale+moby&k=7",
	} {
		out.Reset()
		r := readRequest(t, request)
		r.Header.Set("Traceparent", traceparent)
		res := send(s, r)
		var record struct {
			Level, Msg, Request, Route, Trace, Index, Query, Executor string
			K, Hits, Total, Lists, Postings                           int
			Scored                                                    int `json:"documents_scored"`
		}
		if err := json.Unmarshal(out.Bytes(), &record); err != nil {
			t.Fatalf("%v: %s", err, out.String())
		}
		if record.Level != "WARN" || record.Msg != "slow query" || record.Request != res.Header.Get("Riffle-Request") || record.Trace != clientTrace || record.Index != "books" ||
			!strings.Contains(record.Query, "whale") || !strings.HasPrefix(record.Executor, "cpu/") || record.K != 7 || record.Hits != 1 || record.Lists != 2 || record.Postings != 2 {
			t.Errorf("%s: %s", res.Status, out.String())
		}
	}
	out.Reset()
	send(s, readRequest(t, "POST /v1/indexes/books/search\n{\"query\": {\"term\": {\"field\": \"title\", \"value\": \""+strings.Repeat("long", 10_000)+"\"}}}"))
	if out.Len() == 0 || out.Len() > 2*maxSlowQuery {
		t.Errorf("a record of %d bytes for a long query", out.Len())
	}
	fast := newServer(t, &Options{Log: log, SlowQuery: time.Hour})
	prepareBooks(t, fast)
	out.Reset()
	if send(fast, readRequest(t, "GET /v1/indexes/books/search?q=whale")); out.Len() > 0 {
		t.Errorf("a fast search has the record %s", out.String())
	}
}

// TestProfiles: the profiles of the process are there, and a stop of the server ends the long ones.
func TestProfiles(t *testing.T) {
	s := newServer(t, nil)
	for path, want := range map[string]string{
		"/debug/pprof/": "heap", "/debug/pprof/heap": "\x1f\x8b", "/debug/pprof/goroutine?debug=1": "goroutine profile: total",
		"/debug/pprof/profile?seconds=1": "\x1f\x8b", "/debug/pprof/trace?seconds=1": "go 1.",
	} {
		res := send(s, readRequest(t, "GET "+path))
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(want)) {
			t.Errorf("%s: %s %q", path, res.Status, body[:min(len(body), 200)])
		}
	}
	for path, status := range map[string]int{"/debug/pprof/nothing": 404, "/debug/pprof/profile?seconds=0": 400, "/debug/pprof/heap?debug=9": 400, "/debug/pprof/..%2fheap": 404} {
		if res := send(s, readRequest(t, "GET "+path)); res.StatusCode != status {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
	for _, p := range []string{"/debug/pprof/", "/debug/pprof/cmdline"} {
		if _, pattern := http.DefaultServeMux.Handler(readRequest(t, "GET "+p)); pattern != "" {
			t.Errorf("the server adds %s to http.DefaultServeMux", pattern)
		}
	}
	began := time.Now()
	done := make(chan int)
	go func() { done <- send(s, readRequest(t, "GET /debug/pprof/profile?seconds=60")).StatusCode }()
	for end := began.Add(20 * time.Second); ; time.Sleep(time.Millisecond) { // until it runs
		var stacks bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&stacks, 1); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(stacks.String(), "(*Server).profile+") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the profile never begins:\n%s", &stacks)
		}
	}
	began = time.Now()
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if status := <-done; status != http.StatusOK || time.Since(began) > 20*time.Second {
		t.Errorf("%d after %v", status, time.Since(began))
	}
}

// TestReady: a server that stops is not ready, and says when to ask again.
func TestReady(t *testing.T) {
	s := newServer(t, nil)
	for _, path := range []string{"/healthz", "/readyz"} {
		if res := send(s, readRequest(t, "GET "+path)); res.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	res := send(s, readRequest(t, "GET /readyz"))
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" || !strings.Contains(printAnswer(t, res), fmt.Sprint(kindStopping.urn())) {
		t.Errorf("%s after Close", res.Status)
	}
}
