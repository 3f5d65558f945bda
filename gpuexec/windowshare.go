package gpuexec

import (
	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/gpuexec/listcache"
	"github.com/riffle-search/riffle/internal/invariants"
)

// windowModel is what queries of lists cost that windows read, in microseconds and kilobytes a
// query, fitted to eight measurements on an H100 with 25 million documents, 2.9 billion postings and
// batches of 2,048 queries of 3.7 million (bench/results/2026-11-26-gpu-scale.md), with as many tiles
// a window as were best. Only how the figures relate to each other matters for how memory is divided,
// so they serve for other collections, too.
type windowModel struct {
	// Kernels, by the memory of windows as a share of what all lists take in a window, as flat
	// postings.
	compute listcache.Curve
	// What is read of the host's memory, by the share of the lists' bytes that stays.
	volume listcache.Curve
	link   float64 // kilobytes a microsecond
}

var measuredWindows = windowModel{
	compute: listcache.Curve{{X: 0.01, Y: 800}, {X: 0.055, Y: 140}, {X: 0.11, Y: 70}, {X: 0.22, Y: 34.7}, {X: 0.46, Y: 14.1}, {X: 0.92, Y: 12.6}, {X: 1.48, Y: 11}, {X: 1.83, Y: 10.9}},
	volume:  listcache.Curve{{X: 0, Y: 850}, {X: 0.05, Y: 740}, {X: 0.1, Y: 665}, {X: 0.2, Y: 570}, {X: 0.4, Y: 455}, {X: 0.7, Y: 359}, {X: 1, Y: 330}},
	link:    52,
}

// listBytesOf and flatBytesOf are about the bytes of some postings as records and as flat postings.
func listBytesOf(postings uint64) float64 { return 1.2 * float64(postings) }
func flatBytesOf(postings uint64) float64 { return 4 * float64(postings) }

// model is the listcache.Model for lists with so many postings, of which windows have a part.
func (w *windowModel) model(postings uint64, inWindow float64) listcache.Model {
	m := listcache.Model{ByBuffer: true, Overlap: listcache.StreamOverlap, Transfer: listcache.Curve{{X: 1, Y: 1 / w.link}}}
	for _, p := range w.compute {
		m.Compute = append(m.Compute, listcache.Point{X: p.X * flatBytesOf(postings) * inWindow, Y: 1000 * p.Y})
	}
	for _, p := range w.volume {
		m.Volume = append(m.Volume, listcache.Point{X: p.X * listBytesOf(postings), Y: 1000 * p.Y})
	}
	return m
}

// DivideStream divides the memory that batches leave, with Options.Stream, between windows and the
// lists that stay, for an index of some size. It must be called before the first batch, which writes
// records of windows and gives them places, and not side by side with other methods. It does nothing
// if Options.WindowBytes was set.
//
// An engine calls it once, before it makes the dispatcher, and only that runs batches (Start of
// internal/gpu).
func (x *Executor) DivideStream(postings, docs uint64) {
	w := &x.windows
	if invariants.Enabled {
		invariants.Check(len(x.free) == slots && w.records.unused(), "memory is divided for %d postings after a batch has begun", postings)
	}
	if !x.options.Stream || x.windowsGiven || postings == 0 || docs == 0 {
		return
	}
	both := w.bytes + int64(w.residents.rows)*rowBytes
	m := measuredWindows.model(postings, min(1, float64(x.shape.windowDocs())/float64(docs)))
	best := m.Best(both, 0)
	bytes := min(windowBytes, best.Buffer) &^ (device.ArenaAlign - 1)
	if best.QueriesPerSecond == 0 {
		return
	}
	w.bytes = bytes
	w.place(w.tracks[0].thirds[0].address, bytes, both-bytes)
	x.chooseTiles(postings, docs)
}

// roomy is the memory of windows, as a share of what all lists take in one as flat postings, in which
// a batch of 2,048 queries has room: such a batch has three quarters of the postings, and thirds need as
// much as all of them. If it has none, it runs as two, of which each reads and flattens two thirds of
// what both would together.
const roomy = 1.6

// leastWindowTiles is how few tiles a window may have. With 32 instead of 128, 2,048 queries take 6 %
// longer; with 16 and a quarter of the memory, 2.3 times as long as with 32 and half of it.
const leastWindowTiles = 32

// chooseTiles chooses how many tiles a window has: as many as have room for a batch. Only DivideStream
// calls it, before the first batch: no record has been made of windows of other sizes.
func (x *Executor) chooseTiles(postings, docs uint64) {
	if x.tilesGiven {
		return
	}
	tiles := x.shape.WindowTiles
	for tiles/2 >= leastWindowTiles {
		inWindow := min(1, float64(uint64(tiles)<<x.shape.TileShift)/float64(docs))
		if float64(x.windows.bytes) >= roomy*inWindow*flatBytesOf(postings) {
			break
		}
		tiles /= 2
	}
	x.shape.WindowTiles = tiles
	for range slots {
		s := <-x.free
		s.batch.shape = x.shape
		x.free <- s
	}
}
