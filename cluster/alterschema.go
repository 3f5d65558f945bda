package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/jetlog"
	"github.com/riffle-search/riffle/cluster/oplog"
	"github.com/riffle-search/riffle/cluster/topology"
)

// AlterSchema changes the schema of an index, as far as riffle.Options.AlterSchema allows; Reindex makes other changes.
// First all clients check documents by both schemas, the one in force and the next; after some seconds each log gets an
// entry with the next one, at which replicas take it over; then it is the one in force. So replicas refuse no
// document that was accepted, unless a client has not been able to read the map for seconds: what it writes by the old
// schema alone is left out where the new one refuses it, and counted (ReplicaStatus.Refused). A call that failed
// is made again with the same schema.
func (c *Client) AlterSchema(ctx context.Context, index string, schema *riffle.Schema) error {
	x, err := c.find(ctx, index)
	if err != nil {
		return err
	}
	if schema == nil {
		return errors.New("cluster: no schema")
	}
	if schema, err = asStored(schema); err != nil {
		return err
	}
	if x.Next == nil && reflect.DeepEqual(x.Altered, schema) {
		return nil
	}
	if err := c.noReindex(ctx, x); err != nil {
		return err
	}
	trial := *x
	trial.Next = schema
	var k checker
	if err := errors.Join(k.use(ctx, &trial, c.o.Engine), k.close()); err != nil {
		return err
	}
	err = c.update(ctx, x, func(now *topology.Index) {
		if now.Next == nil {
			now.Next, now.Schemas = schema, now.Schemas+1
		}
	})
	if err != nil {
		return err
	}
	if x, err = c.m.Get(ctx, x.Name); err != nil {
		return err
	}
	if !reflect.DeepEqual(x.Next, schema) {
		return fmt.Errorf("cluster: another schema of %s is to come; alter it to that one first", index)
	}
	select {
	case <-time.After(2 * c.o.FollowEvery): // all clients follow
	case <-ctx.Done():
		return ctx.Err()
	}
	body, err := json.Marshal(schema)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	for i := range x.Nodes {
		log, err := jetlog.Open(ctx, c.js, jetlog.Config{Index: x.Name, Epoch: x.Epoch, Shard: i})
		if err != nil {
			return err
		}
		record := &oplog.Record{Kind: oplog.Schema, Epoch: x.Epoch, Schema: x.Schemas, Body: body}
		if _, err := appendAlone(ctx, log, fmt.Sprint("schema-", x.Schemas), record); err != nil {
			return fmt.Errorf("cluster: shard %d: %w", i, err)
		}
	}
	return c.update(ctx, x, func(now *topology.Index) {
		if now.Schemas == x.Schemas {
			now.Altered, now.Next = schema, nil
		}
	})
}

// asStored returns a schema as it comes back from the map.
func asStored(s *riffle.Schema) (*riffle.Schema, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	same := &riffle.Schema{}
	if err := json.Unmarshal(text, same); err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	return same, nil
}

// noReindex returns an error while an index is being reindexed.
func (c *Client) noReindex(ctx context.Context, x *topology.Index) error {
	names, err := c.m.List(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		other, err := c.m.Get(ctx, name)
		if errors.Is(err, topology.ErrNoIndex) {
			continue
		}
		if err != nil {
			return err
		}
		if other.Reindexes == x.Epoch {
			return fmt.Errorf("cluster: %s is being reindexed into %s", x.Name, name)
		}
	}
	return nil
}
