package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/riffle-search/riffle/cluster/topology"
)

// Aliases returns the names that stand for indexes, with these.
func (c *Client) Aliases(ctx context.Context) (map[string]string, error) {
	all, err := c.m.Aliases(ctx)
	if err != nil {
		return nil, err
	}
	of := map[string]string{}
	for _, a := range all {
		of[a.Name] = a.Index
	}
	return of, nil
}

// SetAlias lets a name stand for an index: Index finds it by both. If the name stands for another index it must be from,
// which is empty for none; otherwise the error matches topology.ErrExists. Clients follow within a second.
func (c *Client) SetAlias(ctx context.Context, name, from, to string) error {
	x, err := c.find(ctx, to)
	if err != nil {
		return err
	}
	return c.m.SetAlias(ctx, name, from, x.Name)
}

// DeleteAlias removes an alias; its index stays. The error matches topology.ErrNoIndex if there is none.
func (c *Client) DeleteAlias(ctx context.Context, name string) error {
	return c.m.DeleteAlias(ctx, name)
}

// noAlias returns an error if a name is an alias.
func (c *Client) noAlias(ctx context.Context, name string) error {
	a, err := c.m.Alias(ctx, name)
	if err == nil {
		return fmt.Errorf("%w: %s is an alias of %s", topology.ErrExists, name, a.Index)
	}
	if errors.Is(err, topology.ErrNoIndex) {
		return nil
	}
	return err
}
