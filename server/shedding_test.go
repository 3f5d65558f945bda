package server

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"
)

// A countedBody has any number of bytes and counts those that are read.
type countedBody struct {
	left int64
	read int64
	fill byte
}

func (b *countedBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), b.left))
	for i := range p[:n] {
		p[i] = b.fill
	}
	b.left -= int64(n)
	b.read += int64(n)
	return n, nil
}

// TestFullQueue: when as many wait as may, a request is refused at once, unread, and told when to come back.
func TestFullQueue(t *testing.T) {
	s := newServer(t, &Options{Searches: 1, Writes: 1, Copies: 1, Queue: 2})
	prepareBooks(t, s)
	for _, test := range []struct {
		queue   queue
		request string
	}{
		{searchQueue, "POST /v1/indexes/books/search\n"},
		{writeQueue, "PUT /v1/indexes/books/documents/1\n"},
		{writeQueue, "POST /v1/indexes/books/documents\nContent-Type: application/x-ndjson\n"},
		{writeQueue, "PUT /v1/indexes/books/documents/1\nIdempotency-Key: k\n"},
		{copyQueue, "GET /v1/indexes/books/documents\n"},
	} {
		g := s.gates[test.queue]
		if err := g.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		var waiting sync.WaitGroup
		for range 2 {
			waiting.Go(func() {
				if err := g.enter(t.Context()); err != nil {
					t.Error(err)
				} else {
					g.leave(time.Now())
				}
			})
		}
		for g.waiting.Load() < 2 {
			time.Sleep(time.Millisecond)
		}
		before := g.refused.Load()
		r := readRequest(t, test.request)
		body := &countedBody{left: 100}
		r.Body, r.ContentLength = io.NopCloser(body), 100
		began := time.Now()
		res := send(s, r)
		after, err := strconv.Atoi(res.Header.Get("Retry-After"))
		if res.StatusCode != http.StatusTooManyRequests || err != nil || after < 1 || after > 60 || time.Since(began) > 5*time.Second {
			t.Errorf("%s%s after %v, Retry-After: %q", test.request, res.Status, time.Since(began), res.Header.Get("Retry-After"))
		}
		if body.read > 0 && test.queue != writeQueue || g.refused.Load() != before+1 {
			t.Errorf("%s%d bytes were read, and %d requests counted as refused", test.request, body.read, g.refused.Load()-before)
		}
		g.leave(time.Now())
		waiting.Wait()
	}
	if res := send(s, readRequest(t, "GET /v1/indexes/books/search?q=whale")); res.StatusCode != http.StatusOK {
		t.Errorf("when nobody waits any more: %s", res.Status)
	}
}

// bodyRoutes calls do with a request for each route that reads a body, and for bulk writes.
func bodyRoutes(t *testing.T, s *Server, do func(name string, limit int64, r *http.Request)) {
	for _, rt := range routes {
		if accessSamples[rt.pattern].body == "" && rt.pattern != "PUT /v1/indexes/{index}" {
			continue
		}
		do(rt.pattern, s.opts.MaxBody, accessRequest(t, rt.pattern))
	}
	r := accessRequest(t, "POST /v1/indexes/{index}/documents")
	r.Header.Set("Content-Type", "application/x-ndjson")
	do("bulk", s.opts.MaxBulk, r)
}

// TestLargeBodies: a body of 1 GB is refused at once if the request says so, and otherwise as soon as it is too long.
func TestLargeBodies(t *testing.T) {
	s := newServer(t, &Options{MaxBody: 1 << 20, MaxBulk: 4 << 20})
	prepareBooks(t, s)
	bodyRoutes(t, s, func(name string, limit int64, r *http.Request) {
		body := &countedBody{left: 1 << 30, fill: ' '}
		r.Body, r.ContentLength = io.NopCloser(body), 1<<30
		if res := send(s, r); res.StatusCode != http.StatusRequestEntityTooLarge || body.read != 0 {
			t.Errorf("%s: %s after %d bytes", name, res.Status, body.read)
		}
	})
	bodyRoutes(t, s, func(name string, limit int64, r *http.Request) {
		for _, fill := range []byte{' ', '\n', '['} {
			body := &countedBody{left: 1 << 30, fill: fill}
			r.Body, r.ContentLength = io.NopCloser(body), -1
			took := allocated(func() {
				if res := send(s, r); res.StatusCode != http.StatusRequestEntityTooLarge {
					t.Errorf("%s of %q: %s", name, fill, res.Status)
				}
			})
			if body.read > 2*limit+1<<20 || took > 24*limit+8<<20 {
				t.Errorf("%s of %q: %d bytes were read, and %d allocated, for a limit of %d", name, fill, body.read, took, limit)
			}
		}
	})
	if n := s.arrived.held.Load(); n != 0 {
		t.Errorf("%d bytes are still counted", n)
	}
}

// allocated returns how many bytes the process allocates meanwhile.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// TestBombs: a short body that decompresses to a long one is refused where it is too long, and so is one that wants
// much memory to be decompressed.
func TestBombs(t *testing.T) {
	s := newServer(t, &Options{MaxBody: 1 << 20, MaxBulk: 4 << 20})
	prepareBooks(t, s)
	const size = 256 << 20
	var gz, zs, window bytes.Buffer
	g := gzip.NewWriter(&gz)
	z, err := zstd.NewWriter(&zs, zstd.WithWindowSize(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.MultiWriter(g, z), &countedBody{left: size, fill: ' '})
	g.Close()
	z.Close()
	wide, err := zstd.NewWriter(&window, zstd.WithWindowSize(zstd.MaxWindowSize), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(wide, &countedBody{left: 20 << 20, fill: ' '})
	wide.Close()
	for _, bomb := range []struct {
		name, encoding string
		data           []byte
	}{{"gzip", "gzip", gz.Bytes()}, {"zstd", "zstd", zs.Bytes()}, {"window", "zstd", window.Bytes()}} {
		if len(bomb.data) > size/500 {
			t.Fatalf("%s: %d bytes are no bomb", bomb.name, len(bomb.data))
		}
		bodyRoutes(t, s, func(name string, limit int64, r *http.Request) {
			r.Header.Set("Content-Encoding", bomb.encoding)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(bomb.data)), int64(len(bomb.data))
			took := allocated(func() {
				res := send(s, r)
				if res.StatusCode != http.StatusRequestEntityTooLarge && (bomb.name != "window" || res.StatusCode != http.StatusBadRequest) {
					t.Errorf("%s, %s: %s", bomb.name, name, printAnswer(t, res))
				}
			})
			if took > 16*limit+24<<20 {
				t.Errorf("%s, %s: %d bytes were allocated for a limit of %d", bomb.name, name, took, limit)
			}
		})
	}
}

// TestSlowClients: hundreds of clients that send or read slowly, or not at all, keep nobody from searching, take little
// memory, and are gone after the time of a request.
func TestSlowClients(t *testing.T) {
	const each, timeout = 100, 2 * time.Second
	s := newServer(t, &Options{Timeout: timeout, Searches: 2, Writes: 2, Copies: 2, Queue: 1000})
	prepareBooks(t, s)
	e := s.host.all()[0].engine
	for i := range 200 {
		if err := e.Put(t.Context(), fmt.Sprint(i), map[string]any{"title": "A whale", "text": strings.Repeat("a long text ", 2000)}); err != nil {
			t.Fatal(err)
		}
	}
	h := httptest.NewUnstartedServer(s)
	h.Config.ReadHeaderTimeout = timeout
	h.Start()
	defer h.Close()
	var before, during runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var conns []net.Conn
	for range each {
		for _, text := range []string{
			"POST /v1/indexes/books/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n{",                                                 // sends slowly
			"POST /v1/indexes/books/documents HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nContent-Length: 1000000\r\n\r\n{\"put\"", // sends a bulk slowly
			"GET /v1/indexes/books/documents HTTP/1.1\r\nHost: localhost\r\n\r\n",                                                                           // reads no export
			"GET /v1/indexes/books/search?q=whale&load=*&k=200 HTTP/1.1\r\nHost: localhost\r\n\r\n",                                                         // reads no answer
			"GET /v1/indexes/books/sea", // does not end its head
		} {
			conn, err := net.Dial("tcp", h.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if tcp := conn.(*net.TCPConn); strings.Contains(text, "load=") {
				tcp.SetReadBuffer(4 << 10)
			}
			io.WriteString(conn, text)
			conns = append(conns, conn)
		}
	}
	slowest, searches := time.Duration(0), 0
	for range 200 { // with a deadline of their own, for slow machines
		began := time.Now()
		res, err := http.Get(h.URL + "/v1/indexes/books/search?q=whale&timeout=1m")
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Fatalf("a search meanwhile: %s", res.Status)
		}
		slowest = max(slowest, time.Since(began))
		searches++
		if res := send(s, readRequest(t, "PUT /v1/indexes/books/documents/moby?timeout=1m\n{}")); res.StatusCode != http.StatusOK {
			t.Fatalf("a write meanwhile: %s", res.Status)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&during)
	grown := int64(during.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("%d clients: %d searches meanwhile, the slowest took %v; the heap grew by %d kB", len(conns), searches, slowest, grown>>10)
	if limit := int64(len(conns))*(128<<10) + s.opts.AnswerBytes; grown > limit {
		t.Errorf("the heap grew by %d bytes, more than %d", grown, limit)
	}
	// An answer says why, or the connection ends.
	conns[0].SetReadDeadline(time.Now().Add(4 * timeout))
	if res, err := http.ReadResponse(bufio.NewReader(conns[0]), nil); err == nil && res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a client that sends slowly gets %s", res.Status)
	}
	for deadline := time.Now().Add(4*timeout + lastWords); ; time.Sleep(50 * time.Millisecond) {
		busy := s.unread.held.Load() + s.arrived.held.Load()
		for _, g := range s.gates {
			if g != nil {
				busy += int64(len(g.slots)) + g.waiting.Load()
			}
		}
		if busy == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("slow clients still hold turns or memory: %d", busy)
		}
	}
}

// A dueConn notes the deadlines of writing.
type dueConn struct{ due time.Time }

func (c *dueConn) SetWriteDeadline(due time.Time) error { c.due = due; return nil }

// TestLongAnswers: a client that reads steadily has as long as it takes, and one that hardly reads is cut off.
func TestLongAnswers(t *testing.T) {
	for _, test := range []struct {
		name string
		each time.Duration // that the client takes for a part of 32 KiB
		ends bool
	}{{"fast", time.Millisecond, false}, {"steady", 400 * time.Millisecond, false}, {"slow", 5 * time.Second, true}, {"very slow", 29 * time.Second, true}, {"not at all", 31 * time.Second, true}} {
		synctest.Test(t, func(t *testing.T) {
			var conn dueConn
			p := &patient{Writer: io.Discard, conn: &conn, opts: &Options{Timeout: 30 * time.Second, MaxTimeout: 5 * time.Minute}, began: time.Now()}
			late := false
			for range 20_000 {
				p.Write(make([]byte, 32<<10))
				time.Sleep(test.each)
				if late = time.Now().After(conn.due); late {
					break
				}
			}
			if took := time.Since(p.began); late != test.ends || late && took > 10*time.Minute {
				t.Errorf("%s: cut off: %v, after %v and %d bytes", test.name, late, took, p.written)
			}
		})
	}
}

// TestBudget: a budget is never exceeded, and one who wants too much does not keep others from the rest.
func TestBudget(t *testing.T) {
	b := budget{most: 100}
	if !b.take(90) {
		t.Fatal("nothing is held")
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 10_000 {
				if b.take(50) {
					t.Error("more is taken than there is")
				}
			}
		})
	}
	for range 10_000 {
		if !b.take(10) {
			t.Error("what is left is refused, because others ask for more")
			break
		}
		b.give(10)
	}
	all.Wait()
	if b.give(90); b.held.Load() != 0 {
		t.Errorf("%d bytes are held in the end", b.held.Load())
	}
}
