package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// A collector keeps what spans it is sent.
type collector struct {
	*httptest.Server
	mu       sync.Mutex
	answers  []int // statuses before 200
	requests int
	header   http.Header
	got      []otlpRequest
}

func newCollector(t *testing.T, answers ...int) *collector {
	c := &collector{answers: answers}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.requests++
		c.header = r.Header
		if c.requests <= len(c.answers) {
			w.WriteHeader(c.answers[c.requests-1])
			return
		}
		body, err := io.ReadAll(r.Body)
		var req otlpRequest
		if err == nil {
			err = json.Unmarshal(body, &req)
		}
		if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %v: %s", r.URL, err, body)
		}
		c.got = append(c.got, req)
		io.WriteString(w, "{}")
	}))
	t.Cleanup(c.Close)
	return c
}

// spans returns all spans by name, and the attributes of their resource.
func (c *collector) spans() (byName map[string]otlpSpan, about map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	byName, about = map[string]otlpSpan{}, map[string]string{}
	for _, req := range c.got {
		for _, r := range req.Resources {
			for _, a := range r.Resource.Attributes {
				if a.Value.String != nil {
					about[a.Key] = *a.Value.String
				}
			}
			for _, s := range r.Scopes {
				for _, span := range s.Spans {
					byName[span.Name] = span
				}
			}
		}
	}
	return byName, about
}

// TestOTLP: a span has in the collector what it had in the program.
func TestOTLP(t *testing.T) {
	c := newCollector(t)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20secret, other = x")
	p, end, err := newTracer(t.Context(), c.URL, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	tracer := p.Tracer("scope")
	ctx, parent := tracer.Start(t.Context(), "parent", trace.WithSpanKind(trace.SpanKindServer))
	_, child := tracer.Start(ctx, "child", trace.WithAttributes(attribute.Bool("b", true), attribute.Int("i", -7), attribute.Float64("f", .5),
		attribute.String("s", "x"), attribute.StringSlice("list", []string{"a", "b"}), attribute.Int64Slice("numbers", []int64{1 << 60})))
	child.AddEvent("event", trace.WithAttributes(attribute.Int("n", 1)))
	child.SetStatus(codes.Error, "it failed")
	child.End()
	parent.SetStatus(codes.Ok, "")
	parent.End()
	if err := end(t.Context()); err != nil {
		t.Fatal(err)
	}
	spans, about := c.spans()
	up, down := spans["parent"], spans["child"]
	if about["service.name"] != "riffle" || about["deployment.environment"] != "test" || c.header.Get("Api-Key") != "a secret" || c.header.Get("Other") != "x" {
		t.Errorf("resource %v, header %v", about, c.header)
	}
	if up.TraceID != down.TraceID || len(up.TraceID) != 32 || down.ParentID != up.SpanID || up.ParentID != "" || up.Kind != 2 || down.Kind != 1 || up.Flags != 1 {
		t.Errorf("%+v\n%+v", up, down)
	}
	if up.Status != (otlpStatus{Code: 1}) || down.Status != (otlpStatus{"it failed", 2}) || len(down.Start) != 19 || down.End < down.Start || len(down.Events) != 1 || down.Events[0].Name != "event" {
		t.Errorf("%+v\n%+v", up, down)
	}
	text, err := json.Marshal(down.Attributes)
	want := `[{"key":"b","value":{"boolValue":true}},{"key":"i","value":{"intValue":"-7"}},{"key":"f","value":{"doubleValue":0.5}},{"key":"s","value":{"stringValue":"x"}},` +
		`{"key":"list","value":{"arrayValue":{"values":[{"stringValue":"a"},{"stringValue":"b"}]}}},{"key":"numbers","value":{"arrayValue":{"values":[{"intValue":"1152921504606846976"}]}}}]`
	if err != nil || string(text) != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
}

// TestOTLPBusy: a collector that is busy gets spans again; one that refuses them does not.
func TestOTLPBusy(t *testing.T) {
	for _, test := range []struct {
		answers []int
		want    int // requests
	}{{[]int{503}, 2}, {[]int{400}, 1}} {
		c := newCollector(t, test.answers...)
		x, err := newOTLPExporter(c.URL + "/")
		if err != nil {
			t.Fatal(err)
		}
		p := sdktrace.NewTracerProvider(sdktrace.WithSyncer(x))
		_, span := p.Tracer("scope").Start(t.Context(), "span")
		span.End()
		if spans, _ := c.spans(); c.requests != test.want || (len(spans) == 1) != (test.want > len(test.answers)) {
			t.Errorf("%v: %d requests, %d spans", test.answers, c.requests, len(spans))
		}
	}
	c := newCollector(t, 503, 503, 503, 503)
	x, err := newOTLPExporter(c.URL)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	p := sdktrace.NewTracerProvider()
	_, span := p.Tracer("scope").Start(t.Context(), "span")
	span.End()
	if err := x.ExportSpans(ctx, []sdktrace.ReadOnlySpan{span.(sdktrace.ReadOnlySpan)}); err == nil || !strings.Contains(err.Error(), "enough") && !errors.Is(err, context.Canceled) {
		t.Errorf("ended: %v", err)
	}
}

// TestOTLPEndpoint: the flag and the variables of OpenTelemetry say where spans go. Without any there is no exporter.
func TestOTLPEndpoint(t *testing.T) {
	for _, test := range []struct {
		flag, base, traces, protocol string
		want                         string // the URL, or part of the error
	}{
		{"", "", "", "", ""},
		{"http://a:4318", "http://b", "http://c/x", "grpc", "http://a:4318/v1/traces"},
		{"", "https://b/", "", "http/protobuf", "https://b/v1/traces"},
		{"", "http://b", "http://c/x", "", "http://c/x"},
		{"", "http://b", "", "grpc", "not by grpc"},
		{"", "localhost:4317", "", "", "must be a URL"},
		{"ftp://a", "", "", "", "must be a URL"},
	} {
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", test.base)
		t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", test.traces)
		t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", test.protocol)
		x, err := newOTLPExporter(test.flag)
		got := fmt.Sprint(err)
		if err == nil {
			got = ""
			if x != nil {
				got = x.url
			}
		}
		if got != test.want && (err == nil || !strings.Contains(got, test.want)) {
			t.Errorf("%+v: %s", test, got)
		}
	}
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "nothing")
	if _, err := newOTLPExporter("http://a"); err == nil {
		t.Error("a header without a value is taken")
	}
}

// TestServeOTLP: riffle serve sends its spans, the last ones when it ends.
func TestServeOTLP(t *testing.T) {
	c := newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_SERVICE_NAME", "books")
	p := startServe(t, "--dir", t.TempDir(), "--drain", "0s")
	for _, r := range [][3]string{{"PUT", "/v1/indexes/a", ""}, {"PUT", "/v1/indexes/a/documents/1", `{"title": "whale"}`}, {"GET", "/v1/indexes/a/search?q=whale", ""}} {
		if status, body := p.call(t, r[0], r[1], r[2]); status >= 300 {
			t.Errorf("%v: %d %s", r, status, body)
		}
	}
	p.end(t)
	spans, about := c.spans()
	want := map[string]string{"service.name": "books", "telemetry.sdk.language": "go"}
	for name := range want {
		if about[name] != want[name] {
			t.Errorf("%s is %q", name, about[name])
		}
	}
	request, search := spans["GET /v1/indexes/{index}/search"], spans["search"]
	if request.Kind != 2 || search.TraceID != request.TraceID || search.ParentID == "" || spans["apply"].TraceID == "" || reflect.DeepEqual(request, search) {
		t.Errorf("%+v", spans)
	}
}
