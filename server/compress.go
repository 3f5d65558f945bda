package server

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// minCompressed is the size of answers from which it pays to compress them. Answers that are sent in parts are
// compressed whatever their size turns out to be.
const minCompressed = 4 << 10

// encodingOf returns the encoding of answers that a client likes best, "zstd" or "gzip", or "" for none.
func encodingOf(accepted string) string {
	best, bestWeight := "", 0.0
	for part := range strings.SplitSeq(accepted, ",") {
		name, params, _ := strings.Cut(strings.ToLower(part), ";")
		name = strings.TrimSpace(name)
		weight := 1.0
		if text, ok := strings.CutPrefix(strings.TrimSpace(params), "q="); ok {
			var err error
			if weight, err = strconv.ParseFloat(text, 64); err != nil {
				weight = 0
			}
		}
		// Of two that a client likes equally, zstd costs less.
		if (name == "zstd" || name == "gzip") && (weight > bestWeight || weight == bestWeight && weight > 0 && name == "zstd") {
			best, bestWeight = name, weight
		}
	}
	return best
}

// An encoder compresses an answer.
type encoder interface {
	io.WriteCloser
	Flush() error
	Reset(io.Writer)
}

// Encoders are used again: each has some hundred kilobytes. They have one goroutine.
var encoders = map[string]*sync.Pool{
	"gzip": {New: func() any {
		e, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
		if err != nil {
			panic(err) // the level is a constant
		}
		return e
	}},
	"zstd": {New: func() any {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(256<<10), zstd.WithLowerEncoderMem(true))
		if err != nil {
			panic(err) // the options are constants
		}
		return e
	}},
}

// compressible says whether an answer of this status and with these headers may be compressed. Problems are short, and
// profiles and what has an encoding already would not shrink.
func compressible(status int, h http.Header) bool {
	if status != http.StatusOK && status != http.StatusCreated || h.Get("Content-Encoding") != "" {
		return false
	}
	t := h.Get("Content-Type")
	if t != "application/json" {
		t, _, _ = mime.ParseMediaType(t)
	}
	return strings.HasPrefix(t, "text/") && t != "text/event-stream" || t == "application/json" || t == "application/x-ndjson" || t == "application/x-tar" ||
		t == "application/openapi+json" || t == "application/openmetrics-text" || t == "application/vnd.google.protobuf" || t == "image/svg+xml"
}

// vary says that an answer depends on what encodings a client accepts.
func vary(h http.Header) {
	if h["Vary"] == nil {
		h["Vary"] = byEncoding
		return
	}
	h.Add("Vary", "Accept-Encoding")
}

var byEncoding = []string{"Accept-Encoding"} // shared by answers: nobody changes its element

// encode sets the headers of a compressed answer. The ETag stays as it is, though another encoding is other bytes:
// it is the version of a document, for conditions, and this server sends no ranges.
func encode(h http.Header, encoding string) {
	h.Set("Content-Encoding", encoding)
	h.Del("Content-Length")
}

// compressed returns a whole answer, compressed.
func compressed(data []byte, encoding string) ([]byte, error) {
	var out bytes.Buffer
	e := encoders[encoding].Get().(encoder)
	defer encoders[encoding].Put(e)
	e.Reset(&out)
	_, err := e.Write(data)
	err = errors.Join(err, e.Close())
	e.Reset(nil)
	return out.Bytes(), err
}

// sent writes to the connection and counts.
type sent struct{ *answer }

func (s sent) Write(b []byte) (int, error) {
	n, err := s.ResponseWriter.Write(b)
	s.written += int64(n)
	return n, err
}

// finish sends the rest of an answer that ends well.
func (a *answer) finish() {
	if a.encoder != nil {
		a.encoder.Close() // if the client has gone, nobody is left to tell
		a.drop()
	}
}

// drop gives the encoder back.
func (a *answer) drop() {
	if a.encoder != nil {
		a.encoder.Reset(nil)
		encoders[a.accepts].Put(a.encoder)
		a.encoder = nil
	}
}

// FlushError sends what has been written so far. It is for http.ResponseController.
func (a *answer) FlushError() error {
	if a.encoder != nil {
		if err := a.encoder.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(a.ResponseWriter).Flush()
}
