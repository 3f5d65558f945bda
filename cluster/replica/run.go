package replica

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/oplog"
)

// Entries that are applied together: as many as have come, but not more than that.
const (
	groupEntries = 1024
	groupBytes   = 8 << 20
)

// Run applies entries as they come, until outer ends or the replica cannot go on, and returns why.
// One call runs at a time.
func (r *Replica) Run(outer context.Context) error {
	ctx, cancel := context.WithCancelCause(outer)
	defer cancel(nil)
	b, err := r.log.Bounds(ctx)
	if err != nil {
		return err
	}
	entries := make(chan oplog.Entry, groupEntries)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		r.watch(ctx, cancel)
	}()
	go func() {
		defer close(entries)
		for e, err := range r.log.Read(ctx, r.Position().Sequence+1) {
			if err != nil {
				cancel(err)
				return
			}
			select {
			case entries <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	a := applier{replica: r, identity: b.Identity, at: r.Position()}
	err = a.run(ctx, entries)
	cancel(err)
	for range entries { // until the reader has ended
	}
	<-watched
	why := context.Cause(ctx)
	if _, gap := errors.AsType[*oplog.GapError](why); gap {
		if err := r.untilSure(outer, func() error { return r.compare(outer, false) }); differs(err) {
			why = err
		}
	}
	return errors.Join(why, a.settle(context.WithoutCancel(ctx)))
}

// An applier applies groups of entries, one of which is being written while the next is prepared.
type applier struct {
	replica  *Replica
	identity string
	at       Position // after what was submitted

	submitted *riffle.Pending // or nil
	reached   Position        // when it is done
	batch     riffle.Batch
}

func (a *applier) run(ctx context.Context, entries <-chan oplog.Entry) error {
	group := make([]oplog.Entry, 0, groupEntries)
	for {
		group = group[:0]
		e, more := <-entries
		size := len(e.Data)
		for more {
			group = append(group, e)
			if len(group) == groupEntries || size > groupBytes {
				break
			}
			select {
			case e, more = <-entries:
				size += len(e.Data)
				continue
			default:
			}
			break
		}
		if err := a.apply(ctx, group); err != nil {
			return err
		}
		if !more {
			return nil
		}
		if len(entries) == 0 { // nothing to prepare meanwhile: tell those who wait
			if err := a.settle(ctx); err != nil {
				return err
			}
		}
	}
}

// apply applies a group of entries: runs of changes together, schemas alone.
func (a *applier) apply(ctx context.Context, group []oplog.Entry) error {
	records := make([]oplog.Record, len(group))
	begin := 0
	for i := range group {
		if group[i].Sequence != a.at.Sequence+uint64(i)+1-uint64(begin) {
			return fmt.Errorf("replica: after entry %d comes %d", a.at.Sequence+uint64(i-begin), group[i].Sequence)
		}
		var err error
		records[i], err = oplog.Parse(group[i].Data)
		if err != nil && group[i].Foreign() {
			a.refused(&group[i], fmt.Errorf("%w: %w", oplog.ErrForeign, err))
			records[i] = oplog.Record{Kind: oplog.Barrier, Epoch: a.replica.options.Epoch} // which changes nothing
			continue
		}
		if err != nil {
			if errors.Is(err, oplog.ErrNewer) {
				err = newer(&group[i], err)
			} else {
				err = fmt.Errorf("%w: entry %d: %w", ErrDamaged, group[i].Sequence, err)
			}
			return errors.Join(err, a.changesOf(ctx, group[begin:i], records[begin:i])) // what comes before is good
		}
		if e := records[i].Epoch; e != a.replica.options.Epoch {
			return fmt.Errorf("replica: entry %d is for epoch %d of the index, the replica belongs to %d", group[i].Sequence, e, a.replica.options.Epoch)
		}
		switch {
		case records[i].Kind == oplog.Barrier && a.replica.holds.wanted(group[i].Lane):
			if err := a.hold(ctx, group[begin:i+1], records[begin:i+1]); err != nil {
				return err
			}
			begin = i + 1
			continue
		case records[i].Kind != oplog.Schema:
			continue
		}
		if err := a.changesOf(ctx, group[begin:i], records[begin:i]); err != nil {
			return err
		}
		if err := a.schema(ctx, &group[i], records[i].Body); err != nil {
			return err
		}
		begin = i + 1
	}
	return a.changesOf(ctx, group[begin:], records[begin:])
}

// hold applies entries, of which the last is a barrier, and takes a snapshot there.
func (a *applier) hold(ctx context.Context, group []oplog.Entry, records []oplog.Record) error {
	if err := a.changesOf(ctx, group, records); err != nil {
		return err
	}
	if err := a.settle(ctx); err != nil {
		return err
	}
	a.replica.take(group[len(group)-1].Lane, a.at)
	return nil
}

// changesOf submits the changes of entries as one batch. If the index refuses some, it applies them
// one by one.
func (a *applier) changesOf(ctx context.Context, group []oplog.Entry, records []oplog.Record) error {
	if len(group) == 0 {
		return nil
	}
	next := a.at
	a.batch.Reset()
	for i := range records {
		next = next.after(&group[i], a.identity)
		a.replica.marks.add(&next)
		for change, err := range oplog.EachChange(records[i].Body) {
			if err == nil {
				err = a.batch.AddEncoded(change)
			}
			if errors.Is(err, riffle.ErrFormat) {
				return newer(&group[i], err)
			}
			if err != nil {
				return a.oneByOne(ctx, group, records)
			}
		}
	}
	a.batch.Position = next.Append(nil)
	submitted, err := a.submit(ctx)
	if ofDocument(err) {
		return a.oneByOne(ctx, group, records)
	}
	if err != nil {
		return err
	}
	if err := a.settle(ctx); err != nil { // that before; this one goes on
		return err
	}
	a.submitted, a.reached, a.at = submitted, next, next
	return nil
}

func (a *applier) submit(ctx context.Context) (p *riffle.Pending, err error) {
	err = a.replica.Use(func(e *riffle.Engine) error {
		p, err = e.Submit(ctx, &a.batch)
		return err
	})
	return p, err
}

// newer is the error of a replica that cannot read what newer releases write.
func newer(e *oplog.Entry, err error) error {
	return fmt.Errorf("replica: entry %d was written by a newer release: %w", e.Sequence, err)
}

// settle waits until what was submitted is durable and visible, and tells those who wait for it.
func (a *applier) settle(ctx context.Context) error {
	if a.submitted == nil {
		return nil
	}
	if err := a.submitted.Wait(ctx); err != nil {
		return err
	}
	a.submitted = nil
	a.replica.applied.set(a.reached)
	return nil
}

// oneByOne applies entries that the index refused together: each alone, and of one that it refuses
// each change alone. What it refuses then is left out. The position moves with the last change of an
// entry, so that after a crash all of them are applied again, which changes nothing.
func (a *applier) oneByOne(ctx context.Context, group []oplog.Entry, records []oplog.Record) error {
	if err := a.settle(ctx); err != nil {
		return err
	}
	for i := range group {
		next := a.at.after(&group[i], a.identity)
		a.replica.marks.add(&next)
		if err := a.entryAlone(ctx, &group[i], records[i].Body, next); err != nil {
			return err
		}
		a.at = next
		a.replica.applied.set(next)
	}
	return nil
}

func (a *applier) entryAlone(ctx context.Context, e *oplog.Entry, body []byte, next Position) error {
	for change, err := range oplog.EachChange(body) {
		var b riffle.Batch
		if err == nil {
			err = b.AddEncoded(change)
		}
		if errors.Is(err, riffle.ErrFormat) {
			return newer(e, err)
		}
		if err != nil {
			a.refused(e, err)
			continue
		}
		if err = a.applyNow(ctx, &b); ofDocument(err) {
			a.refused(e, err)
		} else if err != nil {
			return err
		}
	}
	return a.applyNow(ctx, &riffle.Batch{Position: next.Append(nil)})
}

func (a *applier) applyNow(ctx context.Context, b *riffle.Batch) error {
	return a.replica.Use(func(e *riffle.Engine) error { return e.Apply(ctx, b) })
}

// refused tells of a change that is left out.
func (a *applier) refused(e *oplog.Entry, err error) {
	if told := a.replica.options.Refused; told != nil {
		told(e.Sequence, err)
	}
}

// ofDocument reports whether an index refused a batch because of what is in it. Other errors, such as
// that of a full disk, stop the replica.
func ofDocument(err error) bool {
	_, document := errors.AsType[*riffle.DocumentError](err)
	_, conflict := errors.AsType[*riffle.ConflictError](err)
	return document || conflict
}

// schema opens the index with another schema. One that the index refuses is left out.
func (a *applier) schema(ctx context.Context, e *oplog.Entry, body []byte) error {
	if err := a.settle(ctx); err != nil {
		return err
	}
	var schema riffle.Schema
	err := json.Unmarshal(body, &schema)
	if err == nil {
		err = a.replica.reopen(&schema)
	}
	if err != nil {
		if errors.Is(err, riffle.ErrClosed) {
			return err
		}
		a.refused(e, err)
	}
	next := a.at.after(e, a.identity)
	a.replica.marks.add(&next)
	if err := a.applyNow(ctx, &riffle.Batch{Position: next.Append(nil)}); err != nil {
		return err
	}
	a.at = next
	a.replica.applied.set(next)
	return nil
}
