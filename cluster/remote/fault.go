package remote

import (
	"context"
	"errors"
	"fmt"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/scatter"
)

var (
	// ErrLease says that a node no longer has the snapshot of a session. It matches scatter.ErrGone.
	ErrLease = fmt.Errorf("remote: the node has no such snapshot any more: %w", scatter.ErrGone)

	// ErrBusy says that a node has too many requests under way.
	ErrBusy = errors.New("remote: the node has too many requests")

	// ErrVersion says that a node does not understand the request: it runs another version of riffle.
	ErrVersion = errors.New("remote: the node does not know this version of requests")

	// ErrAggregations says that the aggregations of a shard take more bytes than a node sends.
	ErrAggregations = errors.New("remote: the aggregations of a shard are too large")

	// ErrUnreachable says that no replica of a shard answers.
	// It matches scatter.ErrUnavailable.
	ErrUnreachable error = &remoteError{text: "remote: no replica of the shard answers", is: scatter.ErrUnavailable}
)

// kinds are the errors that a caller can tell apart, by the kind of their fault.
var kinds = []struct {
	kind string
	err  error
}{
	{faultMissing, riffle.ErrNotFound},
	{faultLate, riffle.ErrLate},
	{faultLease, ErrLease},
	{faultRevision, scatter.ErrRevision},
	{faultBusy, ErrBusy},
	{faultTime, context.DeadlineExceeded},
	{faultClosed, riffle.ErrClosed},
	{faultVersion, ErrVersion},
	{faultAggregations, ErrAggregations},
}

func faultOf(err error) *fault {
	if q, ok := errors.AsType[*riffle.QueryError](err); ok {
		return &fault{Kind: faultQuery, Part: q.Part, Text: q.Err.Error()}
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return &fault{Kind: k.kind, Text: err.Error()}
		}
	}
	return &fault{Kind: faultOther, Text: err.Error()}
}

func (f *fault) err() error {
	if f.Kind == faultQuery {
		return &riffle.QueryError{Part: f.Part, Err: errors.New(f.Text)}
	}
	for _, k := range kinds {
		if f.Kind == k.kind {
			if f.Text == k.err.Error() {
				return k.err
			}
			return &remoteError{text: f.Text, is: k.err}
		}
	}
	return fmt.Errorf("remote: %s", f.Text)
}

// A remoteError is the error of a node, of a kind that callers know.
type remoteError struct {
	text string
	is   error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.is }
