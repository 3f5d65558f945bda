package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// Subject returns the subject of the requests for a replica. The epoch is that of the index: a replica
// of an index that was dropped is not taken for one of the next index of that name.
func Subject(index string, epoch uint64, shard int, node string) string {
	return fmt.Sprintf("riffle.%s.q.%d.%d.%s", index, epoch, shard, node)
}

// Listen lets a server answer the requests of a subject, until stop is called, which waits for those
// under way.
func Listen(c *nats.Conn, subject string, s *Server) (stop func() error, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	var under sync.WaitGroup
	sub, err := c.Subscribe(subject, func(m *nats.Msg) {
		under.Go(func() { m.Respond(s.Handle(ctx, m.Data)) })
	})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("remote: subject %s: %w", subject, err)
	}
	return func() error {
		err := sub.Unsubscribe()
		cancel()
		under.Wait()
		return errors.Join(err, c.FlushTimeout(flushTimeout))
	}, nil
}

const flushTimeout = 2 * time.Second

// NATS returns the caller of the replicas of a shard by requests of NATS.
func NATS(c *nats.Conn, index string, epoch uint64, shard int) Caller {
	return natsCaller{c, index, epoch, shard}
}

type natsCaller struct {
	conn  *nats.Conn
	index string
	epoch uint64
	shard int
}

func (c natsCaller) Call(ctx context.Context, node string, request []byte) ([]byte, error) {
	m, err := c.conn.RequestWithContext(ctx, Subject(c.index, c.epoch, c.shard, node), request)
	if err != nil {
		return nil, err
	}
	return m.Data, nil
}
