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
				ctx := t.Context()
				if test.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.deadline)
					defer cancel()
				}
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
