package main

import (
	"flag"
	"io"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/gpuexec"
)

// TestStripShapes combines the flags of how queries go by strips.
func TestStripShapes(t *testing.T) {
	parse := func(args ...string) (s settings, err error) {
		f := flag.NewFlagSet("gpubench", flag.ContinueOnError)
		f.SetOutput(io.Discard)
		s.declare(f)
		return s, f.Parse(args)
	}
	s, err := parse("-strip-tiles", "0,-1", "-append-hits", "1", "-whole-strips", "6,12")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, shape := range s.stripShapes() {
		names = append(names, shape.String())
	}
	want := []string{
		" append-hits=1 whole-strips=6", " append-hits=1 whole-strips=12",
		" strip-tiles=-1 append-hits=1 whole-strips=6", " strip-tiles=-1 append-hits=1 whole-strips=12",
	}
	if !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	of := s.stripShapes()[2].of(gpuexec.Shape{TileShift: 12})
	if of != (gpuexec.Shape{TileShift: 12, StripTiles: -1, AppendHits: 1, WholeStrips: 6}) {
		t.Errorf("%+v", of)
	}
	if s, err = parse(); err != nil || len(s.stripShapes()) != 1 || s.stripShapes()[0].String() != "" {
		t.Errorf("without flags: %v, %v", s.stripShapes(), err)
	}
	for _, args := range [][]string{{"-append-hits", "-2"}, {"-whole-strips", "-1"}, {"-strip-tiles", "x"}} {
		if _, err := parse(args...); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
