// Package server serves riffle indexes over HTTP. A Server is an http.Handler that any program can
// mount:
//
//	e, err := riffle.Open("books", nil)
//	…
//	s, err := server.New(&server.Options{Keys: keys})
//	err = s.Mount("books", e)
//	http.ListenAndServe("127.0.0.1:7700", s)
//
// All it does goes through the public API of package riffle. Requests and answers are JSON. A body of
// documents may be NDJSON, one change a line, and any body may be compressed by gzip or zstd.
//
// # Paths
//
// Paths begin with /v1, and {index} is the name that an index was mounted or created with:
//
//	GET    /v1/indexes                          the indexes
//	PUT    /v1/indexes/{index}                  create an index
//	DELETE /v1/indexes/{index}                  drop an index and its files
//	GET    /v1/indexes/{index}/documents/{id}   a document
//	PUT    /v1/indexes/{index}/documents/{id}   put a document
//	PATCH  /v1/indexes/{index}/documents/{id}   update fields that have columns alone
//	DELETE /v1/indexes/{index}/documents/{id}   delete a document
//	POST   /v1/indexes/{index}/documents        put a document with a new id, or change many
//	POST   /v1/indexes/{index}/search           search
//	GET    /v1/indexes/{index}/search?q=…       search by a text in the query language
//	POST   /v1/indexes/{index}/count            count
//	GET    /v1/openapi.json                     the API as an OpenAPI document, with all paths and members
//	GET    /healthz, /readyz                    whether the process runs; whether it takes requests
//	GET    /metrics                             figures for Prometheus
//	GET    /debug/pprof/                        profiles of the process
//
// # Errors
//
// An error is a problem document (RFC 9457, application/problem+json): see Problem. Its type says which
// kind of fault it is, and its members part, field, offset and line say where.
//
// # Limits
//
// Every request has a deadline, a size limit, and a place in a queue. If the queue is full, the answer is
// 429 with Retry-After, and the request has cost next to nothing. See Options. Answers of more than 4 KiB, and
// those of any length that are sent in parts, are compressed as Accept-Encoding says, by zstd or gzip.
//
// # Sending requests again
//
// A request that changes something may have a header Idempotency-Key, a text that the client makes up. If the client
// gets no answer, it sends the same request with the same key again: one that has succeeded is not carried out once
// more, and its answer is sent again, with Idempotency-Replayed: true. One that is still under way is answered by
// 409, and another request with the same key by 422. A failure is not kept, since it has changed nothing. Answers
// are kept for a time and in bounded memory, and not past the end of the process: see Options.IdempotencyTime.
//
// # Watching
//
// GET /metrics has figures for Prometheus: docs/METRICS.md lists them. An engine that is mounted is among
// them if it was opened with the Listener of the Server.
//
// Options.Tracer makes a span of each request, which goes on with the trace that a client sends as traceparent
// (W3C). Within it, reading the text of a query, a search, and each batch of changes have spans of their own.
// Planning, executing and loading have none: the engine reports only the whole. Seals and merges belong to no
// request and have traces of their own. The package uses OpenTelemetry's API alone. A program that wants spans
// exported sets a provider with an exporter.
//
// Options.Log gets a record of each request, and Options.SlowQuery makes records of queries that take long.
// /debug/pprof has the profiles of the process, for go tool pprof and a key of RoleAdmin.
//
// # Access
//
// With Options.Keys every request needs a key, as a bearer token or as the password of basic
// authentication. A key has a role, and each path asks for one: see Role.
package server
