package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/internal/jsonl"
)

func everyField(string) bool { return true }

// lines makes JSON lines with ids from..to-1.
func lines(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, `{"id":"%d","text":"t%d"}`+"\n", i, i)
	}
	return b.String()
}

// idsOf runs a loader and returns the ids in their order of arrival, and the faults.
func idsOf(l *loader) (ids []string, faults []error, err error) {
	err = l.run(context.Background(), func(c *chunk) error {
		var again []error
		for _, d := range c.each(&again) {
			ids = append(ids, d.ID)
		}
		if len(again) != len(c.faults) || c.documents.Len()+len(again) != len(c.lines) {
			return fmt.Errorf("%d lines, %d documents, %d faults the first time and %d the second", len(c.lines), c.documents.Len(), len(c.faults), len(again))
		}
		faults = append(faults, c.faults...)
		return nil
	})
	return ids, faults, err
}

// TestLoaderKeepsOrder: whichever parser finishes first, chunks arrive in the order of the input.
func TestLoaderKeepsOrder(t *testing.T) {
	a, b := writeFile(t, "a.jsonl", lines(0, 5000)), writeFile(t, "b.jsonl", lines(5000, 7003))
	for _, batch := range []int{1, 7, 1000, 100000} {
		l := &loader{files: []string{a, "-", b}, in: strings.NewReader(lines(7003, 7010)), batch: batch, bytes: 4 << 20, counts: everyField}
		ids, faults, err := idsOf(l)
		if err != nil || len(faults) > 0 {
			t.Fatal(err, faults)
		}
		var want []string
		for _, span := range [][2]int{{0, 5000}, {7003, 7010}, {5000, 7003}} {
			for i := span[0]; i < span[1]; i++ {
				want = append(want, fmt.Sprint(i))
			}
		}
		if !slices.Equal(ids, want) {
			t.Fatalf("batches of %d: documents out of order", batch)
		}
	}
}

// TestLoaderFaults: bad lines are reported in order, with their positions.
func TestLoaderFaults(t *testing.T) {
	path := writeFile(t, "x.jsonl", "{}\n\n"+lines(0, 2)+"[]\n"+lines(2, 3)+`{"id":"3"`)
	ids, faults, err := idsOf(&loader{files: []string{path}, batch: 2, bytes: 4 << 20, counts: everyField})
	if err != nil || !slices.Equal(ids, []string{"0", "1", "2"}) {
		t.Fatal(ids, err)
	}
	var at []int
	for _, f := range faults {
		var le *jsonl.LineError
		if !errors.As(f, &le) || le.File != path {
			t.Fatalf("%v does not name its place", f)
		}
		at = append(at, le.Line)
	}
	if !slices.Equal(at, []int{1, 5, 7}) {
		t.Errorf("bad lines %v, want 1, 5, 7", at)
	}
}

// TestLoaderUnreadable: documents read before a file fails still arrive.
func TestLoaderUnreadable(t *testing.T) {
	good := writeFile(t, "good.jsonl", lines(0, 3))
	missing := filepath.Join(t.TempDir(), "missing.jsonl")
	ids, _, err := idsOf(&loader{files: []string{good, missing}, batch: 2, bytes: 4 << 20, counts: everyField})
	if !errors.Is(err, os.ErrNotExist) || len(ids) != 3 {
		t.Errorf("%d documents, then %v", len(ids), err)
	}
	cut := writeFile(t, "cut.jsonl.zst", "\x28\xb5\x2f\xfd\x04\x00broken")
	if _, _, err := idsOf(&loader{files: []string{cut}, batch: 2, bytes: 4 << 20, counts: everyField}); err == nil || !strings.Contains(err.Error(), "cut.jsonl.zst") {
		t.Errorf("a damaged archive: %v", err)
	}
}

// TestLoaderStops: an error of apply ends the run, even on endless input.
func TestLoaderStops(t *testing.T) {
	enough := errors.New("enough")
	l := &loader{files: []string{"-"}, in: &endless{}, batch: 10, bytes: 4 << 20, counts: everyField}
	chunks := 0
	err := l.run(context.Background(), func(*chunk) error {
		if chunks++; chunks == 50 {
			return enough
		}
		return nil
	})
	if err != enough || chunks != 50 {
		t.Errorf("%d chunks, then %v", chunks, err)
	}
}

// TestTextBytes counts the strings of the fields that count.
func TestTextBytes(t *testing.T) {
	var p jsonl.Parser
	var d jsonl.Document
	if err := p.Parse([]byte(`{"id":"long id","a":"four","b":["x","yz"],"c":{"d":"12345"},"n":7}`), &d); err != nil {
		t.Fatal(err)
	}
	if n := textBytes(&d, everyField); n != 12 {
		t.Errorf("%d bytes, want 12", n)
	}
	if n := textBytes(&d, func(name string) bool { return name == "c.d" }); n != 5 {
		t.Errorf("%d bytes, want 5", n)
	}
}
