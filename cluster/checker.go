package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/topology"
)

// A checker validates documents, by empty indexes with the schemas in force: one, or two while the schema is being
// changed, so that replicas accept what it accepts, whichever they have.
type checker struct {
	mu      sync.RWMutex
	engines []*riffle.Engine // that of the schema in force last first
	dirs    []string
	of      string // the schemas, as JSON
}

// use takes over the schemas of an index.
func (k *checker) use(ctx context.Context, x *topology.Index, o riffle.Options) (err error) {
	text, err := json.Marshal([]any{x.Schema, x.Altered, x.Next})
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	k.mu.RLock()
	same := k.of == string(text) && k.engines != nil
	k.mu.RUnlock()
	if same {
		return nil
	}
	next := &checker{of: string(text)}
	now := []*riffle.Schema{x.Schema, x.Altered}
	if err := next.add(o, now...); err != nil {
		return errors.Join(err, next.close())
	}
	if x.Next != nil {
		if err := next.add(o, append(now, x.Next)...); err != nil {
			return errors.Join(err, next.close())
		}
	}
	k.mu.Lock()
	k.engines, next.engines = next.engines, k.engines
	k.dirs, next.dirs = next.dirs, k.dirs
	k.of = next.of
	k.mu.Unlock()
	return next.close()
}

// add adds an empty index that has had one schema after the other, but for those that are nil.
func (k *checker) add(o riffle.Options, schemas ...*riffle.Schema) error {
	dir, err := os.MkdirTemp("", "riffle-cluster-")
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	k.dirs = append(k.dirs, dir)
	o.Durability, o.GPU, o.AlterSchema = riffle.SyncNone, nil, true
	var engine *riffle.Engine
	for i, s := range schemas {
		if i > 0 && s == nil {
			continue
		}
		if engine != nil {
			if err := engine.Close(); err != nil {
				return err
			}
		}
		o.Schema = s
		if engine, err = riffle.Open(dir, &o); err != nil {
			return err
		}
	}
	k.engines = append(k.engines, engine)
	return nil
}

// current returns the index with the schema in force. Its methods fail once the checker is closed, or has another.
func (k *checker) current() *riffle.Engine {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.engines[0]
}

// validate returns the errors of documents that not all schemas allow.
func (k *checker) validate(ctx context.Context, b *riffle.Batch) error {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for _, e := range k.engines {
		if err := e.Validate(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

func (k *checker) close() (err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range k.engines {
		err = errors.Join(err, e.Close())
	}
	for _, dir := range k.dirs {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	k.dirs = nil
	return err
}
