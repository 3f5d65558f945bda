package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// readBlocks reads a stream by blocks, as readAll does by lines.
func readBlocks(r *Reader, size int) string {
	var out strings.Builder
	p, d := Parser{Borrow: true}, Document{}
	for {
		block, first, err := r.Block(nil, size)
		Lines(block, first, func(number int, line []byte) bool {
			if err := p.Parse(line, &d); err != nil {
				fmt.Fprintf(&out, "bad %v\n", r.At(number, err))
			} else {
				fmt.Fprintf(&out, "%d: %s\n", number, show(&d))
			}
			return true
		})
		var bad *LineError
		switch {
		case errors.As(err, &bad):
			fmt.Fprintf(&out, "bad %v\n", err)
		case err != nil:
			fmt.Fprintf(&out, "%v\n", err)
			return out.String()
		}
	}
}

// byLines reads the same by lines.
func byLines(r *Reader) string {
	var out strings.Builder
	var d Document
	for {
		err := r.Next(&d)
		var bad *LineError
		switch {
		case err == nil:
			fmt.Fprintf(&out, "%d: %s\n", r.LineNumber(), show(&d))
		case errors.As(err, &bad):
			fmt.Fprintf(&out, "bad %v\n", err)
		default:
			fmt.Fprintf(&out, "%v\n", err)
			return out.String()
		}
	}
}

// TestBlocksAreLines: a file read by blocks of any size, in whatever pieces its bytes arrive, has
// the same documents, faults and numbers as one read line by line.
func TestBlocksAreLines(t *testing.T) {
	for _, file := range []string{
		"", "\n", "{\"id\":1}", "\ufeff{\"id\":1}\n\n{\"id\":2, \"a\":\"\\\"q\\\" \u00e4 \\u00e4\", \"b\": [\"x\\n\", null, \"y\"]}\r\n \n",
		"{\"id\":1}\n{\"id\":\n{\"id\":3}\n[", lines(300), lines(50) + strings.Repeat(" ", 3000) + "\n" + lines(3),
		lines(2) + `{"id":9,"a":"` + strings.Repeat("long", 1500) + "\"}\n" + lines(2) + strings.Repeat("x", 5000),
		strings.Repeat("x", 4000) + "\n" + strings.Repeat("y", 9000),
	} {
		for _, size := range []int{1, 7, 100, 3999} {
			open := func() *Reader {
				r := NewReader("f", iotest.HalfReader(strings.NewReader(file)))
				r.lines.max = 4000
				return r
			}
			if got, want := readBlocks(open(), size), byLines(open()); got != want {
				t.Fatalf("%.60q by %d bytes:\n got %.2000s\nwant %.2000s", file, size, got, want)
			}
		}
	}
}

// TestBlockCuts: where a file is cut does not depend on how its bytes arrive.
func TestBlockCuts(t *testing.T) {
	text := lines(2000)
	cuts := func(in io.Reader) (ends []int) {
		r := NewReader("f", in)
		n := 0
		for {
			block, _, err := r.Block(nil, 1000)
			if err != nil {
				return ends
			}
			n += len(block)
			ends = append(ends, n)
		}
	}
	want := fmt.Sprint(cuts(strings.NewReader(text)))
	for _, in := range []io.Reader{iotest.OneByteReader(strings.NewReader(text)), iotest.DataErrReader(strings.NewReader(text)), bytes.NewReader(zstded(t, text))} {
		if got := fmt.Sprint(cuts(in)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestBlockErrors: whole documents come first, then the fault and its line.
func TestBlockErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	in := io.MultiReader(strings.NewReader("{\"id\":1}\n{\"id\":2}\n{\"id"), iotest.ErrReader(broken))
	if got, want := readBlocks(NewReader("f", in), 9), "1: \"1\"\n2: \"2\"\nf:3: disk on fire\n"; got != want {
		t.Errorf("got %s want %s", got, want)
	}
	r := NewReader("f", stuck{})
	if _, _, err := r.Block(nil, 10); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that yields nothing: %v", err)
	}
	packed := zstded(t, lines(5000))
	if got := readBlocks(NewReader("f", bytes.NewReader(packed[:len(packed)/2])), 1<<16); !strings.HasSuffix(got, "unexpected EOF\n") {
		t.Errorf("half a file ends with %q", got[max(0, len(got)-80):])
	}
}
