package main

import (
	"errors"
	"maps"
	"time"

	"github.com/riffle-search/riffle"
)

// until is the field of the time at which a document expires. Some lives delete those that have, in sweeps
// that begin after Open and go on all the time. So a document that has expired is there or not.
const until = "until"

const (
	expired   = "2001-02-03T04:05:06Z"
	unexpired = "2201-02-03T04:05:06Z"
)

// until makes some documents expire.
func (r random) until(d document) document {
	switch r.IntN(5) {
	case 0:
		d[until] = expired
	case 1:
		d[until] = unexpired
	}
	return d
}

// expiry returns the option of a life that lets documents expire, or nil.
func (l *life) expiry() *riffle.Expire {
	if l.still || newRandom(l.seed, 3).IntN(2) == 0 {
		return nil
	}
	return &riffle.Expire{Field: until, Every: time.Millisecond}
}

// remaining returns a model without the documents that have expired and that a snapshot lacks.
func (l *life) remaining(s *riffle.Snapshot, m model) (model, error) {
	if l.expiry() == nil {
		return m, nil
	}
	left := maps.Clone(m)
	for id, d := range m {
		if d[until] != expired {
			continue
		}
		if _, err := s.Get(background, id); errors.Is(err, riffle.ErrNotFound) {
			delete(left, id)
		} else if err != nil {
			return nil, err
		}
	}
	return left, nil
}
