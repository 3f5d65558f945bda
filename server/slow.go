package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/client"
)

// parse returns the query of a search. A text is read, and its words analysed, within a span.
func (a *answer) parse(ctx context.Context, ix *index, req *client.SearchRequest, read Reading) (q riffle.Query, notes []client.Note, err error) {
	if req.Text != nil {
		_, _, done := a.server.span(ctx, "parse", ix)
		defer func() { done(err) }()
	}
	return ix.query(ctx, req.Query, req.Text, read)
}

// run searches: within a span, with a span for each phase, and with a record if it takes long.
func (a *answer) run(ctx context.Context, ix *index, q riffle.Query, o *SearchOptions) (res *Found, err error) {
	s := a.server
	start := time.Now()
	inner, span, done := s.span(ctx, "search", ix)
	defer func() { done(err) }()
	asked := o
	if span.IsRecording() && ix.engine != nil && o.Profile == nil { // it has the times of the phases
		profiled := *o
		profiled.Profile = &riffle.ProfileOptions{Lists: 1, Runs: 1}
		asked = &profiled
	}
	res, err = ix.at.Search(inner, q, asked)
	if res != nil && span.IsRecording() {
		if res.Profile != nil {
			s.phaseSpans(inner, start, &res.Profile.Times)
			span.SetAttributes(attribute.String("riffle.why", res.Profile.Choice.Why))
		}
		if o.Profile == nil {
			res.Profile = nil
		}
		span.SetAttributes(attribute.String("riffle.executor", res.Executor), attribute.Int("riffle.total", res.Total), attribute.Int("riffle.hits", len(res.Hits)),
			attribute.Int64("riffle.blocks_decoded", res.Work.BlocksDecoded), attribute.Int64("riffle.blocks_skipped", res.Work.BlocksSkipped),
			attribute.Int64("riffle.documents_scored", res.Work.DocsScored))
	}
	if took := time.Since(start); s.opts.SlowQuery > 0 && took >= s.opts.SlowQuery {
		a.slow(ctx, ix, q, o, res, err, took)
	}
	return res, err
}

// phaseSpans makes spans of the phases of a search that began at start.
func (s *Server) phaseSpans(ctx context.Context, start time.Time, t *riffle.ProfileTimes) {
	for _, phase := range []struct {
		name  string
		took  time.Duration
		attrs []attribute.KeyValue
	}{
		{"analyse", t.Analyse, nil},
		{"plan", t.Plan, nil},
		{"execute", t.Execute, []attribute.KeyValue{
			attribute.Int64("riffle.wait_ns", int64(t.Wait)), attribute.Int64("riffle.cpu_ns", int64(t.CPU)), attribute.Int64("riffle.gpu_ns", int64(t.GPU)),
		}},
		{"fetch", t.Fetch, nil},
		{"aggregate", t.Aggregate, nil},
	} {
		if phase.took == 0 {
			continue
		}
		_, span := s.tracer.Start(ctx, phase.name, trace.WithTimestamp(start), trace.WithAttributes(phase.attrs...))
		start = start.Add(phase.took)
		span.End(trace.WithTimestamp(start))
	}
}

const (
	maxSlowQuery = 4 << 10         // bytes of a query in a record
	slowPlanTime = 2 * time.Second // most for the lists of a slow query
)

// slow writes a record of a search that took long: the query and what is known of its plan.
func (a *answer) slow(ctx context.Context, ix *index, q riffle.Query, o *SearchOptions, res *Found, err error, took time.Duration) {
	s := a.server
	if !s.opts.Log.Enabled(ctx, slog.LevelWarn) {
		return
	}
	text, fault := json.Marshal(q)
	if fault != nil {
		text = []byte(fault.Error())
	}
	if len(text) > maxSlowQuery {
		text = append(text[:maxSlowQuery:maxSlowQuery], "…"...)
	}
	attrs := append(a.names(ctx), slog.String("index", ix.name), slog.Duration("took", took), slog.String("query", string(text)), slog.Int("k", o.K), slog.Int("from", o.From))
	if res != nil {
		attrs = append(attrs, slog.String("executor", res.Executor), slog.Int("hits", len(res.Hits)), slog.Int("total", res.Total), slog.Bool("total_exact", res.TotalExact),
			slog.Int64("blocks_decoded", res.Work.BlocksDecoded), slog.Int64("blocks_skipped", res.Work.BlocksSkipped),
			slog.Int64("documents_scored", res.Work.DocsScored), slog.Int64("tasks", res.Work.Tasks))
	}
	if err != nil {
		attrs = append(attrs, slog.Any("error", err))
	}
	attrs = append(attrs, s.listsOf(ctx, ix, q)...)
	s.opts.Log.LogAttrs(ctx, slog.LevelWarn, "slow query", attrs...)
}

// listsOf counts the lists of a query and their postings. Where everything is slow, it must not make things worse: so
// only one request at a time asks, and records of others lack the counts.
func (s *Server) listsOf(ctx context.Context, ix *index, q riffle.Query) []slog.Attr {
	if ix.engine == nil || !s.planning.TryLock() {
		return nil
	}
	defer s.planning.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), slowPlanTime)
	defer cancel()
	stats, err := ix.engine.Statistics(ctx, q, nil)
	if err != nil {
		return nil
	}
	lists, postings := 0, uint64(0)
	for _, f := range stats.Fields {
		lists += len(f.Terms)
		for _, n := range f.Terms {
			postings += n
		}
	}
	return []slog.Attr{slog.Int("lists", lists), slog.Uint64("postings", postings)}
}
