package postings

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestPart cuts lists at random documents and compares the postings of the parts, and of parts of the
// list when it is opened anew, with those of the list.
func TestPart(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, size := range []uint8{1, 3, 128} {
		for _, codec := range []Kind{Packed, PFor, Rice, Interpolative} {
			b := Builder{BlockSize: size, Codec: codec}
			docs, tfs := []uint32{}, []uint32{}
			doc, gap := uint32(0), 1+rng.Uint32N(30)
			for range int(size)*(20+rng.IntN(80)) + rng.IntN(int(size)) {
				doc += 1 + rng.Uint32N(gap)
				if rng.IntN(100) == 0 {
					gap = 1 + rng.Uint32N(300)
					doc += rng.Uint32N(2000)
				}
				docs, tfs = append(docs, doc), append(tfs, 1+rng.Uint32N(3))
				b.Add(doc, tfs[len(tfs)-1], 10)
			}
			lists := []*List{b.View(doc + 1), reopened(t, &b)}
			for range 30 {
				from := rng.Uint32N(doc+10) &^ 127
				to := from + 1 + rng.Uint32N(doc)
				start := from - min(from, 128*rng.Uint32N(3))
				if start > from-min(from, BlockSize) {
					start = from - min(from, BlockSize)
				}
				name := fmt.Sprintf("blocks of %d, %v, documents %d to %d from %d", size, codec, from, to, start)
				var first *Part
				for _, l := range lists {
					p, err := l.Part(start, from, to)
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					checkPart(t, name, p, docs, tfs, start, from, to)
					if first == nil {
						first = p
					}
				}
				if first != nil {
					again := first.Again(lists[1])
					checkPart(t, name+", again", again, docs, tfs, start, from, to)
					if again.Again(lists[1]) != again {
						t.Errorf("%s: a part of the list itself is made again", name)
					}
				}
				if t.Failed() {
					return
				}
			}
		}
	}
}

// reopened stores a list and opens it.
func reopened(t *testing.T, b *Builder) *List {
	t.Helper()
	e := b.Encode()
	l, err := Open(e.Entry, &stored{Encoded: e})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// checkPart compares a part with the postings of the list.
func checkPart(t *testing.T, name string, p *Part, docs, tfs []uint32, start, from, to uint32) {
	t.Helper()
	i := 0
	for i < len(docs) && docs[i] < from {
		i++
	}
	if p == nil {
		if i < len(docs) && docs[i] < to {
			t.Errorf("%s: nil, though it has document %d", name, docs[i])
		}
		return
	}
	var got, freqs [BlockSize]uint32
	seen, rows := 0, 0
	for b := range p.Blocks() {
		n, err := p.Docs(b, &got)
		if err == nil {
			_, err = p.Freqs(b, &freqs)
		}
		payload, perr := p.Payload(b)
		if err != nil || perr != nil {
			t.Errorf("%s: block %d: %v, %v", name, b, err, perr)
			return
		}
		if int(p.Off[b]) != rows || len(payload) != RowBytes*p.Enc[b].Rows(n) {
			t.Errorf("%s: block %d is at row %d and has %d bytes; want row %d, %d rows", name, b, p.Off[b], len(payload), rows, p.Enc[b].Rows(n))
		}
		rows += len(payload) / RowBytes
		for j := range n {
			if seen++; seen <= p.Strays {
				if got[j]+start >= from {
					t.Errorf("%s: stray %d is document %d", name, seen, got[j]+start)
				}
				continue
			}
			if i == len(docs) || docs[i] >= to || got[j]+start != docs[i] || freqs[j] != tfs[i] {
				t.Errorf("%s: block %d has %d times document %d, want posting %d", name, b, freqs[j], got[j]+start, i)
				return
			}
			i++
		}
	}
	if i < len(docs) && docs[i] < to || seen != p.Count || p.PayloadRows() != rows {
		t.Errorf("%s: %d of %d postings, %d of %d rows; the next is %d", name, seen, p.Count, rows, p.PayloadRows(), i)
	}
}
