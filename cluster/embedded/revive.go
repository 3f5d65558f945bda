package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// A server whose disk is full switches JetStream off, and leaves it so until it is started again: its copies
// of all streams are gone until then, although the disk may have room a minute later.
const (
	reviveEvery = time.Second
	reviveRoom  = 16 << 20 // bytes that the disk must have
)

// revive switches JetStream on again when the disk has room, until the server is closed.
func (s *Server) revive() {
	tick := time.NewTicker(reviveEvery)
	defer tick.Stop()
	for off := 0; ; {
		select {
		case <-tick.C:
		case <-s.stop:
			return
		}
		if s.s.JetStreamEnabled() {
			off = 0
			continue
		}
		if off++; off == 1 { // it may be ending
			s.log.Warn("JetStream is off", "server", s.s.Name())
			continue
		}
		err := room(s.dir)
		if err == nil {
			err = s.enable()
		}
		if err != nil {
			s.log.Warn("JetStream stays off", "server", s.s.Name(), "error", err)
		} else {
			s.log.Warn("JetStream is on again", "server", s.s.Name())
		}
	}
}

// enable switches JetStream on as the start of the server does: options that the server has count.
func (s *Server) enable() error {
	return s.s.EnableJetStream(&server.JetStreamConfig{StoreDir: s.dir, MaxStore: s.maxBytes})
}

// room returns an error unless a folder's disk has room.
func room(dir string) error {
	name := filepath.Join(dir, "room")
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	block := make([]byte, 1<<20)
	for range reviveRoom / len(block) {
		if _, err = f.Write(block); err != nil {
			break
		}
	}
	return errors.Join(err, f.Close(), os.Remove(name))
}
