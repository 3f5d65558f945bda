// Package replica reads the log of a shard into an index, in order and exactly once.
//
// A replica applies entry n + 1 after entry n, and nothing else. Where it stands is the position of
// the index (riffle.Batch.Position), which is stored with the changes, so that after a crash it goes
// on behind the last entry whose changes survived.
//
// # Position
//
//	OFFSET  SIZE    DESCRIPTION
//	0       1       version of the format: 1
//	1       8       sequence of the last entry applied, little-endian
//	9       8       checksum of its message (oplog.Checksum), little-endian
//	17      16      digest of all entries up to it
//	33      ...     identity of the log (oplog.Bounds)
//
// The digest of entry n is the first half of SHA-256 over the digest of entry n - 1 (16 zeros for
// n = 1), the sequence n and the checksum of its message (8 bytes each, little-endian). Two replicas
// at one sequence have read the same if and only if their digests are equal.
//
// # A log that is not the same any more
//
// A stream may have been created again, restored from an old copy, or differ from what was
// acknowledged, as tests of others have found. When it opens, and while it runs, a replica compares
// the log with its position: the identity, the last sequence, and the message that it applied last.
// If one differs it stops with a *DivergedError. Its index must then be replaced by a copy of another
// replica's.
//
// # Changes that cannot be applied
//
// Writers validate documents before they append them. If an index refuses a change nevertheless,
// all replicas of the shard refuse the same one: a replica leaves it out, tells Options.Refused, and
// goes on with the others of its message. So it does with an entry that no writer has appended (oplog.Entry.Foreign).
package replica

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/oplog"
)

// Options say how a replica works.
type Options struct {
	// Epoch is the generation of shards that the replica belongs to. Messages for another one are an
	// error.
	Epoch uint64

	// Open opens the index, with the schema that it has if schema is nil, otherwise with that one
	// instead (riffle.Options.AlterSchema).
	Open func(schema *riffle.Schema) (*riffle.Engine, error)

	// Refused is told of each change that the index refuses. It may be nil.
	Refused func(sequence uint64, err error)

	// CheckEvery is how often the log is compared with the position while the replica runs; 0 is a
	// second.
	CheckEvery time.Duration
}

// A DivergedError says that a log is not the one that a replica has read.
type DivergedError struct {
	Position Position
	Why      string
}

func (e *DivergedError) Error() string {
	return fmt.Sprintf("replica: the log differs from what entry %d of the replica came from: %s", e.Position.Sequence, e.Why)
}

// ErrDamaged says that an entry of the log that is to be applied next is not what was written. The
// index is as it should be; the log is not, or the server that sent the entry.
var ErrDamaged = errors.New("replica: the log is damaged")

// ErrTooFarBehind says that a log no longer has the entries that a replica needs.
var ErrTooFarBehind = errors.New("replica: the log has been trimmed beyond the replica's position")

// A Replica is a replica of a shard. Its methods are safe for concurrent use.
type Replica struct {
	log     oplog.Log
	options Options

	mu      sync.RWMutex // for engine and closed
	engine  *riffle.Engine
	closed  bool
	applied applied
	logLast atomic.Uint64
	marks   marks
	holds   holds
}

// Open opens the index of a replica and compares its position with the log. An index without a
// position must be empty.
func Open(ctx context.Context, log oplog.Log, o Options) (*Replica, error) {
	engine, err := o.Open(nil)
	if err != nil {
		return nil, err
	}
	r := &Replica{log: log, options: o, engine: engine}
	p, err := positionOf(engine)
	if err == nil {
		r.applied.set(p)
		err = r.untilSure(ctx, func() error { return r.compare(ctx, true) })
	}
	if err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	return r, nil
}

func positionOf(engine *riffle.Engine) (p Position, err error) {
	b, err := engine.Position()
	if err != nil {
		return p, err
	}
	if len(b) > 0 {
		return ParsePosition(b)
	}
	n, err := engine.Len()
	if err == nil && n > 0 {
		err = fmt.Errorf("replica: the index has %d documents and no position: it is no replica's", n)
	}
	return p, err
}

// Close closes the index, after Run has returned.
func (r *Replica) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	r.holds.end()
	return r.engine.Close()
}

// reopen opens the index with another schema. If the index refuses it, it is open with the one it had,
// and the error says why. The error matches riffle.ErrClosed if it cannot be opened at all.
func (r *Replica) reopen(schema *riffle.Schema) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return riffle.ErrClosed
	}
	r.closed = true
	if err := r.engine.Close(); err != nil {
		return fmt.Errorf("%w: %w", riffle.ErrClosed, err)
	}
	engine, refused := r.options.Open(schema)
	if refused != nil {
		var err error
		if engine, err = r.options.Open(nil); err != nil {
			return fmt.Errorf("%w: %w", riffle.ErrClosed, errors.Join(refused, err))
		}
	}
	r.engine, r.closed = engine, false
	return refused
}

// Use calls use with the index, which stays open meanwhile.
func (r *Replica) Use(use func(*riffle.Engine) error) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closed {
		return riffle.ErrClosed
	}
	return use(r.engine)
}

// Position returns where the replica stands.
func (r *Replica) Position() Position { return r.applied.get() }

// LogLast returns the last entry of the log as of the last comparison: see Options.CheckEvery.
func (r *Replica) LogLast() uint64 { return r.logLast.Load() }

// Wait waits until the replica has applied the entry with a sequence, or ctx ends.
func (r *Replica) Wait(ctx context.Context, sequence uint64) error {
	return r.applied.wait(ctx, sequence)
}
