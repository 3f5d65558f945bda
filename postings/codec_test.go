package postings

import (
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/internal/corrupt"
)

var codecs = []Kind{Packed, PFor, Rice, Interpolative}

// skewed returns n postings with gaps and frequencies as in text: most are small and some large, so
// that every codec wins some blocks.
func skewed(rng *rand.Rand, n int) []posting {
	skew := func(most int) uint32 {
		return rng.Uint32N(1 << min(bits.TrailingZeros32(rng.Uint32()|1<<31)+rng.IntN(3), most))
	}
	var ps []posting
	doc := uint32(0)
	for range n {
		doc += 1 + skew(16)
		ps = append(ps, posting{doc, 1 + skew(30), uint8(rng.IntN(60))})
	}
	return ps
}

// buildBy is build with a codec.
func buildBy(codec Kind, size int, ps []posting) *Builder {
	b := &Builder{BlockSize: uint8(size), Codec: codec}
	for _, p := range ps {
		b.Add(p.doc, p.tf, p.length)
	}
	return b
}

// TestCodecs writes lists with every codec and reads them in every way.
func TestCodecs(t *testing.T) { eachVariant(t, testCodecs) }

func testCodecs(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62))
	for _, codec := range codecs {
		docs, freqs := make(map[Kind]int), make(map[Kind]int)
		for _, n := range []int{1, 127, 128, 129, 256, 1000, 4096, 4097, 20_000} {
			for _, sample := range []func(*rand.Rand, int) []posting{random, skewed} {
				ps := sample(rng, n)
				b := buildBy(codec, 0, ps)
				checkList(t, b.View(MaxDoc), ps, false)
				l := reopen(t, b)
				checkList(t, l, ps, false)
				checkCursor(t, rng, l, ps)
				for _, e := range l.Enc {
					docs[e.Kind()]++
					freqs[e.FreqKind()]++
				}
			}
		}
		for _, k := range []Kind{Packed, Bitset, Run, codec} {
			if k == Interpolative {
				continue // of chunks, not of blocks
			}
			if docs[k] < 20 || k != Bitset && k != Run && freqs[k] < 20 {
				t.Errorf("of %v blocks, only %d have documents by %v and %d frequencies", codec, docs[k], k, freqs[k])
			}
		}
		for k := range docs {
			if k >= PFor && k != codec {
				t.Errorf("a list by %v has %d blocks by %v", codec, docs[k], k)
			}
		}
	}
}

// checkCursor walks a list with occasional seeks.
func checkCursor(t *testing.T, rng *rand.Rand, l *List, ps []posting) {
	t.Helper()
	var c Cursor
	c.Reset(l)
	for i := rng.IntN(50); i < len(ps); i += 1 + rng.IntN(100) {
		if doc := c.SeekGE(ps[i].doc); doc != ps[i].doc || c.TF() != ps[i].tf {
			t.Fatalf("at posting %d the cursor is at (%d, %d), want %v; %v", i, doc, c.TF(), ps[i], c.Err())
		}
	}
}

// TestViewBlockOfCodec cuts a view in the middle of a coded block.
func TestViewBlockOfCodec(t *testing.T) {
	ps := skewed(rand.New(rand.NewPCG(63, 64)), 500)
	for _, codec := range codecs {
		b := buildBy(codec, 0, ps)
		for n := 1; n < len(ps); n += 7 {
			checkList(t, b.View(ps[n].doc), ps[:n], true)
		}
		b.reset()
		if b.Codec != codec {
			t.Errorf("Reset has changed the codec to %v", b.Codec)
		}
	}
}

// checkPlan writes values as planned and reads them back as frequencies, as documents, and
// one by one.
func checkPlan(t *testing.T, p plan, values *[BlockSize]uint32) {
	t.Helper()
	rows := p.appendTo(nil, values[:])
	if len(rows) != RowBytes*p.rows {
		t.Fatalf("%+v: %d bytes, planned were %d rows", p, len(rows), p.rows)
	}
	e := makeEncoding(p.kind, p.stated(), p.kind, p.stated())
	if e.Kind() != p.kind || e.FreqKind() != p.kind || e.Rows(BlockSize) != 2*p.rows {
		t.Fatalf("%+v became %v", p, e)
	}
	var got [BlockSize]uint32
	if err := decodeFreqs(&got, rows, e, BlockSize); err != nil {
		t.Fatalf("%+v: %v", p, err)
	}
	peek := Peek{Len: BlockSize, FreqWidth: freqsCoded, Freqs: rows, freqs: p.kind}
	if p.kind == Packed {
		peek.FreqWidth = uint(p.low)
	}
	sum, width := uint64(0), uint32(0)
	for i, v := range values {
		if got[i] != v+1 || peek.TF(i) != v+1 {
			t.Fatalf("%+v: value %d is %d, by Peek %d, want %d", p, i, got[i]-1, peek.TF(i)-1, v)
		}
		sum += uint64(v) + 1
		width |= v
	}
	if sum >= MaxDoc {
		return
	}
	if err := decodeDocs(&got, rows, e, BlockSize, noDoc, uint32(sum)-1); err != nil {
		t.Fatalf("%+v: %v", p, err)
	}
	doc := noDoc
	for i, v := range values {
		if doc += v + 1; got[i] != doc {
			t.Fatalf("%+v: document %d is %d, want %d", p, i, got[i], doc)
		}
	}
}

// TestPForShapes writes every number of exceptions with every valid width of low and high parts.
func TestPForShapes(t *testing.T) {
	rng := rand.New(rand.NewPCG(65, 66))
	for low := range 32 {
		for high := 0; low+high < 32; high++ {
			for n := 1; n <= maxExceptions && pforRows(low, n, high) < 32; n++ {
				var values [BlockSize]uint32
				for i := range values {
					values[i] = rng.Uint32() & (1<<low - 1)
				}
				for i, at := range rng.Perm(BlockSize)[:n] {
					above := rng.Uint32() & (1<<high - 1)
					if i == 0 {
						above = 1<<high - 1
					}
					values[at] |= (min(above, 1<<(32-low)-2) + 1) << low
				}
				checkPlan(t, plan{kind: PFor, rows: pforRows(low, n, high), low: low, exceptions: n, highWidth: high}, &values)
			}
		}
	}
}

// TestRiceShapes writes every width of remainders, with quotients of every sum that fits.
func TestRiceShapes(t *testing.T) {
	rng := rand.New(rand.NewPCG(67, 68))
	for low := range 31 {
		for rows := 2; rows <= maxUnaryRows && low+rows < 32; rows++ {
			for spare := range 128 {
				left := 128*rows - BlockSize - 8 - spare // the sum of all quotients
				var values [BlockSize]uint32
				for i := range values {
					values[i] = rng.Uint32() & (1<<low - 1)
				}
				for left > 0 {
					q := min(1+rng.IntN(left), 1<<min(10, 32-low)-1)
					left -= q
					if i := rng.IntN(BlockSize); uint64(values[i])+uint64(q)<<low < 1<<32-1 {
						values[i] += uint32(q) << low
					}
				}
				sum := BlockSize + 8
				for _, v := range values {
					sum += int(v >> low)
				}
				checkPlan(t, plan{kind: Rice, rows: low + (sum+127)/128, low: low}, &values)
			}
		}
	}
}

// TestPlans checks that the plan of a codec is the smallest possible one.
func TestPlans(t *testing.T) {
	rng := rand.New(rand.NewPCG(69, 70))
	won := make(map[Kind]int)
	for range 2000 {
		var values [BlockSize]uint32
		shift := rng.IntN(20)
		for i, p := range skewed(rng, BlockSize) {
			values[i] = p.tf<<shift>>rng.IntN(shift+1) + rng.Uint32N(1<<shift) - 1
		}
		packed := makePlan(values[:], Packed)
		best := map[Kind]int{Packed: packed.rows, PFor: packed.rows, Rice: packed.rows, Interpolative: packed.rows}
		for low := range 32 {
			quotients, exceptions, high := uint64(0), 0, uint32(0)
			for _, v := range values {
				quotients += uint64(v >> low)
				if v>>low > 0 {
					exceptions++
					high = max(high, v>>low-1)
				}
			}
			best[Rice] = min(best[Rice], low+int(min(1000, (BlockSize+8+quotients+127)/128)))
			if 0 < exceptions && exceptions <= maxExceptions {
				best[PFor] = min(best[PFor], pforRows(low, exceptions, bits.Len32(high)))
			}
		}
		for _, codec := range codecs {
			p := makePlan(values[:], codec)
			if p.rows != best[codec] {
				t.Fatalf("%v: %+v, but %d rows do for %v", codec, p, best[codec], values)
			}
			checkPlan(t, p, &values)
			won[p.kind]++
		}
	}
	if won[PFor] < 500 || won[Rice] < 500 {
		t.Errorf("plans were %v", won)
	}
}

// TestCodecBitFlips flips every bit of stored lists, and of their rows with the checksum made valid
// again. The damage must be reported or be harmless.
func TestCodecBitFlips(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	for _, codec := range codecs[1:] {
		enc := buildBy(codec, 0, skewed(rng, 3*BlockSize+5)).Encode()
		for v, value := range parts(&enc) {
			intact := slices.Clone(*value)
			for bit := range 8 * len(intact) {
				*value = slices.Clone(intact)
				(*value)[bit/8] ^= 1 << (bit % 8)
				if err := openAndRead(enc); !errors.Is(err, corrupt.Err) {
					t.Fatalf("%v, value %d, bit %d flipped: %v", codec, v, bit, err)
				}
			}
			*value = intact
		}
		rows := enc.Chunks[0][:len(enc.Chunks[0])-4]
		for bit := range 8 * len(rows) {
			rows[bit/8] ^= 1 << (bit % 8)
			enc.Chunks[0] = sealPart(slices.Clone(rows))
			l, err := Open(enc.Entry, &stored{Encoded: enc})
			if err != nil {
				t.Fatal(err)
			}
			if ps, err := read(l); err == nil {
				checkPromises(t, l, ps)
			} else {
				mustBeCorrupt(t, err)
			}
			rows[bit/8] ^= 1 << (bit % 8)
		}
	}
}

// FuzzCoded decodes arbitrary rows. Without an error, the result keeps the promises of decodeDocs
// and decodeFreqs, and Peek agrees with it.
func FuzzCoded(f *testing.F) {
	rng := rand.New(rand.NewPCG(73, 74))
	for range 20 {
		var values [BlockSize]uint32
		for i, p := range skewed(rng, BlockSize) {
			values[i] = p.tf - 1
		}
		for _, codec := range codecs[1:] {
			f.Add(codec == Rice, uint32(rng.IntN(100)), makePlan(values[:], codec).appendTo(nil, values[:]))
		}
	}
	f.Fuzz(func(t *testing.T, isRice bool, prev uint32, rows []byte) {
		n := min(31, len(rows)/RowBytes)
		if n == 0 || prev >= MaxDoc {
			return
		}
		kind := PFor
		if isRice {
			kind = Rice
		}
		rows = rows[: RowBytes*n : RowBytes*n]
		e := makeEncoding(kind, n, kind, n)
		var docs, tfs [BlockSize]uint32
		err := decodeFreqs(&tfs, rows, e, BlockSize)
		if err != nil {
			mustBeCorrupt(t, err)
		} else if slices.Contains(tfs[:], 0) {
			t.Fatalf("a frequency of 0: %v", tfs)
		}
		peek := Peek{Len: BlockSize, FreqWidth: freqsCoded, Freqs: rows, freqs: kind}
		last := prev
		for i, tf := range tfs {
			if got := peek.TF(i); err == nil && got != tf {
				t.Fatalf("frequency %d is %d, by Peek %d", i, tf, got)
			}
			last += tf
		}
		for _, last := range []uint32{last, prev + 1000} {
			if err := decodeDocs(&docs, rows, e, BlockSize, prev, last); err != nil {
				mustBeCorrupt(t, err)
			} else if !rising(docs[:], prev) || docs[BlockSize-1] != last {
				t.Fatalf("documents behind %d to %d: %v", prev, last, docs)
			}
		}
	})
}

// TestCodecMisuse passes kinds that are not codecs.
func TestCodecMisuse(t *testing.T) {
	for _, k := range []Kind{Bitset, Run, Interpolative + 1} {
		t.Run(k.String(), func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			buildBy(k, 1, []posting{{1, 1, 1}})
		})
	}
}

// BenchmarkCoded decodes one block with each codec. Its gaps and frequencies have about the given
// number of bits, most of them fewer.
func BenchmarkCoded(b *testing.B) {
	for _, codec := range codecs {
		bld := buildBy(codec, 0, skewed(rand.New(rand.NewPCG(75, 76)), 3*BlockSize))
		l := bld.View(MaxDoc)
		e := l.Enc[1]
		b.Run(fmt.Sprintf("docs/%v", e), func(b *testing.B) {
			var dst buffers
			for i := 0; b.Loop(); i++ {
				l.Docs(1, dst.next(i))
			}
			reportPostings(b, BlockSize)
		})
		b.Run(fmt.Sprintf("freqs/%v", e), func(b *testing.B) {
			var dst buffers
			for i := 0; b.Loop(); i++ {
				l.Freqs(1, dst.next(i))
			}
			reportPostings(b, BlockSize)
		})
	}
}
