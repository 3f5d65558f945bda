package server

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// TestEncodingOf reads headers as RFC 9110 has them.
func TestEncodingOf(t *testing.T) {
	for header, want := range map[string]string{
		"": "", "identity": "", "gzip": "gzip", "zstd": "zstd", "gzip, deflate, br, zstd": "zstd", "GZIP": "gzip", "gzip;q=0": "", "zstd;q=0.1, gzip": "gzip",
		"gzip;q=0.5,zstd;q=0.5": "zstd", "br": "", "gzip ; q=0.3": "gzip", "gzip;q=x": "", "*": "", "zstd;q=0, gzip;q=0.001": "gzip", ",,gzip,": "gzip",
	} {
		if got := encodingOf(header); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}

// decoded returns the body of an answer, decompressed.
func decoded(t testing.TB, res *http.Response) []byte {
	t.Helper()
	var in io.Reader = res.Body
	switch encoding := res.Header.Get("Content-Encoding"); encoding {
	case "":
	case "gzip":
		z, err := gzip.NewReader(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		in = z
	case "zstd":
		z, err := zstd.NewReader(res.Body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20)) // as browsers bound it
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		in = z
	default:
		t.Fatalf("the encoding %q", encoding)
	}
	data, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// eachTime are members of answers that differ each time.
var eachTime = regexp.MustCompile(`"(instance|took_ms)":("[^"]*"|[0-9.e+-]+)`)

// TestCompressedAnswers: an answer is the same, compressed or not; short ones and problems are not compressed.
func TestCompressedAnswers(t *testing.T) {
	s := newServer(t, nil)
	prepareBooks(t, s)
	e := s.host.all()[0].engine
	for i := range 50 {
		if err := e.Put(t.Context(), fmt.Sprint(i), map[string]any{"title": strings.Repeat("Call me Ishmael. ", 20)}); err != nil {
			t.Fatal(err)
		}
	}
	if res := send(s, readRequest(t, "PUT /v1/indexes/empty")); res.StatusCode != http.StatusCreated {
		t.Fatal(res.Status)
	}
	for _, test := range []struct {
		path       string
		compressed bool
		status     int
	}{
		{"/v1/indexes/books/documents", true, 200},  // in parts
		{"/v1/indexes/empty/documents", false, 200}, // in none
		{"/v1/indexes/books/search?q=ishmael&k=40&load=title", true, 200},
		{"/v1/indexes/books/search?q=nothing", false, 200},
		{"/v1/indexes/books/schema", false, 200},
		{"/v1/indexes/books/documents/moby", false, 200},
		{"/v1/indexes/none/schema", false, 404},
		{"/assets/page.js", true, 200},
		{"/?q=ishmael", true, 200},
		{"/metrics", true, 200},
		{"/debug/pprof/heap", false, 200},
	} {
		plain := send(s, readRequest(t, "GET "+test.path))
		want := decoded(t, plain)
		for _, encoding := range []string{"gzip", "zstd"} {
			r := readRequest(t, "GET "+test.path)
			r.Header.Set("Accept-Encoding", encoding)
			res := send(s, r)
			got := ""
			if test.compressed {
				got = encoding
			}
			if res.StatusCode != test.status || res.Header.Get("Content-Encoding") != got {
				t.Errorf("%s: %s, encoded by %q, want %q", test.path, res.Status, res.Header.Get("Content-Encoding"), got)
			}
			if test.compressed && (!slices.Contains(res.Header.Values("Vary"), "Accept-Encoding") || !slices.Contains(plain.Header.Values("Vary"), "Accept-Encoding")) {
				t.Errorf("%s: caches may mix up the encodings: Vary is %q, %q", test.path, res.Header.Values("Vary"), plain.Header.Values("Vary"))
			}
			data := decoded(t, res)
			same := bytes.Equal(eachTime.ReplaceAll(data, nil), eachTime.ReplaceAll(want, nil))
			if volatile := strings.HasPrefix(test.path, "/metrics") || strings.HasPrefix(test.path, "/debug") || strings.HasPrefix(test.path, "/?"); !same && !volatile || len(data) == 0 && len(want) > 0 {
				t.Errorf("%s by %s: %.300s\nis not %.300s", test.path, encoding, data, want)
			}
		}
	}
}

// TestCompressedIdempotency: what is kept is the answer and not its encoding, which each client chooses.
func TestCompressedIdempotency(t *testing.T) {
	s := newServer(t, nil)
	prepareBooks(t, s)
	var lines strings.Builder
	for i := range 500 {
		fmt.Fprintf(&lines, "{\"put\": \"%d\", \"fields\": {}}\n", i)
	}
	var first []byte
	for i, encoding := range []string{"zstd", "gzip", ""} {
		r := withKey(t, "POST /v1/indexes/books/documents\nContent-Type: application/x-ndjson\n"+lines.String(), "k")
		r.Header.Set("Accept-Encoding", encoding)
		res := send(s, r)
		data := decoded(t, res)
		if res.Header.Get("Content-Encoding") != encoding || (res.Header.Get(replayedHeader) != "") != (i > 0) {
			t.Errorf("request %d: encoding %q, replayed: %q", i, res.Header.Get("Content-Encoding"), res.Header.Get(replayedHeader))
		}
		if i == 0 {
			first = data
		}
		if !bytes.Equal(first, data) || len(data) < minCompressed {
			t.Errorf("request %d has another answer: %.200s", i, data)
		}
	}
}
