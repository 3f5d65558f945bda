package store

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"
)

// get returns an own copy of a value, or nil when there is none.
func (s *Store) get(key []byte) (value []byte, err error) {
	v, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, wrap(err, KeyString(key))
	}
	value = make([]byte, len(v))
	copy(value, v)
	return value, wrap(closer.Close(), KeyString(key))
}

// getSealed returns the payload of a sealed value, or nil when there is none.
func (s *Store) getSealed(key []byte) ([]byte, error) {
	value, err := s.get(key)
	if value == nil || err != nil {
		return nil, err
	}
	return unseal(key, value)
}

// setSealed adds a sealed value to a batch.
func setSealed(b *pebble.Batch, key, payload []byte) {
	op := b.SetDeferred(len(key), len(payload)+sealBytes)
	copy(op.Key, key)
	sealInto(op.Value, key, payload)
	if err := op.Finish(); err != nil {
		panic("BUG: " + err.Error()) // only an index inside the batch can fail
	}
}

// apply commits a batch durably.
func (s *Store) apply(b *pebble.Batch) (err error) {
	defer s.log.guard(&err)
	if err := s.db.Apply(b, pebble.Sync); err != nil {
		return s.log.failed(err)
	}
	return nil
}

// writable enters the gate for a call that writes.
func (s *Store) writable() error {
	if s.opts.ReadOnly {
		return ErrReadOnly
	}
	if f := s.log.fail.Load(); f != nil {
		return f
	}
	return s.gate.enter()
}
