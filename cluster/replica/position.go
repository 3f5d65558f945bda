package replica

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/riffle-search/riffle/cluster/oplog"
)

// A Position is where a replica stands. The package comment has its format.
type Position struct {
	Identity string // of the log
	Sequence uint64 // of the last entry applied, 0 before the first
	Checksum uint64 // of its message
	Digest   Digest
}

// A Digest stands for all entries up to one.
type Digest [16]byte

const positionVersion, positionHeader = 1, 33

// Append appends the bytes of a position.
func (p *Position) Append(dst []byte) []byte {
	dst = append(dst, positionVersion)
	dst = binary.LittleEndian.AppendUint64(dst, p.Sequence)
	dst = binary.LittleEndian.AppendUint64(dst, p.Checksum)
	dst = append(dst, p.Digest[:]...)
	return append(dst, p.Identity...)
}

// ParsePosition reads the bytes of a position.
func ParsePosition(b []byte) (p Position, err error) {
	if len(b) < positionHeader || b[0] != positionVersion {
		return p, fmt.Errorf("replica: the position of the index, %x, is none of a replica", b)
	}
	p.Sequence, p.Checksum = binary.LittleEndian.Uint64(b[1:]), binary.LittleEndian.Uint64(b[9:])
	copy(p.Digest[:], b[17:])
	p.Identity = string(b[positionHeader:])
	return p, nil
}

// after returns the position after one more entry.
func (p Position) after(e *oplog.Entry, identity string) Position {
	var b [32]byte
	copy(b[:], p.Digest[:])
	p.Identity, p.Sequence, p.Checksum = identity, e.Sequence, oplog.Checksum(e.Data)
	binary.LittleEndian.PutUint64(b[16:], p.Sequence)
	binary.LittleEndian.PutUint64(b[24:], p.Checksum)
	sum := sha256.Sum256(b[:])
	copy(p.Digest[:], sum[:])
	return p
}

// marks are digests at round sequences, at which replicas are compared: those of the last markCount
// multiples of MarkEvery.
type marks struct {
	mu   sync.Mutex
	at   map[uint64]Digest
	last uint64
}

// MarkEvery is how many entries lie between two marks.
const MarkEvery = 1024

const markCount = 64

// add adds a position if it is a mark.
func (m *marks) add(p *Position) {
	if p.Sequence%MarkEvery != 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at == nil {
		m.at = map[uint64]Digest{}
	}
	m.at[p.Sequence], m.last = p.Digest, p.Sequence
	delete(m.at, p.Sequence-markCount*MarkEvery) // if it wraps around, there is no such mark
}

// Mark returns the last mark of the replica, or 0 if it has passed none since it was opened.
func (r *Replica) Mark() (sequence uint64, d Digest) {
	r.marks.mu.Lock()
	defer r.marks.mu.Unlock()
	return r.marks.last, r.marks.at[r.marks.last]
}

// DigestAt returns the digest at a sequence, if it is that at which the replica stands or a late mark.
func (r *Replica) DigestAt(sequence uint64) (Digest, bool) {
	if p := r.Position(); p.Sequence == sequence {
		return p.Digest, true
	}
	r.marks.mu.Lock()
	defer r.marks.mu.Unlock()
	d, ok := r.marks.at[sequence]
	return d, ok
}

// DigestOf reads the log behind a position up to an entry and returns the digest there.
func (r *Replica) DigestOf(ctx context.Context, from Position, sequence uint64) (Digest, error) {
	p := from
	for e, err := range r.log.Read(ctx, from.Sequence+1) {
		if err != nil {
			return Digest{}, err
		}
		if _, err := oplog.Parse(e.Data); err != nil && !e.Foreign() {
			return Digest{}, fmt.Errorf("replica: entry %d: %w", e.Sequence, err)
		}
		if p = p.after(&e, p.Identity); p.Sequence == sequence {
			return p.Digest, nil
		}
	}
	return Digest{}, ctx.Err()
}

// applied is the position of a replica, for which others wait.
type applied struct {
	mu      sync.Mutex
	at      Position
	changed chan struct{} // closed at the next change; nil if nobody waits
}

func (a *applied) get() Position {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.at
}

func (a *applied) set(p Position) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = p
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}

func (a *applied) wait(ctx context.Context, sequence uint64) error {
	for {
		a.mu.Lock()
		if a.at.Sequence >= sequence {
			a.mu.Unlock()
			return nil
		}
		if a.changed == nil {
			a.changed = make(chan struct{})
		}
		at, changed := a.at.Sequence, a.changed
		a.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("replica: at entry %d, not yet at %d: %w", at, sequence, ctx.Err())
		}
	}
}
