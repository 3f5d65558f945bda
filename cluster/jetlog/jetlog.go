// Package jetlog keeps the log of a shard in a stream of NATS JetStream.
//
// Shard 3 of the index "books" of epoch 17 is the stream RIFFLE_books_17_3. A lane is a subject,
// riffle.books.w.17.3.LANE, and the entry that another must follow is the last sequence that a publish
// expects of its subject (Nats-Expected-Last-Subject-Sequence). The id of a message is its
// Nats-Msg-Id, behind the lane. The epoch is in both names so that whoever has not heard yet that an index was dropped
// and created again neither writes to the log of the new one nor trims or deletes it. A stream has one copy or three, in files, refuses messages when it
// is full, and removes nothing but its beginning.
//
// # What is durable
//
// JetStream acknowledges what a quorum has, not what is on their disks, unless the servers run with
// SyncAlways (sync_interval: always). A program that opens a Log cannot see that of its servers:
// embedded ones (package node) set it. A stream of one copy survives no loss of its disk.
package jetlog

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/riffle-search/riffle/cluster/internal/ask"
	"github.com/riffle-search/riffle/cluster/oplog"
)

// Config says what the stream of a shard is like.
type Config struct {
	Index    string // name of the index: letters, digits, _ and -
	Epoch    uint64 // of the index: another one for each that ever had the name
	Shard    int
	First    uint64 // sequence of the first entry of a new log, which continues another one; 0 is 1
	Replicas int    // copies of the stream: 1, 3 or 5; 0 is 1
	MaxBytes int64  // when the stream has so many bytes it refuses messages, and servers reserve them; 0 is 1 GiB

	// Duplicates is how long JetStream recognises the id of a message that is sent again; 0 is ten
	// minutes. Lanes protect later ones.
	Duplicates time.Duration
}

const (
	defaultMaxBytes   = 1 << 30
	defaultDuplicates = 10 * time.Minute

	// identityKey is where the metadata of a stream have its identity.
	identityKey = "riffle_identity"
)

var nameRule = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Stream returns the name of the stream.
func (c *Config) Stream() string { return fmt.Sprintf("RIFFLE_%s_%d_%d", c.Index, c.Epoch, c.Shard) }

func (c *Config) subject(lane string) string {
	return fmt.Sprintf("riffle.%s.w.%d.%d.%s", c.Index, c.Epoch, c.Shard, lane)
}

func (c *Config) check() error {
	if !nameRule.MatchString(c.Index) {
		return fmt.Errorf("jetlog: %q is no name of an index: 1 to 64 letters, digits, _ and - are allowed", c.Index)
	}
	if c.Shard < 0 {
		return fmt.Errorf("jetlog: shard %d", c.Shard)
	}
	switch c.Replicas {
	case 0, 1, 3, 5:
		return nil
	}
	return fmt.Errorf("jetlog: %d copies of a stream; 1, 3 or 5 are allowed", c.Replicas)
}

// A Log is an oplog.Log in a stream.
type Log struct {
	js     jetstream.JetStream
	stream jetstream.Stream
	config Config
}

// Create creates the stream of a shard, or opens it if it exists with the same configuration.
func Create(ctx context.Context, js jetstream.JetStream, c Config) (*Log, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	l, err := Open(ctx, js, c)
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return l, err
	}
	config := jetstream.StreamConfig{
		Name:       c.Stream(),
		Subjects:   []string{c.subject("*")},
		Storage:    jetstream.FileStorage,
		Retention:  jetstream.LimitsPolicy,
		Discard:    jetstream.DiscardNew,
		Replicas:   max(c.Replicas, 1),
		MaxBytes:   orDefault(c.MaxBytes, defaultMaxBytes),
		MaxMsgSize: 1 << 20,
		Duplicates: orDefault(c.Duplicates, defaultDuplicates),
		DenyDelete: true,
		FirstSeq:   c.First,
		Metadata:   map[string]string{identityKey: rand.Text()},
	}
	stream, err := ask.Place(ctx, func(ctx context.Context) (jetstream.Stream, error) { return js.CreateStream(ctx, config) })
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another program was faster
		return Open(ctx, js, c)
	}
	if err != nil {
		return nil, fmt.Errorf("jetlog: creating stream %s: %w", c.Stream(), err)
	}
	return &Log{js, stream, c}, nil
}

func orDefault[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// Open opens the stream of a shard. The error matches jetstream.ErrStreamNotFound if there is none.
// Of the configuration, only the names count.
func Open(ctx context.Context, js jetstream.JetStream, c Config) (*Log, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	stream, err := ask.Until(ctx, func(ctx context.Context) (jetstream.Stream, error) { return js.Stream(ctx, c.Stream()) })
	if err != nil {
		return nil, fmt.Errorf("jetlog: opening stream %s: %w", c.Stream(), err)
	}
	return &Log{js, stream, c}, nil
}

// Delete deletes the stream of a shard with all its entries, if there is one.
func Delete(ctx context.Context, js jetstream.JetStream, c Config) error {
	_, err := ask.Until(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, js.DeleteStream(ctx, c.Stream()) })
	if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("jetlog: deleting stream %s: %w", c.Stream(), err)
	}
	return nil
}

// Bounds implements oplog.Log. The answer comes from the leader of the stream.
func (l *Log) Bounds(ctx context.Context) (oplog.Bounds, error) {
	info, err := ask.Until(ctx, func(ctx context.Context) (*jetstream.StreamInfo, error) { return l.stream.Info(ctx) })
	if err != nil {
		return oplog.Bounds{}, fmt.Errorf("jetlog: %s: %w", l.config.Stream(), err)
	}
	return boundsOf(info), nil
}

func boundsOf(info *jetstream.StreamInfo) oplog.Bounds {
	b := oplog.Bounds{
		// The metadata alone would not do: a stream can be restored or created again with the same.
		Identity: fmt.Sprintf("%s@%d", info.Config.Metadata[identityKey], info.Created.UnixNano()),
		First:    info.State.FirstSeq, Last: info.State.LastSeq, Sure: followed(info.Cluster),
	}
	if info.State.Msgs == 0 {
		b.First = b.Last + 1
	}
	return b
}

// followed reports whether a majority of the servers of a stream follow the leader that has answered, and
// have what it has. One that has lost them, or that has just been elected and lost them then, may answer
// with an end of the stream before entries that it has acknowledged.
func followed(c *jetstream.ClusterInfo) bool {
	if c == nil {
		return true // the stream has one copy, on a server that is alone
	}
	follow := 1
	for _, r := range c.Replicas {
		if r.Current && !r.Offline && r.Active < heard {
			follow++
		}
	}
	return 2*follow > len(c.Replicas)+1
}

// heard is how long ago a leader has heard of a server that follows it, at most. Servers tell each other
// once a second.
const heard = 1500 * time.Millisecond

// Trim implements oplog.Log.
func (l *Log) Trim(ctx context.Context, before uint64) error {
	if before <= 1 {
		return nil
	}
	if err := l.stream.Purge(ctx, jetstream.WithPurgeSequence(before)); err != nil {
		return fmt.Errorf("jetlog: trimming %s before %d: %w", l.config.Stream(), before, err)
	}
	return nil
}

// Append implements oplog.Log.
func (l *Log) Append(ctx context.Context, lane string, after uint64, m oplog.Message) (uint64, error) {
	if err := m.Check(); err != nil {
		return 0, err
	}
	if !nameRule.MatchString(lane) {
		return 0, fmt.Errorf("jetlog: %q is no name of a lane: 1 to 64 letters, digits, _ and - are allowed", lane)
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	subject := l.config.subject(lane)
	ack, err := l.js.PublishMsg(ctx, &nats.Msg{Subject: subject, Data: m.Data},
		jetstream.WithMsgID(lane+" "+m.ID),
		jetstream.WithExpectStream(l.config.Stream()),
		jetstream.WithExpectLastSequencePerSubject(after))
	if err == nil {
		return ack.Sequence, nil
	}
	api, answered := errors.AsType[*jetstream.APIError](err)
	switch {
	case errors.Is(err, jetstream.ErrNoStreamResponse): // nobody had the message
		return 0, fmt.Errorf("jetlog: stream %s has no leader: %w", l.config.Stream(), err)
	case errors.Is(err, nats.ErrMaxPayload), errors.Is(err, nats.ErrReconnectBufExceeded): // it was not sent
		return 0, fmt.Errorf("jetlog: %w", err)
	case !answered:
		return 0, fmt.Errorf("jetlog: %w: %w", oplog.ErrUnknown, err)
	case api.ErrorCode == wrongLastSequence || api.ErrorCode == wrongLastSequenceConstant:
		return 0, l.laneError(ctx, lane, after)
	case api.ErrorCode == sealed:
		return l.lastOf(ctx, lane, m.ID)
	case strings.Contains(api.Description, "maximum bytes exceeded"), api.ErrorCode == insufficientResources:
		return 0, fmt.Errorf("jetlog: %w: %w", oplog.ErrFull, err)
	case api.ErrorCode == storeFailed: // on this server; others may have stored it
		return 0, fmt.Errorf("jetlog: %w: %w", oplog.ErrUnknown, err)
	}
	return 0, fmt.Errorf("jetlog: %w", err)
}

// Codes of errors of JetStream's API that package jetstream does not name.
const (
	insufficientResources     jetstream.ErrorCode = 10023
	wrongLastSequence         jetstream.ErrorCode = 10071
	storeFailed               jetstream.ErrorCode = 10077
	sealed                    jetstream.ErrorCode = 10109
	wrongLastSequenceConstant jetstream.ErrorCode = 10164 // an entry of the lane is under way
)

// lastOf returns the last entry of a lane of a sealed log if it has an id: then an earlier attempt has succeeded.
func (l *Log) lastOf(ctx context.Context, lane, id string) (uint64, error) {
	e, unclear := errors.AsType[*oplog.LaneError](l.laneError(ctx, lane, 0))
	if unclear && e.LastID == id {
		return e.Last, nil
	}
	return 0, fmt.Errorf("jetlog: %w: %s", oplog.ErrSealed, l.config.Stream())
}

// Seal lets the log take no more entries, forever, and returns its last one.
func (l *Log) Seal(ctx context.Context) (uint64, error) {
	_, err := ask.Until(ctx, func(ctx context.Context) (struct{}, error) {
		info, err := l.stream.Info(ctx)
		if err != nil || info.Config.Sealed { // perhaps by an attempt without an answer; servers refuse to do it again
			return struct{}{}, err
		}
		info.Config.Sealed = true
		_, err = l.js.UpdateStream(ctx, info.Config)
		return struct{}{}, err
	})
	if err != nil {
		return 0, fmt.Errorf("jetlog: sealing %s: %w", l.config.Stream(), err)
	}
	return l.settled(ctx)
}

// After it was sealed, a log must have had the same end so often, and so far apart: the leader may have accepted entries
// before that become visible only now.
const (
	settleTimes = 5
	settlePause = 100 * time.Millisecond
)

func (l *Log) settled(ctx context.Context) (last uint64, err error) {
	for same := 0; same < settleTimes; {
		b, err := l.Bounds(ctx)
		if err != nil {
			return 0, err
		}
		if same++; b.Last != last || !b.Sure {
			last, same = b.Last, 0
		}
		select {
		case <-time.After(settlePause):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return last, nil
}

// laneError finds out with which entry a lane ends, after an entry that was to follow another one was
// refused.
func (l *Log) laneError(ctx context.Context, lane string, after uint64) error {
	e := &oplog.LaneError{Lane: lane, After: after}
	m, err := l.stream.GetLastMsgForSubject(ctx, l.config.subject(lane))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
	case err != nil:
		return fmt.Errorf("jetlog: %w: the entry was refused, and the end of lane %s cannot be read: %w", oplog.ErrUnknown, lane, err)
	default:
		e.Last = m.Sequence
		_, e.LastID, _ = strings.Cut(m.Header.Get(jetstream.MsgIDHeader), " ")
	}
	if e.Last == after { // the entry before this attempt's own has not become visible yet
		return fmt.Errorf("jetlog: %w: an entry of lane %s is under way", oplog.ErrUnknown, lane)
	}
	return e
}
