// Package ask repeats requests to JetStream. A server that knows no leader does not answer at all, so that
// a request which waits until its deadline misses the leader that there is a second later.
package ask

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	attempt = 2 * time.Second        // how long an answer may take before the request is sent again
	total   = 3 * attempt            // how long it is sent for, if its context has no deadline
	pause   = 100 * time.Millisecond // after an answer that there is no leader
)

// Codes of answers that say who did not carry out a request.
const (
	unavailable jetstream.ErrorCode = 10008 // there is no leader
	notLeader   jetstream.ErrorCode = 10009 // the server that has the request is not the leader any more
)

// Until sends a request until there is an answer, or ctx ends. The request must do no harm when it is
// sent again.
func Until[T any](ctx context.Context, request func(context.Context) (T, error)) (T, error) {
	return repeat(ctx, Transient, func(ctx context.Context) (T, error) {
		short, cancel := context.WithTimeout(ctx, attempt)
		defer cancel()
		return request(short)
	})
}

// Heard sends a request until a leader has had it, or ctx ends. One that got no answer is not sent again: it may
// have been carried out.
func Heard[T any](ctx context.Context, request func(context.Context) (T, error)) (T, error) {
	return repeat(ctx, unheard, request)
}

// repeat sends a request as long as its error says that it may be sent again, until ctx ends.
func repeat[T any](ctx context.Context, again func(error) bool, request func(context.Context) (T, error)) (T, error) {
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, total)
		defer cancel()
	}
	for {
		v, err := request(ctx)
		if !again(err) || ctx.Err() != nil {
			return v, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return v, err
		}
	}
}

// Transient reports whether an error says that no leader has answered.
func Transient(err error) bool {
	return unheard(err) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
}

// unheard reports whether an error says that no leader has had a request.
func unheard(err error) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.ErrorCode == unavailable || api.ErrorCode == notLeader
	}
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse)
}
