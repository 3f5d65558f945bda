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

	"github.com/riffle-search/riffle/cluster/internal/ask"
	"github.com/riffle-search/riffle/cluster/oplog"
)

const (
	// heartbeat is how often the server of a quiet stream says that it is there. With the default of
	// several seconds, some starts stall for ten.
	heartbeat = 500 * time.Millisecond

	// ahead is how many bytes of entries are sent before they are asked for.
	ahead = 4 << 20

	// begins is how long a server may take to begin to send entries before another one is looked for.
	begins = 2 * time.Second

	// The pauses between two attempts grow from one to the other.
	firstPause = 50 * time.Millisecond
	lastPause  = time.Second

	// well is how long a server has sent entries, or heartbeats, if it was found.
	well = 3 * begins

	// idle is after what time a server forgets a reader that it does not hear of.
	idle = 30 * time.Second
)

// Read implements oplog.Log. It reads by consumers that servers keep in memory, one after the other: when
// one is lost with its server, or falls silent, the next one begins behind the last entry. Package jetstream
// has such a thing, its ordered consumer, which waits ten seconds for an answer that does not come while a
// stream has no leader, and up to ten more before it asks again. A reader waits for a leader as long as it
// takes: its replica answers searches meanwhile. Every entry's sequence is checked: a consumer begins in
// silence behind the end of a stream, and after a beginning that was trimmed.
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
		return l.readError(ctx, err)
	}
	if next < b.First || next > b.Last+1 {
		return &oplog.GapError{Want: next, First: b.First, Last: b.Last}
	}
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		began, from := time.Now(), next
		err := l.follow(ctx, &next, yield)
		_, gap := errors.AsType[*oplog.GapError](err)
		if err == nil || gap {
			return err
		}
		if next > from || time.Since(began) > well {
			pause = firstPause
		}
		if ctx.Err() != nil || errors.Is(err, jetstream.ErrStreamNotFound) {
			return l.readError(ctx, err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// follow yields entries from *next on, until yield wants no more, or there is an error: a *oplog.GapError if
// the log does not have the next one.
func (l *Log) follow(ctx context.Context, next *uint64, yield func(oplog.Entry) bool) error {
	short, cancel := context.WithTimeout(ctx, begins)
	defer cancel()
	consumer, err := l.js.CreateConsumer(short, l.config.Stream(), jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: *next, AckPolicy: jetstream.AckNonePolicy,
		MemoryStorage: true, Replicas: 1, InactiveThreshold: idle,
	})
	if err != nil {
		return err
	}
	defer l.forget(consumer.CachedInfo().Name)
	messages, err := consumer.Messages(jetstream.PullMaxBytes(ahead), jetstream.PullHeartbeat(heartbeat), jetstream.WithMessagesErrOnMissingHeartbeat(true))
	if err != nil {
		return err
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return err
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		if got := meta.Sequence.Stream; got != *next {
			return l.gap(ctx, *next, got)
		}
		if !yield(entryOf(*next, m.Subject(), m.Headers(), m.Data())) {
			return nil
		}
		*next++
	}
}

// gap returns the error of a reader that got another entry than the next one: a *oplog.GapError if the log
// does not have that.
func (l *Log) gap(ctx context.Context, want, got uint64) error {
	b, err := l.Bounds(ctx)
	if err == nil && want < b.First {
		return &oplog.GapError{Want: want, First: b.First, Last: b.Last}
	}
	return errors.Join(fmt.Errorf("entry %d came where %d was due", got, want), err)
}

// forget lets the server of a consumer forget it, if it can be reached.
func (l *Log) forget(consumer string) {
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), begins)
		defer cancel()
		_ = l.js.DeleteConsumer(ctx, l.config.Stream(), consumer) // otherwise it ends by itself
	}()
}

func entryOf(sequence uint64, subject string, h nats.Header, data []byte) oplog.Entry {
	_, id, _ := strings.Cut(h.Get(jetstream.MsgIDHeader), " ")
	lane := subject[strings.LastIndexByte(subject, '.')+1:]
	return oplog.Entry{Sequence: sequence, Lane: lane, Message: oplog.Message{ID: id, Data: data}}
}

// Get implements oplog.Log. The answer comes from the leader of the stream.
func (l *Log) Get(ctx context.Context, sequence uint64) (oplog.Entry, error) {
	m, err := ask.Until(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) { return l.stream.GetMsg(ctx, sequence) })
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
