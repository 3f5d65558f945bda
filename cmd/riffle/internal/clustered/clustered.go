// Package clustered lets a server of package server serve the indexes of a cluster (package cluster). Neither knows
// the other: package server is small, and a program that embeds a node needs no HTTP.
package clustered

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/client"
	"github.com/riffle-search/riffle/cluster"
	"github.com/riffle-search/riffle/cluster/oplog"
	"github.com/riffle-search/riffle/cluster/remote"
	"github.com/riffle-search/riffle/cluster/scatter"
	"github.com/riffle-search/riffle/cluster/topology"
	"github.com/riffle-search/riffle/cluster/writer"
	"github.com/riffle-search/riffle/server"
)

// Options say what a request to create an index leaves open.
type Options struct {
	LogCopies int // of the log of each shard; 0 is 1
}

// New returns the indexes of a client as those of a server. The caller closes the client, after the server.
func New(c *cluster.Client, o Options) server.Cluster {
	o.LogCopies = max(o.LogCopies, 1)
	return &indexes{c: c, o: o, handles: handles{open: c.Index}}
}

type indexes struct {
	c *cluster.Client
	o Options
	handles
}

// defaultReplicas is how many replicas a shard has if the request does not say, and enough nodes are up.
const defaultReplicas = 2

// Names implements server.Cluster.
func (x *indexes) Names(ctx context.Context) ([]string, error) {
	names, err := x.c.Indexes(ctx)
	slices.Sort(names)
	return names, asServer(err)
}

// countTime is how long the shards of an index may take to count its documents for the list of all indexes.
const countTime = 2 * time.Second

// Indexes implements server.Cluster. An index whose documents cannot be counted is in the list, with the reason.
func (x *indexes) Indexes(ctx context.Context) ([]client.Index, error) {
	names, err := x.Names(ctx)
	if err != nil {
		return nil, err
	}
	all := []client.Index{}
	for _, name := range names {
		ix, err := x.index(ctx, name)
		if errors.Is(err, topology.ErrNoIndex) { // dropped meanwhile, or not ready yet
			continue
		}
		if err != nil {
			return nil, asServer(err)
		}
		info := client.Index{Name: name, Shards: ix.Shards(), Replicas: ix.Replicas()}
		short, cancel := context.WithTimeout(ctx, countTime)
		n, err := ix.Count(short, riffle.All{}, nil)
		cancel()
		if info.Documents = uint64(n); err != nil {
			info.Fault = err.Error()
		}
		all = append(all, info)
	}
	return all, nil
}

// Index implements server.Cluster.
func (x *indexes) Index(ctx context.Context, name string) (server.Index, error) {
	ix, err := x.index(ctx, name)
	if err != nil {
		return nil, asServer(err)
	}
	return &index{ix}, nil
}

// Create implements server.Cluster.
func (x *indexes) Create(ctx context.Context, name string, o *client.NewIndex) error {
	to := cluster.IndexOptions{
		Name: name, Shards: max(o.Shards, 1), Replicas: o.Replicas, Nodes: o.Nodes,
		LogCopies: o.LogCopies, LogBytes: o.LogBytes, Schema: o.Schema,
	}
	if to.LogCopies == 0 {
		to.LogCopies = x.o.LogCopies
	}
	if len(to.Nodes) == 0 {
		st, err := x.c.Status(ctx)
		if err != nil {
			return asServer(err)
		}
		for _, n := range st.Nodes {
			if n.Up && !n.Drained {
				to.Nodes = append(to.Nodes, n.Name)
			}
		}
		if len(to.Nodes) == 0 {
			return fmt.Errorf("%w: no node is up", server.ErrUnavailable)
		}
	}
	if to.Replicas == 0 {
		to.Replicas = min(defaultReplicas, len(to.Nodes))
	}
	if err := to.Check(); err != nil {
		return fmt.Errorf("%w: %w", server.ErrRequest, err)
	}
	return asServer(x.c.Create(ctx, to))
}

// Drop implements server.Cluster.
func (x *indexes) Drop(ctx context.Context, name string) error {
	defer x.forget(name)
	return asServer(x.c.Drop(ctx, name))
}

// errorsOf are the errors of a server that those of a cluster stand for, the first one first.
var errorsOf = []struct{ of, to error }{
	{oplog.ErrUnknown, server.ErrUnknown}, // before those that it may wrap
	{topology.ErrNoIndex, server.ErrNoIndex},
	{topology.ErrExists, server.ErrExists},
	{cluster.ErrCondition, server.ErrUnsupported},
	{cluster.ErrToken, server.ErrRequest},
	{remote.ErrAggregations, server.ErrRequest},
	{writer.ErrTooLarge, server.ErrTooLarge},
	{writer.ErrBusy, server.ErrBusy},
	{remote.ErrBusy, server.ErrBusy},
	{oplog.ErrFull, server.ErrUnavailable},
	{scatter.ErrUnavailable, server.ErrUnavailable},
	{remote.ErrUnreachable, server.ErrUnavailable},
	{remote.ErrVersion, server.ErrUnavailable},
	{scatter.ErrGone, server.ErrUnavailable},
	{cluster.ErrClosed, server.ErrUnavailable},
	{writer.ErrClosed, server.ErrUnavailable},
	{jetstream.ErrNoStreamResponse, server.ErrUnavailable},
	{jetstream.ErrJetStreamNotEnabled, server.ErrUnavailable},
	{nats.ErrNoResponders, server.ErrUnavailable},
	{nats.ErrTimeout, server.ErrUnavailable},
	{nats.ErrConnectionClosed, server.ErrUnavailable},
	{nats.ErrDisconnected, server.ErrUnavailable},
}

// asServer returns an error of a cluster as one that a server knows.
func asServer(err error) error {
	for _, e := range errorsOf {
		if errors.Is(err, e.of) {
			return &known{err, e.to}
		}
	}
	if api, ok := errors.AsType[*jetstream.APIError](err); ok && api.Code == http.StatusServiceUnavailable { // no leader
		return &known{err, server.ErrUnavailable}
	}
	return err
}

// A known error says what that of the cluster says.
type known struct {
	err error
	is  error
}

func (k *known) Error() string   { return strings.TrimPrefix(k.err.Error(), "cluster: ") }
func (k *known) Unwrap() []error { return []error{k.err, k.is} }
