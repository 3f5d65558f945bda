package node

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/remote"
	"github.com/riffle-search/riffle/cluster/replica"
	"github.com/riffle-search/riffle/cluster/topology"
)

// A shard is a replica that the node has.
type shard struct {
	n      *Node
	place  place
	index  atomic.Pointer[topology.Index] // as the map told last
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}

	refused  atomic.Int64
	compared compared

	mu      sync.Mutex
	state   State
	leaving context.CancelFunc // or nil; calls it off
	replica *replica.Replica   // while it is running
	server  *remote.Server     // likewise
	at      replica.Position   // when it last was
	durable uint64             // entry up to which the index is on disk, if its engine does not sync by itself
	bytes   int64              // of its files
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
	s.begin(log)
	for s.ctx.Err() == nil {
		err := s.once()
		if s.ctx.Err() != nil {
			return
		}
		log.Warn("a replica has stopped", "error", err)
		s.stopped(err)
		if _, diverged := errors.AsType[*replica.DivergedError](err); diverged || errors.Is(err, replica.ErrTooFarBehind) {
			if err = s.replace(diverged); err == nil {
				log.Info("a replica has been replaced")
				continue
			}
			s.quarantine(err)
			log.Error("a replica is in quarantine", "error", err)
		}
		s.n.pause(s.ctx)
	}
}

// once opens and runs the replica until it stops.
func (s *shard) once() error {
	l, err := s.n.log(s.place)
	if err != nil {
		return err
	}
	r, err := replica.Open(s.ctx, l, replica.Options{
		Epoch: s.place.epoch, CheckEvery: s.n.o.CheckEvery,
		Open: func(schema *riffle.Schema) (*riffle.Engine, error) {
			return s.n.engine(s.n.dir(s.place), s.index.Load().Schema, schema)
		},
		Refused: func(uint64, error) { s.refused.Add(1) },
	})
	if err != nil {
		return err
	}
	server := remote.NewServer(r, s.n.o.Server)
	ctx, cancel := context.WithCancelCause(s.ctx)
	answers := s.answer(ctx, cancel, r, server)
	s.compared.begin(ctx, cancel)
	s.mu.Lock()
	s.state, s.replica, s.server, s.err = Running, r, server, nil
	s.mu.Unlock()
	var measuring sync.WaitGroup
	measuring.Go(func() { s.measure(ctx, r) })
	err = r.Run(ctx)
	if cause := context.Cause(ctx); cause != nil && s.ctx.Err() == nil { // it differs from the other replicas
		err = cause
	}
	cancel(nil)
	measuring.Wait()
	s.n.cache.leave(s.place)
	s.compared.end()
	s.stopped(err)
	err = errors.Join(err, answers())
	server.Close()
	return errors.Join(err, r.Close())
}

// answer lets a replica answer searches until ctx ends: at once, or if it has nothing yet, when it has what the log had
// when it opened. Other replicas answer meanwhile. The returned function waits until it does no more.
func (s *shard) answer(ctx context.Context, cancel context.CancelCauseFunc, r *replica.Replica, server *remote.Server) (end func() error) {
	var silence func() error
	listen := func() {
		var err error
		silence, err = remote.Listen(s.n.o.Conn, remote.Subject(s.place.index, s.place.epoch, s.place.shard, s.n.o.Name), server)
		if err != nil {
			cancel(err)
		}
	}
	var waiting sync.WaitGroup
	if last := r.LogLast(); r.Position().Sequence > 0 || last == 0 {
		listen()
	} else {
		waiting.Go(func() {
			if r.Wait(ctx, last) == nil {
				listen()
			}
		})
	}
	return func() error {
		waiting.Wait()
		if silence == nil {
			return nil
		}
		return silence()
	}
}

func (s *shard) quarantine(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state, s.err = Quarantine, err
}

func (s *shard) stopped(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.replica != nil {
		s.at, s.replica = s.replica.Position(), nil
	}
	s.state, s.err = Starting, err
}

func (s *shard) status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{
		Index: s.place.index, Epoch: s.place.epoch, Shard: s.place.shard,
		State: s.state, Position: s.at, Refused: s.refused.Load(), Differs: s.compared.nodes(), Err: s.err,
	}
	if s.replica != nil {
		st.Position = s.replica.Position()
	}
	if s.leaving != nil && st.State == Running {
		st.State = Leaving
	}
	return st
}
