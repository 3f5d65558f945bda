package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/server"
)

// serveFlags are the flags of riffle serve.
type serveFlags struct {
	dir  string
	dbs  []string // NAME=DIR, or DIR for its last part as the name
	demo bool

	cluster clusterFlags

	listen        string
	tlsCert       string
	tlsKey        string
	keys          string
	open          bool // without keys, for others than this machine
	connections   int
	headerTimeout time.Duration
	idleTimeout   time.Duration
	drain         time.Duration
	stopTimeout   time.Duration

	limits                                     server.Options // but for sizes
	answerMemory, keptMemory, maxBody, maxBulk byteSize
	cache                                      byteSize
	logFormat, logLevel                        string
	otlp                                       string // where spans are sent
}

// declare adds the flags to a command's.
func (f *serveFlags) declare(flags *pflag.FlagSet) {
	f.answerMemory, f.keptMemory, f.maxBody, f.maxBulk = 256<<20, 64<<20, 8<<20, 256<<20
	f.cache = byteSize(riffle.DefaultCacheBytes())
	flags.StringVar(&f.dir, "dir", "", "directory with an index in each folder; made if it does not exist")
	flags.StringArrayVar(&f.dbs, "db", nil, "directory of an index, or NAME=DIR; may be repeated")
	flags.BoolVar(&f.demo, "demo", false, "an index of Go's standard library, which is made in the user's cache directory")
	f.cluster.declare(flags)

	flags.StringVar(&f.listen, "listen", "127.0.0.1:7700", "address and port; port 0 takes a free one")
	flags.StringVar(&f.keys, "keys", "", "file of API keys, which riffle key makes")
	flags.BoolVar(&f.open, "no-keys", false, "serve other machines without keys: everybody may do everything")
	flags.StringArrayVar(&f.limits.Origins, "origin", nil, "site such as https://app.example.com whose pages may send requests (CORS); may be repeated")
	flags.StringArrayVar(&f.limits.Hosts, "host", nil, "name by which clients reach a server without keys; may be repeated")
	flags.StringVar(&f.tlsCert, "tls-cert", "", "file of the certificate and its chain, in PEM")
	flags.StringVar(&f.tlsKey, "tls-key", "", "file of the certificate's private key, in PEM")

	flags.IntVar(&f.connections, "connections", 4096, "open connections at a time; idle ones make room for new ones")
	flags.DurationVar(&f.headerTimeout, "header-timeout", 10*time.Second, "how long a client may take to send the header of a request")
	flags.DurationVar(&f.idleTimeout, "idle-timeout", 2*time.Minute, "how long a connection may be idle")
	flags.DurationVar(&f.limits.Timeout, "timeout", 30*time.Second, "how long a request may take")
	flags.DurationVar(&f.limits.MaxTimeout, "max-timeout", 5*time.Minute, "how long a request may take at most if it asks for that")
	flags.Var(&f.cache, "cache", "memory of the caches of all indexes together")
	flags.IntVar(&f.limits.Searches, "searches", 0, "searches at a time (0: twice the number of cores)")
	flags.IntVar(&f.limits.Writes, "writes", 0, "changes at a time (0: the number of cores)")
	flags.IntVar(&f.limits.Copies, "copies", 4, "exports and checkpoints at a time")
	flags.IntVar(&f.limits.Queue, "queue", 0, "requests of each kind that wait (0: 64 for each search at a time)")
	flags.Var(&f.maxBody, "max-body", "largest body, and largest line of NDJSON")
	flags.Var(&f.maxBulk, "max-bulk", "largest body of NDJSON")
	flags.Var(&f.answerMemory, "answer-memory", "memory of answers that clients have not read yet")
	flags.Var(&f.keptMemory, "idempotency-memory", "memory of answers to changes with the header Idempotency-Key")
	flags.DurationVar(&f.limits.IdempotencyTime, "idempotency-time", time.Hour, "how long these are kept")

	flags.DurationVar(&f.drain, "drain", 500*time.Millisecond, "how long after SIGTERM new connections are taken while /readyz says no")
	flags.DurationVar(&f.stopTimeout, "stop-timeout", 30*time.Second, "how long requests under way may take after that")
	flags.StringVar(&f.logFormat, "log-format", "text", "text or json")
	flags.DurationVar(&f.limits.SlowQuery, "slow-query", 0, "log searches that take longer, with what they cost (0: none)")
	flags.StringVar(&f.otlp, "otlp", "", "OpenTelemetry collector that gets spans, such as http://localhost:4318 (default: $OTEL_EXPORTER_OTLP_ENDPOINT)")
	flags.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
}

// check returns an error that names each flag whose value cannot be.
func (f *serveFlags) check() error {
	var errs []error
	for _, d := range []struct {
		flag  string
		value time.Duration
		least time.Duration
	}{
		{"--header-timeout", f.headerTimeout, 1}, {"--idle-timeout", f.idleTimeout, 1}, {"--timeout", f.limits.Timeout, 1},
		{"--max-timeout", f.limits.MaxTimeout, 1}, {"--drain", f.drain, 0}, {"--idempotency-time", f.limits.IdempotencyTime, 1}, {"--slow-query", f.limits.SlowQuery, 0},
		{"--stop-timeout", f.stopTimeout, 0},
	} {
		if d.value < d.least {
			errs = append(errs, fmt.Errorf("%s %v is too short", d.flag, d.value))
		}
	}
	for _, n := range []struct {
		flag         string
		value, least int64
	}{
		{"--connections", int64(f.connections), 1}, {"--searches", int64(f.limits.Searches), 0}, {"--writes", int64(f.limits.Writes), 0},
		{"--copies", int64(f.limits.Copies), 1}, {"--queue", int64(f.limits.Queue), 0}, {"--max-body", int64(f.maxBody), 1},
		{"--max-bulk", int64(f.maxBulk), 1}, {"--answer-memory", int64(f.answerMemory), 1}, {"--cache", int64(f.cache), 1}, {"--idempotency-memory", int64(f.keptMemory), 1},
	} {
		if n.value < n.least {
			errs = append(errs, fmt.Errorf("%s must be at least %d, not %d", n.flag, n.least, n.value))
		}
	}
	errs = append(errs, f.cluster.check(f.dir)...)
	if f.cluster.given() && (len(f.dbs) > 0 || f.demo) {
		errs = append(errs, errors.New("--db and --demo go without --cluster and --nats"))
	}
	if (f.tlsCert == "") != (f.tlsKey == "") {
		errs = append(errs, errors.New("--tls-cert and --tls-key need each other"))
	}
	if f.keys != "" && f.open {
		errs = append(errs, errors.New("--keys and --no-keys contradict each other"))
	}
	if err := errors.Join(errs...); err != nil {
		return usageError{err}
	}
	return nil
}

// logger returns what the server logs to.
func (f *serveFlags) logger(w io.Writer) (*slog.Logger, error) {
	var o slog.HandlerOptions
	levels := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	level, ok := levels[f.logLevel]
	if !ok {
		return nil, usagef("--log-level is debug, info, warn or error, not %q", f.logLevel)
	}
	o.Level = level
	switch f.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(w, &o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, &o)), nil
	}
	return nil, usagef("--log-format is text or json, not %q", f.logFormat)
}

// checkAccess refuses to serve everybody who reaches an address, unless a flag says so.
func (f *serveFlags) checkAccess(at *net.TCPAddr) error {
	if !at.IP.IsLoopback() && f.keys == "" && !f.open {
		return usagef("--listen: other machines reach %v: give --keys, or --no-keys if everybody may do everything", at)
	}
	return nil
}

// nameOf returns the name and the directory of a value of --db.
func nameOf(db string) (name, dir string) {
	name, dir, named := strings.Cut(db, "=")
	if named && !strings.ContainsAny(name, `/\`) {
		return name, dir
	}
	return filepath.Base(filepath.Clean(db)), db
}
