package embedded_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/riffle-search/riffle/cluster/access"
	"github.com/riffle-search/riffle/cluster/embedded"
	"github.com/riffle-search/riffle/internal/freeport"
)

// TestPortOfServers: a server in a cluster listens for clients, too, and lets none in.
func TestPortOfServers(t *testing.T) {
	s, err := embedded.Start(embedded.Options{Name: "a", Dir: t.TempDir(), Cluster: "c", Listen: "127.0.0.1:0", Routes: []string{freeAddress(t)}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if c, err := nats.Connect("nats://" + s.ClientAddress()); err == nil {
		c.Close()
		t.Error("a stranger is let in")
	}
	c, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

func TestOpen(t *testing.T) {
	s, err := embedded.Start(embedded.Options{Name: "a", Dir: t.TempDir(), Clients: "127.0.0.1:0", Open: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := nats.Connect("nats://" + s.ClientAddress())
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if c, err = s.Connect(); err != nil {
		t.Fatal(err)
	}
	c.Close()
	u, _, err := access.NewUser("a", access.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := embedded.Start(embedded.Options{Name: "b", Dir: t.TempDir(), Open: true, Users: []access.User{u}}); err == nil {
		s.Close()
		t.Error("a server is open and has users")
	}
}

// An authority signs certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t}
	a.cert, a.key = a.sign(&x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

func (a *authority) sign(c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, by := a.cert, a.key
	if parent == nil {
		parent, by = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by)
	if err != nil {
		a.t.Fatal(err)
	}
	signed, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return signed, key
}

// config returns the configuration of a server of this machine.
func (a *authority) config() *tls.Config {
	cert, key := a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "server"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}, RootCAs: pool, ClientCAs: pool}
}

// TestServerTLS: servers of one authority form a cluster; one of another, and one without TLS, do not get in.
func TestServerTLS(t *testing.T) {
	ours, others := newAuthority(t), newAuthority(t)
	var log lines
	first := freeAddress(t)
	start := func(name, listen string, c *tls.Config) *embedded.Server {
		t.Helper()
		s, err := embedded.Start(embedded.Options{
			Name: name, Dir: t.TempDir(), Cluster: "c", Listen: listen, Routes: []string{first}, ServerTLS: c, MaxBytes: 1 << 30,
			Log: slog.New(slog.NewTextHandler(&log, nil)).With("server", name),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s
	}
	a := start("a", first, ours.config())
	b := start("b", "127.0.0.1:0", ours.config())
	until(t, "a and b know each other", func() bool { return a.Peers() == 1 && b.Peers() == 1 })
	c := start("c", "127.0.0.1:0", others.config())
	until(t, "c has tried", func() bool { return log.has("server=c", "TLS route handshake error") })
	d := start("d", "127.0.0.1:0", nil)
	until(t, "d has tried", func() bool {
		return log.has("server=a", "TLS route handshake error", "first record does not look like a TLS handshake")
	})
	if c.Peers() != 0 || d.Peers() != 0 || a.Peers() != 1 {
		t.Errorf("servers: a has %d, c %d, d %d others", a.Peers(), c.Peers(), d.Peers())
	}
}

// TestClientTLS: with a certificate, clients speak TLS; with ClientAuth they must have one themselves.
func TestClientTLS(t *testing.T) {
	ours := newAuthority(t)
	u, seed, err := access.NewUser("a", access.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := access.Options(seed)
	if err != nil {
		t.Fatal(err)
	}
	for _, mutual := range []bool{false, true} {
		config := ours.config()
		if mutual {
			config.ClientAuth = tls.RequireAndVerifyClientCert
		}
		s, err := embedded.Start(embedded.Options{Name: "a", Dir: t.TempDir(), Clients: "127.0.0.1:0", Users: []access.User{u}, ClientTLS: config, MaxBytes: 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		known, bare := ours.config(), ours.config()
		bare.Certificates = nil
		for _, try := range []struct {
			what   string
			config *tls.Config
			may    bool
		}{{"a certificate", known, true}, {"no certificate", bare, !mutual}, {"another authority", newAuthority(t).config(), false}} {
			c, err := nats.Connect("nats://"+s.ClientAddress(), append(key, nats.Secure(try.config))...)
			if err == nil {
				c.Close()
			}
			if (err == nil) != try.may {
				t.Errorf("mutual %v, with %s: %v", mutual, try.what, err)
			}
		}
		c, err := s.Connect()
		if err != nil {
			t.Errorf("in the process: %v", err)
			continue
		}
		c.Close()
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := freeport.Address()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// has reports whether a line has all of some parts.
func (l *lines) has(parts ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
next:
	for line := range strings.Lines(l.text.String()) {
		for _, part := range parts {
			if !strings.Contains(line, part) {
				continue next
			}
		}
		return true
	}
	return false
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(fmt.Sprint("not within 20 s: ", what))
		}
	}
}
