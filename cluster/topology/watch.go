package topology

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/riffle-search/riffle/cluster/internal/ask"
)

// A Watcher is told of the map, by one goroutine at a time. Functions that are nil are not called.
type Watcher struct {
	// Index is called with an index, or with nil for one that has been removed, perhaps long ago. The
	// revision rises with each change of the map.
	Index func(name string, x *Index, revision uint64)

	// Failed is called when an entry cannot be read: a newer release may have written it.
	Failed func(name string, err error)

	// Loaded is called when all that there was at the beginning has been told.
	Loaded func()
}

// Watch tells of every index that there is, and then of every one that changes, until ctx ends, and returns why it
// ended. The consumer behind it may miss a change when servers fail: Read tells of all again.
func (m *Map) Watch(ctx context.Context, to Watcher) error {
	w, err := m.kv.WatchAll(ctx)
	if err != nil {
		return fmt.Errorf("topology: %w", err)
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e, more := <-w.Updates():
			switch {
			case !more:
				return errors.New("topology: the watch of the bucket has ended")
			case e != nil:
				to.told(e.Key(), e.Value(), e.Operation() != jetstream.KeyValuePut, e.Revision())
			case to.Loaded != nil:
				to.Loaded()
			}
		}
	}
}

// Read tells of every index that there is, and of those that were removed.
func (m *Map) Read(ctx context.Context, to Watcher) error {
	prefix := "$KV." + Bucket + "."
	info, err := ask.Until(ctx, func(ctx context.Context) (*jetstream.StreamInfo, error) {
		return m.stream.Info(ctx, jetstream.WithSubjectFilter(prefix+"*"))
	})
	if err != nil {
		return fmt.Errorf("topology: %w", err)
	}
	for subject := range info.State.Subjects {
		last, err := ask.Until(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
			return m.stream.GetLastMsgForSubject(ctx, subject)
		})
		if err != nil {
			return fmt.Errorf("topology: %w", err)
		}
		to.told(strings.TrimPrefix(subject, prefix), last.Data, last.Header.Get("KV-Operation") != "", last.Sequence)
	}
	if to.Loaded != nil {
		to.Loaded()
	}
	return nil
}

// told tells of the entry of a key.
func (to *Watcher) told(key string, value []byte, removed bool, revision uint64) {
	if strings.Contains(key, ".") || to.Index == nil { // no index
		return
	}
	if removed {
		to.Index(key, nil, revision)
		return
	}
	x, err := parse(value)
	switch {
	case err == nil:
		to.Index(key, x, revision)
	case to.Failed != nil:
		to.Failed(key, err)
	}
}
