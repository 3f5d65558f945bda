package ask

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

func TestPlace(t *testing.T) {
	few, other := &jetstream.APIError{ErrorCode: noPeers}, &jetstream.APIError{ErrorCode: 10058}
	for _, test := range []struct {
		name  string
		known time.Duration // when the leader knows enough servers
		limit time.Duration // of the context
		then  error         // what comes of it then
		want  error
		took  time.Duration
	}{
		{"at once", 0, time.Minute, nil, nil, 0},
		{"soon", 250 * time.Millisecond, time.Minute, nil, nil, 3 * pause},
		{"soon, another error", 250 * time.Millisecond, time.Minute, other, other, 3 * pause},
		{"never", time.Hour, time.Minute, nil, few, placeWait},
		{"never, a shorter limit", time.Hour, time.Second + pause/2, nil, few, time.Second + pause/2},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), test.limit)
				defer cancel()
				began := time.Now()
				_, err := Place(ctx, func(context.Context) (int, error) {
					if time.Since(began) < test.known {
						return 0, few
					}
					return 1, test.then
				})
				if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) || time.Since(began) != test.took {
					t.Errorf("%v after %v, want %v after %v", err, time.Since(began), test.want, test.took)
				}
			})
		})
	}
}
