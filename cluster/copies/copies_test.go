package copies

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// files are those of a copy in the tests: small ones, one of some megabytes, one that is empty.
func files(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	large := make([]byte, 3<<20)
	rand.Read(large)
	for name, content := range map[string]string{"a": "one", "log/b %": "two", "empty": "", "large": string(large)} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, []byte(content), 0o640)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func serve(t *testing.T, config *tls.Config) *Server {
	t.Helper()
	s, err := Serve(ServerOptions{Dir: filepath.Join(t.TempDir(), "copies"), TLS: config})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(s.o.Dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", s.o.Dir, err)
		}
	})
	return s
}

func ticketFor(t *testing.T, s *Server, dir string) string {
	t.Helper()
	ticket, err := s.Ticket(func(_ context.Context, to string) error { return os.CopyFS(to, os.DirFS(dir)) })
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

func same(t *testing.T, got, want string) {
	t.Helper()
	m, err := Describe(want)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Verify(got); err != nil || len(m.Files) != 4 {
		t.Errorf("%d files: %v", len(m.Files), err)
	}
}

// certificate returns a configuration for both ends, with a certificate of its own for 127.0.0.1.
func certificate(t *testing.T) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "node"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(c)
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		RootCAs:      pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}
}

// TestFetch copies with TLS and without. Afterwards the ticket is gone, and so are its files.
func TestFetch(t *testing.T) {
	own := certificate(t)
	for name, config := range map[string]*tls.Config{"plain": nil, "tls": own} {
		t.Run(name, func(t *testing.T) {
			from, s := files(t), serve(t, config)
			o := FetchOptions{Address: s.Address(), Ticket: ticketFor(t, s, from), TLS: config}
			to := filepath.Join(t.TempDir(), "x", "copy")
			if _, err := Fetch(t.Context(), to, o); err != nil {
				t.Fatal(err)
			}
			same(t, to, from)
			if s.Tickets() != 0 {
				t.Error("the ticket is still there")
			}
			if _, err := Fetch(t.Context(), to+"2", o); !errors.Is(err, ErrTicket) {
				t.Errorf("with a used ticket: %v", err)
			}
			if _, err := os.Stat(to + "2"); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("something is left: %v", err)
			}
		})
	}
	s := serve(t, own)
	for name, config := range map[string]*tls.Config{"a stranger": certificate(t), "no certificate": {RootCAs: own.RootCAs}} {
		o := FetchOptions{Address: s.Address(), Ticket: ticketFor(t, s, files(t)), TLS: config, Retries: 1, Pause: time.Millisecond}
		if _, err := Fetch(t.Context(), filepath.Join(t.TempDir(), "copy"), o); err == nil {
			t.Errorf("%s has got a copy", name)
		}
	}
}

// TestAddresses: without TLS nothing leaves the machine.
func TestAddresses(t *testing.T) {
	for _, o := range []ServerOptions{
		{Listen: "0.0.0.0:0"}, {Listen: "127.0.0.1:0", Advertise: "example.org:1"}, {Listen: "0.0.0.0:0", Advertise: "127.0.0.1:1"},
		{Listen: "0.0.0.0:0", TLS: certificate(t)}, {TLS: &tls.Config{}},
	} {
		o.Dir = filepath.Join(t.TempDir(), "x")
		if s, err := Serve(o); err == nil {
			t.Errorf("%+v is served at %s", o, s.Address())
			s.Close()
		}
	}
	if _, err := Fetch(t.Context(), filepath.Join(t.TempDir(), "x"), FetchOptions{Address: "example.org:1", Ticket: "x"}); err == nil || !strings.Contains(err.Error(), "TLS") {
		t.Error(err)
	}
}

// A breaking proxy passes so many bytes of each connection and then closes it.
func breaking(t *testing.T, to string, bytes int64) (address string, connections *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	connections = &atomic.Int64{}
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			go func() { io.Copy(out, in); out.Close() }()
			go func() { io.CopyN(in, out, bytes); in.Close(); out.Close() }()
		}
	}()
	return l.Addr().String(), connections
}

// TestBroken copies over connections that break after 700 KB: Fetch goes on where they ended.
func TestBroken(t *testing.T) {
	from, s := files(t), serve(t, nil)
	address, connections := breaking(t, s.Address(), 700<<10)
	to := filepath.Join(t.TempDir(), "copy")
	o := FetchOptions{Address: address, Ticket: ticketFor(t, s, from), Retries: 1, Pause: time.Millisecond}
	if _, err := Fetch(t.Context(), to, o); err != nil {
		t.Fatal(err)
	}
	same(t, to, from)
	if n := connections.Load(); n < 5 || n > 12 {
		t.Errorf("%d connections", n)
	}
}

// TestDamaged serves a file that is not what the manifest says. It is fetched twice, and nothing is left.
func TestDamaged(t *testing.T) {
	from, s := files(t), serve(t, nil)
	ticket := ticketFor(t, s, from)
	s.mu.Lock()
	tick := s.tickets[ticket]
	s.mu.Unlock()
	m, err := s.checkpoint(tick)
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.Files {
		if m.Files[i].Path == "a" {
			m.Files[i].Sum = "0123456789abcdef"
		}
	}
	tick.files = m
	to := filepath.Join(t.TempDir(), "copy")
	if _, err := Fetch(t.Context(), to, FetchOptions{Address: s.Address(), Ticket: ticket, Pause: time.Millisecond}); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Error(err)
	}
	if _, err := os.Stat(to); !errors.Is(err, os.ErrNotExist) {
		t.Error("something is left")
	}
}

// TestIdle: a ticket that nobody uses ends, and one whose checkpoint fails says why.
func TestIdle(t *testing.T) {
	s, err := Serve(ServerOptions{Dir: filepath.Join(t.TempDir(), "copies"), IdleTimeout: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ticketFor(t, s, t.TempDir())
	for end := time.Now().Add(10 * time.Second); s.Tickets() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the ticket is still there")
		}
	}
	slow := serve(t, nil)
	ticket, err := slow.Ticket(func(context.Context, string) error { return errors.New("no space") })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Fetch(t.Context(), filepath.Join(t.TempDir(), "copy"), FetchOptions{Address: slow.Address(), Ticket: ticket}); err == nil || !strings.Contains(err.Error(), "no space") {
		t.Error(err)
	}
}

func TestManifest(t *testing.T) {
	for _, path := range []string{"", "/etc/passwd", "../x", "a/../../x", ".", `a\b`} {
		m := Manifest{Version: 1, Files: []File{{Path: path}}}
		if err := m.check(); err == nil {
			t.Errorf("%q is allowed", path)
		}
	}
	dir := files(t)
	m, err := Describe(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(m.Bytes()); got != fmt.Sprint(3<<20+6) {
		t.Errorf("%s bytes", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("oen"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := m.Verify(dir); err == nil {
		t.Error("a changed file is not noticed")
	}
	if err := os.Remove(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	if err := m.Verify(dir); err == nil {
		t.Error("a missing file is not noticed")
	}
}
