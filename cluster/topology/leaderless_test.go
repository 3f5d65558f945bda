package topology_test

import (
	"context"
	"errors"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/riffle-search/riffle/cluster/topology"
)

// leaderless is a bucket whose next requests to write fail with errors.
type leaderless struct {
	jetstream.KeyValue
	before []error // those of requests that are not carried out
	after  []error // then those of requests that are
}

// fail carries out a request as the next error says.
func (l *leaderless) fail(request func() (uint64, error)) (uint64, error) {
	if len(l.before) > 0 {
		err := l.before[0]
		l.before = l.before[1:]
		return 0, err
	}
	revision, err := request()
	if len(l.after) > 0 {
		revision, err = 0, l.after[0]
		l.after = l.after[1:]
	}
	return revision, err
}

func (l *leaderless) Create(ctx context.Context, key string, value []byte, opts ...jetstream.KVCreateOpt) (uint64, error) {
	return l.fail(func() (uint64, error) { return l.KeyValue.Create(ctx, key, value, opts...) })
}

func (l *leaderless) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	return l.fail(func() (uint64, error) { return l.KeyValue.Update(ctx, key, value, revision) })
}

func (l *leaderless) Delete(ctx context.Context, key string, opts ...jetstream.KVDeleteOpt) error {
	_, err := l.fail(func() (uint64, error) { return 0, l.KeyValue.Delete(ctx, key, opts...) })
	return err
}

// TestLeaderless writes while the bucket has no leader: as when a node starts together with the servers.
func TestLeaderless(t *testing.T) {
	ctx, m := t.Context(), open(t)
	kv := &leaderless{}
	m.Through(func(to jetstream.KeyValue) jetstream.KeyValue { kv.KeyValue = to; return kv })
	books := &topology.Index{Name: "books", LogCopies: 1, Nodes: [][]string{{"a"}}}
	keep := func(x *topology.Index) error { x.Keep.Messages++; return nil }
	for _, w := range []struct {
		name  string
		write func() error
		safe  bool // to send again after silence
	}{
		{"register", func() error { return m.Register(ctx, "a", "one", false) }, true},
		{"take a name", func() error { return m.Register(ctx, "a", "two", true) }, true},
		{"drain", func() error {
			return m.UpdateNode(ctx, "a", func(n *topology.Node) error { n.Drained = true; return nil })
		}, false},
		{"create", func() error { return m.Create(ctx, books) }, true},
		{"update", func() error { return m.Update(ctx, "books", keep) }, false},
		{"a new alias", func() error { return m.SetAlias(ctx, "b", "", "books") }, false},
		{"another alias", func() error { return m.SetAlias(ctx, "b", "books", "papers") }, false},
		{"no alias", func() error { return m.DeleteAlias(ctx, "b") }, false},
		{"delete", func() error { return m.Delete(ctx, "books", books.Epoch) }, false},
	} {
		kv.before, kv.after = []error{jetstream.ErrNoStreamResponse, jetstream.ErrNoStreamResponse}, []error{nats.ErrTimeout}
		if err := w.write(); w.safe && err != nil || !w.safe && !errors.Is(err, nats.ErrTimeout) {
			t.Errorf("%s: %v", w.name, err)
		}
		if len(kv.before)+len(kv.after) > 0 {
			t.Errorf("%s: %d requests were not sent", w.name, len(kv.before)+len(kv.after))
		}
	}
	if n, err := m.Node(ctx, "a"); err != nil || n.Identity != "two" || !n.Drained {
		t.Errorf("%+v, %v", n, err)
	}
	if _, err := m.Get(ctx, "books"); !errors.Is(err, topology.ErrNoIndex) {
		t.Error(err)
	}
}
