package copies

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// ServerOptions configure a Server.
type ServerOptions struct {
	Dir string // for checkpoints while they are fetched; the server removes what is in it

	// Listen is the address, HOST:PORT; empty is a free port of this machine, which only processes of this
	// machine reach. Without TLS it must be a loopback address.
	Listen string

	// Advertise is the address at which others reach the server; empty is that at which it listens, which
	// then must name a host.
	Advertise string

	TLS *tls.Config // nil for none; see the package comment

	IdleTimeout time.Duration // how long an unused ticket is kept; 0 is two minutes
	Log         *slog.Logger  // nil for none
}

// A Server gives copies to those who have a ticket. Its methods are safe for concurrent use.
type Server struct {
	o        ServerOptions
	address  string
	http     *http.Server
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup
	mu       sync.Mutex
	tickets  map[string]*ticket
	finished bool
}

// A ticket stands for a copy.
type ticket struct {
	checkpoint func(ctx context.Context, dir string) error
	dir        string
	timer      *time.Timer // ends the ticket while nobody uses it

	mu    sync.Mutex // held while the checkpoint is made
	files *Manifest

	using int // guarded by Server.mu
	ended bool
}

// Serve starts a server, which Close must stop.
func Serve(o ServerOptions) (*Server, error) {
	if o.Dir == "" {
		return nil, errors.New("copies: ServerOptions lack the directory")
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.IdleTimeout == 0 {
		o.IdleTimeout = 2 * time.Minute
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := os.RemoveAll(o.Dir); err != nil { // of a process that was killed
		return nil, fmt.Errorf("copies: %w", err)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("copies: %w", err)
	}
	listener, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return nil, fmt.Errorf("copies: %w", err)
	}
	s := &Server{o: o, address: o.Advertise, tickets: map[string]*ticket{}}
	if s.address == "" {
		s.address = listener.Addr().String()
	}
	if err := s.checkAddress(listener.Addr()); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/{ticket}", s.with(s.manifest))
	mux.HandleFunc("GET /v1/{ticket}/{path...}", s.with(s.file))
	mux.HandleFunc("DELETE /v1/{ticket}", s.with(s.finish))
	s.http = &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: o.IdleTimeout, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return s.ctx },
		ErrorLog:    slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	if o.TLS != nil {
		s.http.TLSConfig = o.TLS.Clone()
	}
	s.running.Go(func() {
		var err error
		if o.TLS != nil {
			err = s.http.ServeTLS(listener, "", "")
		} else {
			err = s.http.Serve(listener)
		}
		if !errors.Is(err, http.ErrServerClosed) {
			o.Log.Error("the server of copies has ended", "error", err)
		}
	})
	return s, nil
}

func (s *Server) checkAddress(at net.Addr) error {
	tcp, ok := at.(*net.TCPAddr)
	switch {
	case s.o.TLS == nil && (!ok || !tcp.IP.IsLoopback() || !loopback(s.address)):
		return fmt.Errorf("copies: %v, advertised as %s, is not of this machine alone; give a TLS configuration", at, s.address)
	case s.o.TLS != nil && len(s.o.TLS.Certificates) == 0 && s.o.TLS.GetCertificate == nil && s.o.TLS.GetConfigForClient == nil:
		return errors.New("copies: the TLS configuration has no certificate")
	case s.o.Advertise == "" && ok && tcp.IP.IsUnspecified():
		return fmt.Errorf("copies: others cannot reach %v; give the address to advertise", at)
	}
	return nil
}

// Address returns where others reach the server.
func (s *Server) Address() string { return s.address }

// Close ends all tickets and removes their files.
func (s *Server) Close() error {
	s.cancel()
	err := s.http.Close()
	s.running.Wait()
	s.mu.Lock()
	s.finished = true
	for name := range s.tickets {
		s.end(name)
	}
	s.mu.Unlock()
	for { // handlers may still run: Close of an http.Server does not wait for them
		s.mu.Lock()
		busy := 0
		for _, t := range s.tickets {
			busy += t.using
		}
		s.mu.Unlock()
		if busy == 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return errors.Join(err, os.RemoveAll(s.o.Dir))
}

// Ticket returns a ticket for a copy. checkpoint is called when somebody comes with it: it writes the
// files into a directory, which it makes.
func (s *Server) Ticket(checkpoint func(ctx context.Context, dir string) error) (string, error) {
	name := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished {
		return "", errors.New("copies: the server is closed")
	}
	t := &ticket{checkpoint: checkpoint, dir: filepath.Join(s.o.Dir, name)}
	t.timer = time.AfterFunc(s.o.IdleTimeout, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.end(name)
	})
	s.tickets[name] = t
	return name, nil
}

// Tickets returns how many tickets there are.
func (s *Server) Tickets() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.tickets)
}

// end ends a ticket, at once or when nobody uses it any more. The caller holds mu.
func (s *Server) end(name string) {
	t := s.tickets[name]
	if t == nil {
		return
	}
	t.ended = true
	t.timer.Stop()
	if t.using > 0 {
		return
	}
	delete(s.tickets, name)
	if err := os.RemoveAll(t.dir); err != nil {
		s.o.Log.Error("the files of a copy cannot be removed", "dir", t.dir, "error", err)
	}
}

// with calls a handler with the ticket of a request.
func (s *Server) with(handle func(http.ResponseWriter, *http.Request, *ticket)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("ticket")
		s.mu.Lock()
		t := s.tickets[name]
		if t == nil || t.ended {
			s.mu.Unlock()
			http.Error(w, "no such ticket", http.StatusNotFound)
			return
		}
		t.using++
		t.timer.Stop()
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if t.using--; t.using > 0 {
				return
			}
			if t.ended {
				s.end(name)
				return
			}
			t.timer.Reset(s.o.IdleTimeout)
		}()
		handle(w, r, t)
	}
}

func (s *Server) manifest(w http.ResponseWriter, r *http.Request, t *ticket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.files == nil {
		m, err := s.checkpoint(t)
		if err != nil {
			s.o.Log.Warn("no checkpoint can be made for a copy", "error", err)
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		t.files = m
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(t.files) // a client that is gone is no error of ours
}

// checkpoint makes the checkpoint of a ticket. It goes on when the client has gone: it may come again.
func (s *Server) checkpoint(t *ticket) (*Manifest, error) {
	if err := os.RemoveAll(t.dir); err != nil {
		return nil, err
	}
	if err := t.checkpoint(s.ctx, t.dir); err != nil {
		return nil, err
	}
	return Describe(t.dir)
}

func (s *Server) file(w http.ResponseWriter, r *http.Request, t *ticket) {
	path := r.PathValue("path")
	t.mu.Lock()
	known := false
	if t.files != nil {
		for i := range t.files.Files {
			known = known || t.files.Files[i].Path == path
		}
	}
	t.mu.Unlock()
	if !known {
		http.Error(w, "no such file", http.StatusNotFound)
		return
	}
	f, err := os.Open(filepath.Join(t.dir, filepath.FromSlash(path)))
	if err != nil {
		http.Error(w, "the file cannot be read", http.StatusInternalServerError)
		return
	}
	defer f.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", time.Time{}, f)
}

func (s *Server) finish(w http.ResponseWriter, r *http.Request, t *ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.ended = true // its last user, this request, removes it
	w.WriteHeader(http.StatusNoContent)
}
