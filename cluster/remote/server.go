package remote

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/scatter"
)

// A Replica is what a Server searches. *replica.Replica is one.
type Replica interface {
	// Use calls use with the index, which stays open meanwhile.
	Use(use func(*riffle.Engine) error) error

	// Wait waits until the replica has applied the entry with a sequence.
	Wait(ctx context.Context, sequence uint64) error
}

// ServerOptions configure a Server. The zero value has the defaults.
type ServerOptions struct {
	Requests int           // that may be under way; others fail with ErrBusy at once; 0 is 256
	Leases   int           // snapshots that may be held; 0 is 1,024
	LeaseFor time.Duration // how long a snapshot is held after its last request; 0 is 30 s

	MessageBytes     int   // of aggregations in a reply; others follow in more replies; 0 is 512 KiB
	AggregationBytes int64 // of a search, beyond which it fails with ErrAggregations; 0 is 64 MiB
}

// A Server answers the requests of other nodes about one replica.
type Server struct {
	replica  Replica
	o        ServerOptions
	instance string

	mu       sync.Mutex
	requests int
	calls    map[string]bool // names of requests under way
	leases   map[string]*lease
	sweep    *time.Timer // runs while there are leases
	closed   bool
}

// A lease is a snapshot that a session uses.
type lease struct {
	snapshot *riffle.Snapshot
	using    int
	expires  time.Time
	ended    bool   // it is closed when nobody uses it
	attached []byte // what the last reply did not have all of
}

// NewServer returns a server, which Close must stop.
func NewServer(r Replica, o ServerOptions) *Server {
	if o.Requests == 0 {
		o.Requests = 256
	}
	if o.Leases == 0 {
		o.Leases = 1024
	}
	if o.LeaseFor == 0 {
		o.LeaseFor = 30 * time.Second
	}
	if o.MessageBytes == 0 {
		o.MessageBytes = 512 << 10
	}
	if o.AggregationBytes == 0 {
		o.AggregationBytes = 64 << 20
	}
	return &Server{replica: r, o: o, instance: rand.Text(), calls: map[string]bool{}, leases: map[string]*lease{}}
}

// Close ends all leases. Later requests fail.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for id := range s.leases {
		s.end(id)
	}
	if s.sweep != nil {
		s.sweep.Stop()
	}
}

// Leases returns how many snapshots are held.
func (s *Server) Leases() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.leases)
}

// Load returns how many requests are under way, and how many snapshots are held.
func (s *Server) Load() (requests, leases int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests, len(s.leases)
}

// Handle answers a request. When ctx ends, the caller asks another replica.
func (s *Server) Handle(ctx context.Context, data []byte) []byte {
	to := &reply{Version: messageVersion, Instance: s.instance}
	if err := s.handle(ctx, data, to); err != nil {
		if ctx.Err() != nil { // the server stops; the caller's deadline is in the request
			err = fmt.Errorf("%w: %w", riffle.ErrClosed, err)
		}
		to = &reply{Version: messageVersion, Instance: s.instance, Lease: to.Lease, Revision: to.Revision, Error: faultOf(err)}
	}
	b, err := json.Marshal(to)
	if err != nil {
		to = &reply{Version: messageVersion, Instance: s.instance, Lease: to.Lease, Error: faultOf(err)}
		if b, err = json.Marshal(to); err != nil {
			panic(err) // a fault is two texts
		}
	}
	return join(b, to.attached)
}

func (s *Server) handle(ctx context.Context, data []byte, to *reply) error {
	var r request
	data, r.attached = cut(data)
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("the request: %w", err)
	}
	if r.Version != messageVersion {
		return fmt.Errorf("%w: version %d, it knows %d", ErrVersion, r.Version, messageVersion)
	}
	if r.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Timeout)
		defer cancel()
	}
	switch r.Verb {
	case verbPing:
		if r.Call != "" {
			working := s.working(r.Call)
			to.Working = &working
		}
		return nil
	case verbClose:
		s.giveBack(r.Lease)
		return nil
	}
	if err := s.admit(r.Call); err != nil {
		return err
	}
	defer s.leave(r.Call)
	if r.Lease == "" && r.AtLeast > 0 {
		if err := s.replica.Wait(ctx, r.AtLeast); err != nil {
			return err
		}
	}
	switch r.Verb {
	case verbGet:
		return s.get(ctx, &r, to)
	case verbFields:
		return s.replica.Use(func(e *riffle.Engine) (err error) {
			to.FieldStats, err = e.Fields()
			return err
		})
	}
	id, l, err := s.use(r.Lease)
	if err != nil {
		return err
	}
	defer s.used(l)
	to.Lease = id
	if r.Verb == verbMore {
		return s.more(l, &r, to)
	}
	if to.Revision, err = l.snapshot.Revision(); err != nil {
		return err
	}
	if r.If != "" && r.If != to.Revision {
		return scatter.ErrRevision
	}
	err = s.answer(ctx, l, &r, to)
	if r.Last && err == nil && to.Attached == len(to.attached) {
		s.giveBack(id)
		to.Lease = ""
	}
	return err
}

func (s *Server) get(ctx context.Context, r *request, to *reply) error {
	id, ok := r.documentID()
	if !ok {
		return errors.New("a request without the id of a document")
	}
	return s.replica.Use(func(e *riffle.Engine) error {
		fields, err := e.Get(ctx, id)
		to.Fields = valuesOf(fields)
		return err
	})
}

func (r *request) documentID() (string, bool) {
	if r.ID == nil {
		return "", false
	}
	id, ok := r.ID.of.(string)
	return id, ok
}

// answer answers a request from the snapshot of a lease.
func (s *Server) answer(ctx context.Context, l *lease, r *request, to *reply) error {
	snapshot := l.snapshot
	q, err := riffle.UnmarshalQuery(r.Query)
	if err != nil {
		return err
	}
	options, err := r.Options.searchOptions()
	if err != nil {
		return err
	}
	if len(r.attached) > 0 && options != nil {
		if options.Statistics, err = parseStatistics(r.attached); err != nil {
			return err
		}
	}
	switch r.Verb {
	case verbStatistics:
		own, err := snapshot.Statistics(ctx, q, options)
		if err != nil {
			return err
		}
		all, err := appendStatistics(nil, own)
		s.attach(l, to, all)
		return err
	case verbCount:
		to.Count, err = snapshot.Count(ctx, q)
	case verbExplain:
		id, ok := r.documentID()
		if !ok {
			return errors.New("a request without the id of a document")
		}
		to.Explanation, err = snapshot.Explain(ctx, q, id, options)
	case verbSearch, verbAggregate:
		found, err := snapshot.Search(ctx, q, options)
		if err != nil {
			return err
		}
		all, err := appendResult(nil, found)
		if err == nil {
			all, err = s.appendAggregations(all, found.PartialAggregations)
		}
		if err != nil {
			return err
		}
		s.attach(l, to, all)
	default:
		return fmt.Errorf("%w: %q", ErrVersion, r.Verb)
	}
	return err
}

func (s *Server) admit(call string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return riffle.ErrClosed
	}
	if s.requests >= s.o.Requests {
		return fmt.Errorf("%w: %d", ErrBusy, s.requests)
	}
	s.requests++
	if call != "" {
		s.calls[call] = true
	}
	return nil
}

// working reports whether a request is under way.
func (s *Server) working(call string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[call]
}

func (s *Server) leave(call string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests--
	delete(s.calls, call)
}

// use returns a lease, new if id is empty. The caller calls used.
func (s *Server) use(id string) (string, *lease, error) {
	if id == "" {
		return s.lease()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leases[id]
	if l == nil {
		return "", nil, ErrLease
	}
	l.using++
	return id, l, nil
}

// lease takes a snapshot.
func (s *Server) lease() (id string, l *lease, err error) {
	l = &lease{using: 1, expires: time.Now().Add(s.o.LeaseFor)}
	err = s.replica.Use(func(e *riffle.Engine) error {
		l.snapshot, err = e.Snapshot()
		return err
	})
	if err != nil {
		return "", nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.leases) >= s.o.Leases {
		l.snapshot.Close()
		if s.closed {
			return "", nil, riffle.ErrClosed
		}
		return "", nil, fmt.Errorf("%w: it holds %d snapshots", ErrBusy, len(s.leases))
	}
	id = rand.Text()
	s.leases[id] = l
	if len(s.leases) == 1 {
		s.sweep = time.AfterFunc(s.o.LeaseFor, s.expire)
	}
	return id, l, nil
}

func (s *Server) used(l *lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.expires = time.Now().Add(s.o.LeaseFor)
	if l.using--; l.ended && l.using == 0 {
		l.snapshot.Close()
	}
}

func (s *Server) giveBack(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(id)
}

// end ends a lease, if there is one. The caller holds mu.
func (s *Server) end(id string) {
	l := s.leases[id]
	if l == nil {
		return
	}
	delete(s.leases, id)
	if l.ended = true; l.using == 0 {
		l.snapshot.Close()
	}
}

// expire ends the leases whose time is over.
func (s *Server) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for id, l := range s.leases {
		if l.using == 0 && l.expires.Before(now) {
			s.end(id)
		}
	}
	if len(s.leases) > 0 && !s.closed {
		s.sweep = time.AfterFunc(s.o.LeaseFor/4, s.expire)
	}
}
