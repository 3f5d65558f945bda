package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/client"
)

// A fault is an error of a request, with what its answer says.
type fault struct {
	client.Problem
	retry int // seconds, for Retry-After
	cause error
}

// Unwrap returns the error that caused the fault, or nil.
func (f *fault) Unwrap() error { return f.cause }

// A kind is a kind of problem: the last part of its URN, a title and a status.
type kind struct {
	name, title string
	status      int
}

// The kinds of problems. The OpenAPI document has the same list; TestKinds compares them.
var (
	kindRequest     = kind{"request", "The request is malformed", http.StatusBadRequest}
	kindQuery       = kind{"query", "The query is invalid", http.StatusBadRequest}
	kindDocument    = kind{"document", "A document cannot be indexed", http.StatusBadRequest}
	kindKey         = kind{"key", "The request needs a valid API key", http.StatusUnauthorized}
	kindRole        = kind{"role", "The API key does not allow this", http.StatusForbidden}
	kindOrigin      = kind{"origin", "The request comes from another site", http.StatusForbidden}
	kindReadOnly    = kind{"read-only", "The index is open for reading only", http.StatusForbidden}
	kindNotFound    = kind{"not-found", "There is nothing at this path", http.StatusNotFound}
	kindNoIndex     = kind{"no-index", "There is no such index", http.StatusNotFound}
	kindNoDocument  = kind{"no-document", "There is no such document", http.StatusNotFound}
	kindMethod      = kind{"method", "This path does not have this method", http.StatusMethodNotAllowed}
	kindExists      = kind{"exists", "There is an index of this name", http.StatusConflict}
	kindUnderWay    = kind{"under-way", "A request with this idempotency key is under way", http.StatusConflict}
	kindReused      = kind{"reused", "The idempotency key came with another request", http.StatusUnprocessableEntity}
	kindVersion     = kind{"version", "The document has another version", http.StatusPreconditionFailed}
	kindTooLarge    = kind{"too-large", "The body is too large", http.StatusRequestEntityTooLarge}
	kindContentType = kind{"content-type", "The body has a type or an encoding that this path does not read", http.StatusUnsupportedMediaType}
	kindBusy        = kind{"busy", "The server is busy", http.StatusTooManyRequests}
	kindLate        = kind{"late", "The answer would be late", http.StatusServiceUnavailable}
	kindStopping    = kind{"stopping", "The server is stopping", http.StatusServiceUnavailable}
	kindPending     = kind{"pending", "The change is under way, and will take effect unless the disk fails", http.StatusServiceUnavailable}
	kindTimeout     = kind{"timeout", "The request took too long", http.StatusServiceUnavailable}
	kindUnsupported = kind{"unsupported", "This index does not have this", http.StatusNotImplemented}
	kindUnavailable = kind{"unavailable", "A part of the cluster does not answer", http.StatusServiceUnavailable}
	kindUnknown     = kind{"unknown", "It is not known whether the change takes effect", http.StatusGatewayTimeout}
	kindInternal    = kind{"internal", "The server has failed", http.StatusInternalServerError}
)

var kinds = []kind{kindRequest, kindQuery, kindDocument, kindKey, kindRole, kindOrigin, kindReadOnly, kindNotFound, kindNoIndex, kindNoDocument,
	kindMethod, kindExists, kindUnderWay, kindReused, kindVersion, kindTooLarge, kindContentType, kindBusy, kindLate, kindStopping, kindPending, kindTimeout,
	kindUnsupported, kindUnavailable, kindUnknown, kindInternal}

// urn returns the type of problems of the kind.
func (k kind) urn() string { return "urn:riffle:problem:" + k.name }

// fault returns a fault of the kind.
func (k kind) fault(format string, args ...any) *fault {
	return &fault{Problem: client.Problem{Type: k.urn(), Title: k.title, Status: k.status, Detail: fmt.Sprintf(format, args...)}}
}

// caused returns a fault of the kind that says what err says.
func (k kind) caused(err error) *fault {
	p := k.fault("%v", err)
	p.cause = err
	return p
}

// faultOf returns an error of a request as a fault. An error that is neither a fault nor one of the engine's that
// it knows is a failure of the server.
func faultOf(err error) *fault {
	var (
		p        *fault
		parse    *riffle.ParseError
		query    *riffle.QueryError
		document *riffle.DocumentError
		conflict *riffle.ConflictError
	)
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &parse):
		p = kindQuery.caused(err)
		p.Offset = &parse.Offset
		return p
	case errors.As(err, &conflict):
		p = kindVersion.caused(err)
		p.ID = (*client.ID)(&conflict.ID)
		return p
	case errors.As(err, &document):
		p = kindDocument.caused(err)
		p.ID, p.Field = (*client.ID)(&document.ID), document.Field
		return p
	case errors.As(err, &query):
		part := partOf(query.Part)
		p = kindQuery.fault("%s: %v", part, query.Err)
		p.Part, p.cause = part, err
		return p
	}
	if p = clusterFault(err); p != nil {
		return p
	}
	switch {
	case errors.Is(err, riffle.ErrNotFound):
		return kindNoDocument.caused(err)
	case errors.Is(err, riffle.ErrReadOnly):
		return kindReadOnly.caused(err)
	case errors.Is(err, riffle.ErrNoDevice):
		p = kindRequest.caused(err)
		p.Part = "processor"
		return p
	case errors.Is(err, riffle.ErrLate):
		return kindLate.caused(err)
	case errors.Is(err, riffle.ErrClosed):
		return kindStopping.caused(err)
	case errors.Is(err, riffle.ErrPending):
		return kindPending.caused(err)
	case errors.Is(err, context.DeadlineExceeded):
		return kindTimeout.caused(err)
	}
	return kindInternal.caused(err)
}

// partOf names a part of a query, or of the options of a search, as the request does: options are members of the
// body, so that SearchOptions.ExactTotal is exact_total.
func partOf(part string) string {
	for _, options := range []string{"SearchOptions.", "ByQueryOptions.", "SuggestOptions."} {
		if path, ok := strings.CutPrefix(part, options); ok {
			return member.ReplaceAllStringFunc(path, snake)
		}
	}
	return part
}

// member matches the names of fields in a path such as Aggregations["Place"].Field, but nothing in quotes.
var member = regexp.MustCompile(`"[^"]*"|[A-Z][A-Za-z0-9]*`)

// snake returns the name of a member of the body for that of a field in Go.
func snake(name string) string {
	if name[0] == '"' {
		return name
	}
	var b strings.Builder
	for i, r := range name {
		if capital(name[i]) {
			// A word begins after a small letter, and before one: WALBytes has two.
			if i > 0 && (!capital(name[i-1]) || i+1 < len(name) && !capital(name[i+1]) && name[i+1:] != "s") {
				b.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

func capital(b byte) bool { return 'A' <= b && b <= 'Z' }

// writeProblem answers with the problem of a fault.
func writeProblem(w http.ResponseWriter, p *fault) {
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	switch p.Status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="riffle"`)
		h.Add("WWW-Authenticate", `Basic realm="riffle", charset="UTF-8"`)
	case http.StatusConflict:
		if p.retry > 0 {
			h.Set("Retry-After", fmt.Sprint(p.retry))
		}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h.Set("Retry-After", fmt.Sprint(max(p.retry, 1)))
	}
	w.WriteHeader(p.Status)
	json.NewEncoder(w).Encode(&p.Problem)
}
