package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle"
)

// call runs the program without a terminal and returns what it printed.
func call(t *testing.T, args ...string) (string, error) {
	t.Helper()
	stdin, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	var out, log bytes.Buffer
	err = run(t.Context(), args, stdin, &out, &log)
	return out.String(), err
}

// TestTypedText: each key has an answer, and the last one is the passage that was meant.
func TestTypedText(t *testing.T) {
	out, err := call(t)
	if err != nil {
		t.Fatal(err)
	}
	end := out[strings.LastIndex(out, "the world was wat_"):]
	for _, want := range []string{"\n    watched watery\n", "    war-of-the-worlds: ", "[watched]", "\n17 keys, "} {
		if !strings.Contains(end, want) {
			t.Errorf("%q is not in\n%s", want, end)
		}
	}
	if out, err = call(t, "çà", "x"); err != nil || !strings.Contains(out, "ç_\n") || !strings.Contains(out, "\n4 keys, ") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestIndex: an index of the user's, without stored text, is searched as it is.
func TestIndex(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	e, err := riffle.Open(dir, &riffle.Options{Schema: &riffle.Schema{NoStore: true, Dynamic: riffle.DynamicIgnore, Fields: map[string]riffle.Field{"body": {}}}})
	if err == nil {
		err = e.Put(t.Context(), "one", map[string]any{"body": "a white whale"})
	}
	if err == nil {
		err = e.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := call(t, "-db", dir, "-field", "body", "wh"); err != nil || !strings.Contains(out, "wh_\n    whale white\n    one: \n") {
		t.Errorf("%v\n%s", err, out)
	}
	for want, args := range map[string][]string{
		`no field "text"`:  {"-db", dir},
		"needs a terminal": {"-live"},
		"no index in":      {"-db", filepath.Join(dir, "none")},
	} {
		if _, err := call(t, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}

// TestKeyboard types, erases and completes.
func TestKeyboard(t *testing.T) {
	e, done, err := open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	b, err := newBox(e, "text")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ keys, line, first string }{
		{"isx\x7fhm\x03never", "ishm", "moby-dick"},
		{"call me ishm\t", "call me ishmael ", "moby-dick"},
		{"\x7fw\x1b[Ao\x1b[1;5Crl\r\x1bOPd\x1b", "world", "war-of-the-worlds"},
		{"\x1b[", "", ""},
		{"é\x7f\x04", "", ""},
	} {
		var out bytes.Buffer
		if err := b.keyboard(t.Context(), strings.NewReader(c.keys), &out); err != nil {
			t.Fatal(err)
		}
		screens := strings.Split(out.String(), "\x1b[2J")
		last := screens[len(screens)-1]
		if !strings.HasSuffix(last, "\x1b[H> "+c.line+"\r\n") || !strings.Contains(last, c.first) {
			t.Errorf("%q ends with %q", c.keys, last)
		}
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.keyboard(canceled, strings.NewReader("x"), new(bytes.Buffer)); err == nil {
		t.Error("a canceled search answers")
	}
	if a, err := b.answer(t.Context(), "alice ", 3); err != nil || len(a.completions) != 0 || !slices.ContainsFunc(a.hits, func(h hit) bool { return h.id == "alice" }) {
		t.Errorf("%v %v", a, err)
	}
}
