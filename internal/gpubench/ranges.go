package main

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/gpuexec/partition"
	"github.com/riffle-search/riffle/internal/dispatch"
	"github.com/riffle-search/riffle/internal/gov2"
)

// ranges measures how several GPUs hold an index, with the same memory of each: an index that fits
// into one GPU, on one, as copies on two, four and so on, and as ranges, and one as many times as
// large, which only fits into all together. Share is the rate by that of one GPU with the small index; for that index, also by
// their number.
func (b *bench) ranges() error {
	n := len(b.gpus)
	if n < 2 {
		b.say("ranges wants two GPUs")
		return nil
	}
	small, room := b.c, b.layoutRoom()
	var modes []plans
	forms, err := modesOf(b.forms)
	if err != nil {
		return err
	}
	for _, mode := range forms {
		modes = append(modes, plans{mode, b.typicalK()})
	}
	base := map[plans]float64{}
	for _, p := range modes {
		var all []layout
		for devices := 1; devices < n; devices *= 2 {
			all = append(all, layout{devices: devices})
		}
		for _, l := range append(all, layout{devices: n}, layout{devices: n, ranges: true}) {
			rate, err := b.measureLayout(p, l, room, base[p]*float64(l.devices))
			if err != nil {
				return err
			}
			if l.devices == 1 {
				base[p] = rate
			}
		}
	}
	if b.text != "" || b.collection != "gov2" {
		return nil
	}
	b.c, b.answers = gov2.Generate(gov2.Options{Docs: small.Docs * uint32(n), Queries: b.queries, Postings: b.postings, Seed: b.seed}), map[plans]*reference{}
	defer func() { b.c, b.answers = small, map[plans]*reference{} }()
	b.say("%s", b.c.Name)
	for _, p := range modes {
		for _, l := range []layout{{devices: n, ranges: true}, {devices: n}} {
			if _, err := b.measureLayout(p, l, room, base[p]); err != nil {
				return err
			}
		}
	}
	return nil
}

// A layout says how an index is held.
type layout struct {
	devices int
	ranges  bool
}

func (l layout) String() string {
	switch {
	case l.devices == 1:
		return "1 GPU"
	case l.ranges:
		return fmt.Sprintf("%d GPUs, ranges", l.devices)
	}
	return fmt.Sprintf("%d GPUs, copies", l.devices)
}

// A room is the memory for lists of each GPU.
type room struct{ blocks, flat int64 }

// layoutRoom is room for the whole collection, in blocks and as flat postings, which take 4 bytes each,
// and directories and bounds. With -memory and -flat-bytes it is that.
func (b *bench) layoutRoom() room {
	if b.memory > 0 {
		return room{b.memory, b.flatBytes}
	}
	postings := int64(0)
	for i := range b.c.Lists {
		postings += int64(b.c.Lists[i].List.Count)
	}
	return room{b.bytes + b.bytes/8 + 64<<20, 5*postings + postings/2 + 64<<20}
}

// openLayout opens devices with that much memory for lists each, and a dispatcher in front of them.
func (b *bench) openLayout(l layout, of room) (s *station, err error) {
	s = newStation()
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	var all []dispatch.Device
	var members []partition.Device
	for n := range l.devices {
		dev, err := device.Open(n, device.Options{MemoryBytes: of.blocks + of.flat + underWay*b.batchBytes + b.columnBytes, Most: gpuexec.MaxMemory})
		if err != nil {
			return s, err
		}
		x, err := gpuexec.New(dev, gpuexec.Options{BatchBytes: b.batchBytes, ColumnBytes: b.columnBytes, FlatBytes: of.flat, Shape: b.shape, Timed: true})
		if err != nil {
			return s, errors.Join(err, dev.Close())
		}
		s.gpus = append(s.gpus, &gpu{x, dev, 2 * underWay})
		all, members = append(all, x), append(members, x)
	}
	o := dispatch.Options{
		Policy: dispatch.Devices, MaxCount: b.batch[len(b.batch)-1], Depth: underWay, Cores: runtime.GOMAXPROCS(0), MaxBytes: b.batchBytes / 2,
	}
	if l.ranges {
		set := partition.New(members, partition.Options{TileDocs: s.gpus[0].TileDocs(), LeastDocs: min(1<<16, b.c.Docs/uint32(2*l.devices))})
		all, o.MaxBytes = []dispatch.Device{set}, o.MaxBytes*int64(l.devices)
	}
	s.Dispatcher = dispatch.New(all, o)
	return s, nil
}

// measureLayout measures one layout, unless it is recorded, and returns its rate, 0 if there was no
// time. whole is what share is of.
func (b *bench) measureLayout(p plans, l layout, of room, whole float64) (float64, error) {
	name := fmt.Sprintf("%v, %v", p, l)
	err := b.measure("ranges", name, func() ([]figure, error) {
		fs, err := b.layout(p, l, of)
		if err == nil && whole > 0 {
			fs = append(fs, figure{"share", fs[0].Value.(float64) / whole})
		}
		return fs, err
	})
	return b.recorded("ranges", name), err
}

// layout measures one layout, once its lists have settled. Clients wait for answers, each of which is
// compared with the CPU's.
func (b *bench) layout(p plans, l layout, of room) ([]figure, error) {
	r, err := b.reference(p)
	if err != nil {
		return nil, err
	}
	s, err := b.openLayout(l, of)
	if err != nil {
		return nil, err
	}
	err = b.settle(s, r)
	before, times, host := s.Stats(), s.times(), readHost()
	rate := 0.0
	if err == nil {
		rate, err = s.loadAll(b, r, b.seconds)
	}
	after, used := s.Stats(), s.times()
	spent := readHost().since(host)
	if err = errors.Join(err, s.close()); err != nil {
		return nil, err
	}
	queries := float64(max(1, after.Queries-before.Queries))
	percent := func(n int64) float64 { return 100 * float64(n) / queries }
	micros := func(t time.Duration) float64 { return float64(t.Nanoseconds()) / 1000 / queries }
	return append([]figure{
		{"q/s", rate}, {"GPUs", int64(l.devices)}, {"GB for lists on each", float64(of.blocks+of.flat) / 1e9},
		{"on GPU, %", percent(after.OnGPU - before.OnGPU)}, {"completed by CPU, %", percent(after.OnBoth - before.OnBoth)},
		{"queries a batch", queries / float64(max(1, after.Batches-before.Batches))}, {"KB to the GPUs", float64(after.MovedBytes-before.MovedBytes) / queries / 1e3},
		{"kernels of all GPUs, µs", micros(used.Kernels - times.Kernels)}, {"host, µs", micros(used.Host - times.Host)},
		{"a batch, ms", float64((after.Device - before.Device).Milliseconds()) / float64(max(1, after.Batches-before.Batches))},
	}, spent.figures()...), nil
}

// settle loads a station until lists have come to stay: the rate rises no more.
func (b *bench) settle(s *station, r *reference) error {
	const rounds = 8
	for last, n := 0.0, 0; n < rounds; n++ {
		rate, err := s.loadAll(b, r, b.seconds/2)
		if err != nil {
			return err
		}
		if n > 1 && rate < 1.02*last {
			return nil
		}
		last = rate
	}
	return nil
}

// times sums up those of all devices.
func (s *station) times() (sum gpuexec.Times) {
	for _, g := range s.gpus {
		t := g.Times()
		sum.Kernels += t.Kernels
		sum.Host += t.Host
	}
	return sum
}
