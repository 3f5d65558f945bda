package gpuexec

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec/baselines"
	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// A decoder decodes whole lists on a device.
// devDecoding is the argument of decode_list.
type devDecoding struct {
	list, docs, freqs uint64
}

type decoder struct {
	t       testing.TB
	dev     *device.Device
	kernel  device.Kernel
	stream  device.Stream
	done    device.Event
	staging staging
	pinned  device.Pinned
	kinds   map[string]bool // of blocks that were decoded
}

func newDecoder(t testing.TB, bytes int64) *decoder {
	d := &decoder{t: t, kinds: map[string]bool{}}
	var err error
	if d.dev, err = device.Open(0, device.Options{MemoryBytes: bytes}); errors.Is(err, device.ErrNoDevice) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.dev.Close() })
	m := d.dev.Memory()
	if err := d.dev.Do(func(q *device.Queue) {
		d.kernel = q.Kernel(q.Load(read(baselines.Kernels, "decode.ptx")), "decode_list")
		d.stream, d.done, d.pinned = q.Stream(), q.Event(), q.Pin(m.Bytes)
	}); err != nil {
		t.Fatal(err)
	}
	d.staging = staging{host: d.pinned.Bytes(), address: m.Address, size: int(m.Bytes)}
	return d
}

// decode returns the documents and frequencies of a list as the device decodes them.
func (d *decoder) decode(l *postings.List) (docs, freqs []uint32) {
	args, at := d.put(l)
	m := d.dev.Memory()
	var read device.Pinned
	d.do(func(q *device.Queue) {
		q.Launch(d.stream, d.kernel, device.Grid{Blocks: 2, Threads: 64}, m.Slice(at, at+1))
		kept := m.Bytes - int64(d.staging.kept)
		read = d.pinned.Slice(kept, m.Bytes)
		q.ToHost(d.stream, read, m.Slice(kept, m.Bytes))
	})
	words := device.View[uint32](read)
	kept := m.Address + uint64(m.Bytes) - uint64(d.staging.kept)
	return words[(args.docs-kept)/4:][:l.Count], words[(args.freqs-kept)/4:][:l.Count]
}

// do runs work on the device, and waits for it.
func (d *decoder) do(work func(*device.Queue)) {
	d.t.Helper()
	err := d.dev.Do(func(q *device.Queue) {
		work(q)
		q.Record(d.done, d.stream)
	})
	if err == nil {
		err = d.dev.Wait(d.done, 0)
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// put copies a list to the device. It returns the argument of decode_list and its offset in memory.
func (d *decoder) put(l *postings.List) (_ devDecoding, at int64) {
	s := &d.staging
	s.begin()
	table := blockmax.NewTable(blockmax.DefaultBM25, 10)
	t := term{List: l, Table: table, Bounds: segment.Bounds(l, table)}
	args, address := put[devDecoding](s, 1)
	list, listAt := put[devList](s, 1)
	list[0] = devList{arena: s.address, count: uint32(l.Count), blockSize: uint32(l.BlockSize), blocks: uint32(l.Blocks())}
	var ext []devExtent
	ext, list[0].extents = put[devExtent](s, extents(l))
	for e := range ext {
		head, headAt := put[byte](s, headRows*rowBytes)
		writeHead(head, &t, e)
		rows, rowsAt := put[byte](s, rowBytes*int(l.ExtentRows(e)))
		if err := writeExtent(rows, l, e); err != nil {
			d.t.Fatal(err)
		}
		ext[e] = devExtent{last: l.ExtLast[e], head: s.rowOf(headAt), rows: s.rowOf(max(rowsAt, s.address))}
	}
	size := 4 * l.Blocks() * l.BlockSize
	args[0] = devDecoding{list: listAt, docs: s.keep(size), freqs: s.keep(size)}
	if s.full {
		d.t.Fatal("the staging is full")
	}
	m := d.dev.Memory()
	d.do(func(q *device.Queue) {
		q.ToDevice(d.stream, m.Slice(0, int64(s.used)), d.pinned.Slice(0, int64(s.used)))
	})
	return args[0], int64(address - m.Address)
}

// check compares what the device decodes with the list's cursor.
func (d *decoder) check(l *postings.List) error {
	docs, freqs := d.decode(l)
	var c postings.Cursor
	c.Reset(l)
	for i := range l.Count {
		if doc, tf := c.Next(), c.TF(); docs[i] != doc || freqs[i] != tf {
			b := i / l.BlockSize
			return fmt.Errorf("posting %d of block %d (%v, %d postings) is document %d, %d times; want %d, %d times",
				i%l.BlockSize, b, l.Enc[b], l.BlockLen(b), docs[i], freqs[i], doc, tf)
		}
	}
	for _, e := range l.Enc {
		d.kinds[e.String()] = true
	}
	return nil
}

// build makes a list of gaps (from 1) and frequencies.
func build(b postings.Builder, gaps, freqs []uint32) *postings.List {
	doc := ^uint32(0)
	for i, g := range gaps {
		doc += g
		b.Add(doc, freqs[i], 7)
	}
	return b.View(postings.MaxDoc)
}

// TestDecodeWidths decodes packed blocks of every width, full and short.
func TestDecodeWidths(t *testing.T) {
	d := newDecoder(t, 8<<20)
	rng := rand.New(rand.NewPCG(1, 1))
	for width := range 33 {
		for _, n := range []int{1, 2, 5, 31, 64, 127, 128, 133} {
			gaps, freqs := make([]uint32, n), make([]uint32, n)
			for i := range gaps {
				gaps[i] = 1 + rng.Uint32N(1<<min(width, 23))
				freqs[i] = max(1, uint32(rng.Uint64()&(1<<width-1)))
			}
			gaps[0] = min(uint32(1)<<max(0, width-1), 1<<29) + 1
			freqs[n/2] = max(1, uint32(1)<<max(0, width-1)) // this frequency requires the width
			if err := d.check(build(postings.Builder{}, gaps, freqs)); err != nil {
				t.Fatalf("width %d, %d postings: %v", width, n, err)
			}
		}
	}
}

// TestDecode decodes lists of all codecs and block sizes: sparse, dense, consecutive, and with
// outliers.
func TestDecode(t *testing.T) {
	d := newDecoder(t, 8<<20)
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 400 {
		b := postings.Builder{Codec: []postings.Kind{postings.Packed, postings.PFor, postings.Rice}[round%3]}
		if round%5 == 0 {
			b.BlockSize = uint8(1 + rng.IntN(127))
		}
		n := 1 + rng.IntN(300)
		if round%40 == 1 {
			n = 5000
		}
		gaps, freqs := make([]uint32, n), make([]uint32, n)
		most := uint32(1) << rng.IntN(12)
		outliers := rng.Float64() * 0.2
		for i := range gaps {
			gaps[i], freqs[i] = 1+rng.Uint32N(most), 1
			if rng.IntN(3) == 0 {
				freqs[i] += rng.Uint32N(most)
			}
			if rng.Float64() < outliers {
				gaps[i] += rng.Uint32N(100_000)
				freqs[i] += rng.Uint32N(1000)
			}
		}
		if err := d.check(build(b, gaps, freqs)); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	for _, kind := range []string{"packed/", "bitset/", "run", "pfor/", "rice/", "tf/0", "tf pfor", "tf rice"} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(d.kinds)), func(s string) bool { return strings.Contains(s, kind) }) {
			t.Errorf("no block was %s", kind)
		}
	}
}

// BenchmarkDecode decodes lists of each codec, of several lengths, documents and frequencies, as in
// table 1 and figure 4 of Ding et al. (2009). Gaps are Zipfian, as are frequencies. The emulator's
// figures mean nothing.
func BenchmarkDecode(b *testing.B) {
	for _, codec := range []postings.Kind{postings.Packed, postings.PFor, postings.Rice} {
		for _, n := range []int{1 << 12, 1 << 16, 1 << 20, 1 << 23} {
			b.Run(fmt.Sprintf("codec=%v/postings=%d", codec, n), func(b *testing.B) { benchmarkDecode(b, codec, n) })
		}
	}
}

func benchmarkDecode(b *testing.B, codec postings.Kind, n int) {
	d := newDecoder(b, 256<<20)
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, uint64(n))), 1.4, 8, 1000)
	gaps, freqs := make([]uint32, n), make([]uint32, n)
	for i := range gaps {
		gaps[i], freqs[i] = 1+uint32(zipf.Uint64()), 1+uint32(zipf.Uint64()/8)
	}
	l := build(postings.Builder{Codec: codec}, gaps, freqs)
	_, at := d.put(l)
	m := d.dev.Memory()
	var from, to device.Event
	info := d.dev.Info()
	d.do(func(q *device.Queue) {
		from, to = q.Event(), q.Event()
		q.Record(from, d.stream)
		grid := device.Grid{Blocks: info.Multiprocessors * q.Occupancy(d.kernel, 512, 0), Threads: 512}
		for range b.N {
			q.Launch(d.stream, d.kernel, grid, m.Slice(at, at+1))
		}
		q.Record(to, d.stream)
	})
	var took time.Duration
	d.do(func(q *device.Queue) { took = q.Elapsed(from, to) })
	b.ReportMetric(2*float64(n)*float64(b.N)/took.Seconds()/1e9, "Gints/s")
	rows := l.Off[l.Blocks()-1] + uint32(l.Enc[l.Blocks()-1].Rows(l.BlockLen(l.Blocks()-1)))
	b.ReportMetric(8*rowBytes*float64(rows)/float64(n), "bits/posting")
}
