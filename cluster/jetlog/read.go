package jetlog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/riffle-search/riffle/cluster/oplog"
)

const (
	// heartbeat is how often the server of a quiet stream says that it is there. With the default of
	// several seconds, some starts stall for ten.
	heartbeat = 500 * time.Millisecond

	// ahead is how many bytes of entries are sent before they are asked for.
	ahead = 4 << 20
)

// Read implements oplog.Log. It reads by an ordered consumer, which finds the next leader of the
// stream by itself, and checks the sequence of every entry: an ordered consumer begins in silence
// behind the end of a stream, and after a beginning that was trimmed.
func (l *Log) Read(ctx context.Context, from uint64) iter.Seq2[oplog.Entry, error] {
	return func(yield func(oplog.Entry, error) bool) {
		if err := l.read(ctx, from, func(e oplog.Entry) bool { return yield(e, nil) }); err != nil {
			yield(oplog.Entry{}, err)
		}
	}
}

func (l *Log) read(ctx context.Context, next uint64, yield func(oplog.Entry) bool) error {
	b, err := l.Bounds(ctx)
	if err != nil {
		return err
	}
	if next < b.First || next > b.Last+1 {
		return &oplog.GapError{Want: next, First: b.First, Last: b.Last}
	}
	consumer, err := l.js.OrderedConsumer(ctx, l.config.Stream(), jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: next,
	})
	if err != nil {
		return l.readError(ctx, err)
	}
	messages, err := consumer.Messages(jetstream.PullMaxBytes(ahead), jetstream.PullHeartbeat(heartbeat))
	if err != nil {
		return l.readError(ctx, err)
	}
	defer messages.Stop()
	for ; ; next++ {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return l.readError(ctx, err)
		}
		meta, err := m.Metadata()
		if err != nil {
			return l.readError(ctx, err)
		}
		if got := meta.Sequence.Stream; got != next {
			return &oplog.GapError{Want: next, First: got, Last: got}
		}
		lane := m.Subject()[strings.LastIndexByte(m.Subject(), '.')+1:]
		_, id, _ := strings.Cut(m.Headers().Get(jetstream.MsgIDHeader), " ")
		if !yield(oplog.Entry{Sequence: next, Lane: lane, Message: oplog.Message{ID: id, Data: m.Data()}}) {
			return nil
		}
	}
}

func (l *Log) readError(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return ctx.Err()
	}
	return fmt.Errorf("jetlog: reading stream %s: %w", l.config.Stream(), err)
}
