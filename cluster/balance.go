package cluster

import (
	"context"
	"fmt"
	"slices"

	"github.com/riffle-search/riffle/cluster/topology"
)

// A Step is one move of AddNode and Drain.
type Step = topology.Step

// fit returns the nodes that can be given replicas, by name.
func (v *look) fit() []string {
	var all []string
	for name, n := range v.nodes {
		if _, up := v.beats[name]; up && !n.Drained {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// AddNode gives a node that has started its fair share of the replicas of each index, which it takes from the
// nodes that have most. progress, unless nil, is told of each move before it begins. When it fails, or is called off,
// what has been moved stays, and another call goes on.
func (c *Client) AddNode(ctx context.Context, name string, progress func(Step)) error {
	err := c.m.UpdateNode(ctx, name, func(n *topology.Node) error { n.Drained = false; return nil })
	if err != nil {
		return err
	}
	return c.balance(ctx, progress, func(v *look, x *topology.Index) ([]Step, error) {
		fit := v.fit()
		if !slices.Contains(fit, name) {
			return nil, fmt.Errorf("cluster: node %s does not answer", name)
		}
		return x.Fill(name, fit), nil
	})
}

// Drain moves all replicas of a node to others, and lets it have no new ones. It needs not be up, if each shard has
// another replica. If there are not enough other nodes nothing is done. progress is as for AddNode.
func (c *Client) Drain(ctx context.Context, name string, progress func(Step)) error {
	v, err := c.look(ctx)
	if err != nil {
		return err
	}
	for _, x := range v.indexes {
		if _, err := x.Empty(name, v.fit()); err != nil && x.Ready && !x.Dropped {
			return err
		}
	}
	err = c.m.UpdateNode(ctx, name, func(n *topology.Node) error { n.Drained = true; return nil })
	if err != nil {
		return err
	}
	return c.balance(ctx, progress, func(v *look, x *topology.Index) ([]Step, error) { return x.Empty(name, v.fit()) })
}

// balance carries out the moves that plan wants of each index.
func (c *Client) balance(ctx context.Context, progress func(Step), plan func(*look, *topology.Index) ([]Step, error)) error {
	v, err := c.look(ctx)
	if err != nil {
		return err
	}
	for _, x := range v.indexes {
		if x.Dropped || !x.Ready {
			continue
		}
		steps, err := plan(v, x)
		if err != nil {
			return err
		}
		for _, s := range steps {
			if progress != nil {
				progress(s)
			}
			if s.To == "" {
				err = c.RemoveReplica(ctx, s.Index, s.Shard, s.From)
			} else {
				err = c.Move(ctx, s.Index, s.Shard, s.From, s.To)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
