package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster"
	"github.com/riffle-search/riffle/cluster/node"
	"github.com/riffle-search/riffle/cluster/oplog"
	"github.com/riffle-search/riffle/cluster/scatter"
	"github.com/riffle-search/riffle/cluster/scatter/scattertest"
)

const (
	converges    = 2 * time.Minute // replicas after the last fault
	finalQueries = 200
	finalClient  = -1
)

// settle waits until the cluster has come to rest, and checks it and the history.
func (r *runner) settle(ctx context.Context) error {
	for _, m := range r.machines {
		r.report.cpu = append(r.report.cpu, m.cpuTime())
	}
	// What writers still try ends here. A last message of theirs may still be on its way.
	for _, c := range r.clients {
		if err := c.Close(); err != nil {
			r.report.fail("clients", "%v", err)
		}
	}
	r.clients = nil
	time.Sleep(2 * time.Second)
	began := r.history.now()
	short, cancel := context.WithTimeout(ctx, converges)
	defer cancel()
	if err := r.finish(short); err != nil {
		r.report.fail("operation", "what operators were interrupted in cannot be finished: %v", err)
	}
	// A server may still hold messages that it could not store for want of the others. They are in the logs
	// before the barriers of these reads.
	if err := r.finalReads(short); err != nil {
		r.report.fail("final reads", "%v", err)
	}
	logs, statuses, err := r.converged(short)
	if err != nil {
		r.report.fail("converge", "%v", err)
		return writeHistory(r.s.dir, r.history.operations())
	}
	r.report.converged = r.history.now() - began
	if err := r.finalReads(short); err != nil {
		r.report.fail("final reads", "%v", err)
	}
	if logs, statuses, err = r.converged(short); err != nil {
		r.report.fail("converge", "%v", err)
		return writeHistory(r.s.dir, r.history.operations())
	}
	ops := r.history.operations()
	if err := writeHistory(r.s.dir, ops); err != nil {
		return err
	}
	c := &checker{report: r.report, shards: r.s.shards, ops: ops, seed: r.s.seed}
	if err := c.readLogs(logs); err != nil {
		return err
	}
	c.checkWrites()
	c.checkFinal()
	c.checkSessions()
	c.checkLinearizable(r.s.dir)
	c.checkDigests(statuses, r.s.plant == plantOtherDigest)
	c.count()
	return r.answers(ctx, c, statuses)
}

// converged waits until all replicas have applied all entries of the logs, and returns those and the
// status of the nodes.
func (r *runner) converged(ctx context.Context) (logs [][]oplog.Entry, statuses [][]replicaStatus, err error) {
	last := make([]uint64, r.s.shards)
	for i := range last {
		entries, err := r.tails[i].all(ctx, r.js)
		if err != nil {
			return nil, nil, err
		}
		logs, last[i] = append(logs, entries), uint64(len(entries))
	}
	for {
		statuses = statuses[:0]
		behind := ""
		replicas := make([]int, r.s.shards)
		for _, m := range r.machines {
			all, err := m.status()
			if err != nil {
				behind = fmt.Sprintf("%s: %v", m.name, err)
			}
			for _, s := range all {
				replicas[s.Shard]++
				if s.State != node.Running || s.Sequence != last[s.Shard] {
					behind = fmt.Sprintf("%s at entry %d of %d: %+v", m.name, s.Sequence, last[s.Shard], s)
				}
			}
			statuses = append(statuses, all)
		}
		for i, n := range replicas {
			if n != r.s.replicas && behind == "" {
				behind = fmt.Sprintf("shard %d has %d replicas", i, n)
			}
		}
		if behind == "" {
			return logs, statuses, nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("replicas stay behind: %s", behind)
		}
	}
}

// retry calls try, for a few seconds each time, until it succeeds or ctx ends.
func retry(ctx context.Context, try func(context.Context) error) error {
	for {
		short, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := try(short)
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// finalReads reads all documents, as a client that the history knows.
func (r *runner) finalReads(ctx context.Context) error {
	c, err := connectCluster(ctx, r.conns[0], nil)
	if err != nil {
		return err
	}
	defer c.Close()
	x, err := c.Index(ctx, indexName)
	if err != nil {
		return err
	}
	l := newLoad(r.s, r.history, []*cluster.Index{x})
	for i := range ids {
		l.get(finalClient, idOf(i), getLatest, cluster.Token{})
	}
	return nil
}

// answers compares what each replica has, and the answers of all nodes, with an index that is fed the
// logs. Deleted documents are merged away everywhere, because they count in the statistics.
func (r *runner) answers(ctx context.Context, c *checker, statuses [][]replicaStatus) error {
	for _, m := range r.machines {
		if err := m.stop(); err != nil {
			return err
		}
	}
	for i, m := range r.machines {
		for _, s := range statuses[i] {
			e, err := r.openReplica(m, s.Epoch, s.Shard)
			if err != nil {
				r.report.fail("documents", "%s, shard %d: %v", m.name, s.Shard, err)
				continue
			}
			if r.s.plant == plantSkip && i == 0 && s.Shard == statuses[i][0].Shard {
				err = c.forgetDocument(ctx, e, s.Shard)
			}
			err = errors.Join(err, c.checkDocuments(ctx, e, m.name, s.Shard), e.Compact(ctx), e.Close())
			if err != nil {
				r.report.fail("documents", "%s, shard %d: %v", m.name, s.Shard, err)
			}
		}
		aside, err := filepath.Glob(filepath.Join(m.disk, "indexes", indexName, "*", "*.diverged-*"))
		if err != nil {
			return err
		}
		for _, dir := range aside {
			r.report.fail("diverged", "%s has moved an index aside: %s", m.name, dir)
		}
	}
	one, err := riffle.Open(filepath.Join(r.s.dir, "one"), &riffle.Options{Schema: schema, Durability: riffle.SyncNone})
	if err != nil {
		return err
	}
	defer one.Close()
	if err := errors.Join(c.feed(ctx, one), one.Compact(ctx)); err != nil {
		return err
	}
	for _, m := range r.machines {
		if err := m.start(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, converges)
	defer cancel()
	if _, _, err := r.converged(ctx); err != nil {
		r.report.fail("converge", "after a restart: %v", err)
		return nil
	}
	client, err := connectCluster(ctx, r.conns[0], nil)
	if err != nil {
		return err
	}
	defer client.Close()
	x, err := client.Index(ctx, indexName)
	if err != nil {
		return err
	}
	return c.checkAnswers(ctx, x, one)
}

// checkAnswers compares random searches of the cluster with those of one index.
func (c *checker) checkAnswers(ctx context.Context, x *cluster.Index, one *riffle.Engine) error {
	rng := rand.New(rand.NewPCG(c.seed, 2))
	for n := range finalQueries {
		q := scattertest.Query(rng, rng.IntN(3))
		o := riffle.SearchOptions{K: 1 + rng.IntN(50), ExactTotal: true, Now: time.Unix(0, 0), Load: []string{"*"}, Highlight: &riffle.HighlightOptions{}}
		want, wantErr := one.Search(ctx, q, &o)
		got, err := x.Search(ctx, q, &cluster.SearchOptions{Options: scatter.Options{SearchOptions: o}})
		c.report.compared++
		switch {
		case (err == nil) != (wantErr == nil):
			c.report.fail("answers", "query %d: %v, one index says %v: %#v", n, err, wantErr, q)
		case err == nil:
			if why := differ(got, want); why != "" {
				c.report.fail("answers", "query %d: %s: %#v", n, why, q)
			}
		}
	}
	return ctx.Err()
}

// differ says how two results differ, if they do.
func differ(got *scatter.Result, want *riffle.Result) string {
	if got.Total != want.Total || !got.TotalExact || len(got.Hits) != len(want.Hits) {
		return fmt.Sprintf("%d hits of %d, one index has %d of %d", len(got.Hits), got.Total, len(want.Hits), want.Total)
	}
	for i := range got.Hits {
		g, w := got.Hits[i].Hit, want.Hits[i]
		w.Cursor = riffle.Cursor{}
		if !reflect.DeepEqual(g, w) {
			return strings.TrimSpace(fmt.Sprintf("hit %d is %+v, of one index %+v", i, g, w))
		}
	}
	return ""
}
