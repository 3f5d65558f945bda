package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/riffle-search/riffle"
)

// Results and aggregations of a shard can be larger than a message. They are not JSON, either. So a reply has
// them behind its JSON, after a zero byte, or as many of their bytes as fit. The server keeps the rest in the
// lease, until the session has asked for all of it, for something else, or not at all for long.

// A forms is the JSON forms of aggregations or queries, by name.
type forms map[string]json.RawMessage

func formsOf[T any](all map[string]T) (forms, error) {
	if len(all) == 0 {
		return nil, nil
	}
	to := make(forms, len(all))
	for name, one := range all {
		var err error
		if to[name], err = json.Marshal(one); err != nil {
			return nil, fmt.Errorf("remote: %q: %w", name, err)
		}
	}
	return to, nil
}

func parse[T any](all forms, read func([]byte) (T, error)) (map[string]T, error) {
	if len(all) == 0 {
		return nil, nil
	}
	to := make(map[string]T, len(all))
	for name, form := range all {
		var err error
		if to[name], err = read(form); err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
	}
	return to, nil
}

// appendAggregations appends the bytes of aggregations, if there are any.
func (s *Server) appendAggregations(dst []byte, found *riffle.PartialAggregations) ([]byte, error) {
	if found == nil {
		return dst, nil
	}
	all, err := found.MarshalBinary()
	if err != nil {
		return nil, err
	}
	if int64(len(all)) > s.o.AggregationBytes {
		return nil, fmt.Errorf("%w: %d bytes, more than the %d that a node sends: ask for fewer values, or below fewer buckets", ErrAggregations, len(all), s.o.AggregationBytes)
	}
	return append(dst, all...), nil
}

// attach keeps bytes in a lease, and the first of them in a reply.
func (s *Server) attach(l *lease, to *reply, all []byte) {
	s.keep(l, all)
	to.Attached, to.attached = len(all), all[:min(len(all), s.o.MessageBytes)]
}

// keep replaces the bytes that a lease keeps.
func (s *Server) keep(l *lease, all []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.attached = nil; len(all) > s.o.MessageBytes {
		l.attached = all
	}
}

// more continues the bytes of a reply.
func (s *Server) more(l *lease, r *request, to *reply) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := l.attached
	if r.From <= 0 || r.From >= len(all) {
		return fmt.Errorf("a request for byte %d of %d", r.From, len(all))
	}
	end := min(len(all), r.From+s.o.MessageBytes)
	if to.Attached, to.attached = len(all), all[r.From:end]; end == len(all) {
		l.attached = nil
	}
	return nil
}

// join appends what is attached to the JSON of a reply.
func join(text []byte, attached []byte) []byte {
	if attached == nil {
		return text
	}
	return append(append(text, 0), attached...)
}

// cut is the inverse of join.
func cut(data []byte) (text, attached []byte) {
	text, attached, _ = bytes.Cut(data, []byte{0})
	return text, attached
}

// rest returns all bytes that belong to a reply, which has the first of them.
func (s *session) rest(ctx context.Context, to *reply) ([]byte, error) {
	data := to.attached
	for len(data) < to.Attached {
		next, err := s.ask(ctx, &request{Verb: verbMore, From: len(data)}, nil)
		if err != nil {
			return nil, err
		}
		if len(next.attached) == 0 || next.Attached != to.Attached {
			return nil, errors.New("remote: a reply without the rest of its bytes")
		}
		data = append(data, next.attached...)
	}
	return data, nil
}
