package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/call"
	"github.com/riffle-search/riffle/cluster/copies"
	"github.com/riffle-search/riffle/cluster/heartbeat"
	"github.com/riffle-search/riffle/cluster/oplog"
	"github.com/riffle-search/riffle/cluster/replica"
)

// begin lets a new replica copy another one if the log has lost its beginning, or if reading it would take much
// longer. That it cannot is no failure yet: it may be able to read the log.
func (s *shard) begin(log *slog.Logger) {
	if _, err := os.Stat(s.n.dir(s.place)); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	s.ask()
	if !s.shouldCopy() {
		return
	}
	if err := s.replace(false); err != nil {
		log.Info("a new replica cannot copy another one yet", "error", err)
		s.stopped(err)
	}
}

// shouldCopy reports whether a new replica should copy another one.
func (s *shard) shouldCopy() bool {
	l, err := s.n.log(s.place)
	if err != nil {
		return false
	}
	b, err := l.Bounds(s.ctx)
	if err != nil {
		return false
	}
	return b.First > 1 || slices.ContainsFunc(s.sources(), func(from source) bool { return from.sequence >= s.n.o.CopyBehind })
}

// askWait is how long others may take to tell how their replicas are, before one that is new begins.
const askWait = time.Second / 2

// ask asks the other members of the shard if one has not been heard yet.
func (s *shard) ask() {
	var silent []string
	for _, name := range s.index.Load().Members(s.place.shard) {
		if h, ok := s.n.view.Of(name); name != s.n.o.Name && (!ok || time.Since(h.At) > heardWithin) {
			silent = append(silent, name)
		}
	}
	if len(silent) == 0 {
		return
	}
	heard, err := heartbeat.Ask(s.ctx, s.n.o.Conn, silent, askWait)
	if err != nil { // as if nobody had said anything
		return
	}
	for _, h := range heard {
		s.n.view.Add(h.Beat, h.At)
	}
}

// A source is a node with another replica of the shard.
type source struct {
	node     string
	sequence uint64 // of its replica as far as it is known
}

// heardWithin is how old a beat may be to count.
const heardWithin = 5 * time.Second

// sources returns the nodes that may have a copy to give, the best one first. After a comparison they are
// those that were right.
func (s *shard) sources() []source {
	var all []source
	x := s.index.Load()
	names := slices.Clone(x.Members(s.place.shard))
	if x.Source != "" {
		names = append(names, x.Source)
	}
	right := s.compared.right()
	for _, name := range names {
		if name == s.n.o.Name || len(right) > 0 && !slices.Contains(right, name) {
			continue
		}
		from := source{node: name}
		if b, ok := s.n.view.Of(name); ok && time.Since(b.At) < heardWithin {
			if r := b.Replica(s.place.index, s.place.epoch, s.place.shard); r != nil && (State(r.State) == Running || State(r.State) == Leaving) {
				from.sequence = r.Sequence
			}
		}
		all = append(all, from)
	}
	slices.SortStableFunc(all, func(a, b source) int { return cmp.Compare(b.sequence, a.sequence) })
	return all
}

// replace puts a copy of another replica into the place of this one, or nothing if the log has all entries.
// What has diverged is moved aside.
func (s *shard) replace(diverged bool) error {
	l, err := s.n.log(s.place)
	if err != nil {
		return err
	}
	b, err := l.Bounds(s.ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.state = Copying
	s.mu.Unlock()
	dir := s.n.dir(s.place)
	copied, why := s.copy(dir+copySuffix, b)
	if !copied && b.First > 1 {
		return fmt.Errorf("the log begins with entry %d, and no other replica can be copied: %w", b.First, why)
	}
	if diverged {
		err = os.Rename(dir, fmt.Sprintf("%s%s%d", dir, asideSuffix, time.Now().UnixNano()))
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	} else {
		err = os.RemoveAll(dir)
	}
	if err == nil && copied {
		err = os.Rename(dir+copySuffix, dir)
	}
	if err == nil { // others may go, and the log be trimmed, because this one is there
		err = copies.SyncFolder(filepath.Dir(dir))
	}
	if err != nil {
		return err
	}
	s.compared.forget()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state, s.at, s.durable = Starting, replica.Position{}, 0
	return nil
}

// copy fetches a copy of another replica, from which the log can be read on, from one that has it.
func (s *shard) copy(dir string, b oplog.Bounds) (copied bool, err error) {
	select {
	case s.n.fetching <- struct{}{}:
	case <-s.ctx.Done():
		return false, s.ctx.Err()
	}
	defer func() { <-s.n.fetching }()
	if err := os.RemoveAll(dir); err != nil {
		return false, err
	}
	sources := s.sources()
	if len(sources) == 0 {
		return false, errors.New("there is none")
	}
	var errs []error
	for _, from := range sources {
		err := s.copyFrom(from.node, dir, b)
		if err == nil {
			return true, nil
		}
		if s.ctx.Err() != nil {
			return false, s.ctx.Err()
		}
		errs = append(errs, fmt.Errorf("node %s: %w", from.node, err))
	}
	return false, errors.Join(errs...)
}

// ticketTimeout is how long a node may take to give a ticket.
const ticketTimeout = 5 * time.Second

func (s *shard) copyFrom(node, dir string, b oplog.Bounds) (err error) {
	ctx, cancel := context.WithTimeout(s.ctx, ticketTimeout)
	defer cancel()
	to, err := call.Do(ctx, s.n.o.Conn, node, &call.Request{Verb: call.Copy, Index: s.place.index, Epoch: s.place.epoch, Shard: s.place.shard})
	if err != nil {
		return err
	}
	p, err := replica.ParsePosition(to.Position)
	if err == nil {
		err = fits(p, b)
	}
	if err != nil {
		return err
	}
	_, err = copies.Fetch(s.ctx, dir, copies.FetchOptions{Address: to.Address, Ticket: to.Ticket, TLS: s.n.o.Copies.TLS})
	if err == nil {
		err = s.verify(dir, b)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	return nil
}

// fits returns an error unless a log can be read on from a position.
func fits(p replica.Position, b oplog.Bounds) error {
	switch {
	case p.Identity != b.Identity:
		return fmt.Errorf("its copy is of log %s, not of %s", p.Identity, b.Identity)
	case p.Sequence+1 < b.First || p.Sequence > b.Last:
		return fmt.Errorf("its copy ends with entry %d, the log has %d to %d", p.Sequence, b.First, b.Last)
	}
	return nil
}

// verify opens a copy and reads all of it.
func (s *shard) verify(dir string, b oplog.Bounds) (err error) {
	e, err := s.n.engine(dir, nil, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	at, err := e.Position()
	if err != nil {
		return err
	}
	p, err := replica.ParsePosition(at)
	if err != nil {
		return err
	}
	b.Last = max(b.Last, p.Sequence) // the log has grown meanwhile
	if err := fits(p, b); err != nil {
		return err
	}
	var faults []error
	if err := e.Check(s.ctx, func(fault error) { faults = append(faults, fault) }); err != nil {
		return err
	}
	return errors.Join(faults...)
}

// checkpoint writes a checkpoint of the replica.
func (s *shard) checkpoint(ctx context.Context, dir string) error {
	s.mu.Lock()
	r := s.replica
	s.mu.Unlock()
	if r == nil {
		return errNotRunning
	}
	var engine *riffle.Engine // which may be closed meanwhile
	if err := r.Use(func(e *riffle.Engine) error { engine = e; return nil }); err != nil {
		return err
	}
	// What is in memory is sealed first. Otherwise who opens the copy indexes it again, and so does the next one.
	if err := engine.Flush(ctx); err != nil {
		return err
	}
	return engine.Checkpoint(ctx, dir)
}

var errNotRunning = errors.New("node: the replica does not run")
