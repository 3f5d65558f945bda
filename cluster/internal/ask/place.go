package ask

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// noPeers is the code of the answer that there are not enough servers for a stream.
const noPeers jetstream.ErrorCode = 10005

// placeWait is how long servers may take to hear of each other. They tell each other once a second.
const placeWait = 5 * time.Second

// Place creates a stream by a request that does no harm when it is sent again. While there is no leader, or it knows
// of too few servers, as when they have just started, it tries again, for some five seconds or until ctx ends.
func Place[T any](ctx context.Context, create func(context.Context) (T, error)) (T, error) {
	for began := time.Now(); ; {
		v, err := Until(ctx, create)
		api, ok := errors.AsType[*jetstream.APIError](err)
		if !ok || api.ErrorCode != noPeers || time.Since(began) >= placeWait {
			return v, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return v, err
		}
	}
}
