// Package topology keeps which indexes a cluster has, into how many shards each is divided, and which
// nodes have replicas of them.
//
// It is a bucket of JetStream's key-value store, RIFFLE_MAP. Values are JSON:
//
//	INDEX         an Index
//	node.NODE     a Node, which has registered
//	alias.NAME    an Alias, another name of an index
//
// Changes are made by compare-and-swap, so that two programs cannot undo each other's. Nodes watch the
// bucket and open and close replicas as it says. Where replicas are is kept, not computed: adding a node
// moves nothing by itself. Index.Fill and Index.Empty say what should move, and package cluster moves it.
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
	"github.com/riffle-search/riffle/cluster/internal/ask"
)

// An Index is an index of the cluster.
type Index struct {
	// Version is that of the form of the entry. A program does not touch one that a newer release has written.
	Version int `json:"v"`

	Name  string `json:"name"`
	Epoch uint64 `json:"epoch"` // another one for each index that ever had the name

	LogCopies int `json:"log_copies"` // of the stream of each shard: 1, 3 or 5

	// Nodes has the names of the nodes with replicas of each shard. The number of shards never changes.
	Nodes [][]string `json:"nodes"`

	// Joining has for each shard the nodes that are to have a replica, and do not answer searches yet. It is
	// nil or as long as Nodes.
	Joining [][]string `json:"joining,omitempty"`

	// Source is a node that has copies of all shards, beside those that the map names, while an index is
	// made from a backup.
	Source string `json:"source,omitempty"`

	// Dropped is set while an index is being removed: nobody uses it any more.
	Dropped bool `json:"dropped,omitempty"`

	Keep Keep `json:"keep,omitzero"`

	// Ready is set when the logs of all shards are there. Nobody uses an index before.
	Ready bool `json:"ready"`

	Schema *riffle.Schema `json:"schema,omitempty"` // of its indexes at the beginning of the logs

	// Altered is the schema in force, if it is another one: each log has an entry with it. Next is that which
	// is to come: documents must be valid by both.
	Altered *riffle.Schema `json:"altered,omitempty"`
	Next    *riffle.Schema `json:"next,omitempty"`
	Schemas uint64         `json:"schemas,omitempty"` // how many schemas were altered or are to come

	// Reindexes is the epoch of an index whose documents this one is getting, or 0.
	Reindexes uint64 `json:"reindexes,omitempty"`

	Replaces Replaced `json:"replaces,omitzero"`

	// Revision is that of the map when the entry was read, and rises with each change of the map.
	Revision uint64 `json:"-"`
}

// Replaced says which indexes an index was made of. Their changes are all in its logs up to these sequences.
type Replaced struct {
	Epochs    []uint64 `json:"epochs"`
	Sequences []uint64 `json:"sequences"` // by shard
}

// Changed reports whether calls may go elsewhere than by an earlier entry.
func (x *Index) Changed(before *Index) bool {
	return x.Epoch != before.Epoch || !slices.EqualFunc(x.Nodes, before.Nodes, slices.Equal[[]string])
}

// Keep says which entries stay in the logs of an index although all replicas have them: those that one of the
// limits covers. With the zero value they are the last quarter of the bytes that a log may have.
type Keep struct {
	Messages uint64        `json:"messages,omitempty"` // the last ones
	Bytes    int64         `json:"bytes,omitempty"`    // the last ones, about
	Age      time.Duration `json:"age,omitempty"`      // those that are younger
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
	case x.Keep.Bytes < 0 || x.Keep.Age < 0:
		return fmt.Errorf("topology: index %s keeps %d bytes of %v", x.Name, x.Keep.Bytes, x.Keep.Age)
	case x.LogCopies != 1 && x.LogCopies != 3 && x.LogCopies != 5:
		return fmt.Errorf("topology: the logs of index %s have %d copies; 1, 3 or 5 are allowed", x.Name, x.LogCopies)
	}
	if len(x.Joining) != 0 && len(x.Joining) != len(x.Nodes) {
		return fmt.Errorf("topology: index %s has %d shards, and nodes that join %d", x.Name, len(x.Nodes), len(x.Joining))
	}
	for i := range x.Nodes {
		seen := map[string]bool{}
		for _, n := range x.Members(i) {
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

// Members returns the nodes with replicas of a shard, also those that are joining.
func (x *Index) Members(shard int) []string {
	if len(x.Joining) == 0 {
		return x.Nodes[shard]
	}
	return slices.Concat(x.Nodes[shard], x.Joining[shard])
}

// Join adds a node to those that are joining a shard, unless it is a member.
func (x *Index) Join(shard int, node string) {
	if slices.Contains(x.Members(shard), node) {
		return
	}
	if len(x.Joining) == 0 {
		x.Joining = make([][]string, len(x.Nodes))
	}
	x.Joining[shard] = append(x.Joining[shard], node)
}

// leave removes a node from those that are joining a shard.
func (x *Index) leave(shard int, node string) {
	if len(x.Joining) == 0 {
		return
	}
	x.Joining[shard] = slices.DeleteFunc(x.Joining[shard], func(n string) bool { return n == node })
	if !slices.ContainsFunc(x.Joining, func(nodes []string) bool { return len(nodes) > 0 }) {
		x.Joining = nil
	}
}

// Replace lets a node that is joining take part in searches of a shard, in the place of another one if from
// is not empty. The error says that it is not joining: somebody has called it off.
func (x *Index) Replace(shard int, from, to string) error {
	if !slices.Contains(x.Members(shard), to) {
		return fmt.Errorf("topology: node %s is not joining shard %d of index %s: it was called off", to, shard, x.Name)
	}
	x.leave(shard, to)
	nodes := slices.DeleteFunc(slices.Clone(x.Nodes[shard]), func(n string) bool { return n == from })
	if !slices.Contains(nodes, to) {
		nodes = append(nodes, to)
	}
	x.Nodes[shard] = nodes
	return nil
}

// Remove removes a node from a shard.
func (x *Index) Remove(shard int, node string) {
	x.leave(shard, node)
	x.Nodes[shard] = slices.DeleteFunc(slices.Clone(x.Nodes[shard]), func(n string) bool { return n == node })
}

var (
	// ErrExists says that there is an index of the name.
	ErrExists = errors.New("topology: there is such an index")

	// ErrNoIndex says that there is no index of the name.
	ErrNoIndex = errors.New("topology: there is no such index")
)

// A Map is the bucket. Its methods are safe for concurrent use. While the bucket has no leader, all but Watch wait
// for one: as long as ctx lasts, or six seconds if it has no deadline.
type Map struct {
	kv     jetstream.KeyValue
	stream jetstream.Stream // that of the bucket
}

// Bucket is the name of the bucket.
const (
	Bucket   = "RIFFLE_MAP"
	kvPrefix = "KV_" // of the names of streams of buckets
)

// Open opens the bucket, or creates it with a number of copies, for which it waits until enough servers are up.
func Open(ctx context.Context, js jetstream.JetStream, copies int) (*Map, error) {
	for {
		m, err := ask.Until(ctx, func(ctx context.Context) (*Map, error) { return open(ctx, js, copies) })
		api, answered := errors.AsType[*jetstream.APIError](err)
		few := answered && api.ErrorCode == noPeers
		if !few && !errors.Is(err, jetstream.ErrBucketNotFound) { // it is being created by another program
			return m, err
		}
		select {
		case <-time.After(peersPause):
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), err)
		}
	}
}

const (
	noPeers    jetstream.ErrorCode = 10005 // fewer servers are up than a stream is to have copies
	peersPause                     = 100 * time.Millisecond
)

func open(ctx context.Context, js jetstream.JetStream, copies int) (*Map, error) {
	kv, err := js.KeyValue(ctx, Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = create(ctx, js, copies)
	}
	if err != nil {
		return nil, fmt.Errorf("topology: bucket %s: %w", Bucket, err)
	}
	stream, err := js.Stream(ctx, kvPrefix+Bucket)
	if err != nil {
		return nil, fmt.Errorf("topology: bucket %s: %w", Bucket, err)
	}
	return &Map{kv, stream}, nil
}

// create creates the bucket as package jetstream would, but that its leader answers reads. Otherwise any
// copy does, also one that does not have the last change.
func create(ctx context.Context, js jetstream.JetStream, copies int) (jetstream.KeyValue, error) {
	config := jetstream.StreamConfig{
		Name: "KV_" + Bucket, Subjects: []string{"$KV." + Bucket + ".>"}, Storage: jetstream.FileStorage, Replicas: copies,
		MaxMsgsPerSubject: 1, MaxMsgs: -1, MaxBytes: -1, MaxMsgSize: -1, MaxConsumers: -1, Discard: jetstream.DiscardNew,
		AllowRollup: true, DenyDelete: true, Duplicates: 2 * time.Minute,
	}
	_, err := ask.Place(ctx, func(ctx context.Context) (jetstream.Stream, error) { return js.CreateStream(ctx, config) })
	if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another program was faster
		return nil, err
	}
	return js.KeyValue(ctx, Bucket)
}

// Create adds an index, whose Epoch it sets: one above that which it reindexes, also if clocks differ. The
// error matches ErrExists if there is one of the name.
func (m *Map) Create(ctx context.Context, x *Index) error {
	x.Epoch, x.Version = max(uint64(time.Now().UnixNano()), x.Reindexes+1), Version
	if err := x.Check(); err != nil {
		return err
	}
	data, err := json.Marshal(x)
	if err != nil {
		return fmt.Errorf("topology: index %s: %w", x.Name, err)
	}
	_, err = ask.Until(ctx, func(ctx context.Context) (uint64, error) { return m.kv.Create(ctx, x.Name, data) })
	if errors.Is(err, jetstream.ErrKeyExists) {
		// What is sent again may have been stored before.
		if is, err := m.Get(ctx, x.Name); err == nil && is.Epoch == x.Epoch {
			return nil
		}
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
	e, err := m.read(ctx, name)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, 0, fmt.Errorf("%w: %s", ErrNoIndex, name)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("topology: index %s: %w", name, err)
	}
	x, err := parse(e.Value())
	if err != nil {
		return nil, 0, err
	}
	x.Revision = e.Revision()
	return x, x.Revision, nil
}

func parse(data []byte) (*Index, error) {
	x := &Index{}
	if err := unmarshal(data, x, &x.Version); err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	return x, x.Check()
}

// Version is that of the entries that this package writes.
const Version = 1

// ErrNewer says that a newer release of riffle has written an entry of the map.
var ErrNewer = errors.New("topology: a newer release has written the entry")

// unmarshal reads an entry, whose version is version afterwards.
func unmarshal(data []byte, to any, version *int) error {
	var v struct {
		V int `json:"v"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	if v.V > Version {
		return fmt.Errorf("%w: it has version %d; this program reads version %d", ErrNewer, v.V, Version)
	}
	if err := json.Unmarshal(data, to); err != nil {
		return err
	}
	*version = Version
	return nil
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
		err = m.update(ctx, name, data, revision)
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

// Delete removes an index. The error matches ErrNoIndex if there is none of the name and epoch.
func (m *Map) Delete(ctx context.Context, name string, epoch uint64) error {
	x, revision, err := m.get(ctx, name)
	if err != nil {
		return err
	}
	if x.Epoch != epoch {
		return fmt.Errorf("%w: %s of epoch %d", ErrNoIndex, name, epoch)
	}
	if err := m.remove(ctx, name, revision); err != nil {
		return fmt.Errorf("topology: index %s: %w", name, err)
	}
	return nil
}

// List returns the names of all indexes.
func (m *Map) List(ctx context.Context) ([]string, error) {
	return m.keys(ctx, "")
}

// read returns the entry of a key.
func (m *Map) read(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	return ask.Until(ctx, func(ctx context.Context) (jetstream.KeyValueEntry, error) { return m.kv.Get(ctx, key) })
}

// update changes the entry of a key that has a revision. The error matches jetstream.ErrKeyExists if it has another one.
func (m *Map) update(ctx context.Context, key string, value []byte, revision uint64) error {
	_, err := ask.Heard(ctx, func(ctx context.Context) (uint64, error) { return m.kv.Update(ctx, key, value, revision) })
	return err
}

// remove removes the entry of a key that has a revision.
func (m *Map) remove(ctx context.Context, key string, revision uint64) error {
	_, err := ask.Heard(ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, m.kv.Delete(ctx, key, jetstream.LastRevision(revision))
	})
	return err
}

// keys returns the keys that begin with a prefix, without it. Those of indexes have none.
func (m *Map) keys(ctx context.Context, prefix string) ([]string, error) {
	// KeyValue.Keys would make a consumer, which programs that only read may not (package access).
	subjects := "$KV." + Bucket + "."
	info, err := ask.Until(ctx, func(ctx context.Context) (*jetstream.StreamInfo, error) {
		return m.stream.Info(ctx, jetstream.WithSubjectFilter(subjects+prefix+"*"))
	})
	if err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	var names []string
	for subject := range info.State.Subjects {
		name, _ := strings.CutPrefix(subject, subjects+prefix)
		_, err := m.read(ctx, prefix+name)
		if errors.Is(err, jetstream.ErrKeyNotFound) { // it was removed
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("topology: %w", err)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}
