package gpuexec

import (
	"fmt"
	"testing"

	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/internal/gov2"
	"github.com/riffle-search/riffle/postings"
)

// BenchmarkWindowsHost measures the host's work for a batch of 2,048 queries that goes by windows,
// by documents: 25 million have 12 windows, 100 million 48, and 200 million 96. Queries and the
// lengths of lists are those of package gov2, in a log of 4,096 queries. As many lists stay as have
// room in a share of the memory of all. It needs no device; what the driver does is not measured.
func BenchmarkWindowsHost(b *testing.B) {
	for _, docs := range []int{25_000_000, 100_000_000, 200_000_000} {
		load := newWindowsLoad(docs)
		for _, bytes := range []int64{1180 << 20, 1650 << 20} {
			b.Run(fmt.Sprintf("docs=%d/windows=%dMiB", docs/1_000_000, bytes>>20), func(b *testing.B) {
				h := newWindowsHost(load, 22, bytes)
				h.admit()
				b.ReportAllocs()
				for b.Loop() {
					h.make(b)
					h.batch.forget()
				}
				h.report(b)
				b.ReportMetric(float64(h.batch.staging.used)/float64(len(h.plans)), "copied-B/query")
				b.ReportMetric(float64(len(h.batch.windowed.steps)), "steps")
			})
		}
	}
}

const logQueries = 4096

// newWindowsLoad is newHostLoad for other numbers of documents and queries. Lists have the key of
// their number.
func newWindowsLoad(docs int) *hostLoad {
	scale := docs / 25_000
	c := gov2.Generate(gov2.Options{Docs: 25_000, Queries: logQueries})
	norms := make([]uint8, docs)
	h := &hostLoad{docs: docs, queries: c.Queries}
	for i := range c.Lists {
		l, bounds := directory(c.Lists[i].List.Count*scale, docs)
		h.terms = append(h.terms, term{List: l, Norms: norms, Table: c.Lists[i].Table, Bounds: bounds, Key: uint64(i + 1)})
	}
	return h
}

// A windowsHost is a host whose batches go by windows.
type windowsHost struct {
	host
	log []*Plan // what lists are admitted by
}

func newWindowsHost(load *hostLoad, share int, windowBytes int64) *windowsHost {
	plans := load.plans(10)
	h := &windowsHost{host: host{plans: plans[hostQueries:], taken: make([]int, hostQueries), answers: make([]Answer, hostQueries)}, log: plans[:hostQueries]}
	x, bt := &h.executor, &h.batch
	x.shape = Shape{WholeColumns: 1 << 30}.withDefaults() // parts would need pinned memory
	x.options.Stream, x.options.StaticLists, x.options.WindowBytes = true, true, windowBytes
	x.columns = columns{address: 2 << 40, rows: 1 << 24}
	x.divideWindows()
	bytes := int64(0)
	for i := range load.terms {
		bytes += postings.RowBytes * int64(load.terms[i].List.PayloadRows())
	}
	x.windows.place(3<<40, x.options.WindowBytes, bytes*int64(share)/100&^(device.ArenaAlign-1))
	bt.algorithm, bt.shape, bt.placed.columns, bt.resultRoom = MaxScore, x.shape, &x.columns, 64<<20
	bt.staging = staging{host: make([]byte, 512<<20), address: 1 << 40, size: 1 << 30}
	bt.lists.known, bt.lists.tables, bt.flat.flats = &x.known, &x.tables, &x.flats
	bt.windowed.windows, bt.byWindows = &x.windows, true
	return h
}

// admit counts the log's queries, has the lists chosen, and makes batches until those are resident.
func (h *windowsHost) admit() {
	x := &h.executor
	taken := make([]int, len(h.log))
	for i := range taken {
		taken[i] = i
	}
	answers := make([]Answer, len(h.log))
	x.gather(&h.batch, h.log, taken, answers)
	x.windows.residents.visit(&h.batch, &x.known)
	h.batch.forget()
	x.windows.residents.choose(&x.known, true)
	for range 3 {
		x.gather(&h.batch, h.plans, h.choose(nil), h.answers)
		h.keep()
		h.batch.fillWindows()
		h.batch.forget()
	}
}

// keep is records.keep, without the bytes.
func (h *windowsHost) keep() {
	for i := range h.batch.lists.entries {
		e := &h.batch.lists.entries[i]
		if e.kept = e.known.kept; e.kept != nil {
			continue
		}
		w := &recordWriter{shape: h.batch.shape, term: e.term, docs: e.docs, kept: &keptList{generation: 1}}
		w.measure()
		for i := range w.kept.windows {
			w.kept.windows[i].address = 5 << 40
		}
		e.kept, e.known.kept = w.kept, w.kept
	}
}

// make makes a batch.
func (h *windowsHost) make(b *testing.B) {
	x := &h.executor
	x.gather(&h.batch, h.plans, h.choose(b), h.answers)
	h.keep()
	x.windows.residents.visit(&h.batch, &x.known)
	if !h.batch.fillWindows() {
		var most need
		for _, n := range h.batch.windowed.needs {
			most.flat, most.other = max(most.flat, n.flat), max(most.other, n.other)
		}
		b.Fatalf("the batch is too big: a window needs up to %+v of %+v", most, h.batch.windowed.track.room(0).need())
	}
}
