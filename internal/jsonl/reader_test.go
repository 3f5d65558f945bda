package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// readAll prints what a reader yields, a document or a bad line each, and then the
// final error.
func readAll(r *Reader) string {
	var b strings.Builder
	var d Document
	for {
		err := r.Next(&d)
		var bad *LineError
		switch {
		case err == nil:
			fmt.Fprintf(&b, "%d: %s\n", r.LineNumber(), show(&d))
		case errors.As(err, &bad):
			fmt.Fprintf(&b, "bad %v\n", err)
		default:
			if again := r.Next(&d); again != err {
				panic(fmt.Sprintf("final error %v, then %v", err, again))
			}
			fmt.Fprintf(&b, "%v\n", err)
			return b.String()
		}
	}
}

func TestReader(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"empty", "", "EOF\n"},
		{"no line feed at the end", `{"id":1}` + "\n" + `{"id":2}`, "1: \"1\"\n2: \"2\"\nEOF\n"},
		{"blank lines are counted", "\n \t\r\n{\"id\":1}\n\n\n{\"id\":2}\n\n", "3: \"1\"\n6: \"2\"\nEOF\n"},
		{"carriage returns", "{\"id\":1}\r\n{\"id\":2}\r\n", "1: \"1\"\n2: \"2\"\nEOF\n"},
		{"byte order mark", "\xef\xbb\xbf{\"id\":1}\n", "1: \"1\"\nEOF\n"},
		{"byte order mark alone", "\xef\xbb\xbf\n{\"id\":1}\n", "2: \"1\"\nEOF\n"},
		{"byte order mark elsewhere", "{\"id\":1}\n\xef\xbb\xbf{\"id\":2}\n", "1: \"1\"\nbad f.jsonl:2:1: found byte 0xef, want an object\nEOF\n"},
		{"goes on behind a bad line", "{\"id\":1}\n{\"id\":\n{\"id\":3}\n[", "1: \"1\"\nbad f.jsonl:2:7: the line ends where a value should be\n3: \"3\"\nbad f.jsonl:4:1: found '[', want an object\nEOF\n"},
		{"short as a magic number", "{}", "bad f.jsonl:1: no \"id\"\nEOF\n"},
		{"UTF-16", "\xff\xfe{\x00", "bad f.jsonl:1:1: found byte 0xff, want an object\nEOF\n"},
	} {
		for _, packed := range []struct {
			how   string
			bytes []byte
		}{{"plain", []byte(c.file)}, {"gzip", gzipped(t, c.file)}, {"zstd", zstded(t, c.file)}} {
			r := NewReader("f.jsonl", iotest.HalfReader(bytes.NewReader(packed.bytes)))
			if got := readAll(r); got != c.want {
				t.Errorf("%s, %s:\n got %s\nwant %s", c.name, packed.how, got, c.want)
			}
			if r.RawBytes() != int64(len(packed.bytes)) {
				t.Errorf("%s, %s: RawBytes = %d of %d", c.name, packed.how, r.RawBytes(), len(packed.bytes))
			}
			r.Close()
		}
	}
}

func gzipped(t *testing.T, s string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, s)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstded(t *testing.T, s string) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithZeroFrames(true))
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, s)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// lines makes n documents that do not compress to nothing.
func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id":%d,"text":"%x"}`+"\n", i, i*i*2654435761)
	}
	return b.String()
}

// TestDamaged truncates compressed files and flips their bits. Whole documents come first, then a
// final error that names the line.
func TestDamaged(t *testing.T) {
	text := lines(50_000)
	flipped := zstded(t, text)
	flipped[len(flipped)/2] ^= 0x10
	for _, c := range []struct {
		name string
		file []byte
		want error // nil for any
	}{
		{"gzip cut", gzipped(t, text)[:100_000], io.ErrUnexpectedEOF},
		{"gzip header cut", gzipped(t, text)[:6], io.ErrUnexpectedEOF},
		{"zstd cut", zstded(t, text)[:300_000], io.ErrUnexpectedEOF},
		{"zstd header cut", zstded(t, text)[:5], io.ErrUnexpectedEOF},
		{"zstd flipped", flipped, nil},
		{"gzip with a tail", append(gzipped(t, text), "tail"...), nil},
	} {
		r := NewReader("f", bytes.NewReader(c.file))
		var d Document
		docs, err := 0, error(nil)
		for {
			if err = r.Next(&d); err != nil {
				break
			}
			if want := fmt.Sprint(docs); d.ID != want {
				t.Fatalf("%s: document %q, want %s", c.name, d.ID, want)
			}
			docs++
		}
		place := fmt.Sprintf("f:%d: ", docs+1)
		if err == io.EOF || !strings.HasPrefix(err.Error(), place) || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: after %d documents: %v, want %s%v", c.name, docs, err, place, c.want)
		}
		r.Close()
	}
}

// TestWindow: a frame header with a window of 256 MiB is refused, one with 128 MiB is not.
func TestWindow(t *testing.T) {
	frame := func(log int) []byte {
		// Magic, no flags, window 2^log, one last raw block of no bytes (RFC 8878, section 3.1.1).
		return []byte{0x28, 0xb5, 0x2f, 0xfd, 0, byte(log-10) << 3, 1, 0, 0}
	}
	if got := readAll(NewReader("f", bytes.NewReader(frame(27)))); got != "EOF\n" {
		t.Errorf("window of 128 MiB: %s", got)
	}
	r := NewReader("f", bytes.NewReader(frame(28)))
	if got := readAll(r); !strings.HasPrefix(got, "f:1: window size exceeded") || !strings.Contains(got, "--long=27") {
		t.Errorf("window of 256 MiB: %s", got)
	}
}

// TestSkippableFrame: some tools begin with a frame that holds no data.
func TestSkippableFrame(t *testing.T) {
	file := append([]byte{0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'x', 'y', 'z'}, zstded(t, `{"id":1}`)...)
	if got := readAll(NewReader("f", bytes.NewReader(file))); got != "1: \"1\"\nEOF\n" {
		t.Errorf("got %s", got)
	}
}

// TestLineLength: lines up to the limit pass. The first longer one is a bad line and the lines
// after it are read. The limit is lowered, because the test would otherwise take 128 MiB.
func TestLineLength(t *testing.T) {
	for _, limit := range []int{8, 100, readBytes - 1, readBytes, 3 * readBytes} {
		doc := func(n int) string { return `{"id":` + strings.Repeat("7", n-7) + "}" }
		file := doc(8) + "\n" + doc(limit) + "\n" + doc(limit+1) + "\n" + doc(8) + "\n" + doc(5*limit) + "\n" + doc(8) + "\n" + doc(2*limit)
		r := NewReader("f", strings.NewReader(file))
		r.lines.max = limit
		var got []string
		var d Document
		err := error(nil)
		for err != io.EOF {
			if err = r.Next(&d); err == nil {
				got = append(got, fmt.Sprint(len(d.ID)+7))
			} else {
				got = append(got, err.Error())
			}
		}
		long := fmt.Sprintf("longer than %d bytes", limit)
		want := []string{"8", fmt.Sprint(limit), "f:3: " + long, "8", "f:5: " + long, "8", "f:7: " + long, "EOF"}
		if strings.Join(got, "; ") != strings.Join(want, "; ") {
			t.Errorf("limit %d:\n got %q\nwant %q", limit, got, want)
		}
		if len(r.lines.buf) > limit+readBytes {
			t.Errorf("limit %d: the buffer grew to %d", limit, len(r.lines.buf))
		}
	}
}

func TestReadErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	r := NewReader("f", io.MultiReader(strings.NewReader("{\"id\":1}\n{\"id\":2}\n{\"id"), iotest.ErrReader(broken)))
	if got, want := readAll(r), "1: \"1\"\n2: \"2\"\nf:3: disk on fire\n"; got != want {
		t.Errorf("got %s want %s", got, want)
	}
	r = NewReader("f", stuck{})
	if err := r.Next(new(Document)); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that yields nothing: %v", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent file: %v", err)
	}
}

// A stuck reader returns neither bytes nor an error.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "docs.jsonl") // compressed, whatever its name says
	file := zstded(t, lines(3))
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if r.RawBytes() != 0 {
		t.Errorf("RawBytes %d before the first line", r.RawBytes())
	}
	var d Document
	if err := r.Next(&d); err != nil || d.ID != "0" {
		t.Errorf("got %q, %v", d.ID, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := r.Next(&d); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestParsersApart reads lines with one Reader and parses them as a caller with many goroutines
// does.
func TestParsersApart(t *testing.T) {
	r := NewReader("f", strings.NewReader("{\"id\":1}\n\n{\"id\":}\n"))
	var p Parser
	var d Document
	line, err := r.Line()
	if err != nil || r.At(1, p.Parse(line, &d)) != nil || d.ID != "1" {
		t.Errorf("got %v, %q", err, d.ID)
	}
	line, err = r.Line()
	if err != nil {
		t.Fatal(err)
	}
	number := r.LineNumber()
	if err := r.At(number, p.Parse(line, &d)); err == nil || err.Error() != `f:3:7: "id" must be a string or an integer` {
		t.Errorf("got %v", err)
	}
	if _, err := r.Line(); err != io.EOF {
		t.Errorf("got %v", err)
	}
}

// TestCorpora reads the project's benchmark collections, and compares a sample of each with
// encoding/json.
func TestCorpora(t *testing.T) {
	dir := os.Getenv("RIFFLE_CORPORA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpora")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no corpora: set RIFFLE_CORPORA (%v)", err)
	}
	for _, c := range []struct {
		file string
		docs int
	}{
		{"cranfield/docs.jsonl", 1400}, {"cisi/docs.jsonl", 1460}, {"med/docs.jsonl", 1033},
		{"nfcorpus/docs.jsonl", 3633}, {"gutenberg-a.jsonl.zst", 200_000},
	} {
		t.Run(c.file, func(t *testing.T) {
			if testing.Short() && c.docs > 10_000 {
				t.Skip("large, and -short was asked for")
			}
			checkCorpus(t, filepath.Join(dir, c.file), c.docs)
		})
	}
}

func checkCorpus(t *testing.T, path string, want int) {
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var p Parser
	var d Document
	docs := 0
	for ; ; docs++ {
		line, err := r.Line()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Parse(line, &d); err != nil {
			t.Fatal(r.At(r.LineNumber(), err))
		}
		if docs%100 == 0 {
			if slow, ok := slowParse(line); !ok || show(slow) != show(&d) {
				t.Fatalf("line %d:\n got %s\nwant %s", r.LineNumber(), show(&d), show(slow))
			}
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if docs != want || r.RawBytes() != info.Size() {
		t.Errorf("%d documents, want %d; %d of %d bytes", docs, want, r.RawBytes(), info.Size())
	}
}
