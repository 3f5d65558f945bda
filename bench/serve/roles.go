package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/server"
)

// roles are what a process of this program can be that another one has started.
var roles = map[string]func() error{"engine": engineAlone, "riffle": serveRiffle, "nethttp": serveNothing, "bleve": serveBleve}

// engineTimes is what the engine alone takes.
type engineTimes struct {
	perSecond float64
	served    float64         // queries a second of riffle's server, once it has been measured
	cpu       time.Duration   // a query
	times     []time.Duration // of the queries, one after the other
}

// reportedTimes is how engineTimes goes from one process to the other.
type reportedTimes struct {
	PerSecond float64
	CPU       time.Duration
	Times     []time.Duration
}

// engineAlone prints how many queries a second the engine answers with a goroutine for each core, and how long each takes.
func engineAlone() error {
	queries, err := readQueries()
	if err != nil {
		return err
	}
	e, err := riffle.Open(indexDir("riffle"), &riffle.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer e.Close()
	times := make([]time.Duration, len(queries))
	run := func(d time.Duration) (int64, error) {
		var n atomic.Int64
		var failed atomic.Pointer[error]
		var wg sync.WaitGroup
		end := time.Now().Add(d)
		for range *cores {
			wg.Go(func() {
				for start := time.Now(); start.Before(end); {
					i := int(n.Add(1)) % len(queries)
					if _, err := e.Search(context.Background(), match(queries[i]), &riffle.SearchOptions{K: *k}); err != nil {
						failed.Store(&err)
						return
					}
					now := time.Now()
					if took := now.Sub(start); *cores == 1 && (times[i] == 0 || took < times[i]) {
						times[i] = took // the least of all rounds: what others on this machine did is no part of it
					}
					start = now
				}
			})
		}
		wg.Wait()
		if err := failed.Load(); err != nil {
			return 0, *err
		}
		return n.Load(), nil
	}
	if _, err := run(*length / 2); err != nil { // lists are loaded
		return err
	}
	var before, after unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &before); err != nil {
		return err
	}
	n, err := run(*length)
	if err != nil {
		return err
	}
	if err := unix.Getrusage(unix.RUSAGE_SELF, &after); err != nil {
		return err
	}
	used := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
	return json.NewEncoder(os.Stdout).Encode(reportedTimes{float64(n) / length.Seconds(), used / time.Duration(n), times})
}

// serve serves a handler, prints the address, and ends with its standard input.
func serve(h http.Handler) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return http.Serve(listener, h)
}

// serveRiffle is riffle's server as the command riffle serve has it, with figures of searches.
func serveRiffle() error {
	s, err := server.New(nil)
	if err != nil {
		return err
	}
	e, err := riffle.Open(indexDir("riffle"), &riffle.Options{ReadOnly: true, Listener: s.Listener("bench")})
	if err != nil {
		return err
	}
	defer e.Close()
	if err := s.Mount("bench", e); err != nil {
		return err
	}
	return serve(s)
}

// serveNothing reads requests and sends as many bytes as riffle does: what net/http and the connection take, whoever answers.
func serveNothing() error {
	const answerBytes = 650
	body := make([]byte, answerBytes)
	for i := range body {
		body[i] = ' '
	}
	return serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(body)
	}))
}
