package postings

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/impl"
)

// A placed is a posting with positions.
type placed struct {
	doc    uint32
	at     []uint32
	length uint8
}

// storedPlaces is an Encoded list with positions as its own Loader.
type storedPlaces struct {
	Encoded
	read int // bytes of positions
}

func (s *storedPlaces) Directory(part int) ([]byte, error) { return s.part(s.Encoded.Directory, part) }
func (s *storedPlaces) Chunk(chunk int) ([]byte, error)    { return s.part(s.Chunks, chunk) }
func (s *storedPlaces) PositionDirectory(part int) ([]byte, error) {
	return s.count(s.part(s.Encoded.PositionDirectory, part))
}
func (s *storedPlaces) PositionChunk(chunk int) ([]byte, error) {
	return s.count(s.part(s.PositionChunks, chunk))
}
func (s *storedPlaces) ShortPositions(pointer uint64) ([]byte, error) {
	if pointer > uint64(len(s.Positions)) {
		return nil, errMissing
	}
	return s.count(s.Positions[pointer:], nil)
}

func (s *storedPlaces) count(b []byte, err error) ([]byte, error) {
	s.read += len(b)
	return b, err
}

func (s *storedPlaces) part(of [][]byte, i int) ([]byte, error) {
	if i >= len(of) {
		return nil, errMissing
	}
	return of[i], nil
}

// somePlaces makes n postings. Some have hundreds of positions, some the same one several times, and
// with wide set some are above 1<<16.
func somePlaces(rng *rand.Rand, n int, wide bool) []placed {
	ps := make([]placed, n)
	doc := uint32(0)
	for i := range ps {
		doc += 1 + uint32(rng.ExpFloat64()*3)
		tf := 1 + int(rng.ExpFloat64()*1.5)
		if rng.IntN(200) == 0 {
			tf = 200 + rng.IntN(300)
		}
		p, most := uint32(0), 300
		if wide && rng.IntN(50) == 0 {
			most = 1 << 20
		}
		for j := range tf {
			if j == 0 || rng.IntN(10) > 0 {
				p += rng.Uint32N(uint32(most))
			}
			ps[i].at = append(ps[i].at, p)
		}
		ps[i].doc, ps[i].length = doc, uint8(rng.IntN(40))
	}
	return ps
}

// buildPlaces adds postings to a Builder, one by one or many at a time.
func buildPlaces(rng *rand.Rand, b *Builder, ps []placed) {
	b.Positions = true
	for len(ps) > 0 {
		if rng.IntN(2) == 0 {
			b.AddPositions(ps[0].doc, ps[0].at, ps[0].length)
			ps = ps[1:]
			continue
		}
		n := 1 + rng.IntN(min(len(ps), 300))
		var docs, tfs []uint32
		var lengths []uint8
		var positions []byte
		for _, p := range ps[:n] {
			docs, tfs, lengths = append(docs, p.doc), append(tfs, uint32(len(p.at))), append(lengths, p.length)
			positions = appendPositions(positions, p.at)
		}
		b.AddAllPositions(docs, tfs, lengths, positions)
		ps = ps[n:]
	}
}

// checkPlaces compares the positions of a list, block by block in some order, with those wanted.
func checkPlaces(t *testing.T, rng *rand.Rand, l *List, want []placed) {
	t.Helper()
	if l.Count != len(want) || !l.HasPositions() {
		t.Fatalf("%d postings, positions %v, want %d", l.Count, l.HasPositions(), len(want))
	}
	var p Positions
	p.Reset(l)
	order := rng.Perm(l.Blocks())
	for round := range 6 { // the second time rows are made, the third they are used
		for _, b := range order {
			checkGathered(t, rng, &p, b, want)
			if round%3 > 0 {
				continue
			}
			if err := p.Load(b); err != nil {
				t.Fatalf("block %d: %v", b, err)
			}
			if (p.Wide == nil) == (p.Narrow == nil) {
				t.Fatal("want either narrow or wide positions")
			}
			if p.Narrow != nil && cap(p.Narrow) < len(p.Narrow)+NarrowPad {
				t.Fatal("no room behind narrow positions")
			}
			for i := range l.BlockLen(b) {
				if got, want := p.Append(nil, i), want[b*l.BlockSize+i].at; !slices.Equal(got, want) {
					t.Fatalf("block %d, posting %d: %v, want %v", b, i, got, want)
				}
			}
		}
	}
}

// checkGathered compares the positions of some postings of a block with those wanted.
func checkGathered(t *testing.T, rng *rand.Rand, p *Positions, b int, want []placed) {
	t.Helper()
	var numbers []uint8
	rate := 1 + rng.IntN(40)
	for i := range p.l.BlockLen(b) {
		if rng.IntN(rate) == 0 {
			numbers = append(numbers, uint8(i))
		}
	}
	at := make([]uint32, len(numbers))
	before := []uint16{7, 8, 9}[:rng.IntN(4)]
	all, width, err := p.Gather(before, b, numbers, at)
	if err != nil {
		t.Fatalf("block %d: %v", b, err)
	}
	if width > 16 {
		if len(all) != len(before) {
			t.Fatalf("block %d: %d positions of %d bits", b, len(all), width)
		}
		return
	}
	if cap(all) < len(all)+NarrowPad {
		t.Fatal("no room behind the positions")
	}
	if !slices.Equal(all[:len(before)], before) {
		t.Fatal("Gather changed what was there")
	}
	for k, i := range numbers {
		var got []uint32
		for _, x := range all[at[k]:][:p.Start[i+1]-p.Start[i]] {
			if got = append(got, uint32(x)); int(x) >= 1<<width {
				t.Fatalf("block %d, posting %d: %d has more than %d bits", b, i, x, width)
			}
		}
		if want := want[b*p.l.BlockSize+int(i)].at; !slices.Equal(got, want) {
			t.Fatalf("block %d, posting %d: %v, want %v", b, i, got, want)
		}
	}
}

func TestPositions(t *testing.T) {
	for variant := range impl.Each("postings") {
		t.Run(variant, func(t *testing.T) {
			for seed := range uint64(60) {
				rng := rand.New(rand.NewPCG(seed, 1))
				n := []int{1, 2, 100, 127, 128, 129, 256, 1000, 20_000}[rng.IntN(9)]
				size := uint8(0)
				if rng.IntN(2) == 0 && n < 5000 {
					size = uint8(1 + rng.IntN(9))
				}
				b := &Builder{BlockSize: size, Codec: codecs[rng.IntN(len(codecs))]}
				ps := somePlaces(rng, n, rng.IntN(2) == 0)
				half := rng.IntN(n + 1)
				buildPlaces(rng, b, ps[:half])
				if half > 0 {
					view := b.View(MaxDoc)
					defer checkPlaces(t, rng, view, ps[:half])
				}
				buildPlaces(rng, b, ps[half:])
				some := 1 + rng.IntN(n)
				checkPlaces(t, rng, b.View(ps[some-1].doc+1), ps[:some])
				e := b.Encode()
				l, err := Open(e.Entry, &storedPlaces{Encoded: e})
				if err != nil {
					t.Fatal(err)
				}
				checkPlaces(t, rng, l, ps)
				l.Shrink()
				checkPlaces(t, rng, l, ps)
			}
		})
	}
}

// TestPositionsUnread holds that who needs no positions reads none.
func TestPositionsUnread(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, n := range []int{5, 128, 30_000} {
		var b Builder
		buildPlaces(rng, &b, somePlaces(rng, n, false))
		s := &storedPlaces{Encoded: b.Encode()}
		l, err := Open(s.Entry, s)
		if err != nil {
			t.Fatal(err)
		}
		var c Cursor
		c.Reset(l)
		for d := c.Next(); d != End; d = c.Next() {
			c.TF()
		}
		if s.read > 0 || l.FetchedPositions() > 0 {
			t.Errorf("%d postings: %d bytes of positions read", n, s.read)
		}
		var p Positions
		p.Reset(l)
		if err := p.Load(0); err != nil || s.read == 0 || l.FetchedPositions() == 0 {
			t.Errorf("%d postings: %v, %d and %d bytes of positions read", n, err, s.read, l.FetchedPositions())
		}
	}
}

// TestPositionsMerged merges lists of all forms by a Writer, some blocks whole and some posting by
// posting.
func TestPositionsMerged(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 2))
		codec := codecs[rng.IntN(len(codecs))]
		w := Writer{Codec: codec, Positions: true}
		var want []placed
		base := uint32(0)
		taken := 0
		for range 1 + rng.IntN(4) {
			ps := somePlaces(rng, []int{1, 50, 128, 3000}[rng.IntN(4)], rng.IntN(3) == 0)
			b := &Builder{Codec: codec}
			buildPlaces(rng, b, ps)
			s := Scan{Positions: true}
			e := b.Encode()
			load := &storedPlaces{Encoded: e}
			switch {
			case len(ps) < BlockSize && rng.IntN(2) == 0:
				s.ResetRun(runOf(ps))
			case e.Entry[0]&1 == 0 && rng.IntN(2) == 0:
				if _, err := s.ResetShort(e.Entry, load); err != nil {
					t.Fatal(err)
				}
			case rng.IntN(2) == 0:
				s.Reset(b.View(MaxDoc))
			default:
				l, err := Open(e.Entry, load)
				if err != nil {
					t.Fatal(err)
				}
				s.Reset(l)
			}
			drop := rng.IntN(3) == 0
			i := 0
			for s.Next() {
				s.Shift(base)
				lengths := make([]uint8, s.N)
				for j := range lengths {
					lengths[j] = ps[i+j].length
					want = append(want, placed{ps[i+j].doc + base, ps[i+j].at, ps[i+j].length})
				}
				i += s.N
				if !drop && w.Take(&s) {
					taken++
					continue
				}
				deltas, err := s.Deltas()
				if err != nil {
					t.Fatal(err)
				}
				w.AddPositions(s.Docs[:s.N], s.TFs[:s.N], lengths, deltas)
			}
			if s.Err() != nil || i != len(ps) {
				t.Fatal(i, s.Err())
			}
			base = want[len(want)-1].doc
		}
		e := w.Finish()
		l, err := Open(e.Entry, &storedPlaces{Encoded: e})
		if err != nil {
			t.Fatal(err)
		}
		checkPlaces(t, rng, l, want)
		again := Builder{Codec: codec}
		buildPlaces(rng, &again, want)
		if a := again.Encode(); fmt.Sprint(a) != fmt.Sprint(e) {
			t.Fatalf("seed %d: a merge, which took %d blocks, writes other bytes", seed, taken)
		}
	}
}

// runOf returns postings as a run, and their positions.
func runOf(ps []placed) (run, positions []byte) {
	prev := noDoc
	for _, p := range ps {
		run = appendShort(run, p.doc-prev-1, uint32(len(p.at)))
		positions = appendPositions(positions, p.at)
		prev = p.doc
	}
	return run, positions
}

// TestPositionsAppendFrom compares the newest postings of a Builder with those added.
func TestPositionsAppendFrom(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	ps := somePlaces(rng, 700, false)
	var b Builder
	buildPlaces(rng, &b, ps)
	for _, from := range []int{0, 100, 256, 500, 699} {
		got := Postings{WithPositions: true}
		b.AppendFrom(&got, ps[from].doc, ps[len(ps)-1].doc)
		var want Postings
		for _, p := range ps[from : len(ps)-1] {
			want.Docs, want.TFs = append(want.Docs, p.doc), append(want.TFs, uint32(len(p.at)))
			want.Positions = appendPositions(want.Positions, p.at)
		}
		if !slices.Equal(got.Docs, want.Docs) || !slices.Equal(got.TFs, want.TFs) || !slices.Equal(got.Positions, want.Positions) {
			t.Errorf("from %d: %d postings, want %d", from, len(got.Docs), len(want.Docs))
		}
	}
}

// TestPositionsOfNone: exact terms are at position 0.
func TestPositionsOfNone(t *testing.T) {
	var b Builder
	b.Add(3, 2, 1)
	b.Add(5, 1, 1)
	l := b.View(MaxDoc)
	var p Positions
	p.Reset(l)
	if err := p.Load(0); err != nil || l.HasPositions() {
		t.Fatal(err, l.HasPositions())
	}
	if got := p.Append(p.Append(nil, 0), 1); !slices.Equal(got, []uint32{0, 0, 0}) {
		t.Errorf("positions %v", got)
	}
}

// TestPositionsDamage changes each byte of what is stored. With its checksum each change is found;
// without, none may do worse than give other positions.
func TestPositionsDamage(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for _, n := range []int{40, 600} {
		var b Builder
		buildPlaces(rng, &b, somePlaces(rng, n, true))
		e := b.Encode()
		parts := slices.Concat(e.PositionDirectory, e.PositionChunks, [][]byte{e.Positions})
		for _, part := range parts {
			sealed := n > BlockSize
			for i := range part {
				for _, change := range []byte{1, 0x80, 0xff} {
					part[i] ^= change
					l, err := Open(e.Entry, &storedPlaces{Encoded: e})
					if err == nil {
						err = readPlaces(l)
					}
					if err == nil && sealed || err != nil && !errors.Is(err, corrupt.Err) {
						t.Fatalf("%d postings, byte %d: %v", n, i, err)
					}
					part[i] ^= change
				}
			}
		}
		e.PositionChunks, e.PositionDirectory, e.Positions = nil, nil, nil
		l, err := Open(e.Entry, &storedPlaces{Encoded: e})
		if err != nil {
			t.Fatal(err)
		}
		if err := readPlaces(l); err == nil {
			t.Errorf("%d postings: positions that are missing are read", n)
		}
		if l, err = Open(e.Entry, &stored{Encoded: e}); err != nil {
			t.Fatal(err)
		}
		if err := readPlaces(l); !errors.Is(err, corrupt.Err) {
			t.Errorf("%d postings: positions without a loader: %v", n, err)
		}
	}
}

// readPlaces reads all positions of a list.
func readPlaces(l *List) error {
	var p Positions
	p.Reset(l)
	for b := range l.Blocks() {
		if err := p.Load(b); err != nil {
			return err
		}
	}
	return nil
}

func TestPointTo(t *testing.T) {
	var b Builder
	buildPlaces(rand.New(rand.NewPCG(6, 6)), &b, []placed{{4, []uint32{9, 70_000}, 3}})
	e := b.Encode()
	for _, pointer := range []uint64{0, 1, 127, 128, 1 << 40} {
		l, err := Open(PointTo(slices.Clone(e.Entry), pointer), pointedTo{pointer, e.Positions})
		if err != nil {
			t.Fatal(err)
		}
		var p Positions
		p.Reset(l)
		if err := p.Load(0); err != nil || !slices.Equal(p.Wide, []uint32{9, 70_000}) {
			t.Errorf("pointer %d: %v, %v", pointer, p.Wide, err)
		}
	}
}

type pointedTo struct {
	pointer uint64
	data    []byte
}

func (s pointedTo) Directory(int) ([]byte, error) { return nil, errMissing }
func (s pointedTo) Chunk(int) ([]byte, error)     { return nil, errMissing }
func (s pointedTo) ShortPositions(pointer uint64) ([]byte, error) {
	if pointer != s.pointer {
		return nil, errMissing
	}
	return append(slices.Clone(s.data), 0xff, 0x13), nil
}

// TestPositionCode is the example of the package comment.
func TestPositionCode(t *testing.T) {
	if code := fmt.Sprintf("% x", appendPositionCode(nil, []uint32{2, 7, 0, 5, 1, 24})); code != "a2 0d 74 0a" {
		t.Errorf("the code is %s", code)
	}
}

// FuzzPositionCode decodes any bytes as a code of positions, and encodes what comes out.
func FuzzPositionCode(f *testing.F) {
	f.Add(appendPositionCode(nil, []uint32{3, 0, 400, 7}), 4)
	f.Add(appendPositionCode(nil, []uint32{MaxPosition}), 1)
	f.Add([]byte{31, 0xff, 0xff, 0xff}, 3)
	f.Fuzz(func(t *testing.T, code []byte, n int) {
		if n < 1 || n > 1<<16 {
			return
		}
		dst, short := make([]uint32, n), make([]uint32, n)
		size, err := decodeDeltas(dst, append(slices.Clone(code), make([]byte, codeGuard)...))
		shortSize, shortErr := decodeShort(short, code)
		if shortErr == nil && (err != nil || shortSize != size || !slices.Equal(short, dst)) {
			t.Fatalf("as the code of a short list: %v of %d bytes, want %v of %d, %v", short, shortSize, dst, size, err)
		}
		for _, err := range []error{err, shortErr} {
			if err != nil && !errors.Is(err, corrupt.Err) {
				t.Fatalf("not reported as corruption: %v", err)
			}
		}
		checkGatherCode(t, code, n, dst, err)
		if err != nil {
			return
		}
		again := make([]uint32, n)
		code = appendPositionCode(nil, dst)
		if _, err := decodeDeltas(again, append(code, make([]byte, codeGuard)...)); err != nil || !slices.Equal(dst, again) {
			t.Fatalf("round trip: %v, %v, want %v", again, err, dst)
		}
	})
}

// checkGatherCode compares some of the positions of a code with deltas, which are those of the whole
// unless err is set.
func checkGatherCode(t *testing.T, code []byte, n int, deltas []uint32, err error) {
	var p Positions
	for i := range p.Start {
		p.Start[i] = uint32(i * n / BlockSize)
	}
	numbers := []uint8{0, 1, 17, 64, 65, 127}
	at := make([]uint32, len(numbers))
	all, _, ok := p.gatherCode(nil, append(slices.Clone(code), make([]byte, codeGuard)...), numbers, at)
	for k, i := range numbers {
		if err != nil || !ok {
			return
		}
		sum := uint64(0)
		for j, d := range deltas[p.Start[i]:p.Start[i+1]] {
			if sum += uint64(d); uint64(all[int(at[k])+j]) != sum {
				t.Fatalf("posting %d: %d, want %d", i, all[int(at[k])+j], sum)
			}
		}
	}
}

// FuzzPositionDirectory parses any bytes as a part of a directory of positions.
func FuzzPositionDirectory(f *testing.F) {
	f.Add(appendPositionPart(nil, []uint32{100, 120, 90, 40_000, 7}, 0), 5, 2)
	f.Add(appendPositionPart(nil, []uint32{1}, 3), 1, 4)
	f.Fuzz(func(t *testing.T, body []byte, blocks, chunks int) {
		if blocks < 1 || blocks > partBlocks || chunks < 1 {
			return
		}
		p, err := parsePositionPart(body, blocks, chunks)
		if err != nil {
			if !errors.Is(err, corrupt.Err) {
				t.Fatalf("not reported as corruption: %v", err)
			}
			return
		}
		var sizes []uint32
		for i, c := range p.codes {
			if c.to <= c.from || int(c.to) > p.size(c.chunk) || int(c.chunk) >= chunks || i > 0 && c.chunk == p.codes[i-1].chunk && c.from != p.codes[i-1].to {
				t.Fatalf("block %d lies at %v", i, c)
			}
			sizes = append(sizes, c.to-c.from)
		}
		if _, err := parsePositionPart(appendPositionPart(nil, sizes, p.first), blocks, chunks); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkPositions(b *testing.B) {
	rng := rand.New(rand.NewPCG(7, 7))
	var builder Builder
	ps := make([]placed, 100_000)
	n := 0
	for i := range ps {
		ps[i] = placed{uint32(3 * i), nil, 10}
		p := uint32(0)
		for range 1 + int(rng.ExpFloat64()*0.9) {
			p += rng.Uint32N(160)
			ps[i].at = append(ps[i].at, p)
		}
		n += len(ps[i].at)
	}
	buildPlaces(rng, &builder, ps)
	e := builder.Encode()
	l, err := Open(e.Entry, &storedPlaces{Encoded: e})
	if err != nil {
		b.Fatal(err)
	}
	var p Positions
	p.Reset(l)
	all := func(b *testing.B, before func()) {
		for b.Loop() {
			before()
			for block := range l.Blocks() {
				if err := p.Load(block); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/position")
	}
	b.Run("decode", func(b *testing.B) { all(b, func() { l.Shrink(); p.Reset(l) }) })
	b.Run("rows", func(b *testing.B) { all(b, func() { p.Reset(l) }) })
	b.Run("encode", func(b *testing.B) {
		var deltas []uint32
		for _, q := range ps {
			prev := uint32(0)
			for _, x := range q.at {
				deltas = append(deltas, x-prev)
				prev = x
			}
		}
		var dst []byte
		for b.Loop() {
			for i := 0; i+200 <= len(deltas); i += 200 {
				dst = appendPositionCode(dst[:0], deltas[i:i+200])
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/position")
	})
}
