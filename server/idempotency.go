package server

import (
	"container/list"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/riffle-search/riffle"
)

const (
	idempotencyHeader = "Idempotency-Key"
	replayedHeader    = "Idempotency-Replayed" // of answers that are sent again
	keptOverhead      = 512                    // bytes that an answer takes besides its body and its key, about
)

// keptAnswers are the answers of changes that had an idempotency key, so that a client can send a request again that it
// has no answer to. They are lost when the process ends.
type keptAnswers struct {
	most int64 // bytes
	keep time.Duration

	mu    sync.Mutex
	byKey map[string]*keptAnswer
	order list.List // of those that are finished, the oldest first
	bytes int64     // of these
}

type keptAnswer struct {
	key    string
	done   bool // false while the request is under way, and all below is unset
	print  [sha256.Size]byte
	status int
	header http.Header
	body   []byte
	ended  time.Time

	// Of a batch that was under way when the time of its request ended; otherwise nil. Its outcome replaces the answer.
	pending *riffle.Pending
	outcome outcome

	fault error // of a change of which it is not known whether it takes effect
}

func (a *keptAnswer) size() int64 { return int64(len(a.key)+len(a.body)) + keptOverhead }

// begin returns the answer that is kept for a key. If there is none, mine is true, and the caller has to call finish.
func (k *keptAnswers) begin(key string, now time.Time) (a *keptAnswer, mine bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forget(now, 0)
	if a := k.byKey[key]; a != nil {
		return a, false
	}
	if k.byKey == nil {
		k.byKey = map[string]*keptAnswer{}
	}
	k.byKey[key] = &keptAnswer{key: key}
	return nil, true
}

// finish keeps the answer for a key, or none if a is nil. It must not be changed any more.
func (k *keptAnswers) finish(key string, a *keptAnswer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.byKey, key)
	if a != nil {
		k.forget(a.ended, a.size())
		k.byKey[key] = a
		k.order.PushBack(a)
		k.bytes += a.size()
	}
}

// forget drops answers that are too old, and the oldest until there is place for more bytes.
func (k *keptAnswers) forget(now time.Time, more int64) {
	for e := k.order.Front(); e != nil; e = k.order.Front() {
		a := e.Value.(*keptAnswer)
		if now.Sub(a.ended) < k.keep && k.bytes+more <= k.most {
			return
		}
		k.order.Remove(e)
		delete(k.byKey, a.key)
		k.bytes -= a.size()
	}
}

// once carries out a change that has an idempotency key: if one with the same key has been carried out, its answer is
// sent again. Failures are not kept: a change that failed has had no effect, and one of many batches that did not come
// to its end can be sent again. Of a single batch that was under way when the time ended, requests with the same key
// wait for the outcome.
func (s *Server) once(rt *route, w *answer, r *http.Request, key string) error {
	if len(key) > 255 || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
		p := kindRequest.fault("has at most 255 printable ASCII characters")
		p.Part = idempotencyHeader
		return p
	}
	key = w.key + "\n" + key // so clients with different API keys learn nothing of each other's requests
	old, mine := s.kept.begin(key, time.Now())
	if !mine {
		return s.again(old, w, r)
	}
	var a *keptAnswer // nil if it is not to be kept
	defer func() { s.kept.finish(key, a) }()
	body := &digestedBody{r.Body, newPrint(r)}
	r.Body = body
	w.record = &recorded{most: s.kept.most / 4}
	err := s.turn(rt, w, r)
	unknown := errors.Is(err, ErrUnknown) // carried out again, it could undo a later change
	if err != nil && w.pending == nil && !unknown {
		return err
	}
	// Of a body that the route did not read to its end, the rest counts, too.
	rest, unread := io.Copy(io.Discard, io.LimitReader(body, s.opts.MaxBody))
	if unread != nil || rest == s.opts.MaxBody || w.record.over {
		return err
	}
	a = &keptAnswer{key: key, done: true, status: w.status, header: http.Header{}, body: w.record.data, ended: time.Now(), pending: w.pending, outcome: w.outcome}
	if unknown {
		a.fault = err
	}
	body.print.Sum(a.print[:0])
	for _, name := range []string{"Content-Type", "Location", "ETag", tokenHeader} {
		if v := w.Header().Get(name); v != "" {
			a.header.Set(name, v)
		}
	}
	return err
}

// again answers a request whose key has been used.
func (s *Server) again(a *keptAnswer, w *answer, r *http.Request) error {
	if !a.done {
		p := kindUnderWay.fault("a request with the key is being carried out")
		p.retry = 1
		return p
	}
	print := newPrint(r)
	if _, err := io.Copy(print, http.MaxBytesReader(w, r.Body, s.opts.MaxBulk)); err != nil {
		return unreadable(err, s.opts.MaxBulk)
	}
	if [sha256.Size]byte(print.Sum(nil)) != a.print {
		return kindReused.fault("that one had another path, body or condition")
	}
	w.Header().Set(replayedHeader, "true")
	if a.pending != nil {
		if err := a.pending.Wait(r.Context()); err != nil {
			return err
		}
		return a.outcome.send(w)
	}
	if a.fault != nil {
		return a.fault
	}
	for name, values := range a.header {
		w.Header()[name] = values
	}
	if len(a.body) == 0 {
		w.WriteHeader(a.status)
		return nil
	}
	return w.whole(a.status, a.body)
}

// newPrint begins the digest of a request: what the body is added to decides what it does.
func newPrint(r *http.Request) hash.Hash {
	h := sha256.New()
	for _, text := range []string{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, r.Header.Get("Content-Type"), r.Header.Get("Content-Encoding"),
		r.Header.Get("If-Match"), r.Header.Get("If-None-Match")} {
		io.WriteString(h, text)
		h.Write([]byte{0})
	}
	return h
}

// A digestedBody adds what is read of it to a digest.
type digestedBody struct {
	io.ReadCloser
	print hash.Hash
}

func (b *digestedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.print.Write(p[:n])
	return n, err
}

// Close does nothing, so that the rest can be read. The server of net/http closes the body in the end.
func (b *digestedBody) Close() error { return nil }

// recorded is what an answer has written, up to a size.
type recorded struct {
	most int64
	data []byte
	over bool // there is more
}

func (r *recorded) add(b []byte) {
	if r.over = r.over || int64(len(r.data)+len(b)) > r.most; r.over {
		r.data = nil
		return
	}
	r.data = append(r.data, b...)
}
