package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Spans are sent by OTLP over HTTP, as JSON, which collectors take at the same address as protobuf. OpenTelemetry's own
// exporter over HTTP links gRPC, grpc-gateway and genproto into the program.

// An otlpExporter sends spans to a collector.
type otlpExporter struct {
	url    string
	header http.Header
	client *http.Client
}

// newTracer returns what makes spans and sends them to the collector at an endpoint, or at the one that the environment
// names. It is nil if there is none. end sends the last spans.
func newTracer(ctx context.Context, endpoint string, log *slog.Logger) (tracer *sdktrace.TracerProvider, end func(context.Context) error, err error) {
	x, err := newOTLPExporter(endpoint)
	if x == nil || err != nil {
		return nil, func(context.Context) error { return nil }, err
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "riffle")), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("spans were not sent", "error", err) }))
	tracer = sdktrace.NewTracerProvider(sdktrace.WithBatcher(x), sdktrace.WithResource(about))
	return tracer, tracer.Shutdown, nil
}

// newOTLPExporter returns an exporter, or nil if neither the endpoint nor the environment names a collector. The variables
// are those of OpenTelemetry's specification.
func newOTLPExporter(endpoint string) (*otlpExporter, error) {
	traces := os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	base := cmp.Or(endpoint, os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"))
	if endpoint != "" || traces == "" {
		if base == "" {
			return nil, nil
		}
		traces = strings.TrimSuffix(base, "/") + "/v1/traces"
	}
	if u, err := url.Parse(traces); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, usagef("the OTLP endpoint must be a URL such as http://localhost:4318, not %q", cmp.Or(base, traces))
	}
	protocol := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"), "http/json")
	if endpoint == "" && protocol != "http/json" && protocol != "http/protobuf" {
		return nil, usagef("OTEL_EXPORTER_OTLP_PROTOCOL: riffle sends spans over HTTP (http/json), not by %s", protocol)
	}
	x := &otlpExporter{url: traces, header: http.Header{"Content-Type": {"application/json"}}, client: &http.Client{}}
	for pair := range strings.SplitSeq(cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS"), os.Getenv("OTEL_EXPORTER_OTLP_HEADERS")), ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil {
			return nil, usagef("OTEL_EXPORTER_OTLP_HEADERS has pairs such as api-key=secret, separated by commas")
		}
		x.header.Set(strings.TrimSpace(name), value)
	}
	return x, nil
}

// ExportSpans sends spans; a collector that is busy gets them again, as long as ctx lasts.
func (x *otlpExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	body, err := json.Marshal(otlpOf(spans))
	if err != nil {
		return err
	}
	for pause := time.Second; ; pause *= 2 {
		after, err := x.send(ctx, body)
		if err == nil || after < 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		case <-time.After(max(after, pause)):
		}
	}
}

// send sends a body once. If it can be sent again after an error, it says after which time at the earliest; otherwise that
// is negative.
func (x *otlpExporter) send(ctx context.Context, body []byte) (after time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, x.url, bytes.NewReader(body))
	if err != nil {
		return -1, err
	}
	r.Header = x.header
	res, err := x.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(res.Body, 1000))
	if res.StatusCode < 300 {
		return -1, nil
	}
	err = fmt.Errorf("%s: %s %s", x.url, res.Status, text)
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(res.Header.Get("Retry-After"))
		return time.Duration(max(0, seconds)) * time.Second, err
	}
	return -1, err
}

// Shutdown does nothing: spans are not kept.
func (x *otlpExporter) Shutdown(context.Context) error { return nil }
