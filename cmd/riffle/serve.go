package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/server"
)

// serveFlags are the flags of riffle serve.
type serveFlags struct {
	dir    string
	dbs    []string // NAME=DIR, or DIR for its last part as the name
	listen string
	keys   string
	open   bool // without keys, for others than this machine
	stop   time.Duration
}

func newServe() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve {--dir DIR | --db [NAME=]DIR...}",
		Short: "Serve indexes over HTTP, with a page",
		Long: `Serves indexes over HTTP, and a page to search them and to look inside. With --dir every
folder of DIR that is an index is served, and clients can create and drop indexes in it. With --db
single indexes are served, too, under the names of their folders or others.

Listens on this machine alone unless --listen says otherwise. For other machines give --keys, a file
with a line for each key, which riffle key makes. The first interrupt, or SIGTERM, lets requests under
way end.`,
		Args: cobra.NoArgs,
	}
	c.RunE = func(c *cobra.Command, _ []string) error { return serve(c.Context(), &f, c.ErrOrStderr()) }
	c.Flags().StringVar(&f.dir, "dir", "", "directory with an index in each folder; made if it does not exist")
	c.Flags().StringArrayVar(&f.dbs, "db", nil, "directory of an index, or NAME=DIR; may be repeated")
	c.Flags().StringVar(&f.listen, "listen", "127.0.0.1:7700", "address and port")
	c.Flags().StringVar(&f.keys, "keys", "", "file of API keys")
	c.Flags().BoolVar(&f.open, "no-keys", false, "serve other machines without keys: everybody may do everything")
	c.Flags().DurationVar(&f.stop, "stop-timeout", 30*time.Second, "how long requests under way may take at the end")
	c.MarkFlagDirname("dir")
	c.MarkFlagsOneRequired("dir", "db")
	return c
}

// serve serves until ctx ends.
func serve(ctx context.Context, f *serveFlags, log io.Writer) (err error) {
	o := &server.Options{Dir: f.dir, Log: slog.New(slog.NewTextHandler(log, nil))}
	if f.keys != "" {
		if o.Keys, err = readKeys(f.keys); err != nil {
			return err
		}
	}
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	if at := listener.Addr().(*net.TCPAddr); !at.IP.IsLoopback() && o.Keys == nil && !f.open {
		return usagef("%v is reached by other machines: give --keys, or --no-keys if everybody may do everything", at)
	}
	s, err := server.New(o)
	if err != nil {
		return err
	}
	closed := false
	defer func() {
		if !closed {
			err = errors.Join(err, s.Close(context.Background()))
		}
	}()
	for _, db := range f.dbs {
		name, dir, named := strings.Cut(db, "=")
		if !named {
			name, dir = filepath.Base(filepath.Clean(db)), db
		}
		e, err := openToChange(dir, &riffle.Options{})
		if err != nil {
			return err
		}
		defer closing(e, &err)
		if err := s.Mount(name, e); err != nil {
			return err
		}
	}
	h := &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn),
	}
	fmt.Fprintf(log, "Serving on http://%v\n", listener.Addr())
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	fmt.Fprintln(log, "Stopping: requests under way are being answered.")
	end, cancel := context.WithTimeout(context.Background(), f.stop)
	defer cancel()
	err = h.Shutdown(end)
	closed = true
	return errors.Join(err, s.Close(end))
}

func readKeys(path string) (*server.Keys, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return server.ReadKeys(file)
}
