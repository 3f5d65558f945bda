package node

import (
	"context"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/heartbeat"
	"github.com/riffle-search/riffle/cluster/oplog"
	"github.com/riffle-search/riffle/cluster/replica"
)

// sizesEvery is how often a replica measures its files, and makes what it applied durable if its engine
// does not do so by itself.
const sizesEvery = 10 * time.Second

// tell publishes beats, and answers to those who ask, until the node is closed.
func (n *Node) tell() error {
	subscription, err := n.o.Conn.Subscribe(heartbeat.AskSubject(n.o.Name), func(m *nats.Msg) {
		if err := n.publish(m.Reply); err != nil {
			n.o.Log.Warn("a question about the node cannot be answered", "error", err)
		}
	})
	if err != nil {
		return err
	}
	n.running.Go(func() {
		defer subscription.Unsubscribe()
		tick := time.NewTicker(n.o.BeatEvery)
		defer tick.Stop()
		for {
			if err := n.publish(heartbeat.BeatSubject(n.o.Name)); err != nil && n.ctx.Err() == nil {
				n.o.Log.Warn("the node cannot tell about itself", "error", err)
			}
			n.compare()
			select {
			case <-tick.C:
			case <-n.ctx.Done():
				return
			}
		}
	})
	return nil
}

// publish sends the state of the node to a subject.
func (n *Node) publish(subject string) error {
	messages, err := n.beat().Encode()
	for _, data := range messages {
		err = errors.Join(err, n.o.Conn.Publish(subject, data))
	}
	return err
}

func (n *Node) beat() *heartbeat.Beat {
	b := &heartbeat.Beat{
		Node: n.o.Name, Instance: n.instance, Started: n.started, Number: n.beats.Add(1),
		Program: heartbeat.Program(), Messages: oplog.MessageVersion, Copies: n.copies.Address(),
	}
	n.mu.Lock()
	shards := make([]*shard, 0, len(n.shards))
	for _, p := range slices.SortedFunc(maps.Keys(n.shards), comparePlaces) {
		shards = append(shards, n.shards[p])
	}
	n.mu.Unlock()
	for _, s := range shards {
		b.Replicas = append(b.Replicas, s.beat())
	}
	return b
}

// beat returns what others may know of a replica.
func (s *shard) beat() heartbeat.Replica {
	st := s.status()
	b := heartbeat.Replica{
		Index: st.Index, Epoch: st.Epoch, Shard: st.Shard, State: string(st.State), Sequence: st.Position.Sequence,
		Digest: hex.EncodeToString(st.Position.Digest[:]), Refused: st.Refused, Differs: st.Differs,
	}
	if st.Err != nil {
		b.Error = st.Err.Error()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.Durable, b.Bytes = s.durable, s.bytes; s.syncs() {
		b.Durable = b.Sequence
	}
	if s.replica == nil {
		return b
	}
	var mark replica.Digest
	b.Mark, mark = s.replica.Mark()
	b.MarkDigest = hex.EncodeToString(mark[:])
	b.LogLast = s.replica.LogLast()
	b.Requests, b.Leases = s.server.Load()
	s.replica.Use(func(e *riffle.Engine) (err error) { b.Docs, err = e.Len(); return err }) // a closed one has none
	return b
}

// syncs reports whether what a replica has applied is durable.
func (s *shard) syncs() bool { return s.n.o.Engine.Durability == riffle.SyncBatch }

// measure measures the files of a replica, and syncs them, now and then until ctx ends.
func (s *shard) measure(ctx context.Context, r *replica.Replica) {
	tick := time.NewTicker(sizesEvery)
	defer tick.Stop()
	for {
		at := r.Position().Sequence
		var bytes int64
		err := r.Use(func(e *riffle.Engine) error {
			if !s.syncs() {
				if err := e.Sync(ctx); err != nil {
					return err
				}
			}
			st, err := e.Stats()
			if err != nil {
				return err
			}
			bytes = int64(st.Store.DiskBytes)
			return e.SetCacheBytes(s.n.cache.share(s.place, bytes))
		})
		if err == nil {
			s.mu.Lock()
			s.durable, s.bytes = at, bytes
			s.mu.Unlock()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
