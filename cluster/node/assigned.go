package node

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/riffle-search/riffle/cluster/topology"
)

// What lies in the directory of a node beside folders of indexes, and in that of an index of an epoch
// beside SHARD.
const (
	copiesFolder = ".copies"    // checkpoints that others fetch
	copySuffix   = ".copy"      // a copy that is being fetched
	asideSuffix  = ".diverged-" // and a time: an index that was moved aside
)

// changed opens and closes the replicas of an index as the map says, unless a later revision of it has been told.
// x is nil if the index is gone.
func (n *Node) changed(name string, x *topology.Index, revision uint64) {
	n.changing.Lock()
	defer n.changing.Unlock()
	if n.ctx.Err() != nil || revision <= n.revisions[name] {
		return
	}
	n.revisions[name] = revision
	if x != nil && x.Dropped {
		x = nil
	}
	for _, s := range n.assign(name, x) { // nobody sees them any more
		s.stop()
	}
	if err := n.sweep(name, x); err != nil {
		n.o.Log.Error("replicas cannot be removed", "index", name, "error", err)
	}
	if x == nil || !x.Ready {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range x.Nodes {
		p := place{name, x.Epoch, i}
		if n.shards[p] == nil && slices.Contains(x.Members(i), n.o.Name) {
			n.shards[p] = n.start(p, x)
		}
	}
}

// assign tells the replicas of an index what has become of it, and returns those that must stop at once.
func (n *Node) assign(name string, x *topology.Index) (stop []*shard) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.indexes[name] = x; x == nil {
		delete(n.indexes, name)
	}
	for p, s := range n.shards {
		if p.index != name {
			continue
		}
		if x == nil || x.Epoch != p.epoch {
			stop = append(stop, s)
			delete(n.shards, p)
			continue
		}
		if s.index.Store(x); slices.Contains(x.Members(p.shard), n.o.Name) {
			s.stay()
		} else {
			s.leave()
		}
	}
	return stop
}

func (n *Node) start(p place, x *topology.Index) *shard {
	s := &shard{n: n, place: p, done: make(chan struct{}), state: Starting}
	s.index.Store(x)
	s.ctx, s.cancel = context.WithCancel(n.ctx)
	go s.run()
	return s
}

func (n *Node) dir(p place) string {
	return filepath.Join(n.o.Dir, p.index, strconv.FormatUint(p.epoch, 10), strconv.Itoa(p.shard))
}

// sweep removes the files of replicas of an index that the node is not to have. The caller holds changing.
func (n *Node) sweep(name string, x *topology.Index) error {
	of := filepath.Join(n.o.Dir, name)
	epochs, err := os.ReadDir(of)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range epochs {
		epoch, err := strconv.ParseUint(e.Name(), 10, 64)
		if err != nil {
			continue // not ours
		}
		dir := filepath.Join(of, e.Name())
		shards, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, f := range shards {
			if n.keeps(name, x, epoch, f.Name()) {
				continue
			}
			if err := os.RemoveAll(filepath.Join(dir, f.Name())); err != nil {
				return err
			}
		}
		if x == nil || x.Epoch != epoch {
			os.Remove(dir) // unless something is left in it
		}
	}
	if x == nil {
		os.Remove(of)
	}
	return nil
}

// keeps reports whether a file in the folder of an index and epoch is to stay.
func (n *Node) keeps(name string, x *topology.Index, epoch uint64, file string) bool {
	if strings.Contains(file, asideSuffix) {
		return true
	}
	shard, err := strconv.Atoi(strings.TrimSuffix(file, copySuffix))
	if err != nil {
		return true // not ours
	}
	n.mu.Lock()
	uses := n.shards[place{name, epoch, shard}] != nil // both
	n.mu.Unlock()
	if uses {
		return true
	}
	return file == strconv.Itoa(shard) && x != nil && x.Epoch == epoch && shard < len(x.Nodes) && slices.Contains(x.Members(shard), n.o.Name)
}

// gone removes a replica that has left. Until its files are gone, too, the node tells that it has it.
func (n *Node) gone(s *shard) {
	n.changing.Lock()
	defer n.changing.Unlock()
	n.mu.Lock()
	goes := n.shards[s.place] == s && s.mayGo()
	n.mu.Unlock()
	if !goes {
		return
	}
	s.stop()
	dir := n.dir(s.place)
	if err := errors.Join(os.RemoveAll(dir), os.RemoveAll(dir+copySuffix)); err != nil {
		n.o.Log.Error("a replica cannot be removed", "index", s.place.index, "shard", s.place.shard, "error", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.shards, s.place)
}
