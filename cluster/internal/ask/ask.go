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

// unavailable is the code of the answer that there is no leader.
const unavailable jetstream.ErrorCode = 10008

// Until sends a request until there is an answer, or ctx ends. The request must do no harm when it is
// sent again.
func Until[T any](ctx context.Context, request func(context.Context) (T, error)) (T, error) {
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, total)
		defer cancel()
	}
	for {
		short, cancel := context.WithTimeout(ctx, attempt)
		v, err := request(short)
		cancel()
		if !Transient(err) || ctx.Err() != nil {
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
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.ErrorCode == unavailable
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) ||
		errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse)
}
