package main

import (
	"crypto/tls"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// reloadEvery is how often files are looked at. It costs two calls of the system a second, and works where
// notifications do not: on network file systems, and where a link is exchanged as Kubernetes does.
const reloadEvery = time.Second

// A reloaded is files that are read again together.
type reloaded struct {
	flag  string
	paths []string
	load  func() error // keeps what it has if it fails
	seen  []fs.FileInfo
}

// changed says whether the files differ from those at its last call.
func (w *reloaded) changed() bool {
	now, differ := make([]fs.FileInfo, len(w.paths)), false
	for i, path := range w.paths {
		now[i], _ = os.Stat(path)
		differ = differ || w.seen != nil && !sameFile(w.seen[i], now[i])
	}
	w.seen = now
	return differ
}

func sameFile(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// reload reads files again when they change and on SIGHUP. What cannot be read is logged, and the last state of it stays.
func reload(log *slog.Logger, files []*reloaded) (stop func()) {
	if len(files) == 0 {
		return func() {}
	}
	for _, w := range files {
		w.changed()
	}
	hangup, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hangup, syscall.SIGHUP)
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(reloadEvery)
		defer tick.Stop()
		for {
			asked := false
			select {
			case <-done:
				return
			case <-hangup:
				asked = true
			case <-tick.C:
			}
			for _, w := range files {
				if !w.changed() && !asked {
					continue
				}
				if err := w.load(); err != nil {
					log.Error("not read again", "flag", w.flag, "error", err)
				} else {
					log.Info("read again", "flag", w.flag)
				}
			}
		}
	})
	return func() {
		signal.Stop(hangup)
		close(done)
		wg.Wait()
	}
}

// A certificate is the server's, as its files have it.
type certificate struct {
	certFile, keyFile string
	pair              atomic.Pointer[tls.Certificate]
}

func (c *certificate) load() error {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return err
	}
	c.pair.Store(&pair)
	return nil
}

// config returns a configuration that serves the newest certificate.
func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.pair.Load(), nil },
	}
}
