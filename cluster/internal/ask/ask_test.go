package ask

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// limited returns a context that ends after some time; 0: with the test.
func limited(t *testing.T, after time.Duration) context.Context {
	ctx := t.Context()
	if after > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, after)
		t.Cleanup(cancel)
	}
	return ctx
}

func TestUntil(t *testing.T) {
	other := errors.New("other")
	for _, test := range []struct {
		name     string
		errs     []error // of attempts; nil succeeds; context.DeadlineExceeded is that of an attempt without an answer
		deadline time.Duration
		want     error
		took     time.Duration
	}{
		{"at once", []error{nil}, time.Minute, nil, 0},
		{"silence, then an answer", []error{context.DeadlineExceeded, context.DeadlineExceeded, nil}, time.Minute, nil, 2 * (attempt + pause)},
		{"no leader, then an answer", []error{&jetstream.APIError{ErrorCode: unavailable}, nats.ErrNoResponders, nil}, time.Minute, nil, 2 * pause},
		{"another error", []error{other}, time.Minute, other, 0},
		{"another answer", []error{jetstream.ErrStreamNotFound}, time.Minute, jetstream.ErrStreamNotFound, 0},
		{"silence for ever", make([]error, 0), 5 * time.Second, context.DeadlineExceeded, 5 * time.Second},
		{"silence for ever, no deadline", make([]error, 0), 0, context.DeadlineExceeded, total},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := limited(t, test.deadline)
				began, n := time.Now(), 0
				v, err := Until(ctx, func(ctx context.Context) (int, error) {
					err := context.DeadlineExceeded
					if n < len(test.errs) {
						err = test.errs[n]
					}
					if n++; err == context.DeadlineExceeded {
						<-ctx.Done()
						return 0, fmt.Errorf("attempt: %w", ctx.Err())
					}
					return n, err
				})
				if !errors.Is(err, test.want) || err == nil && v != len(test.errs) || time.Since(began) != test.took {
					t.Errorf("%d, %v after %v, want %v after %v", v, err, time.Since(began), test.want, test.took)
				}
			})
		})
	}
}

func TestHeard(t *testing.T) {
	other := errors.New("other")
	for _, test := range []struct {
		name     string
		errs     []error // of attempts; the last one is repeated
		deadline time.Duration
		want     error
		attempts int // 0: one more or less, for the last pause ends with the last attempt
		took     time.Duration
	}{
		{"at once", []error{nil}, time.Minute, nil, 1, 0},
		{"no leader, then an answer", []error{jetstream.ErrNoStreamResponse, nats.ErrNoResponders, &jetstream.APIError{ErrorCode: notLeader}, nil}, time.Minute, nil, 4, 3 * pause},
		{"silence: it may have been carried out", []error{jetstream.ErrNoStreamResponse, nats.ErrTimeout}, time.Minute, nats.ErrTimeout, 2, pause},
		{"another error", []error{other}, time.Minute, other, 1, 0},
		{"never a leader", []error{jetstream.ErrNoStreamResponse}, time.Second + pause/2, jetstream.ErrNoStreamResponse, 11, time.Second + pause/2},
		{"never a leader, no deadline", []error{jetstream.ErrNoStreamResponse}, 0, jetstream.ErrNoStreamResponse, 0, total},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := limited(t, test.deadline)
				began, n := time.Now(), 0
				_, err := Heard(ctx, func(context.Context) (int, error) {
					err := test.errs[min(n, len(test.errs)-1)]
					n++
					return n, err
				})
				if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) || test.attempts > 0 && n != test.attempts || time.Since(began) != test.took {
					t.Errorf("%v after %d attempts and %v, want %v after %d and %v", err, n, time.Since(began), test.want, test.attempts, test.took)
				}
			})
		})
	}
}
