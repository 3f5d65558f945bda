package server

import (
	"bytes"
	"io"
	"net/http"
	"strings"
)

// arrive reads the body of a request before the request waits for a turn, so that a client that sends slowly keeps
// nobody from one. What such bodies take together is bounded by Options.AnswerBytes, as answers are: beyond that, and
// beyond the first megabyte of NDJSON, which is read as it is carried out, the rest of a body arrives during the turn.
// The caller calls release at the end.
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
		return release, nil
	}
	data := make([]byte, 0, size)
	for {
		n, err := r.Body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF {
			r.Body = arrivedBody{bytes.NewReader(data), r.Body}
			return release, nil
		}
		if err != nil {
			return release, unreadable(err, limit)
		}
		if len(data) < cap(data) {
			continue
		}
		if int64(len(data)) > most || !hold(int64(len(data))) {
			r.Body = arrivedBody{io.MultiReader(bytes.NewReader(data), r.Body), r.Body}
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
}
