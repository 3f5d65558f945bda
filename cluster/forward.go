package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/jetlog"
	"github.com/riffle-search/riffle/cluster/oplog"
	"github.com/riffle-search/riffle/cluster/writer"
)

// bytes is how many bytes of changes are forwarded together: less than the log of a shard can hold.
func (r *reindexing) bytes() int {
	if r.o.LogBytes > 0 {
		return int(min(forwardBytes, r.o.LogBytes/8))
	}
	return forwardBytes
}

// forwarding appends what is in a shard of the old index to the logs of the new one.
type forwarding struct {
	r     *reindexing
	shard int
	log   *jetlog.Log
	at    uint64 // the last entry that was forwarded
}

// Changes that are forwarded together, and how many shards are read at a time.
const (
	forwardShards  = 8
	forwardChanges = 1000
	forwardBytes   = 4 << 20
)

// copy forwards the documents of a copy, unless the log has all of them, and perhaps fields that are not stored.
func (f *forwarding) copy(ctx context.Context, dir string) error {
	b, err := f.log.Bounds(ctx)
	if err != nil || b.First == 1 {
		return err
	}
	s, err := f.r.c.copyShard(ctx, f.r.old, f.shard, dir)
	if err != nil {
		return err
	}
	f.r.progress("shard %d: %d documents from a copy of node %s", f.shard, s.Docs, s.Node)
	defer os.RemoveAll(dir)
	o := f.r.c.o.Engine
	o.ReadOnly, o.GPU, o.Schema = true, nil, nil
	e, err := riffle.Open(dir, &o)
	if err != nil {
		return err
	}
	if err := stored(e.Schema()); err != nil {
		return errors.Join(err, e.Close())
	}
	f.at = s.Sequence
	return errors.Join(f.documents(ctx, e), e.Close())
}

// stored returns an error unless a schema stores all fields.
func stored(s *riffle.Schema) error {
	if s.NoStore || s.Dynamic == riffle.DynamicIgnore {
		return ErrNotStored
	}
	for name, f := range s.Fields {
		if f.NoStore {
			return fmt.Errorf("%w: %s", ErrNotStored, name)
		}
	}
	return nil
}

func (f *forwarding) documents(ctx context.Context, e *riffle.Engine) error {
	s, err := e.Snapshot()
	if err != nil {
		return err
	}
	defer s.Close()
	var b riffle.Batch
	for d, err := range s.Documents("") {
		if err != nil {
			return err
		}
		b.Put(d.ID, d.Fields)
		if b.Len() >= forwardChanges || b.Size() >= f.r.bytes() {
			if err := f.write(ctx, &b); err != nil {
				return err
			}
			b.Reset()
		}
	}
	return f.write(ctx, &b)
}

// fullPause is how long a log of the new index may stay full before it is trimmed and tried again.
const fullPause = 100 * time.Millisecond

// write writes a batch to the new index. While a log there is full it trims what replicas have. It then
// writes the whole batch again, in order, which leaves the same behind, however much of it has happened.
func (f *forwarding) write(ctx context.Context, b *riffle.Batch) error {
	if err := f.r.to.checker.validate(ctx, b); err != nil {
		return err
	}
	changes, err := b.Encode()
	if err != nil || len(changes) == 0 {
		return err
	}
	for {
		err := f.r.to.write(ctx, changes).Err()
		again := errors.Is(err, oplog.ErrFull) || errors.Is(err, writer.ErrBusy) || errors.Is(err, oplog.ErrUnknown)
		if !again || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(fullPause):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
		if errors.Is(err, oplog.ErrFull) {
			if _, err := f.r.c.Trim(ctx, f.r.to.name); err != nil {
				return err
			}
		}
	}
}

// until forwards the changes of the log up to an entry, in order: a batch after the other.
func (f *forwarding) until(ctx context.Context, last uint64) error {
	if f.at >= last {
		return nil
	}
	var b riffle.Batch
	for e, err := range f.log.Read(ctx, f.at+1) {
		if err != nil {
			return err
		}
		r, err := oplog.Parse(e.Data)
		if err != nil && !e.Foreign() {
			return fmt.Errorf("entry %d: %w", e.Sequence, err)
		}
		if r.Kind == oplog.Changes {
			for change, err := range oplog.EachChange(r.Body) {
				if err == nil {
					err = b.AddEncoded(change)
				}
				if err != nil {
					return fmt.Errorf("entry %d: %w", e.Sequence, err)
				}
			}
		}
		if b.Len() >= forwardChanges || b.Size() >= f.r.bytes() || e.Sequence == last {
			if err := f.write(ctx, &b); err != nil {
				return fmt.Errorf("entries up to %d: %w", e.Sequence, err)
			}
			f.at = e.Sequence
			b.Reset()
		}
		if e.Sequence == last {
			return nil
		}
	}
	return ctx.Err()
}
