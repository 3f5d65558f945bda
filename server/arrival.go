package server

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
)

// arrive reads the body of a request before the request waits for a turn, so that a client that sends slowly keeps
// nobody from one. What such bodies take together is bounded by Options.AnswerBytes, as answers are: beyond that, the
// rest of a body arrives during the turn. So does NDJSON beyond the first megabyte, which is read as it is carried out:
// see slowTurn. The caller calls release at the end.
func (s *Server) arrive(w *answer, r *http.Request) (release func(), err error) {
	release = func() {}
	limit, most := s.opts.MaxBody, s.opts.MaxBody
	if isBulk(r) {
		limit, most = s.opts.MaxBulk, bulkBytes
	}
	if r.ContentLength > limit {
		return release, tooLarge(limit)
	}
	if r.ContentLength == 0 {
		return release, nil
	}
	const first = 4 << 10
	size := int64(first)
	if 0 < r.ContentLength && r.ContentLength < first {
		size = r.ContentLength + 1 // one more, for the read that finds the end
	}
	held := int64(0)
	release = func() { s.arrived.give(held) }
	hold := func(n int64) bool {
		if !s.arrived.take(n) {
			return false
		}
		held += n
		return true
	}
	if !hold(size) {
		w.arriving = true
		return release, nil
	}
	data := make([]byte, 0, size)
	for {
		n, err := r.Body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF {
			r.Body = arrivedBody{bytes.NewReader(data), r.Body, data}
			return release, nil
		}
		if err != nil {
			return release, unreadable(err, limit)
		}
		if len(data) < cap(data) {
			continue
		}
		if int64(len(data)) > most || !hold(int64(len(data))) {
			r.Body = arrivedBody{io.MultiReader(bytes.NewReader(data), r.Body), r.Body, nil}
			w.arriving = true
			return release, nil
		}
		data = append(make([]byte, 0, 2*len(data)), data...)
	}
}

// isBulk says whether the body of a request is NDJSON.
func isBulk(r *http.Request) bool {
	t, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	t = strings.ToLower(strings.TrimSpace(t))
	return t == "application/x-ndjson" || t == "application/jsonl"
}

// An arrivedBody is a body of which a part, or all, has been read before.
type arrivedBody struct {
	io.Reader
	io.Closer
	whole []byte // all of it; nil if a part has yet to arrive
}

// A slowTurn gives the turn of a request back while the next part of its body arrives, so that a client that sends
// slowly keeps nobody from one. What has arrived of that part takes memory, which is bounded by Options.AnswerBytes, as
// that of other bodies is: beyond that, the request keeps its turn. A nil slowTurn is for a body that has arrived.
type slowTurn struct {
	ctx    context.Context
	server *Server
	answer *answer
	gate   *gate
	needs  int64 // what a part takes, at most, but for grows
	held   int64 // of Server.arrived
	grown  bool
}

// pause gives the turn back if the next part may take memory.
func (t *slowTurn) pause() {
	if t != nil && (t.held > 0 || t.more(t.needs)) {
		t.answer.left()
	}
}

// more reports whether the part may take more bytes. They count until the end of the request.
func (t *slowTurn) more(n int64) bool {
	if !t.server.arrived.take(n) {
		return false
	}
	t.held += n
	return true
}

// resume waits for a turn, unless the request has one.
func (t *slowTurn) resume() error {
	if t == nil || t.answer.gate != nil {
		return nil
	}
	return t.answer.admitted(t.gate, t.gate.again(t.ctx))
}

// grows is called when the part takes up to n bytes more than needs. If that is too much, it goes on arriving in a turn.
func (t *slowTurn) grows(n int64) error {
	if t == nil || t.answer.gate != nil || t.grown {
		return nil
	}
	if t.grown = t.more(n); t.grown {
		return nil
	}
	return t.resume()
}

// end releases the memory.
func (t *slowTurn) end() {
	if t != nil {
		t.server.arrived.give(t.held)
	}
}
