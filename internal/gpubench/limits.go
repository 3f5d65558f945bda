package main

import (
	"flag"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec/device"
)

// limits are rates that no program on a device can exceed: those of its memory, its link to the
// host and its integer units.
type limits struct {
	bandwidth  float64 // bytes a second
	link       float64 // bytes a second
	clock      float64 // Hz
	operations float64 // integer operations a posting
}

// integerUnits is how many integer operations a multiprocessor of compute capability 8 and 9 starts
// per cycle.
const integerUnits = 64

func (l *limits) declare(f *flag.FlagSet) {
	f.Float64Var(&l.bandwidth, "bandwidth", 4.3e12, "bytes a second of a GPU's memory; that of an H200 as measured")
	f.Float64Var(&l.link, "link", 55e9, "bytes a second between host and GPU")
	f.Float64Var(&l.clock, "clock", 1.75e9, "Hz of a GPU")
	f.Float64Var(&l.operations, "operations", 18, "integer operations that a posting takes, at the least; between 14 and 22 for OR")
}

// figures are the queries a second that a device cannot exceed for the work done: blocks decoded,
// each of 128 postings with its documents and frequencies, and bytes copied. They do not hold for plans
// of which only the total is wanted, which need no frequencies.
func (l *limits) figures(info *device.Info, queries int, w *blockmax.Work, bytesPerBlock float64) []figure {
	if queries == 0 || w.BlocksDecoded == 0 {
		return nil
	}
	blocks := float64(w.BlocksDecoded) / float64(queries)
	fs := []figure{
		{"limit by memory, q/s", l.bandwidth / (blocks * (bytesPerBlock + 128))}, // a length byte a posting
		{"limit by integers, q/s", float64(info.Multiprocessors) * integerUnits * l.clock / (blocks * 128 * l.operations)},
	}
	if w.BytesMoved > 0 {
		fs = append(fs, figure{"limit by link, q/s", l.link / (float64(w.BytesMoved) / float64(queries))})
	}
	return fs
}
