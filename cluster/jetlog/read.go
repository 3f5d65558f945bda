package jetlog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/riffle-search/riffle/cluster/oplog"
)

const (
	// heartbeat is how often the server of a quiet stream says that it is there. With the default of
	// several seconds, some starts stall for ten.
	heartbeat = 500 * time.Millisecond

	// resets is how often in a row a reader looks for the leader of the stream before it gives up. The
	// pauses grow from one second to ten.
	resets = 6

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
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: next, MaxResetAttempts: resets,
	})
	if err != nil {
		return l.readError(ctx, err)
	}
	messages, err := consumer.Messages(jetstream.PullMaxBytes(ahead), jetstream.PullHeartbeat(heartbeat))
	if err != nil {
		return l.readError(ctx, err)
	}
	defer messages.Stop()
	// While it looks for the next leader, Next does not look at its context.
	defer context.AfterFunc(ctx, messages.Stop)()
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
		if !yield(entryOf(next, m.Subject(), m.Headers(), m.Data())) {
			return nil
		}
	}
}

func entryOf(sequence uint64, subject string, h nats.Header, data []byte) oplog.Entry {
	_, id, _ := strings.Cut(h.Get(jetstream.MsgIDHeader), " ")
	lane := subject[strings.LastIndexByte(subject, '.')+1:]
	return oplog.Entry{Sequence: sequence, Lane: lane, Message: oplog.Message{ID: id, Data: data}}
}

// Get implements oplog.Log. The answer comes from the leader of the stream.
func (l *Log) Get(ctx context.Context, sequence uint64) (oplog.Entry, error) {
	m, err := l.stream.GetMsg(ctx, sequence)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		b, err := l.Bounds(ctx)
		if err != nil {
			return oplog.Entry{}, err
		}
		return oplog.Entry{}, &oplog.GapError{Want: sequence, First: b.First, Last: b.Last}
	}
	if err != nil {
		return oplog.Entry{}, l.readError(ctx, err)
	}
	return entryOf(sequence, m.Subject, m.Header, m.Data), nil
}

func (l *Log) readError(ctx context.Context, err error) error {
	if ctx.Err() != nil { // whatever its end has interrupted
		return ctx.Err()
	}
	return fmt.Errorf("jetlog: reading stream %s: %w", l.config.Stream(), err)
}
