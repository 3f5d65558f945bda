// Package topology keeps which indexes a cluster has, into how many shards each is divided, and which
// nodes have replicas of them.
//
// It is a bucket of JetStream's key-value store, RIFFLE_MAP, with a key for each index, which is its name,
// and one for each node, "node." and its name. Values are the JSON forms of an Index and of a Node. Changes are made by compare-and-swap, so that two programs cannot undo each
// other's. Nodes watch the bucket and open and close replicas as it says. Where replicas are is kept,
// not computed: adding a node moves nothing by itself.
package topology

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/riffle-search/riffle"
)

// An Index is an index of the cluster.
type Index struct {
	Name  string `json:"name"`
	Epoch uint64 `json:"epoch"` // another one for each index that ever had the name

	LogCopies int `json:"log_copies"` // of the stream of each shard: 1, 3 or 5

	// Nodes has the names of the nodes with replicas of each shard. The number of shards never changes.
	Nodes [][]string `json:"nodes"`

	// Ready is set when the logs of all shards are there. Nobody uses an index before.
	Ready bool `json:"ready"`

	Schema *riffle.Schema `json:"schema,omitempty"` // of its indexes at the beginning of the logs
}

// MaxShards is the most shards of an index.
const MaxShards = 1024

var nameRule = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Check returns an error unless the index is valid.
func (x *Index) Check() error {
	switch {
	case !nameRule.MatchString(x.Name):
		return fmt.Errorf("topology: %q is no name of an index: 1 to 64 letters, digits, _ and - are allowed", x.Name)
	case len(x.Nodes) == 0 || len(x.Nodes) > MaxShards:
		return fmt.Errorf("topology: index %s has %d shards; 1 to %d are allowed", x.Name, len(x.Nodes), MaxShards)
	case x.LogCopies != 1 && x.LogCopies != 3 && x.LogCopies != 5:
		return fmt.Errorf("topology: the logs of index %s have %d copies; 1, 3 or 5 are allowed", x.Name, x.LogCopies)
	}
	for i, nodes := range x.Nodes {
		seen := map[string]bool{}
		for _, n := range nodes {
			if !nameRule.MatchString(n) {
				return fmt.Errorf("topology: shard %d of index %s: %q is no name of a node", i, x.Name, n)
			}
			if seen[n] {
				return fmt.Errorf("topology: shard %d of index %s has node %s twice", i, x.Name, n)
			}
			seen[n] = true
		}
	}
	return nil
}

var (
	// ErrExists says that there is an index of the name.
	ErrExists = errors.New("topology: there is such an index")

	// ErrNoIndex says that there is no index of the name.
	ErrNoIndex = errors.New("topology: there is no such index")
)

// A Map is the bucket. Its methods are safe for concurrent use.
type Map struct{ kv jetstream.KeyValue }

// Bucket is the name of the bucket.
const Bucket = "RIFFLE_MAP"

// Open opens the bucket, or creates it with a number of copies.
func Open(ctx context.Context, js jetstream.JetStream, copies int) (*Map, error) {
	kv, err := js.KeyValue(ctx, Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: Bucket, Storage: jetstream.FileStorage, Replicas: copies})
		if errors.Is(err, jetstream.ErrBucketExists) { // another program was faster
			kv, err = js.KeyValue(ctx, Bucket)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("topology: bucket %s: %w", Bucket, err)
	}
	return &Map{kv}, nil
}

// Create adds an index, whose Epoch it sets. The error matches ErrExists if there is one of the name.
func (m *Map) Create(ctx context.Context, x *Index) error {
	x.Epoch = uint64(time.Now().UnixNano())
	if err := x.Check(); err != nil {
		return err
	}
	data, err := json.Marshal(x)
	if err != nil {
		return fmt.Errorf("topology: index %s: %w", x.Name, err)
	}
	_, err = m.kv.Create(ctx, x.Name, data)
	if errors.Is(err, jetstream.ErrKeyExists) {
		return fmt.Errorf("%w: %s", ErrExists, x.Name)
	}
	if err != nil {
		return fmt.Errorf("topology: index %s: %w", x.Name, err)
	}
	return nil
}

// Get returns an index. The error matches ErrNoIndex if there is none of the name.
func (m *Map) Get(ctx context.Context, name string) (*Index, error) {
	x, _, err := m.get(ctx, name)
	return x, err
}

func (m *Map) get(ctx context.Context, name string) (*Index, uint64, error) {
	if !nameRule.MatchString(name) {
		return nil, 0, fmt.Errorf("%w: %s", ErrNoIndex, name)
	}
	e, err := m.kv.Get(ctx, name)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, 0, fmt.Errorf("%w: %s", ErrNoIndex, name)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("topology: index %s: %w", name, err)
	}
	x, err := parse(e.Value())
	return x, e.Revision(), err
}

func parse(data []byte) (*Index, error) {
	x := &Index{}
	if err := json.Unmarshal(data, x); err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	return x, x.Check()
}

// Update changes an index. change is called again if somebody else has changed the index meanwhile.
func (m *Map) Update(ctx context.Context, name string, change func(*Index) error) error {
	for {
		x, revision, err := m.get(ctx, name)
		if err != nil {
			return err
		}
		shards, epoch := len(x.Nodes), x.Epoch
		if err := change(x); err != nil {
			return err
		}
		if x.Name != name || x.Epoch != epoch || len(x.Nodes) != shards {
			return fmt.Errorf("topology: index %s: an update must not change its name, epoch or number of shards", name)
		}
		if err := x.Check(); err != nil {
			return err
		}
		data, err := json.Marshal(x)
		if err != nil {
			return fmt.Errorf("topology: index %s: %w", name, err)
		}
		_, err = m.kv.Update(ctx, name, data, revision)
		if !errors.Is(err, jetstream.ErrKeyExists) { // that of a revision that is not the last
			if err != nil {
				err = fmt.Errorf("topology: index %s: %w", name, err)
			}
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// Delete removes an index. The error matches ErrNoIndex if there is none of the name.
func (m *Map) Delete(ctx context.Context, name string) error {
	_, revision, err := m.get(ctx, name)
	if err != nil {
		return err
	}
	if err := m.kv.Delete(ctx, name, jetstream.LastRevision(revision)); err != nil {
		return fmt.Errorf("topology: index %s: %w", name, err)
	}
	return nil
}

// List returns the names of all indexes.
func (m *Map) List(ctx context.Context) ([]string, error) {
	return m.keys(ctx, "")
}

// keys returns the keys that begin with a prefix, without it. Those of indexes have none.
func (m *Map) keys(ctx context.Context, prefix string) ([]string, error) {
	keys, err := m.kv.Keys(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoKeysFound) {
		return nil, fmt.Errorf("topology: %w", err)
	}
	var names []string
	for _, key := range keys {
		if name, ok := strings.CutPrefix(key, prefix); ok && !strings.Contains(name, ".") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Watch calls changed with every index there is and then with every one that changes, until ctx ends:
// with nil for one that has been removed. It returns why it ended.
func (m *Map) Watch(ctx context.Context, changed func(name string, x *Index)) error {
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
			case e == nil: // all that there is has been told
			case strings.Contains(e.Key(), "."): // no index
			case e.Operation() != jetstream.KeyValuePut:
				changed(e.Key(), nil)
			default:
				x, err := parse(e.Value())
				if err != nil {
					return err
				}
				changed(e.Key(), x)
			}
		}
	}
}
