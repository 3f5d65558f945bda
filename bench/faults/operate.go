package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/riffle-search/riffle/cluster"
	"github.com/riffle-search/riffle/cluster/topology"
)

// patience is how long an operation may take, since it may wait for nodes that are down.
const patience = time.Minute

// operate does what an operator does, as a client of its own.
func (r *runner) operate(ctx context.Context, f *fault) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, m, err := r.operator(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	name := r.machines[f.Node].name
	switch f.Kind {
	case trim:
		_, err := c.Trim(ctx, indexName)
		return err
	case drain:
		r.setEmpty(f.Node, true)
		err := errors.Join(c.Drain(ctx, name, nil), c.AddNode(ctx, name, nil))
		if err == nil {
			r.setEmpty(f.Node, false)
		}
		return err
	}
	x, err := m.Get(ctx, indexName)
	if err != nil {
		return err
	}
	nodes := x.Nodes[f.Shard]
	from := nodes[f.Node%len(nodes)]
	for _, to := range r.machines {
		if !slices.Contains(nodes, to.name) {
			return c.Move(ctx, indexName, f.Shard, from, to.name)
		}
	}
	if err := c.RemoveReplica(ctx, indexName, f.Shard, from); err != nil {
		return err
	}
	return c.AddReplica(ctx, indexName, f.Shard, from)
}

func (r *runner) operator(ctx context.Context) (*cluster.Client, *topology.Map, error) {
	c, err := connectCluster(ctx, r.conns[0], nil)
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(r.conns[0])
	if err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	m, err := topology.Open(ctx, js, 1)
	if err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	return c, m, nil
}

// finish finishes what operators were interrupted in: afterwards every shard has its number of replicas.
func (r *runner) finish(ctx context.Context) error {
	c, m, err := r.operator(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	for i := range r.s.shards {
		for {
			x, err := m.Get(ctx, indexName)
			if err != nil {
				return err
			}
			var step error
			switch nodes := x.Nodes[i]; {
			case len(x.Joining) > 0 && len(x.Joining[i]) > 0:
				step = c.RemoveReplica(ctx, indexName, i, x.Joining[i][0])
			case len(nodes) > r.s.replicas:
				step = c.RemoveReplica(ctx, indexName, i, nodes[0])
			case len(nodes) < r.s.replicas:
				n := slices.IndexFunc(r.machines, func(m *machine) bool { return !slices.Contains(nodes, m.name) })
				step = c.AddReplica(ctx, indexName, i, r.machines[n].name)
			default:
				step = errFinished
			}
			if step == errFinished {
				break
			}
			if step != nil {
				return fmt.Errorf("shard %d: %w", i, step)
			}
		}
	}
	return nil
}

var errFinished = errors.New("finished")
