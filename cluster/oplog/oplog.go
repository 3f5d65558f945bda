// Package oplog is the log of the changes of one shard: what is written to a cluster is first an
// entry here, and every replica of the shard reads the entries in order into an index of its own.
// A Log is replicated and durable; this package says what riffle asks of one, has one in memory for
// tests, and the format of the messages. Package jetlog has the one on NATS JetStream.
//
// # Sequences and lanes
//
// Entries have the sequences 1, 2, 3 and so on, without gaps. A log may be trimmed at its
// beginning; entries are never changed or removed from the middle.
//
// Every entry belongs to a lane, and says which entry of its lane is the one before it. A log
// refuses an entry whose predecessor is not the last of the lane. A lane has one writer, which has
// one entry under way. So a message that is late, or sent twice, never lands behind a newer one:
//
//	lane a:  1 ← 2 ← 5      an entry of a after 2 is refused: the last one is 5
//	lane b:  3 ← 4          an entry of b after 4 becomes 6
//
// A writer that hears nothing sends the same message again, with the same predecessor and id. If
// the first one had landed, the log either recognises the id, or refuses the entry and names the id
// of the last one, which is the same. In both cases the writer learns that it has landed, and where.
//
// # Message format
//
// Integers are unsigned varints (encoding/binary), but for the checksum.
//
//	OFFSET      SIZE   DESCRIPTION
//	0           1      version of the format: 1
//	1           1      kind: 1 changes, 2 schema, 3 barrier
//	2           varint epoch of the index: which generation of shards the message is for
//	            varint version of the schema that the changes were checked against
//	            varint length of the body before compression
//	            ...    the body, compressed by zstd as one frame
//	end - 8     8      xxHash64 of all bytes before it, little-endian
//
// The body of changes has for each change its length (varint) and its bytes, those of
// riffle.Batch.Encode, which have a version of their own. That of a schema is the JSON form of a
// riffle.Schema. A barrier has none (length 0, no frame): it changes nothing, and a read that waits for
// its sequence sees all that was acknowledged before.
package oplog

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// A Log is the log of a shard. Its methods are safe for concurrent use.
type Log interface {
	// Append adds an entry to a lane behind entry after, which must be the last of the lane, or 0 if
	// the lane has none. It returns the sequence of the entry once a quorum has it on disk.
	//
	// An entry with this id that the log has already at this place is not added again: its sequence is
	// returned. An error that matches ErrUnknown says that the entry may have been added, or may be
	// later; any other error that it has not been, and will not be.
	Append(ctx context.Context, lane string, after uint64, m Message) (sequence uint64, err error)

	// Read iterates over entries from the given sequence on and waits for more, until ctx ends. It
	// yields one error at most, as the last pair: a *GapError if the log does not have the entry
	// that is next, or that of ctx.
	Read(ctx context.Context, from uint64) iter.Seq2[Entry, error]

	// Get returns the entry with a sequence. The error is a *GapError if the log does not have it.
	Get(ctx context.Context, sequence uint64) (Entry, error)

	// Bounds returns what the log holds.
	Bounds(ctx context.Context) (Bounds, error)

	// Trim removes the entries before the given sequence. Some of them may stay. A lane whose last
	// entry is removed has none; no entry can follow a removed one.
	Trim(ctx context.Context, before uint64) error
}

// A Message is what a writer appends.
type Message struct {
	ID   string // names the message; 1 to MaxIDBytes bytes of printable ASCII, unique for each writer
	Data []byte // at most MaxMessageBytes
}

// Limits of a message. With its headers a message fits the 1 MiB that servers of NATS allow.
const (
	MaxIDBytes      = 64
	MaxMessageBytes = 1<<20 - 1<<10
)

// An Entry is a message with its place in the log.
type Entry struct {
	Sequence uint64
	Lane     string
	Message
}

// Foreign reports whether an entry that Parse refuses is of no writer: it has no id, which a log asks of all that is
// appended. Who may send a request to a server of NATS can let it send its answer anywhere, to a log, too (package access).
// Readers of a log leave such an entry out.
func (e *Entry) Foreign() bool { return e.ID == "" }

// ErrForeign says that an entry is left out because it is Foreign.
var ErrForeign = errors.New("the entry was not appended by a writer")

// Bounds are what a log holds.
type Bounds struct {
	// Identity names this log. A log that was deleted and created again has another one.
	Identity string

	// First and Last are the sequences of the first and the last entry. In an empty log First is
	// Last + 1; Last counts entries that were trimmed, too.
	First, Last uint64

	// Sure says that a quorum of the log's servers stand behind the answer. Otherwise the log may have
	// later entries, which were acknowledged.
	Sure bool
}

var (
	// ErrUnknown says that it is not known whether an entry was added to the log.
	ErrUnknown = errors.New("it is not known whether the log has the entry")

	// ErrFull says that the log has reached its greatest size and takes no entry.
	ErrFull = errors.New("the log is full")

	// ErrSealed says that the log takes no more entries: another index has taken the place of its own.
	ErrSealed = errors.New("the log is sealed")
)

// A LaneError says that an entry was refused: it did not follow the last entry of its lane.
type LaneError struct {
	Lane   string
	After  uint64 // the entry that it was to follow
	Last   uint64 // the last entry of the lane, or 0 for none
	LastID string // of the message of Last
}

func (e *LaneError) Error() string {
	return fmt.Sprintf("lane %s ends with entry %d, not %d", e.Lane, e.Last, e.After)
}

// A GapError says that a log does not have the entry that a reader needs next.
type GapError struct {
	Want        uint64
	First, Last uint64 // as in Bounds
}

func (e *GapError) Error() string {
	if e.Want < e.First {
		return fmt.Sprintf("the log begins with entry %d; entry %d has been trimmed", e.First, e.Want)
	}
	return fmt.Sprintf("the log ends with entry %d; a reader has read %d", e.Last, e.Want-1)
}

// Check returns an error unless a message may be appended.
func (m *Message) Check() error {
	if n := len(m.ID); n == 0 || n > MaxIDBytes {
		return fmt.Errorf("a message id of %d bytes; 1 to %d are allowed", n, MaxIDBytes)
	}
	for i := range len(m.ID) {
		if c := m.ID[i]; c <= ' ' || c > '~' {
			return fmt.Errorf("message id %q: only printable ASCII is allowed", m.ID)
		}
	}
	if len(m.Data) > MaxMessageBytes {
		return fmt.Errorf("a message of %d bytes; at most %d are allowed", len(m.Data), MaxMessageBytes)
	}
	return nil
}
