package server

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"github.com/riffle-search/riffle"
)

// jsonContent is the header Content-Type of answers. Headers share it: nobody changes its element.
var jsonContent = []string{"application/json"}

// writeJSON answers with a value.
func writeJSON(w http.ResponseWriter, status int, value any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return fmt.Errorf("writing an answer: %w", err)
	}
	w.Header()["Content-Type"] = jsonContent
	return w.(*answer).whole(status, b.Bytes())
}

// mediaType returns the media type of a body, which is JSON if the request does not say.
func mediaType(r *http.Request) (string, error) {
	text := r.Header.Get("Content-Type")
	if text == "" || text == "application/json" {
		return "application/json", nil
	}
	t, _, err := mime.ParseMediaType(text)
	if err != nil {
		return "", kindContentType.fault("%q is no media type", text)
	}
	return t, nil
}

// body returns the body of a request, decompressed. To read more than limit bytes, as sent or as decompressed,
// is an error.
func body(w http.ResponseWriter, r *http.Request, limit int64) (io.ReadCloser, error) {
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	sent := http.MaxBytesReader(w, r.Body, limit)
	switch encoding := encodingOfBody(r); encoding {
	case "", "identity":
		return &bounded{sent, limit, sent.Close}, nil
	case "gzip":
		z, err := gzip.NewReader(sent)
		if err != nil {
			return nil, unreadable(err, limit)
		}
		return &bounded{z, limit, z.Close}, nil
	case "zstd":
		// One goroutine, and no more memory than a window of the usual size.
		z, err := zstd.NewReader(sent, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
		if err != nil {
			return nil, unreadable(err, limit)
		}
		return &bounded{z, limit, func() error { z.Close(); return nil }}, nil
	default:
		return nil, kindContentType.fault("the encoding %q; gzip and zstd are read", encoding)
	}
}

// zstdWindow is the largest window of zstd that is accepted.
const zstdWindow = 8 << 20

// encodingOfBody returns how the body of a request is compressed, in small letters; "" or "identity" if it is not.
func encodingOfBody(r *http.Request) string {
	return strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding")))
}

// A bounded reads at most a number of bytes.
type bounded struct {
	io.Reader
	left  int64
	close func() error
}

func (b *bounded) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.Reader.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, &http.MaxBytesError{}
	}
	return n, err
}

func (b *bounded) Close() error { return b.close() }

func tooLarge(limit int64) *fault { return kindTooLarge.fault("more than %d bytes", limit) }

// unreadable returns the problem of a body that cannot be read to its end.
func unreadable(err error, limit int64) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return tooLarge(limit)
	}
	var known *fault
	if errors.As(err, &known) {
		return known
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return kindTimeout.fault("the body has not arrived")
	}
	return kindRequest.fault("reading the body: %v", err)
}

// readBody reads the whole body of a request, which must be JSON.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	t, err := mediaType(r)
	if err != nil {
		return nil, err
	}
	if t != "application/json" && !strings.HasSuffix(t, "+json") {
		return nil, kindContentType.fault("%s is not read here; send Content-Type: application/json", t)
	}
	if a, ok := r.Body.(arrivedBody); ok && a.whole != nil && encodingOfBody(r) == "" {
		if int64(len(a.whole)) > s.opts.MaxBody {
			return nil, tooLarge(s.opts.MaxBody)
		}
		return a.whole, nil
	}
	b, err := body(w, r, s.opts.MaxBody)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	data, err := io.ReadAll(b)
	if err != nil {
		return nil, unreadable(err, s.opts.MaxBody)
	}
	return data, nil
}

// readJSON reads the body of a request into a value. Members that the value does not have are errors; an
// empty body leaves it as it is.
func (s *Server) readJSON(w http.ResponseWriter, r *http.Request, value any) error {
	data, err := s.readBody(w, r)
	if err != nil {
		return err
	}
	return readValue(data, value)
}

// readValue is readJSON for a body that has been read.
func readValue(data []byte, value any) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	return decode(data, value)
}

// decode reads JSON strictly. Numbers keep all their digits.
func decode(data []byte, value any) error {
	if err := checkUTF8(data); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	d.UseNumber()
	err := d.Decode(value)
	if err == nil {
		if rest := bytes.TrimSpace(data[d.InputOffset():]); len(rest) == 0 {
			return nil
		}
		p := kindRequest.fault("there is more after the value")
		offset := int(d.InputOffset())
		p.Offset = &offset
		return p
	}
	return malformed(err)
}

// checkUTF8 makes sure that JSON is UTF-8. Package json would read other bytes as U+FFFD, and so take different ids
// for the same.
func checkUTF8(data []byte) error {
	if utf8.Valid(data) {
		return nil
	}
	offset := 0
	for r, n := utf8.DecodeRune(data); r != utf8.RuneError || n > 1; r, n = utf8.DecodeRune(data[offset:]) {
		offset += n
	}
	p := kindRequest.fault("JSON is UTF-8, which the byte %#02x is not; a text of other bytes is {\"bytes\": …} in base64", data[offset])
	p.Offset = &offset
	return p
}

// malformed returns the problem of JSON that cannot be read, with its place.
func malformed(err error) error {
	var query *riffle.QueryError
	if errors.As(err, &query) {
		return err
	}
	p := kindRequest.fault("%s", strings.TrimPrefix(err.Error(), "json: "))
	var syntax *json.SyntaxError
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset := int(syntax.Offset)
		p.Offset = &offset
	case errors.As(err, &mistyped):
		offset := int(mistyped.Offset)
		name := strings.TrimPrefix(mistyped.Field, "plain.") // of client.SearchRequest, which is read in two parts
		p.Offset, p.Part = &offset, name
		p.Detail = fmt.Sprintf("%s must be %s, not %s", cmp.Or(name, "the body"), jsonType(mistyped.Type.Kind().String()), mistyped.Value)
	case errors.Is(err, io.ErrUnexpectedEOF):
		p.Detail = "the body ends in the middle of a value"
	}
	return p
}

// jsonType names a kind of Go values as people who write JSON do.
func jsonType(kind string) string {
	switch {
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"):
		return "a whole number"
	case strings.HasPrefix(kind, "float"):
		return "a number"
	case kind == "bool":
		return "true or false"
	case kind == "map", kind == "struct", kind == "ptr":
		return "an object"
	case kind == "slice", kind == "array":
		return "an array"
	}
	return "a " + kind
}
