package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/call"
	"github.com/riffle-search/riffle/cluster/copies"
	"github.com/riffle-search/riffle/cluster/jetlog"
	"github.com/riffle-search/riffle/cluster/oplog"
	"github.com/riffle-search/riffle/cluster/replica"
	"github.com/riffle-search/riffle/cluster/topology"
)

// RestoreOptions configure Restore. The zero value restores the index as it was.
type RestoreOptions struct {
	Name     string   // of the new index; empty is that of the backup
	Replicas int      // of each shard; 0 is as many as there were
	Nodes    []string // as for IndexOptions

	LogCopies int   // 0 is as many as there were
	LogBytes  int64 // as for IndexOptions

	// Copies says where this program serves the copies to the nodes; TLS is Options.CopyTLS. The zero value serves
	// nodes of this machine.
	Copies copies.ServerOptions

	// Work is a directory for the time of the call; empty is one for temporary files. Where it is on the file system of the
	// backup, little is copied into it.
	Work string
}

// Restore makes an index from a backup, whose files it verifies and leaves as they are. The logs of the new index begin
// behind the positions of the copies. It returns when all replicas are there. The error matches topology.ErrExists if
// there is an index of the name, unless that is one whose Restore failed, its program with it, and to which nothing was
// written. When it fails nothing is left.
func (c *Client) Restore(ctx context.Context, dir string, o RestoreOptions) (err error) {
	b, err := ReadBackup(dir)
	if err != nil {
		return err
	}
	if err := b.Verify(dir); err != nil {
		return err
	}
	x, err := c.restored(ctx, b, &o)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp(o.Work, "riffle-restore-")
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if err := c.m.Create(ctx, x); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.undo(ctx, x))
		}
	}()
	s := &restoring{c: c, b: b, x: x, dir: dir, work: work}
	if err := s.logs(ctx, &o); err != nil {
		return err
	}
	o.Copies.Dir, o.Copies.TLS = filepath.Join(work, "copies"), c.o.CopyTLS
	if s.copies, err = copies.Serve(o.Copies); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.copies.Close()) }()
	deaf, err := call.Listen(c.conn, x.Source, s.answer)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, deaf()) }()
	if err := c.update(ctx, x, func(now *topology.Index) { now.Ready = true }); err != nil {
		return err
	}
	for i, nodes := range x.Nodes {
		for _, node := range nodes {
			if err := c.current(ctx, x, i, node); err != nil {
				return err
			}
		}
	}
	if err := c.update(ctx, x, func(now *topology.Index) { now.Source = "" }); err != nil {
		return err
	}
	return c.answered(ctx, x.Name)
}

// update changes the entry of an index unless it has been dropped.
func (c *Client) update(ctx context.Context, x *topology.Index, change func(*topology.Index)) error {
	return c.m.Update(ctx, x.Name, func(now *topology.Index) error {
		if now.Epoch != x.Epoch || now.Dropped {
			return fmt.Errorf("%w: %s was dropped meanwhile", topology.ErrNoIndex, x.Name)
		}
		change(now)
		return nil
	})
}

// restored returns the entry of the map of an index that is made from a backup.
func (c *Client) restored(ctx context.Context, b *Backup, o *RestoreOptions) (*topology.Index, error) {
	if o.Name == "" {
		o.Name = b.Index.Name
	}
	if o.Replicas == 0 {
		o.Replicas = len(b.Index.Nodes[0])
	}
	if o.LogCopies == 0 {
		o.LogCopies = b.Index.LogCopies
	}
	if len(o.Nodes) == 0 {
		v, err := c.look(ctx)
		if err != nil {
			return nil, err
		}
		o.Nodes = v.fit()
	}
	places, err := topology.Place(o.Name, len(b.Shards), o.Replicas, o.Nodes)
	if err != nil {
		return nil, err
	}
	if err := c.finishDrop(ctx, o.Name); err != nil {
		return nil, err
	}
	if err := c.noAlias(ctx, o.Name); err != nil {
		return nil, err
	}
	old, err := c.m.Get(ctx, o.Name)
	switch {
	case errors.Is(err, topology.ErrNoIndex):
	case err != nil:
		return nil, err
	case strings.HasPrefix(old.Source, topology.RestorePrefix): // a Restore that failed, and could not tidy up
		err := c.abandoned(ctx, old)
		if err == nil {
			err = c.drop(ctx, old)
		}
		if err != nil {
			return nil, err
		}
	}
	x := *b.Index
	x.Name, x.Nodes, x.Joining, x.LogCopies = o.Name, places, nil, o.LogCopies
	x.Ready, x.Dropped, x.Source = false, false, topology.RestorePrefix+rand.Text()
	x.Reindexes, x.Replaces = 0, topology.Replaced{}
	if x.Altered != nil { // the copies have it, and the new logs do not
		x.Schema, x.Altered = x.Altered, nil
	}
	x.Next = nil
	return &x, nil
}

// pingWait is how long a program that restores an index may take to say that it is there.
const pingWait = 2 * time.Second

// abandoned returns an error unless the program that was restoring an index is gone, and nobody has written to the index.
func (c *Client) abandoned(ctx context.Context, x *topology.Index) error {
	short, cancel := context.WithTimeout(ctx, pingWait)
	defer cancel()
	_, err := call.Do(short, c.conn, x.Source, &call.Request{Verb: call.Ping})
	switch {
	case err == nil:
		return fmt.Errorf("%w: %s is being restored", topology.ErrExists, x.Name)
	case !errors.Is(err, call.ErrGone):
		return err
	case !x.Ready || x.Dropped:
		return nil
	}
	for i := range x.Nodes {
		log, err := jetlog.Open(ctx, c.js, jetlog.Config{Index: x.Name, Epoch: x.Epoch, Shard: i})
		if err != nil {
			return err
		}
		b, err := oplog.SureBounds(ctx, log)
		if err != nil {
			return err
		}
		if b.First <= b.Last {
			return fmt.Errorf("%w: %s was not restored wholly, and has changes since; drop it first", topology.ErrExists, x.Name)
		}
	}
	return nil
}

// restoring gives copies of a backup to the nodes of the new index.
type restoring struct {
	c      *Client
	b      *Backup
	x      *topology.Index
	dir    string
	work   string
	copies *copies.Server

	identities []string // of the new logs

	mu   sync.Mutex // held while a shard is prepared
	done map[int]bool
}

// logs creates the logs, which continue those of the backup.
func (s *restoring) logs(ctx context.Context, o *RestoreOptions) error {
	for i := range s.b.Shards {
		config := jetlog.Config{Index: s.x.Name, Epoch: s.x.Epoch, Shard: i, Replicas: s.x.LogCopies, MaxBytes: o.LogBytes, First: s.b.Shards[i].Sequence + 1}
		log, err := jetlog.Create(ctx, s.c.js, config)
		if err != nil {
			return err
		}
		b, err := log.Bounds(ctx)
		if err != nil {
			return err
		}
		if b.First != config.First || b.Last+1 != config.First {
			return fmt.Errorf("cluster: the new log of shard %d begins with entry %d and ends with %d, not before %d", i, b.First, b.Last, config.First)
		}
		s.identities = append(s.identities, b.Identity)
	}
	return nil
}

// answer gives a node a ticket for a copy.
func (s *restoring) answer(_ context.Context, r *call.Request) (*call.Reply, error) {
	if r.Verb != call.Copy || r.Index != s.x.Name || r.Epoch != s.x.Epoch || r.Shard < 0 || r.Shard >= len(s.b.Shards) || len(s.b.Shards[r.Shard].Position) == 0 {
		return nil, fmt.Errorf("a restore of %s has no copy of shard %d of %s", s.x.Name, r.Shard, r.Index)
	}
	p, err := s.position(r.Shard)
	if err != nil {
		return nil, err
	}
	ticket, err := s.copies.Ticket(func(ctx context.Context, dir string) error {
		from, err := s.prepared(ctx, r.Shard)
		if err != nil {
			return err
		}
		return linkTree(from, dir)
	})
	if err != nil {
		return nil, err
	}
	return &call.Reply{Position: p.Append(nil), Address: s.copies.Address(), Ticket: ticket}, nil
}

// position returns that of a shard, in its new log.
func (s *restoring) position(shard int) (p replica.Position, err error) {
	p, err = replica.ParsePosition(s.b.Shards[shard].Position)
	p.Identity = s.identities[shard]
	return p, err
}

// prepared returns a directory with the copy of a shard, in which the position is that of the new log.
func (s *restoring) prepared(ctx context.Context, shard int) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir := filepath.Join(s.work, strconv.Itoa(shard))
	if s.done[shard] {
		return dir, nil
	}
	if err := errors.Join(os.RemoveAll(dir), linkTree(filepath.Join(s.dir, strconv.Itoa(shard)), dir)); err != nil {
		return "", err
	}
	p, err := s.position(shard)
	if err != nil {
		return "", err
	}
	o := s.c.o.Engine
	o.Durability, o.GPU, o.Schema = riffle.SyncBatch, nil, nil
	e, err := riffle.Open(dir, &o)
	if err != nil {
		return "", err
	}
	if err := errors.Join(e.Apply(ctx, &riffle.Batch{Position: p.Append(nil)}), e.Close()); err != nil {
		return "", err
	}
	if s.done == nil {
		s.done = map[int]bool{}
	}
	s.done[shard] = true
	return dir, nil
}
