package riffle

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// An Expire gives documents a time to live: they are deleted some time after the date that they have in a
// field.
//
// An open engine looks for expired documents right after Open and then every now and then, and deletes
// them as DeleteByQuery does: in batches that are durable and visible as a whole. So searches find a
// document until the first sweep after it has expired: for at most Every longer, and as long as the sweep
// takes. After a crash the next Open goes on. A document without a date stays. Of several dates the
// earliest counts.
//
// A document that is put again before its turn comes is looked at again, and stays if it has not expired.
// Stats.Expired counts, and Listener.Expired tells. Merges give the space back; a segment of which more
// than a quarter is deleted is merged by itself.
type Expire struct {
	// Field is a field of dates with a column, which the schema declares.
	Field string

	// After is how long after its date a document expires. With 0 the field has the time at which it does.
	After time.Duration

	// Every is the time between two sweeps. One that finds nothing takes some microseconds. The default
	// is a minute.
	Every time.Duration
}

const defaultExpireEvery = time.Minute

// An ExpireEvent describes a sweep that has deleted expired documents.
type ExpireEvent struct {
	Docs     int
	Duration time.Duration
}

// startExpiry begins to delete expired documents, if the options say so.
func (e *Engine) startExpiry() error {
	x := e.opts.Expire
	if x == nil || e.opts.ReadOnly {
		return nil
	}
	schema := e.index.Schema()
	if f, ok := schema.Fields[x.Field]; !ok || f.Type != FieldDate || !schema.HasColumn(x.Field) {
		return fmt.Errorf("riffle: Options.Expire.Field: the schema does not declare %q as a field of dates with a column", x.Field)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	e.stopExpiry = func() {
		cancel()
		<-ended
	}
	go func() {
		defer close(ended)
		ticker := time.NewTicker(x.Every)
		defer ticker.Stop()
		for {
			e.expire(ctx)
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return nil
}

// expire deletes the documents that have expired.
func (e *Engine) expire(ctx context.Context) {
	start, now := time.Now(), time.Now
	if e.opts.private.now != nil {
		now = e.opts.private.now
	}
	q := Range{Field: e.opts.Expire.Field, To: now().Add(-e.opts.Expire.After), IncludeTo: true}
	counted := 0
	done, err := e.DeleteByQuery(ctx, q, &ByQueryOptions{Progress: func(p ByQueryProgress) {
		e.expired.Add(uint64(p.Changed - counted))
		counted = p.Changed
	}})
	l := e.opts.Listener
	if l == nil {
		return
	}
	if l.Expired != nil && done.Changed > 0 {
		l.Expired(ExpireEvent{Docs: done.Changed, Duration: time.Since(start)})
	}
	if l.Failed != nil && err != nil && ctx.Err() == nil && !errors.Is(err, ErrClosed) {
		l.Failed(fmt.Errorf("riffle: expired documents: %w", err))
	}
}
