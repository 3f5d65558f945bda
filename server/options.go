package server

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"github.com/riffle-search/riffle"
)

// Options configure a Server. A nil *Options is valid, and a field left at its zero value takes the
// default that its comment names.
type Options struct {
	// Dir is a directory with an index in each folder: New opens them all, and clients with RoleAdmin
	// create new ones there. Without it a Server has the indexes that are mounted, and no request makes
	// or deletes a file outside of them.
	Dir string

	// Cluster has indexes that are served besides those of this process. Clients with RoleAdmin create new ones
	// there, so that it excludes Dir.
	Cluster Cluster

	// Keys say who may do what. Without keys every client may do everything: leave it so only where
	// nobody else can connect.
	Keys *Keys

	// Hosts are names by which clients reach a Server without keys, besides localhost and addresses. Requests for
	// other hosts are refused: a page of anybody's could otherwise have its own name resolve to this machine, and
	// read the answers ("DNS rebinding").
	Hosts []string

	// Origins are sites, such as https://app.example.com, whose pages may send requests from a browser and read
	// the answers (CORS). Each is named: there is no wildcard. Pages must send a key themselves; one that the
	// browser keeps for basic authentication is of no use to them. The default is none.
	Origins []string

	// CacheBytes bounds what the searches of all indexes of the Server keep in memory together: see
	// riffle.Options.CacheBytes. Half of it is for all of them alike, and half by their sizes. Mounted engines have a
	// part of it only if it is set; otherwise they keep what they were opened with. The default is
	// riffle.DefaultCacheBytes.
	CacheBytes int64

	// Timeout is how long a request may take, and MaxTimeout what a client may ask for with the parameter
	// timeout. The defaults are 30 s and 5 min.
	Timeout, MaxTimeout time.Duration

	// Searches is how many searches are computed at a time, and Writes how many requests that change
	// documents. The defaults are twice and once the number of cores. Others wait in a queue, of Queue
	// requests of each kind at most; the default is 64 for each that is computed.
	Searches, Writes, Queue int

	// Copies is how many exports and checkpoints are sent at a time. The default is 4. They take as long as the
	// client reads.
	Copies int

	// AnswerBytes bounds the memory of answers that clients have not read yet, and that of bodies that have arrived
	// before it is their turn, each; the default is 256 MiB. Exports and checkpoints are sent in parts and take next
	// to none.
	AnswerBytes int64

	// MaxBody is the largest body of a request, in bytes, as sent and after decompression, except for
	// NDJSON, which has MaxBulk, and whose lines have MaxBody. The defaults are 8 MiB and 256 MiB.
	MaxBody, MaxBulk int64

	// IdempotencyTime is how long the answer of a change that had the header Idempotency-Key is kept, to be sent
	// again if the same request comes once more. IdempotencyBytes bounds the memory of these answers: the oldest
	// are forgotten first, and one of more than a quarter of it is not kept. The defaults are 1 h and 64 MiB. They
	// do not survive the end of the process.
	IdempotencyTime  time.Duration
	IdempotencyBytes int64

	// Log gets a record of each request, at the level Debug; of those that fail by a fault of the server, and of
	// background work that fails, at Error; and of slow queries, at Warn. Each has the id of the request, which
	// the answer has as Riffle-Request, and that of its trace. The default discards them.
	Log *slog.Logger

	// SlowQuery is how long a search may take without a record that has the query, what ran it, and what it
	// cost. The default, 0, stands for any time.
	SlowQuery time.Duration

	// Registry gets the figures that GET /metrics answers with: see docs/METRICS.md. The default is a new one,
	// which has those of the Go runtime and the process, too. Two Servers cannot share one.
	Registry *prometheus.Registry

	// Tracer makes spans of requests, searches, batches, seals and merges. The default is the global provider of
	// OpenTelemetry, which does nothing unless the program has set another one.
	Tracer trace.TracerProvider
}

// withDefaults returns a copy with all defaults filled in, or an error that names every bad field.
func (o *Options) withDefaults() (*Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	var errs []error
	for _, f := range []struct {
		name  string
		value *int64
		or    int64
	}{
		{"Timeout", (*int64)(&c.Timeout), int64(30 * time.Second)},
		{"MaxTimeout", (*int64)(&c.MaxTimeout), int64(5 * time.Minute)},
		{"SlowQuery", (*int64)(&c.SlowQuery), 0},
		{"AnswerBytes", &c.AnswerBytes, 256 << 20},
		{"CacheBytes", &c.CacheBytes, riffle.DefaultCacheBytes()},
		{"IdempotencyTime", (*int64)(&c.IdempotencyTime), int64(time.Hour)},
		{"IdempotencyBytes", &c.IdempotencyBytes, 64 << 20},
		{"MaxBody", &c.MaxBody, 8 << 20},
		{"MaxBulk", &c.MaxBulk, 256 << 20},
	} {
		if *f.value < 0 {
			errs = append(errs, fmt.Errorf("server: Options.%s must not be negative", f.name))
		} else if *f.value == 0 {
			*f.value = f.or
		}
	}
	cores := runtime.GOMAXPROCS(0)
	for _, f := range []struct {
		name  string
		value *int
		or    int
	}{
		{"Searches", &c.Searches, 2 * cores},
		{"Writes", &c.Writes, cores},
		{"Copies", &c.Copies, 4},
		{"Queue", &c.Queue, 64 * max(2*cores, c.Searches)},
	} {
		if *f.value < 0 {
			errs = append(errs, fmt.Errorf("server: Options.%s must not be negative", f.name))
		} else if *f.value == 0 {
			*f.value = f.or
		}
	}
	if c.Cluster != nil && c.Dir != "" {
		errs = append(errs, errors.New("server: Options.Cluster and Options.Dir exclude each other: new indexes are either's"))
	}
	c.MaxTimeout = max(c.MaxTimeout, c.Timeout)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Tracer == nil {
		c.Tracer = otel.GetTracerProvider()
	}
	return &c, errors.Join(errs...)
}
