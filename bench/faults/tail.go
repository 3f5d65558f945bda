package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/riffle-search/riffle/cluster/jetlog"
	"github.com/riffle-search/riffle/cluster/oplog"
)

// A tail reads the log of a shard from its beginning while the run goes on, so that what is trimmed is
// known, too.
type tail struct {
	shard  int
	config jetlog.Config

	mu      sync.Mutex
	entries []oplog.Entry
	err     error
}

func (t *tail) at() (uint64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return uint64(len(t.entries)), t.err
}

// run reads until ctx ends.
func (t *tail) run(ctx context.Context, js jetstream.JetStream) {
	for ctx.Err() == nil {
		err := t.read(ctx, js)
		if _, gap := errors.AsType[*oplog.GapError](err); gap && ctx.Err() == nil {
			t.mu.Lock()
			t.err = err
			t.mu.Unlock()
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func (t *tail) read(ctx context.Context, js jetstream.JetStream) error {
	log, err := jetlog.Open(ctx, js, t.config)
	if err != nil {
		return err
	}
	n, _ := t.at()
	for e, err := range log.Read(ctx, n+1) {
		if err != nil {
			return err
		}
		e.Data = bytes.Clone(e.Data)
		t.mu.Lock()
		t.entries, t.err = append(t.entries, e), nil
		t.mu.Unlock()
	}
	return nil
}

// all returns the entries of the log, once the tail has all that the log has now, and compares it with what
// the log has at this time.
func (t *tail) all(ctx context.Context, js jetstream.JetStream) ([]oplog.Entry, error) {
	var log *jetlog.Log
	var b oplog.Bounds
	err := retry(ctx, func(ctx context.Context) (err error) {
		if log, err = jetlog.Open(ctx, js, t.config); err == nil {
			b, err = log.Bounds(ctx)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for {
		n, err := t.at()
		if n >= b.Last && err == nil {
			break
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, fmt.Errorf("shard %d: entry %d of %d to %d has been read: %w", t.shard, n, b.First, b.Last, errors.Join(ctx.Err(), err))
		}
	}
	t.mu.Lock()
	entries := slices.Clone(t.entries[:b.Last])
	t.mu.Unlock()
	if b.First > b.Last {
		return entries, nil
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	for e, err := range log.Read(inner, b.First) {
		if err != nil {
			return nil, err
		}
		if was := entries[e.Sequence-1]; !bytes.Equal(was.Data, e.Data) || was.ID != e.ID || was.Lane != e.Lane {
			return nil, fmt.Errorf("shard %d: entry %d was another one when it was first read", t.shard, e.Sequence)
		}
		if e.Sequence == b.Last {
			break
		}
	}
	return entries, nil
}
