package server

import (
	"archive/tar"
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/riffle-search/riffle/client"
)

// compact merges all segments of an index into one.
func (s *Server) compact(w http.ResponseWriter, r *http.Request) error {
	ix, err := s.findEngine(r)
	if err != nil {
		return err
	}
	if err := ix.engine.Compact(r.Context()); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// checkpoint answers with a copy of an index as a tar archive, which opens like any index after it has been unpacked.
func (s *Server) checkpoint(w http.ResponseWriter, r *http.Request) (err error) {
	ix, err := s.findEngine(r)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(s.opts.Dir, dropped+"copy-") // beside the indexes, for hard links
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	copied := filepath.Join(dir, ix.name)
	if err := ix.engine.Checkpoint(r.Context(), copied); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/x-tar")
	w.Header().Set("Content-Disposition", `attachment; filename="`+ix.name+`.tar"`)
	archive := tar.NewWriter(s.patiently(w))
	if err := archive.AddFS(os.DirFS(dir)); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return archive.Close()
}

// export answers with all documents of an index, as they are now, in the order of their ids: one a line, as
// client.Document. A client that was cut off goes on with the parameter from.
func (s *Server) export(w http.ResponseWriter, r *http.Request) error {
	ix, err := s.findEngine(r)
	if err != nil {
		return err
	}
	snap, err := ix.engine.Snapshot()
	if err != nil {
		return err
	}
	defer snap.Close()
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := bufio.NewWriterSize(s.patiently(w), 32<<10)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for d, err := range snap.Documents(r.URL.Query().Get("from")) {
		if err != nil {
			return err
		}
		if err := enc.Encode(client.Document{ID: client.ID(d.ID), Version: d.Version, Fields: d.Fields}); err != nil {
			return err
		}
	}
	return out.Flush()
}

// minRate is how many bytes of a long answer a client must read in a second, on average, after MaxTimeout.
const minRate = 64 << 10

// A patient writes an answer of any length: the client has the time of a request for each part, not for all of it. One
// that is so slow that it would keep its turn for hours is cut off.
type patient struct {
	io.Writer
	conn    interface{ SetWriteDeadline(time.Time) error }
	opts    *Options
	began   time.Time
	written int64
}

// patiently returns the writer of a long answer.
func (s *Server) patiently(w http.ResponseWriter) *patient {
	return &patient{Writer: w, conn: http.NewResponseController(w), opts: s.opts, began: time.Now()}
}

func (p *patient) Write(b []byte) (int, error) {
	due := time.Now().Add(p.opts.Timeout)
	if last := p.began.Add(p.opts.MaxTimeout + time.Duration(p.written/minRate)*time.Second); last.Before(due) {
		due = last
	}
	p.conn.SetWriteDeadline(due) // not every ResponseWriter can
	n, err := p.Writer.Write(b)
	p.written += int64(n)
	return n, err
}
