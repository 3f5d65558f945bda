package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/call"
	"github.com/riffle-search/riffle/cluster/copies"
	"github.com/riffle-search/riffle/cluster/heartbeat"
	"github.com/riffle-search/riffle/cluster/jetlog"
	"github.com/riffle-search/riffle/cluster/oplog"
	"github.com/riffle-search/riffle/cluster/replica"
	"github.com/riffle-search/riffle/cluster/topology"
)

// A backup is a directory:
//
//	backup.json    a Backup, written last
//	0, 1, 2 ...    a checkpoint of a replica of each shard: an index of riffle

// backupFile says what is in the directory of a backup.
const backupFile = "backup.json"

// BackupVersion is the version of the form of backups.
const BackupVersion = 1

// A Backup says what is in the directory of a backup.
type Backup struct {
	Version int       `json:"version"`
	Taken   time.Time `json:"taken"`   // when it was begun, by the clock of the client
	Program string    `json:"program"` // version of riffle that has taken it

	Index  *topology.Index `json:"index"` // as the map had it
	Shards []ShardBackup   `json:"shards"`
}

// A ShardBackup is that of a shard.
type ShardBackup struct {
	Shard    int             `json:"shard"`
	Node     string          `json:"node"`     // from which it comes
	Position []byte          `json:"position"` // see package replica; empty if nothing was ever written
	Sequence uint64          `json:"sequence"` // of it
	Docs     int             `json:"docs"`
	Files    copies.Manifest `json:"files"`
}

// TakeBackup writes a backup of an index into dir, which must not exist. It has all changes that were acknowledged
// before the call, and perhaps later ones: those of a document in order, and those of different shards as of
// different moments, as a search sees them. Each copy is verified as a whole. When it fails nothing is left.
func (c *Client) TakeBackup(ctx context.Context, index, dir string) (b *Backup, err error) {
	x, err := c.find(ctx, index)
	if err != nil {
		return nil, err
	}
	if x.Next != nil {
		return nil, fmt.Errorf("cluster: the schema of %s is being altered: its shards have different ones", index)
	}
	switch _, err := os.Lstat(dir); {
	case err == nil:
		return nil, fmt.Errorf("cluster: %s exists already", dir)
	case !errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("cluster: %w", err)
	}
	part, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".part-")
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(part))
		}
	}()
	b = &Backup{Version: BackupVersion, Taken: time.Now().UTC(), Program: heartbeat.Program(), Index: x}
	for i := range x.Nodes {
		s, err := c.copyShard(ctx, x, i, filepath.Join(part, strconv.Itoa(i)))
		if err != nil {
			return nil, fmt.Errorf("cluster: shard %d of %s: %w", i, index, err)
		}
		b.Shards = append(b.Shards, *s)
	}
	if now, err := c.m.Get(ctx, x.Name); err != nil || now.Epoch != x.Epoch || now.Schemas != x.Schemas {
		return nil, errors.Join(fmt.Errorf("cluster: %s was dropped, or its schema altered, during the backup", index), err)
	}
	data, err := json.MarshalIndent(b, "", "\t")
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	if err := writeFile(filepath.Join(part, backupFile), append(data, '\n')); err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	if err := os.Rename(part, dir); err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	if err := errors.Join(copies.SyncFolder(dir), copies.SyncFolder(filepath.Dir(dir))); err != nil {
		return nil, errors.Join(fmt.Errorf("cluster: %w", err), os.RemoveAll(dir))
	}
	return b, nil
}

// writeFile writes a file and syncs it.
func writeFile(path string, data []byte) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Sync()
}

// copyShard fetches a copy of a replica of a shard that has what the log has now, from the first node that can give it.
func (c *Client) copyShard(ctx context.Context, x *topology.Index, shard int, dir string) (*ShardBackup, error) {
	log, err := jetlog.Open(ctx, c.js, jetlog.Config{Index: x.Name, Epoch: x.Epoch, Shard: shard})
	if err != nil {
		return nil, err
	}
	bounds, err := oplog.SureBounds(ctx, log)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, node := range x.Nodes[shard] {
		s, err := c.copyFrom(ctx, x, shard, node, dir, bounds.Last)
		if err == nil {
			return s, nil
		}
		errs = append(errs, fmt.Errorf("node %s: %w", node, err))
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errs...)
}

// copyPatience is how long a replica may take to apply what the log had before another one is tried.
const copyPatience = 30 * time.Second

func (c *Client) copyFrom(ctx context.Context, x *topology.Index, shard int, node, dir string, atLeast uint64) (s *ShardBackup, err error) {
	short, cancel := context.WithTimeout(ctx, copyPatience)
	defer cancel()
	to, err := call.Do(short, c.conn, node, &call.Request{Verb: call.Copy, Index: x.Name, Epoch: x.Epoch, Shard: shard, AtLeast: atLeast})
	if err != nil {
		return nil, err
	}
	m, err := copies.Fetch(ctx, dir, copies.FetchOptions{Address: to.Address, Ticket: to.Ticket, TLS: c.o.CopyTLS})
	if err != nil {
		return nil, err
	}
	s = &ShardBackup{Shard: shard, Node: node, Files: *m}
	if err := s.read(ctx, dir, c.o.Engine); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// read verifies a copy, and reads its position.
func (s *ShardBackup) read(ctx context.Context, dir string, o riffle.Options) (err error) {
	o.ReadOnly, o.GPU, o.Schema = true, nil, nil
	e, err := riffle.Open(dir, &o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	if s.Docs, err = e.Len(); err != nil {
		return err
	}
	if s.Position, err = e.Position(); err != nil {
		return err
	}
	if len(s.Position) > 0 {
		p, err := replica.ParsePosition(s.Position)
		if err != nil {
			return err
		}
		s.Sequence = p.Sequence
	}
	var faults []error
	if err := e.Check(ctx, func(fault error) { faults = append(faults, fault) }); err != nil {
		return err
	}
	return errors.Join(faults...)
}

// ReadBackup reads what is in the directory of a backup.
func ReadBackup(dir string) (*Backup, error) {
	data, err := os.ReadFile(filepath.Join(dir, backupFile))
	if err != nil {
		return nil, fmt.Errorf("cluster: %s is no backup: %w", dir, err)
	}
	b := &Backup{}
	if err := json.Unmarshal(data, b); err != nil {
		return nil, fmt.Errorf("cluster: %s: %w", filepath.Join(dir, backupFile), err)
	}
	switch {
	case b.Version != BackupVersion:
		return nil, fmt.Errorf("cluster: %s is a backup of version %d; this program reads version %d", dir, b.Version, BackupVersion)
	case b.Index == nil || len(b.Shards) != len(b.Index.Nodes):
		return nil, fmt.Errorf("cluster: %s is a backup of an index without shards", dir)
	}
	return b, b.Index.Check()
}

// Verify compares the files of a backup with its manifest.
func (b *Backup) Verify(dir string) error {
	for i := range b.Shards {
		if err := b.Shards[i].Files.Verify(filepath.Join(dir, strconv.Itoa(i))); err != nil {
			return fmt.Errorf("cluster: shard %d of the backup: %w", i, err)
		}
	}
	return nil
}
