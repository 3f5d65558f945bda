package server

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/riffle-search/riffle"
)

// scope names the spans of this package.
const scope = "github.com/riffle-search/riffle/server"

// statusGone stands for a client that has gone before its answer, in figures, logs and spans.
const statusGone = 499

// outside names requests that no route takes, in figures.
const outside = "other"

var ofServer = trace.WithSpanKind(trace.SpanKindServer)

// observed begins to observe a request, and returns its context, in which its span is the parent of others. The trace of a
// client goes on if it sends the header traceparent of the W3C.
func (s *Server) observed(route string, out *answer, r *http.Request) context.Context {
	s.metrics.underWay.Inc()
	ctx := r.Context()
	if r.Header.Get("Traceparent") != "" {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
	}
	ctx, out.span = s.tracer.Start(ctx, route, ofServer)
	if out.span.IsRecording() {
		out.span.SetAttributes(attribute.String("http.request.method", r.Method), attribute.String("http.route", route),
			attribute.String("url.path", r.URL.Path), attribute.String("riffle.request", out.id))
	}
	return ctx
}

// newRequestID returns what names a request.
func newRequestID() string {
	var id [8]byte
	binary.BigEndian.PutUint64(id[:], rand.Uint64())
	return hex.EncodeToString(id[:])
}

// ended is called once for a request: it counts it, writes its record and ends its span. The error is that of the
// handler; it may be nil.
func (s *Server) ended(ctx context.Context, out *answer, r *http.Request, start time.Time, status int, err error) {
	took := time.Since(start)
	s.metrics.underWay.Dec()
	s.metrics.answered(out.route, status, took)
	level := slog.LevelDebug
	if status == http.StatusInternalServerError {
		level = slog.LevelError
	}
	if s.opts.Log.Enabled(ctx, level) {
		message := "request"
		if level == slog.LevelError {
			message = "request failed"
		}
		attrs := append(out.names(ctx), slog.String("method", r.Method), slog.String("path", r.URL.Path),
			slog.Int("status", status), slog.Duration("took", took), slog.Int64("bytes", out.written))
		if out.key != "" {
			attrs = append(attrs, slog.String("key", out.key))
		}
		if err != nil {
			attrs = append(attrs, slog.Any("error", err))
		}
		s.opts.Log.LogAttrs(ctx, level, message, attrs...)
	}
	if out.span.IsRecording() {
		out.span.SetAttributes(attribute.Int("http.response.status_code", status))
		if status >= http.StatusInternalServerError && err != nil {
			out.span.SetStatus(codes.Error, err.Error())
		}
	}
	out.span.End()
}

// names returns what names the request in logs: its id, its route, and its trace if it has one.
func (a *answer) names(ctx context.Context) []slog.Attr {
	attrs := []slog.Attr{slog.String("request", a.id), slog.String("route", a.route)}
	if c := trace.SpanContextFromContext(ctx); c.HasTraceID() {
		attrs = append(attrs, slog.String("trace", c.TraceID().String()))
	}
	return attrs
}

// span begins a span of an index within a request. The caller calls done with the error of what it did.
func (s *Server) span(ctx context.Context, name string, ix *index) (_ context.Context, span trace.Span, done func(error)) {
	if outer := trace.SpanFromContext(ctx); !outer.IsRecording() {
		return ctx, outer, func(error) {} // nor would this one be: what is sampled are traces
	}
	ctx, span = s.tracer.Start(ctx, name)
	if span.IsRecording() {
		span.SetAttributes(attribute.String("riffle.index", ix.name))
	}
	return ctx, span, func(err error) {
		if err != nil && span.IsRecording() {
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}

// apply applies a batch, within a span. If the time of the request ends when the batch has its place in the log, the
// batch is returned.
func (s *Server) apply(ctx context.Context, ix *index, b *riffle.Batch) (pending *riffle.Pending, err error) {
	ctx, span, done := s.span(ctx, "apply", ix)
	defer func() { done(err) }()
	if span.IsRecording() {
		span.SetAttributes(attribute.Int("riffle.changes", b.Len()))
	}
	if pending, err = ix.engine.Submit(ctx, b); err != nil {
		return nil, err
	}
	if err = pending.Wait(ctx); errors.Is(err, riffle.ErrPending) {
		return pending, err
	}
	return nil, err
}

// Listener returns what an engine that is to be mounted under a name needs so that its searches, batches, seals and
// merges are among the figures, logs and spans of the Server, and in its history of seals and merges:
//
//	e, err := riffle.Open("books", &riffle.Options{Listener: s.Listener("books")})
//	…
//	err = s.Mount("books", e)
//
// riffle.JoinListeners adds it to another one. Engines in Options.Dir have it.
func (s *Server) Listener(name string) *riffle.Listener {
	log, past := s.opts.Log.With("index", name), s.histories.of(name)
	return riffle.JoinListeners(s.metrics.listen(name), &riffle.Listener{
		Sealed: func(ev riffle.SealEvent) {
			past.sealed(ev)
			s.host.sizesChanged()
			s.backgroundSpan("seal", ev.Duration, attribute.String("riffle.index", name), attribute.Int64("riffle.segment", int64(ev.Segment)),
				attribute.Int("riffle.documents", ev.Docs), attribute.Int64("riffle.bytes", ev.Bytes))
			log.Debug("sealed", "segment", ev.Segment, "documents", ev.Docs, "bytes", ev.Bytes, "took", ev.Duration)
		},
		Merged: func(ev riffle.MergeEvent) {
			past.merged(ev)
			s.host.sizesChanged()
			s.backgroundSpan("merge", ev.Duration, attribute.String("riffle.index", name), attribute.Int64("riffle.segment", int64(ev.Segment)),
				attribute.Int("riffle.inputs", len(ev.Inputs)), attribute.Int("riffle.documents", ev.Docs), attribute.Int64("riffle.bytes", ev.Bytes))
			log.Debug("merged", "inputs", ev.Inputs, "segment", ev.Segment, "documents", ev.Docs, "bytes", ev.Bytes, "took", ev.Duration)
		},
		Failed: func(err error) { log.Error("background work failed", "error", err) },
		GPUFailed: func(ev riffle.GPUEvent) {
			log.Error("a GPU failed", "device", ev.Device, "lost", ev.Lost, "error", ev.Err)
		},
	})
}

// backgroundSpan makes a span, of a trace of its own, of work that has just ended.
func (s *Server) backgroundSpan(name string, took time.Duration, attrs ...attribute.KeyValue) {
	now := time.Now()
	_, span := s.tracer.Start(context.Background(), name, trace.WithTimestamp(now.Add(-took)), trace.WithAttributes(attrs...))
	span.End(trace.WithTimestamp(now))
}
