package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/remote"
	"github.com/riffle-search/riffle/cluster/replica"
)

// A shard is a replica that the node has.
type shard struct {
	n      *Node
	place  place
	schema *riffle.Schema // of a new index
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}

	refused atomic.Int64

	mu      sync.Mutex
	state   State
	replica *replica.Replica // while it is running
	server  *remote.Server   // likewise
	at      replica.Position // when it last was
	durable uint64           // entry up to which the index is on disk, if its engine does not sync by itself
	bytes   int64            // of its files
	err     error
}

// stop closes the replica and waits until it is closed.
func (s *shard) stop() {
	s.cancel()
	<-s.done
}

// run runs the replica until it is stopped.
func (s *shard) run() {
	defer close(s.done)
	log := s.n.o.Log.With("index", s.place.index, "shard", s.place.shard)
	for s.ctx.Err() == nil {
		err := s.once()
		if s.ctx.Err() != nil {
			return
		}
		log.Warn("a replica has stopped", "error", err)
		s.stopped(err)
		_, diverged := errors.AsType[*replica.DivergedError](err)
		if diverged || errors.Is(err, replica.ErrTooFarBehind) {
			if err := s.beginAnew(); err != nil {
				log.Error("a replica is in quarantine", "error", err)
			}
		}
		s.n.pause()
	}
}

// once opens and runs the replica until it stops.
func (s *shard) once() error {
	l, err := s.n.log(s.place)
	if err != nil {
		return err
	}
	r, err := replica.Open(s.ctx, l, replica.Options{
		Epoch: s.place.epoch, Open: s.n.options(s.place, s.schema),
		Refused: func(uint64, error) { s.refused.Add(1) },
	})
	if err != nil {
		return err
	}
	server := remote.NewServer(r, s.n.o.Server)
	silence, err := remote.Listen(s.n.o.Conn, remote.Subject(s.place.index, s.place.epoch, s.place.shard, s.n.o.Name), server)
	if err != nil {
		return errors.Join(err, r.Close())
	}
	s.mu.Lock()
	s.state, s.replica, s.server, s.err = Running, r, server, nil
	s.mu.Unlock()
	ctx, cancel := context.WithCancel(s.ctx)
	var measuring sync.WaitGroup
	measuring.Go(func() { s.measure(ctx, r) })
	err = r.Run(s.ctx)
	cancel()
	measuring.Wait()
	s.stopped(err)
	err = errors.Join(err, silence())
	server.Close()
	return errors.Join(err, r.Close())
}

func (s *shard) stopped(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.replica != nil {
		s.at, s.replica = s.replica.Position(), nil
	}
	s.state, s.err = Starting, err
}

// beginAnew moves the index of a replica whose log has diverged aside, if the log has all entries from
// which it can be made again.
func (s *shard) beginAnew() error {
	l, err := s.n.log(s.place)
	if err != nil {
		return err
	}
	b, err := l.Bounds(s.ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state = Quarantine; b.First > 1 {
		return fmt.Errorf("the log begins with entry %d; a copy of another replica is needed", b.First)
	}
	dir := s.n.dir(s.place)
	if err := os.Rename(dir, fmt.Sprintf("%s.diverged-%d", dir, time.Now().UnixNano())); err != nil {
		return err
	}
	s.state, s.at, s.durable = Starting, replica.Position{}, 0
	return nil
}

func (s *shard) status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{
		Index: s.place.index, Epoch: s.place.epoch, Shard: s.place.shard,
		State: s.state, Position: s.at, Refused: s.refused.Load(), Err: s.err,
	}
	if s.replica != nil {
		st.Position = s.replica.Position()
	}
	return st
}
