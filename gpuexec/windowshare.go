package gpuexec

import (
	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/gpuexec/listcache"
)

// windowModel is what queries of lists cost that windows read, in microseconds and kilobytes a
// query, fitted to 12 measurements on an H200 with 25 million documents, 2.9 billion postings and
// queries of 3.7 million (bench/results/2026-11-26-gpu.md). Only how the figures relate to each other
// matters for how memory is divided, so they serve for other collections, too.
type windowModel struct {
	// Kernels, by the memory of windows as a share of what all lists take in a window, as flat
	// postings.
	compute listcache.Curve
	// What is read of the host's memory, by the share of the lists' bytes that stays.
	volume listcache.Curve
	link   float64 // kilobytes a microsecond
}

var measuredWindows = windowModel{
	compute: listcache.Curve{{X: 0.22, Y: 56.1}, {X: 0.45, Y: 34.5}, {X: 0.9, Y: 17.2}, {X: 1.8, Y: 13.3}},
	volume:  listcache.Curve{{X: 0, Y: 1150}, {X: 0.05, Y: 940}, {X: 0.2, Y: 657}, {X: 0.42, Y: 502}, {X: 0.7, Y: 396}, {X: 1, Y: 347}},
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
// lists that stay, for an index of some size. It must be called before the first batch, and does
// nothing if Options.WindowBytes was set.
func (x *Executor) DivideStream(postings, docs uint64) {
	w := &x.windows
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
}
