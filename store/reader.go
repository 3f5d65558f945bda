package store

import (
	"bytes"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// A SegmentReader reads the keys of one segment. It costs nothing to make and, before its first Lend,
// holds nothing: the caller makes sure that the segment is not dropped meanwhile.
type SegmentReader struct {
	s      *Store
	number uint64
	lender lender
}

// Segment returns a reader of a segment.
func (s *Store) Segment(number uint64) *SegmentReader {
	return &SegmentReader{s: s, number: number}
}

// String names the segment; errors begin with it.
func (r *SegmentReader) String() string { return fmt.Sprintf("segment %d", r.number) }

// Get returns a copy of a key's value that belongs to the caller, or (nil, nil) when there is no
// such key.
//
// It uses an iterator, because Pebble's own Get does not consult Bloom filters on the bottom level,
// where segments are; most segments lack a rare term. Measured with ten segments of 100,000 terms:
// 3 µs instead of 13 for a missing term, the same for one that exists.
func (r *SegmentReader) Get(key []byte) (value []byte, err error) {
	full := append(segmentPrefix(r.number), key...)
	err = r.s.read(full, func(it *pebble.Iterator) error {
		if !it.SeekPrefixGE(full) { // with riffle's comparer a prefix is a whole key
			return it.Error()
		}
		value, err = copyValue(it)
		return err
	})
	return value, err
}

// Ceil returns copies of the first key in [key, upper) and of its value, or nil, nil, nil when there
// is none.
func (r *SegmentReader) Ceil(key, upper []byte) (first, value []byte, err error) {
	full, end := append(segmentPrefix(r.number), key...), append(segmentPrefix(r.number), upper...)
	err = r.s.read(full, func(it *pebble.Iterator) error {
		if !it.SeekGE(full) || bytes.Compare(it.Key(), end) >= 0 {
			return it.Error()
		}
		first = bytes.Clone(it.Key()[prefixLen:])
		value, err = copyValue(it)
		return err
	})
	return first, value, err
}

// read calls fn with an iterator that fn positions. Errors name the key.
func (s *Store) read(key []byte, fn func(*pebble.Iterator) error) error {
	if err := s.gate.enter(); err != nil {
		return err
	}
	defer s.gate.leave()
	it, age, err := s.takeIterator()
	if err == nil {
		err = fn(it)
		if e := s.putIterator(it, age); err == nil {
			err = e
		}
	}
	if err != nil {
		return wrap(err, KeyString(key))
	}
	return nil
}

func copyValue(it *pebble.Iterator) ([]byte, error) {
	v, err := it.ValueAndErr()
	if err != nil {
		return nil, err
	}
	value := make([]byte, len(v))
	copy(value, v)
	return value, nil
}

// Scan iterates over the keys in [lower, upper) in ascending order; nil bounds
// are the ends of the segment. The iterator sees the segment as it is now, even
// if it is dropped, and must be closed: Store.Close waits for that.
func (r *SegmentReader) Scan(lower, upper []byte) (*Iterator, error) {
	if err := r.s.gate.enter(); err != nil {
		return nil, err
	}
	from, to := append(segmentPrefix(r.number), lower...), segmentEnd(r.number)
	if upper != nil {
		to = append(segmentPrefix(r.number), upper...)
	}
	it, err := r.s.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		r.s.gate.leave()
		return nil, wrap(err, KeyString(from))
	}
	return &Iterator{it: it, s: r.s, from: from}, nil
}

// An Iterator walks the keys of a segment. It starts before the first one, so Next comes first;
// after Next has returned false only Err and Close may be called. Only one goroutine may use it at
// a time.
//
// Once Store.Close has been called, Next ends the walk with ErrClosed. The slices that Key and
// Value returned stay valid until the iterator itself is closed.
type Iterator struct {
	it      *pebble.Iterator // nil once closed
	s       *Store
	from    []byte // lower bound, for errors
	started bool
	value   []byte
	err     error
}

// Next moves to the next key.
func (i *Iterator) Next() bool {
	var ok bool
	switch {
	case i.err != nil || i.it == nil:
		return false
	case i.s.gate.closed.Load():
		i.err = ErrClosed
		return false
	case i.started:
		ok = i.it.Next()
	default:
		i.started = true
		ok = i.it.First()
	}
	if !ok {
		i.err = wrap(i.it.Error(), "scan from "+KeyString(i.from))
		return false
	}
	if i.value, i.err = i.it.ValueAndErr(); i.err != nil {
		i.err = wrap(i.err, KeyString(i.it.Key()))
		return false
	}
	return true
}

// Key returns the segment's own key, lent until the next call of Next or Close.
func (i *Iterator) Key() []byte { return i.it.Key()[prefixLen:] }

// Value returns the value, lent until the next call of Next or Close.
func (i *Iterator) Value() []byte { return i.value }

// Err returns the error that ended the walk, if one did.
func (i *Iterator) Err() error { return i.err }

// Close releases the iterator. Closing twice does nothing.
func (i *Iterator) Close() error {
	if i.it == nil {
		return nil
	}
	it := i.it
	i.it = nil
	defer i.s.gate.leave()
	return wrap(i.s.closeRead(it), "scan from "+KeyString(i.from))
}
