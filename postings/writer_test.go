package postings

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// columns splits postings into columns.
func columns(ps []posting) (docs, tfs []uint32, lengths []uint8) {
	for _, p := range ps {
		docs, tfs, lengths = append(docs, p.doc), append(tfs, p.tf), append(lengths, p.length)
	}
	return docs, tfs, lengths
}

// write makes the stored form of postings with AddAll, without blocks of another list.
func write(w *Writer, ps []posting) Encoded {
	for _, p := range ps {
		w.AddAll([]uint32{p.doc}, []uint32{p.tf}, []uint8{p.length})
	}
	return w.Finish()
}

// TestWriterAddAll makes many lists with one Writer, from pieces of any size.
func TestWriterAddAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 92))
	for _, codec := range codecs {
		many := Writer{Codec: codec}
		for _, n := range []int{1, 2, 127, 128, 129, 255, 256, 257, 4096, 4097, 10_000} {
			for _, gen := range []func(*rand.Rand, int) []posting{random, skewed} {
				ps := gen(rng, n)
				docs, tfs, lengths := columns(ps)
				for from := 0; from < n; {
					to := min(n, from+1+rng.IntN(600))
					many.AddAll(docs[from:to], tfs[from:to], lengths[from:to])
					from = to
				}
				if many.Len() != n {
					t.Fatalf("Len is %d, want %d", many.Len(), n)
				}
				enc := many.Finish()
				if want := write(&Writer{Codec: codec}, ps); !reflect.DeepEqual(enc, want) {
					t.Fatalf("%d postings by %v: pieces make another list than single postings", n, codec)
				}
				l, err := Open(enc.Entry, &stored{Encoded: enc})
				if err != nil {
					t.Fatal(err)
				}
				checkList(t, l, ps, false)
			}
		}
	}
}

// A scanInput is a list as a merge gets it. Its documents count from its own base.
type scanInput struct {
	list *List
	base uint32
	ps   []posting // with their documents in the merged list
}

// cutInputs cuts postings into lists, most of them written by one codec, some in memory.
func cutInputs(t *testing.T, rng *rand.Rand, ps []posting, codec Kind) []scanInput {
	var all []scanInput
	for len(ps) > 0 {
		n := min(len(ps), []int{1, 100, 128, 1000, 1024, 5000}[rng.IntN(6)])
		in, from := scanInput{ps: ps[:n:n]}, codec
		if len(all) > 0 {
			in.base = rng.Uint32N(ps[0].doc + 1)
		}
		if rng.IntN(3) == 0 {
			from = codecs[rng.IntN(len(codecs))]
		}
		own := slices.Clone(in.ps)
		for i := range own {
			own[i].doc -= in.base
		}
		b := buildBy(from, 0, own)
		if in.list = b.View(MaxDoc); rng.IntN(4) > 0 {
			in.list = reopen(t, b)
		}
		all = append(all, in)
		ps = ps[n:]
	}
	return all
}

// takeAll writes all inputs block by block, as a merge does.
func takeAll(t *testing.T, w *Writer, inputs []scanInput) Encoded {
	var s Scan
	for _, in := range inputs {
		rest := in.ps
		for s.Reset(in.list); s.Next(); rest = rest[s.N:] {
			s.Shift(in.base)
			docs, tfs, lengths := columns(rest[:s.N])
			if !slices.Equal(docs, s.Docs[:s.N]) || !slices.Equal(tfs, s.TFs[:s.N]) {
				t.Fatalf("scanned %v %v, want %v %v", s.Docs[:s.N], s.TFs[:s.N], docs, tfs)
			}
			if !w.Take(&s) {
				w.AddAll(docs, tfs, lengths)
			}
		}
		if s.Err() != nil || len(rest) > 0 {
			t.Fatalf("the scan ends %d postings early: %v", len(rest), s.Err())
		}
	}
	return w.Finish()
}

// TestTake checks that lists made from taken blocks equal lists made from single postings, byte for
// byte, for all codecs of the inputs and wherever they join.
func TestTake(t *testing.T) {
	rng := rand.New(rand.NewPCG(93, 94))
	for _, codec := range codecs {
		w := Writer{Codec: codec}
		for range 60 {
			gen := []func(*rand.Rand, int) []posting{random, skewed}[rng.IntN(2)]
			ps := gen(rng, 1+rng.IntN(12_000))
			enc := takeAll(t, &w, cutInputs(t, rng, ps, codec))
			if want := write(&Writer{Codec: codec}, ps); !reflect.DeepEqual(enc, want) {
				t.Fatalf("%d postings by %v: blocks that were taken make another list than single postings", len(ps), codec)
			}
		}
		if w.Taken() < 100 {
			t.Errorf("%v: only %d blocks were taken", codec, w.Taken())
		}
	}
}

// TestTaken checks which blocks are copied. Of a first list, all whole blocks are; of an aligned
// second list, all but its first. No block is copied from a list that is not aligned or has another
// codec.
func TestTaken(t *testing.T) {
	rng := rand.New(rand.NewPCG(95, 96))
	for _, codec := range []Kind{Packed, Interpolative} {
		for _, c := range []struct {
			first, second int // postings
			from          Kind
			taken         int
		}{
			{10 * BlockSize, 0, codec, 10},
			{10*BlockSize + 127, 0, codec, 10},
			{10 * BlockSize, 5*BlockSize + 3, codec, 10 + 4},
			{10*BlockSize + 1, 5 * BlockSize, codec, 10},
			{10 * BlockSize, 0, Interpolative - codec, 0}, // the other codec
			{BlockSize, 0, codec, 0},                      // a short list has rows, and no bit string but that of its entry
		} {
			ps := random(rng, c.first+c.second)
			inputs := []scanInput{{list: reopen(t, buildBy(c.from, 0, ps[:c.first])), ps: ps[:c.first]}}
			if c.second > 0 {
				in := scanInput{base: ps[c.first-1].doc, ps: ps[c.first:]} // so its first block counts from another document
				own := slices.Clone(in.ps)
				for i := range own {
					own[i].doc -= in.base
				}
				in.list = reopen(t, buildBy(c.from, 0, own))
				inputs = append(inputs, in)
			}
			w := Writer{Codec: codec}
			takeAll(t, &w, inputs)
			if c.first == BlockSize && codec == Packed {
				c.taken = 1
			}
			if w.Taken() != c.taken {
				t.Errorf("%+v by %v: %d blocks were taken", c, codec, w.Taken())
			}
		}
	}
}

// TestTakeRefusesWrongPairs checks that best pairs that contradict the frequencies are not copied.
func TestTakeRefusesWrongPairs(t *testing.T) {
	l := reopen(t, build(0, random(rand.New(rand.NewPCG(97, 98)), 1000)))
	for i := range l.impacts.Load().pairs {
		l.impacts.Load().pairs[i].TF++
	}
	var w Writer
	var s Scan
	for s.Reset(l); s.Next(); {
		if w.Take(&s) {
			t.Fatal("a block with wrong best pairs was taken")
		}
	}
}

// TestWriterRefuses checks that misuse, which only a bug can cause, panics.
func TestWriterRefuses(t *testing.T) {
	ps := random(rand.New(rand.NewPCG(99, 100)), BlockSize)
	for name, use := range map[string]func(w *Writer){
		"an empty list":           func(w *Writer) { w.Finish() },
		"the same document twice": func(w *Writer) { write(w, []posting{{7, 1, 1}, {7, 1, 1}}) },
		"an earlier document":     func(w *Writer) { write(w, append(slices.Clone(ps), posting{ps[0].doc, 1, 1})) },
		"no frequency":            func(w *Writer) { write(w, []posting{{7, 0, 1}}) },
		"a document too high":     func(w *Writer) { write(w, []posting{{MaxDoc, 1, 1}}) },
		"a codec that is none":    func(w *Writer) { w.Codec = Run; write(w, append(slices.Clone(ps), posting{MaxDoc - 1, 1, 1})) },
		"a block twice":           func(w *Writer) { takeShifted(w, ps, 0); takeShifted(w, ps, 0) },
		"a block moved too high":  func(w *Writer) { takeShifted(w, ps, MaxDoc-ps[0].doc) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			use(&Writer{Codec: Packed})
		}()
	}
}

// takeShifted takes a block made of ps, shifted by by.
func takeShifted(w *Writer, ps []posting, by uint32) {
	var s Scan
	s.Reset(build(0, ps).View(MaxDoc))
	s.Next()
	s.Shift(by)
	if !w.Take(&s) {
		panic("BUG: a whole block is not taken")
	}
}

// scan reads a list as a merge does.
func scan(l *List) ([]posting, error) {
	var ps []posting
	var s Scan
	for s.Reset(l); s.Next(); {
		for i, doc := range s.Docs[:s.N] {
			ps = append(ps, posting{doc: doc, tf: s.TFs[i]})
		}
	}
	return ps, s.Err()
}

// TestScanKeepsNothing checks that a scan reads each chunk once and leaves nothing in the list. It
// does not read a chunk that is loaded in the form it needs.
func TestScanKeepsNothing(t *testing.T) {
	ps := random(rand.New(rand.NewPCG(101, 102)), 150_000)
	for _, codec := range []Kind{Packed, Interpolative} {
		src := &stored{Encoded: buildBy(codec, 0, ps).Encode()}
		l, err := Open(src.Entry, src)
		if err != nil {
			t.Fatal(err)
		}
		before := l.Bytes()
		if _, err := scan(l); err != nil {
			t.Fatal(err)
		}
		if l.Bytes() > before || src.chunksRead != len(src.Chunks) {
			t.Errorf("%v: %d reads of %d chunks; the list holds %d bytes, %d before", codec, src.chunksRead, len(src.Chunks), l.Bytes(), before)
		}
		if _, err := read(l); err != nil {
			t.Fatal(err)
		}
		if src.chunksRead = 0; codec == Packed {
			if _, err := scan(l); err != nil || src.chunksRead > 0 {
				t.Errorf("%d chunks were read again, %v", src.chunksRead, err)
			}
		}
	}
}

// TestScanFindsDamage flips every bit of the chunks of a list.
func TestScanFindsDamage(t *testing.T) {
	rng := rand.New(rand.NewPCG(103, 104))
	for _, codec := range codecs {
		enc := buildBy(codec, 0, random(rng, 700)).Encode()
		intact := enc.Chunks[0]
		for bit := range 8 * len(intact) {
			enc.Chunks[0] = slices.Clone(intact)
			enc.Chunks[0][bit/8] ^= 1 << (bit % 8)
			l, err := Open(enc.Entry, &stored{Encoded: enc})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := scan(l); !errors.Is(err, corrupt.Err) {
				t.Fatalf("%v: bit %d flipped: %v", codec, bit, err)
			}
		}
		enc.Chunks = nil
		l, err := Open(enc.Entry, &stored{Encoded: enc})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := scan(l); !errors.Is(err, errMissing) {
			t.Fatalf("%v: without chunks: %v", codec, err)
		}
	}
}

// TestDamageBehindChecksums flips bits of chunks and seals them again. A scan must find what the
// decoder of a search finds. What it accepts must be taken so that searches can read it.
func TestDamageBehindChecksums(t *testing.T) {
	rng := rand.New(rand.NewPCG(105, 106))
	found, step := make(map[bool]int), 1
	if testing.Short() {
		step = 7
	}
	for _, codec := range codecs {
		enc := buildBy(codec, 0, skewed(rng, 700)).Encode()
		intact := enc.Chunks[0]
		for bit := 0; bit < 8*(len(intact)-4); bit += step {
			body := slices.Clone(intact[:len(intact)-4])
			body[bit/8] ^= 1 << (bit % 8)
			enc.Chunks[0] = sealPart(body)
			l, err := Open(enc.Entry, &stored{Encoded: enc})
			if err != nil {
				t.Fatal(err)
			}
			found[checkScan(t, l) != nil]++
		}
	}
	if found[true] < 1000/step || found[false] < 1000/step {
		t.Errorf("damage that was found, or not: %v; the test needs both", found)
	}
}

// checkScan scans a list that may be damaged despite valid checksums, compares the result with what
// searches read, and takes its blocks into a list of each codec.
func checkScan(t *testing.T, l *List) error {
	t.Helper()
	want, wantErr := read(l)
	got, err := scan(l)
	if wantErr == nil && l.OnDemand() {
		_, wantErr = l.BlockImpacts() // a scan reads them on its way, a search of documents need not
	}
	if (err == nil) != (wantErr == nil) || err == nil && !slices.Equal(got, want) {
		t.Fatalf("a scan reads %v, %v, a search %v, %v", got, err, want, wantErr)
	}
	if err != nil {
		mustBeCorrupt(t, err)
		return err
	}
	for _, codec := range codecs {
		w := Writer{Codec: codec, size: l.BlockSize}
		var s Scan
		for s.Reset(l); s.Next(); {
			if !w.Take(&s) {
				w.AddAll(s.Docs[:s.N], s.TFs[:s.N], make([]uint8, s.N))
			}
		}
		enc := w.Finish()
		again, err := Open(enc.Entry, &stored{Encoded: enc})
		if err == nil {
			got, err = read(again)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("by %v: %v, %v, want %v", codec, got, err, want)
		}
	}
	return nil
}

// checkShort scans a short list from its entry and compares the result with that of Open.
func checkShort(t *testing.T, entry []byte, l *List, openErr error) {
	t.Helper()
	if entry[0]&1 != 0 {
		if _, err := new(Scan).ResetShort(entry, nil); !errors.Is(err, corrupt.Err) {
			t.Fatalf("the entry of a long list is a short one: %v", err)
		}
		return
	}
	var s Scan
	last, err := s.ResetShort(entry, nil)
	if (err == nil) != (openErr == nil) {
		t.Fatalf("a scan says %v, Open says %v", err, openErr)
	}
	if err != nil {
		if mustBeCorrupt(t, err); s.Next() {
			t.Fatal("a damaged entry has a block")
		}
		return
	}
	want, err := read(l)
	if err != nil || !s.Next() || last != l.Last[0] {
		t.Fatalf("last document %d, want %d; %v", last, l.Last[0], err)
	}
	if w := new(Writer); w.Take(&s) {
		t.Fatal("a block of an entry is taken")
	}
	for i, p := range want {
		if s.N != len(want) || s.Docs[i] != p.doc || s.TFs[i] != p.tf {
			t.Fatalf("scanned %v %v, want %v", s.Docs[:s.N], s.TFs[:s.N], want)
		}
	}
	if s.Next() || s.Err() != nil {
		t.Fatalf("a short list has two blocks, or %v", s.Err())
	}
}

// TestScanShort reads short lists from their entries: intact, and with every bit flipped, both with
// the old checksum and with a valid one.
func TestScanShort(t *testing.T) {
	rng := rand.New(rand.NewPCG(111, 112))
	for _, n := range []int{1, 2, 3, 40, 127, 128, 129} {
		entry := build(0, random(rng, n)).Encode().Entry
		check := func(entry []byte) {
			l, err := Open(entry, &stored{})
			checkShort(t, entry, l, err)
		}
		check(entry)
		for bit := range 8 * len(entry) {
			flipped := slices.Clone(entry)
			flipped[bit/8] ^= 1 << (bit % 8)
			check(flipped)
			if bit/8 < len(entry)-1 {
				check(sealEntry(flipped[: len(entry)-1 : len(entry)-1]))
			}
		}
	}
	if _, err := new(Scan).ResetShort(nil, nil); !errors.Is(err, corrupt.Err) {
		t.Errorf("an empty entry: %v", err)
	}
}

// TestCopyBits copies bit strings between arbitrary positions.
func TestCopyBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(107, 108))
	src := make([]byte, 40)
	for i := range src {
		src[i] = byte(rng.Uint32())
	}
	bit := func(b []byte, i int) byte { return b[i/8] >> (i % 8) & 1 }
	for range 2000 {
		from := rng.IntN(8*len(src) + 1)
		end := from + rng.IntN(8*len(src)-from+1)
		lead := rng.IntN(40)
		var w bitWriter
		w.put(0, lead%32)
		w.put(0, lead-lead%32)
		w.copyBits(src, from, end)
		got := w.flush()
		if len(got) != (lead+end-from+7)/8 {
			t.Fatalf("bits %d to %d behind %d: %d bytes", from, end, lead, len(got))
		}
		for i := range 8 * len(got) {
			want := byte(0)
			if i >= lead && i-lead < end-from {
				want = bit(src, from+i-lead)
			}
			if bit(got, i) != want {
				t.Fatalf("bits %d to %d behind %d: bit %d is %d", from, end, lead, i, bit(got, i))
			}
		}
	}
}

// BenchmarkTake writes a list from one of the same codec: from copied blocks, from blocks that
// follow another document, so that only their best pairs are copied, and from postings.
func BenchmarkTake(b *testing.B) {
	ps := skewed(rand.New(rand.NewPCG(109, 110)), 800*BlockSize)
	docs, tfs, lengths := columns(ps)
	for _, codec := range codecs {
		enc := buildBy(codec, 0, ps).Encode()
		l, err := Open(enc.Entry, &stored{Encoded: enc})
		if err != nil {
			b.Fatal(err)
		}
		w := Writer{Codec: codec}
		var s Scan
		run := func(name string, block func(at int)) {
			b.Run(fmt.Sprintf("codec=%v/%s", codec, name), func(b *testing.B) {
				for b.Loop() {
					at := 0
					for s.Reset(l); s.Next(); at += s.N {
						if block != nil {
							block(at)
						}
					}
					if block != nil {
						w.Finish()
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(ps)), "ns/posting")
			})
		}
		run("scan", nil)
		run("take", func(int) { w.Take(&s) })
		run("add", func(at int) { w.AddAll(docs[at:at+s.N], tfs[at:at+s.N], lengths[at:at+s.N]) })
	}
}
