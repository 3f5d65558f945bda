package cache

import (
	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/segment"
)

// Values marks the keys of columns of values, which have no term, in Key.Segment.
const Values = 1 << 58

// Values returns the column of values of a field of a sealed segment, or nil if the segment has none. It
// opens the column on a miss, and counts what it reads; the columns that were used longest ago lose that
// first when the budget is exceeded, as lists do.
func (c *Lists) Values(number uint64, field string, open func(field string, grown func()) (*segment.HeldColumn, error)) (*columns.Column, error) {
	key := Key{Segment: number, Field: field}
	hash := c.hash(key)
	s := c.shard(hash)
	s.mu.Lock()
	if e := s.find(hash, key); e != nil {
		s.touch(e)
		s.mu.Unlock()
		return e.values.Column, nil
	}
	s.mu.Unlock()
	e := &List{hash: hash}
	values, err := open(field, func() { c.settle(e) })
	if err != nil || values == nil {
		return nil, err
	}
	s.mu.Lock()
	if other := s.find(hash, key); other != nil {
		s.mu.Unlock()
		return other.values.Column, nil
	}
	e.key, e.values = s.keep(hash, key), values
	grown := c.insert(s, e)
	s.mu.Unlock()
	c.grow(grown, e)
	return values.Column, nil
}
