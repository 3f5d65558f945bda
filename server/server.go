package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/riffle-search/riffle"
)

// A Server answers HTTP requests about indexes. It is safe for concurrent use.
type Server struct {
	opts    *Options
	keys    atomic.Pointer[Keys] // nil if everybody may do everything
	mux     *http.ServeMux
	gates   [queues]*gate // nil for noQueue
	origins http.CrossOriginProtection
	host    host
	stopped context.CancelFunc
	stop    context.Context // ends when the server is told to stop
	drains  atomic.Bool
	unread  budget         // bytes of answers that are being written
	arrived budget         // bytes of bodies that have been read before their requests have a turn
	active  sync.WaitGroup // requests under way
	mu      sync.Mutex     // guards the change from active to stopped

	metrics   *metrics
	histories histories
	cluster   clusterWatch
	kept      keptAnswers
	tracer    trace.Tracer
	planning  sync.Mutex // held while the lists of a slow query are counted
}

// A queue is a limit of concurrency that a request takes part in.
type queue uint8

const (
	noQueue queue = iota
	searchQueue
	writeQueue
	copyQueue
	queues
)

// New returns a Server with the indexes in Options.Dir, if that is set. Close it at the end.
func New(o *Options) (*Server, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{opts: opts, mux: http.NewServeMux()}
	s.keys.Store(opts.Keys)
	s.unread.most, s.arrived.most = opts.AnswerBytes, opts.AnswerBytes
	s.kept.most, s.kept.keep = opts.IdempotencyBytes, opts.IdempotencyTime
	s.tracer = opts.Tracer.Tracer(scope)
	if s.metrics, err = newMetrics(s, opts.Registry); err != nil {
		return nil, fmt.Errorf("server: Options.Registry: %w", err)
	}
	s.stop, s.stopped = context.WithCancel(context.Background())
	for _, origin := range opts.Origins {
		err := s.origins.AddTrustedOrigin(origin)
		if err == nil && strings.Contains(origin, "*") {
			err = fmt.Errorf("%q: sites are named, without a wildcard", origin)
		}
		if err != nil {
			return nil, fmt.Errorf("server: Options.Origins: %w", err)
		}
	}
	s.gates[searchQueue] = newGate(opts.Searches, opts.Queue)
	s.gates[writeQueue] = newGate(opts.Writes, opts.Queue)
	s.gates[copyQueue] = newGate(opts.Copies, opts.Queue)
	for i := range routes {
		s.mux.HandleFunc(routes[i].pattern, func(w http.ResponseWriter, r *http.Request) {
			setSlashID(r)
			s.serve(&routes[i], w.(*unrouted).to, r)
		})
	}
	s.host.listen, s.cluster.of = s.Listener, opts.Cluster
	s.host.cache.bytes, s.host.cache.mounted = opts.CacheBytes, o != nil && o.CacheBytes > 0
	s.host.forget = func(index string) {
		s.metrics.forget(index)
		s.histories.forget(index)
	}
	if err := s.host.open(opts); err != nil {
		return nil, errors.Join(err, s.host.close())
	}
	return s, nil
}

// Mount serves an open index under a name of 1 to 64 small letters, digits, dots, hyphens and underscores, the
// first of them a letter or a digit. The caller closes the engine, after the Server.
func (s *Server) Mount(name string, e *riffle.Engine) error {
	if err := s.host.add(&index{name: name, engine: e, at: engineReader{e}}); err != nil {
		return err
	}
	s.host.divideCache()
	return nil
}

// Drain announces the end: /readyz answers that the server is stopping, and every answer asks its client to close the
// connection. Requests are carried out as before. Called some time before the listener is closed, it makes load
// balancers look elsewhere, and leaves few connections on which a client sends a request while they are being closed.
func (s *Server) Drain() { s.drains.Store(true) }

// Close refuses new requests, waits until those under way have been answered, or until ctx ends, and then
// closes the indexes that the Server has opened. Nothing that has been acknowledged is lost.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	s.stopped()
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.active.Wait()
		close(done)
	}()
	select {
	case <-done:
		return s.host.close()
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("server: requests are still under way: %w", context.Cause(ctx)), s.host.close())
	}
}

// begin counts a request among those under way, unless the server is stopping.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop.Err() != nil {
		return false
	}
	s.active.Add(1)
	return true
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if s.drains.Load() {
		h.Set("Connection", "close")
	}
	for i := range ofAll {
		h[ofAll[i].name] = ofAll[i].value
	}
	if s.crossOrigin(w, r) {
		return
	}
	if err := s.sameSite(r); err != nil {
		s.refuse(w, faultOf(err))
		return
	}
	r = forSlashID(r)
	u := unrouted{to: w, r: r}
	if s.mux.ServeHTTP(&u, r); u.found() {
		return
	}
	p := kindNotFound.fault("%s", r.URL.Path)
	if u.lost.status == http.StatusMethodNotAllowed {
		h.Set("Allow", u.lost.header.Get("Allow"))
		p = kindMethod.fault("%s is not among %s", r.Method, u.lost.header.Get("Allow"))
	}
	s.refuse(w, p)
}

// ofAll are headers that all answers have. The answers share the values: nobody changes an element.
var ofAll = [...]struct {
	name  string
	value []string
}{
	{"X-Content-Type-Options", []string{"nosniff"}},
	{"Referrer-Policy", []string{"no-referrer"}},
	{"Cross-Origin-Resource-Policy", []string{"same-origin"}},
	{"Content-Security-Policy", []string{"default-src 'none'; frame-ancestors 'none'"}},
}

// refuse answers a request that gets to no route.
func (s *Server) refuse(w http.ResponseWriter, p *fault) {
	s.metrics.answered(outside, p.Status, 0)
	writeProblem(w, p)
}

// serve answers a request for a route: it checks the key, waits for a turn, and turns an error into a problem.
func (s *Server) serve(rt *route, w http.ResponseWriter, r *http.Request) {
	out := &answer{ResponseWriter: w, server: s, id: newRequestID(), route: rt.pattern}
	w.Header()["Riffle-Request"] = []string{out.id}
	start := time.Now()
	ctx := s.observed(rt.pattern, out, r)
	status, err := statusGone, error(nil)
	defer func() { s.ended(ctx, out, r, start, status, err) }()
	out.accepts = encodingOf(r.Header.Get("Accept-Encoding"))
	defer out.drop()
	if err = s.answer(ctx, rt, out, r, start); err == nil {
		out.finish()
		status = cmp.Or(out.status, http.StatusOK)
		return
	}
	late := !out.due.IsZero() && !time.Now().Before(out.due)
	if errors.Is(context.Cause(ctx), context.Canceled) && !late {
		panic(http.ErrAbortHandler) // the client has gone
	}
	if late && (errors.Is(err, context.Canceled) || errors.Is(err, os.ErrDeadlineExceeded)) {
		// net/http takes the end of the time for reading for the end of the connection.
		err = kindTimeout.caused(context.DeadlineExceeded)
	}
	p := *faultOf(err)
	p.Instance = out.id
	status = p.Status
	if out.began {
		panic(http.ErrAbortHandler) // the client must not take what it has for the whole answer
	}
	writeProblem(out, &p)
}

func (s *Server) answer(ctx context.Context, rt *route, w *answer, r *http.Request, start time.Time) (err error) {
	if !s.begin() {
		return kindStopping.fault("")
	}
	defer s.active.Done()
	defer func() {
		if fault := recover(); fault != nil {
			if fault == http.ErrAbortHandler {
				panic(fault)
			}
			err = fmt.Errorf("panic: %v\n%s", fault, debug.Stack())
		}
	}()
	if w.key, err = s.authorize(r, rt.role); err != nil {
		return err
	}
	timeout, err := s.timeout(rt, r)
	if err != nil {
		return err
	}
	w.due = start.Add(timeout)
	ctx, cancel := context.WithDeadline(ctx, w.due)
	defer cancel()
	// A client that sends or reads slowly holds a place in a queue no longer than its request may take.
	conn := http.NewResponseController(w.ResponseWriter)
	conn.SetReadDeadline(w.due)
	conn.SetWriteDeadline(w.due.Add(lastWords))
	r = r.WithContext(ctx)
	if key := r.Header.Get(idempotencyHeader); key != "" && rt.queue == writeQueue {
		return s.once(rt, w, r, key)
	}
	return s.turn(rt, w, r)
}

// turn waits for a turn and carries out a request.
func (s *Server) turn(rt *route, w *answer, r *http.Request) (err error) {
	if g := s.gates[rt.queue]; g != nil {
		if g.full() {
			return g.refuse()
		}
		release, err := s.arrive(w, r)
		defer release()
		if err != nil {
			return err
		}
		if err := w.admitted(g, g.enter(r.Context())); err != nil {
			return err
		}
		defer w.left()
	}
	return rt.handle(s, w, r)
}

// lastWords is how long a client may take to read that its request took too long.
const lastWords = 5 * time.Second

// timeout returns how long a request may take.
func (s *Server) timeout(rt *route, r *http.Request) (time.Duration, error) {
	text := ""
	if r.URL.RawQuery != "" {
		text = r.URL.Query().Get("timeout")
	}
	if text == "" && strings.HasPrefix(rt.pattern, profilePaths) {
		return s.opts.MaxTimeout, nil
	}
	if text == "" {
		return s.opts.Timeout, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > s.opts.MaxTimeout {
		p := kindRequest.fault("timeout must be a duration such as 500ms, of at most %v, not %q", s.opts.MaxTimeout, text)
		p.Part = "timeout"
		return 0, p
	}
	return d, nil
}

// An answer knows whether it has begun, and which turn it takes.
type answer struct {
	http.ResponseWriter
	server   *Server
	id       string // of the request
	route    string
	key      string // name of the API key
	span     trace.Span
	gate     *gate // nil if it has no turn, or none any more
	entered  time.Time
	arriving bool // a part of the body has yet to arrive
	due      time.Time
	began    bool
	status   int             // as sent
	written  int64           // bytes of the body
	accepts  string          // the encoding that the client likes best
	encoder  encoder         // of an answer that is sent in parts; nil if it is not compressed
	pending  *riffle.Pending // a batch that was under way when the time ended, and its outcome
	outcome  outcome
	record   *recorded // nil if the answer is not kept
}

// admitted notes that the turn of the request has begun, unless it could not.
func (a *answer) admitted(g *gate, err error) error {
	if err == nil {
		a.gate, a.entered = g, time.Now()
	}
	return err
}

// left ends the turn of the request.
func (a *answer) left() {
	if a.gate != nil {
		a.gate.leave(a.entered)
		a.gate = nil
	}
}

// whole writes the whole of an answer. The turn of the request ends before: others need not wait until a slow client has
// read. What such answers take together is bounded.
func (a *answer) whole(status int, data []byte) error {
	if a.record != nil {
		a.record.add(data)
	}
	h := a.Header()
	if compressible(status, h) {
		vary(h)
		if a.accepts != "" && len(data) >= minCompressed {
			var err error
			if data, err = compressed(data, a.accepts); err != nil {
				return err
			}
			encode(h, a.accepts)
		}
	}
	n := int64(len(data))
	if !a.server.unread.take(n) {
		h.Del("Content-Encoding")
		return kindBusy.fault("clients have not read %d bytes of answers", a.server.opts.AnswerBytes)
	}
	defer a.server.unread.give(n)
	a.left()
	a.began, a.status = true, status
	h["Content-Length"] = []string{strconv.FormatInt(n, 10)} // a longer answer would be sent in chunks
	a.ResponseWriter.WriteHeader(status)
	sent{a}.Write(data) // if the client has gone, nobody is left to tell
	return nil
}

// WriteHeader begins an answer that is sent in parts.
func (a *answer) WriteHeader(status int) {
	a.began, a.status = true, status
	if h := a.Header(); compressible(status, h) {
		vary(h)
		if a.accepts != "" {
			encode(h, a.accepts)
			a.encoder = encoders[a.accepts].Get().(encoder)
			a.encoder.Reset(sent{a})
		}
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (int, error) {
	if !a.began {
		a.WriteHeader(http.StatusOK)
	}
	if a.record != nil {
		a.record.add(b)
	}
	if a.encoder != nil {
		return a.encoder.Write(b)
	}
	return sent{a}.Write(b)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
