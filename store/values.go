package store

import (
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// get returns a copy of a value, or nil if there is none.
func (s *Store) get(key []byte) (value []byte, err error) {
	if s.db == nil {
		return nil, nil // a new store
	}
	v, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, wrap(err, KeyString(key))
	}
	value = make([]byte, len(v))
	copy(value, v)
	return value, wrap(s.closeRead(closer), KeyString(key))
}

// closeRead ends a read. The last reader of an old version of Pebble's list of tables takes a lock
// for that. A failing store may hold this lock for good, even after a caller has begun to wait for
// it; in both cases closeRead stops waiting. (The goroutine costs half a microsecond; reads that
// come this far take several.)
func (s *Store) closeRead(c io.Closer) error {
	err := s.log.do(c.Close)
	if s.log.fail.Load() != nil {
		return nil // the read itself succeeded
	}
	return err
}

// getSealed returns the payload and the checksum of a sealed value; the payload is nil if there is
// no value.
func (s *Store) getSealed(key []byte) (payload []byte, sum uint32, err error) {
	value, err := s.get(key)
	if value == nil || err != nil {
		return nil, 0, err
	}
	payload, sum, err = unseal(key, value)
	return payload, sum, corrupt.At(err, KeyString(key))
}

// getVouched returns the payload of a value whose checksum the manifest has, or nil if neither has
// one.
//
// Pebble may show the batch of a failed commit, of which the manifest in memory knows nothing. In a
// failed store, such a difference is ErrFailed.
func (s *Store) getVouched(key []byte) ([]byte, error) {
	s.commitMu.Lock() // manifest and value change together
	defer s.commitMu.Unlock()
	s.mu.Lock()
	want, ok := s.manifest.sums[string(key)]
	s.mu.Unlock()
	payload, sum, err := s.getSealed(key)
	switch {
	case err != nil:
		return nil, err
	case ok && payload == nil:
		err = corrupt.New(-1, "missing; the manifest knows it")
	case !ok && payload != nil:
		err = corrupt.New(-1, "the manifest does not know it")
	case ok && sum != want:
		err = corrupt.New(-1, "out of date: checksum %08x, the manifest says %08x", sum, want)
	}
	if f := s.log.fail.Load(); err != nil && f != nil {
		return nil, f
	}
	return payload, corrupt.At(err, KeyString(key))
}

// setSealed adds a sealed value to a batch and returns its checksum.
func setSealed(b *pebble.Batch, key, payload []byte) uint32 {
	op := b.SetDeferred(len(key), len(payload)+sealBytes)
	copy(op.Key, key)
	sum := sealInto(op.Value, key, payload)
	if err := op.Finish(); err != nil {
		panic("BUG: " + err.Error()) // only an index inside the batch can fail
	}
	return sum
}

// apply commits a batch durably and closes it. An error is the end of the store: Pebble's commits
// wait for each other, and this one has failed. Pebble may still be using the batch, so it is not
// returned to its pool, which serves all databases of the process.
func (s *Store) apply(b *pebble.Batch) error {
	if err := s.log.write(func() error { return s.db.Apply(b, pebble.Sync) }); err != nil {
		return s.log.failed(err)
	}
	return b.Close()
}

// writable enters the gate for a call that writes.
func (s *Store) writable() error {
	switch f := s.log.fail.Load(); {
	case s.gate.closed.Load():
		return ErrClosed
	case !s.writing:
		return ErrReadOnly
	case f != nil:
		return f
	}
	return s.gate.enter()
}
