package jetlog

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/riffle-search/riffle/cluster/oplog"
)

// A Description says how a stream is doing.
type Description struct {
	oplog.Bounds
	Bytes    int64
	MaxBytes int64

	// Leader is the name of the server that leads the stream, or empty if it has none. A server without a
	// cluster leads all its streams.
	Leader string
	Copies []Copy // on the other servers
}

// A Copy is a copy of a stream that follows the leader's.
type Copy struct {
	Server  string
	Current bool
	Lag     uint64 // operations that it has not received
}

// Describe asks the leader of the stream of a shard. The error matches jetstream.ErrStreamNotFound if there
// is none.
func Describe(ctx context.Context, js jetstream.JetStream, c Config) (*Description, error) {
	l, err := Open(ctx, js, c)
	if err != nil {
		return nil, err
	}
	info := l.stream.CachedInfo() // Open has just asked
	d := &Description{Bounds: boundsOf(info), Bytes: int64(info.State.Bytes), MaxBytes: info.Config.MaxBytes}
	if info.Cluster == nil {
		d.Leader = js.Conn().ConnectedServerName()
		return d, nil
	}
	d.Leader = info.Cluster.Leader
	for _, p := range info.Cluster.Replicas {
		d.Copies = append(d.Copies, Copy{Server: p.Name, Current: p.Current && !p.Offline, Lag: p.Lag})
	}
	return d, nil
}

// Since returns the sequence of the first entry that was appended at a time or later, or that after the last.
// The times are those of the servers.
func (l *Log) Since(ctx context.Context, t time.Time) (uint64, error) {
	b, err := l.Bounds(ctx)
	if err != nil {
		return 0, err
	}
	low, high := b.First, b.Last+1
	for low < high {
		middle := low + (high-low)/2
		m, err := l.stream.GetMsg(ctx, middle)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound): // trimmed meanwhile
			low = middle + 1
		case err != nil:
			return 0, l.readError(ctx, err)
		case m.Time.Before(t):
			low = middle + 1
		default:
			high = middle
		}
	}
	return low, nil
}
