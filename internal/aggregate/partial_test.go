package aggregate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/cpuexec"
)

// split divides the segments of a collection into indexes, some of which may be empty. Each numbers its
// documents from 0 on; bases are the numbers of their first ones in the collection.
func (c *collection) split(rng *rand.Rand, indexes int) (parts []*collection, bases []uint32) {
	for i, s := 0, 0; i < indexes; i++ {
		part, base, next := &collection{}, uint32(0), uint32(0)
		for ; s < len(c.segments) && (i == indexes-1 || rng.IntN(2) == 0); s++ {
			segment := c.segments[s]
			if len(part.segments) == 0 {
				base = segment.Base
			}
			segment.Base = next
			next += segment.Docs
			part.segments, part.scores = append(part.segments, segment), append(part.scores, c.scores[s])
		}
		parts, bases = append(parts, part), append(bases, base)
	}
	return parts, bases
}

// forIndex copies a specification and prepares it for the segments of an index whose documents begin at a
// number.
func forIndex(t *testing.T, s *Spec, segments []Segment, base uint32) *Spec {
	to := *s
	to.Sub = nil
	for _, sub := range s.Sub {
		to.Sub = append(to.Sub, forIndex(t, sub, segments, base))
	}
	if k, ok := s.Of.(TopHits); ok && k.Order != nil {
		order := &cpuexec.Order{}
		for _, key := range k.Order.Keys {
			key.Columns = nil
			order.Keys = append(order.Keys, key)
		}
		orderFields[order] = orderFields[k.Order]
		to.Of = TopHits{k.Size, order}
		one := to
		one.Sub = nil
		prepare(t, &one, segments)
		order.ID = func(dst []byte, segment int, doc uint32) ([]byte, error) {
			return append(dst, idOf(base+segments[segment].Base+doc)...), nil
		}
	}
	return &to
}

// forMerging copies a specification without what only an index has.
func forMerging(s *Spec) *Spec {
	to := *s
	to.Sub = nil
	for _, sub := range s.Sub {
		to.Sub = append(to.Sub, forMerging(sub))
	}
	switch k := s.Of.(type) {
	case Ranges:
		to.Of = make(Ranges, len(k))
	case Filters:
		to.Of = make(Filters, len(k))
	case TopHits:
		if k.Order == nil {
			break
		}
		order := &cpuexec.Order{}
		for _, key := range k.Order.Keys {
			key.Columns = nil
			order.Keys = append(order.Keys, key)
		}
		to.Of = TopHits{k.Size, order}
	}
	return &to
}

// partial computes the partial result of an index whose documents begin at a number.
func (c *collection) partial(t *testing.T, root Root, base uint32, workers int) (*Partial, error) {
	r, err := Begin(c.segments, []Root{root}, Options{Workers: workers}, noPlace)
	if err != nil {
		return nil, err
	}
	if err := collectAll(r, workers, c.tileScores); err != nil {
		return nil, err
	}
	return r.Partial(func(s *Spec, hits []Hit) ([]NamedHit, error) {
		var named []NamedHit
		for _, h := range hits {
			n := NamedHit{Name: fmt.Sprint(base + h.Doc), Score: float64(h.Score)}
			for i, key := range h.Keys {
				switch s.Of.(TopHits).Order.Keys[i].By {
				case cpuexec.ByScore:
					key.Value = columns.OfFloat(float64(key.Value.Key))
				case cpuexec.ByID:
					key.Value = columns.OfString(idOf(base + h.Doc))
				}
				n.Keys = append(n.Keys, key)
			}
			named = append(named, n)
		}
		return named, nil
	})
}

// unnamed gives the named hits of a result as those of one index.
func unnamed(t *testing.T, s *Spec, r *Result) {
	for _, h := range r.Named {
		doc, err := strconv.Atoi(h.Name)
		if err != nil {
			t.Fatal(err)
		}
		hit := Hit{Doc: uint32(doc), Score: uint32(h.Score)}
		for i, key := range h.Keys {
			if s.Of.(TopHits).Order.Keys[i].By == cpuexec.ByScore {
				key.Value = columns.OfUint(uint64(columns.KeyFloat(key.Value.Key)))
			}
			hit.Keys = append(hit.Keys, key)
		}
		r.Hits = append(r.Hits, hit)
	}
	for _, b := range r.Buckets {
		for i, sub := range b.Sub {
			unnamed(t, s.Sub[i], sub)
		}
	}
}

func encoded(t *testing.T, p *Partial) []byte {
	t.Helper()
	data, err := p.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func decoded(t *testing.T, data []byte, s *Spec) *Partial {
	t.Helper()
	p, err := UnmarshalPartial(data, []*Spec{s}, 0)
	if err != nil {
		t.Fatalf("%v\n%s", err, describe(s))
	}
	return p
}

func merged(t *testing.T, s *Spec, all ...[]byte) []byte {
	t.Helper()
	p := decoded(t, all[0], s)
	for _, data := range all[1:] {
		if err := p.Merge(decoded(t, data, s), 0); err != nil {
			t.Fatal(err)
		}
	}
	return encoded(t, p)
}

// TestPartials computes random trees of aggregations over several indexes, sends the partial results as
// bytes, merges them in two orders, and compares the results with the oracle's of all documents.
func TestPartials(t *testing.T) {
	runs := 10
	if testing.Short() {
		runs = 5
	}
	compared := 0
	for seed := range uint64(runs) {
		rng := rand.New(rand.NewPCG(seed, 18))
		sizes := [][]int{{300}, {50, 0, 70, 300}, {1200, 700, 5}, {tileDocs + 9, 50, 1, 90}, {40, 30, 20, 10, 9, 8, 7}}[rng.IntN(5)]
		c := randomCollection(t, rng, sizes...)
		setClasses(c.docs)
		for range 30 {
			spec, set := randomSpec(rng, 3), rng.IntN(setCount)
			bare := forMerging(spec)
			indexes, bases := c.split(rng, 1+rng.IntN(4))
			var all [][]byte
			for i, x := range indexes {
				p, err := x.partial(t, Root{forIndex(t, spec, x.segments, bases[i]), set}, bases[i], 1+rng.IntN(2))
				if err != nil {
					if strings.Contains(err.Error(), "away from the offset") {
						break
					}
					t.Fatalf("seed %d: %v\n%s", seed, err, describe(spec))
				}
				data := encoded(t, p)
				if again := merged(t, bare, data); !bytes.Equal(data, again) {
					t.Fatalf("seed %d: read and written again, bytes differ:\n%s", seed, describe(spec))
				}
				all = append(all, data)
			}
			if len(all) < len(indexes) {
				continue
			}
			whole := merged(t, bare, all...)
			if n := len(all); n > 2 {
				if other := merged(t, bare, all[0], merged(t, bare, all[1:]...)); !bytes.Equal(whole, other) {
					t.Fatalf("seed %d: merged in another order, bytes differ:\n%s", seed, describe(spec))
				}
			}
			got, err := decoded(t, whole, bare).Finish(0)
			if err != nil {
				t.Fatal(err)
			}
			unnamed(t, spec, got[0])
			var in []document
			for _, d := range c.docs {
				if d.sets[set] {
					in = append(in, d)
				}
			}
			want := text(oracle(spec, in), "")
			if g := text(got[0], ""); g != want {
				gl, wl := strings.Split(g, "\n"), strings.Split(want, "\n")
				at := 0
				for at < min(len(gl), len(wl))-1 && gl[at] == wl[at] {
					at++
				}
				t.Fatalf("seed %d, segments %v in %d indexes, set %d:\n%s\nline %d of the result:\n got %s\nwant %s", seed, sizes, len(indexes), set, describe(spec), at, gl[at], wl[at])
			}
			compared++
		}
	}
	if compared < runs*25 {
		t.Errorf("only %d of %d were compared", compared, runs*30)
	}
}

// examplePartial is that of a tree of all kinds.
func examplePartial(t *testing.T) (*Spec, []byte) {
	rng := rand.New(rand.NewPCG(3, 3))
	c := randomCollection(t, rng, 60, 40, 20)
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	order := &cpuexec.Order{Keys: []cpuexec.SortKey{{By: cpuexec.ByColumn}, {By: cpuexec.ByScore, Desc: true}, {By: cpuexec.ByID}}}
	orderFields[order] = []string{"mixed", "", ""}
	spec := &Spec{Place: "x", Name: "root", Field: "word", Of: Terms{Size: 3, MinCount: 1}, Sub: []*Spec{
		{Place: "x.0", Name: "0", Field: "floats", Of: Stats{}}, {Place: "x.1", Name: "1", Field: "far", Of: Stats{}},
		{Place: "x.2", Name: "2", Field: "mixed", Of: Percentiles{50}}, {Place: "x.3", Name: "3", Field: "mixed", Of: Cardinality{}},
		{Place: "x.4", Name: "4", Of: Filters{1, 2}, Sub: []*Spec{{Place: "x.4.0", Of: TopHits{Size: 2, Order: order}}, {Place: "x.4.1", Of: TopHits{Size: 1}}}},
		{Place: "x.5", Name: "5", Field: "ints", Of: Histogram{Interval: 5}},
		{Place: "x.6", Name: "6", Field: "time", Of: Calendar{Unit: Month, Zone: zone, Fill: Fill{MinCount: 1}}},
		{Place: "x.7", Name: "7", Field: "float", Of: Ranges{{From: open, To: open}}},
	}}
	p, err := c.partial(t, Root{forIndex(t, spec, c.segments, 0), 0}, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	return forMerging(spec), encoded(t, p)
}

// TestBadPartials reads bytes that are cut, changed or of other aggregations.
func TestBadPartials(t *testing.T) {
	spec, data := examplePartial(t)
	read := func(data []byte, s *Spec) error {
		_, err := UnmarshalPartial(data, []*Spec{s}, 0)
		return err
	}
	for n := range data {
		if read(data[:n], spec) == nil {
			t.Fatalf("%d of %d bytes are no error", n, len(data))
		}
		damaged := bytes.Clone(data)
		damaged[n] ^= 1 << (n % 8)
		if read(damaged, spec) == nil {
			t.Fatalf("a change of byte %d is no error", n)
		}
	}
	other := *spec
	other.Field = "rare"
	if err := read(data, &other); err == nil || !strings.Contains(err.Error(), "other aggregations") {
		t.Error(err)
	}
	newer := bytes.Clone(data)
	newer[0]++
	if err := read(newer, spec); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Error(err)
	}
	if _, err := UnmarshalPartial(data, []*Spec{spec}, 100); err == nil || !errors.As(err, new(*LimitError)) {
		t.Error(err)
	}
}

// FuzzPartial skips the checksum. What can be read can also be merged and finished, within a bound.
func FuzzPartial(f *testing.F) {
	t := new(testing.T)
	spec, data := examplePartial(t)
	f.Add(data[9 : len(data)-4])
	f.Fuzz(func(t *testing.T, body []byte) {
		const limit = 1 << 20
		p, err := readPartial(body, []*Spec{spec}, limit)
		if err != nil {
			return
		}
		again, err := readPartial(body, []*Spec{spec}, limit)
		if err != nil {
			t.Fatal(err)
		}
		if p.Merge(again, limit) == nil {
			p.Finish(limit)
		}
	})
}

// TestManyDocuments merges counts of more documents than an index can have.
func TestManyDocuments(t *testing.T) {
	const many = 3 << 30
	spec := &Spec{Place: "x", Field: "tag", Of: Terms{Size: 1, MinCount: many + 1}, Sub: []*Spec{{Place: "x.f", Of: Filters{0}}}}
	build := func(term string) *Partial {
		v := values{kind: columns.Terms, terms: terms{[]byte("both" + term), []int{4, 5}}}
		return &Partial{roots: []*Spec{spec}, parts: []*part{{
			missing: []uint64{many}, values: v, ends: []int{2}, counts: []uint64{many, many}, subs: []*part{{counts: []uint64{many, 1}}},
		}}}
	}
	p := build("x")
	if err := p.Merge(build("y"), 0); err != nil {
		t.Fatal(err)
	}
	r, err := decoded(t, encoded(t, p), spec).Finish(0)
	if err != nil {
		t.Fatal(err)
	}
	got := r[0]
	if len(got.Buckets) != 1 || got.Missing != 2*many || got.Distinct != 3 || got.Other != 2*many {
		t.Fatalf("%+v", got)
	}
	if b := got.Buckets[0]; b.Key != "both" || b.Count != 2*many || b.Sub[0].Buckets[0].Count != 2*many {
		t.Errorf("%+v", b)
	}
}

// TestPartialBytes writes a Partial by hand: the example of the format.
func TestPartialBytes(t *testing.T) {
	spec := &Spec{Place: "x", Name: "tags", Field: "tag", Of: Terms{Size: 10, MinCount: 1}, Sub: []*Spec{{Place: "x.n", Name: "n", Field: "n", Of: Stats{}}}}
	p := &Partial{roots: []*Spec{spec}, parts: []*part{{
		missing: []uint64{5}, values: values{kind: columns.Terms, terms: terms{[]byte("cartcat"), []int{4, 7}}}, ends: []int{2}, counts: []uint64{7, 300},
		subs: []*part{{measures: make([]measurement, 2)}},
	}}}
	m := &p.parts[0].subs[0].measures[1]
	*m = measurement{n: 2, leastValue: columns.OfUint(3), mostValue: columns.OfUint(4)}
	m.total.addInt(3, false)
	m.total.addInt(4, false)
	want := binary.LittleEndian.AppendUint64([]byte{1}, fingerprint(p.roots))
	want = append(want, "\x05"+ // missing
		"\x02\x06\x00\x04cart\x02\x01t"+ // two values, terms
		"\x07\xac\x02"+ // counts
		"\x00\x00"+ // numbers, none of the first owner
		"\x02\x02\x03\x02\x04"+ // two of the second, from uint 3 to 4
		"\x01\x07\x01\x19\x00"...) // sums 7 and 25, no flags
	want = binary.LittleEndian.AppendUint32(want, crc32.Checksum(want, castagnoli))
	if got := encoded(t, p); !bytes.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// BenchmarkPartial merges the terms of two indexes, which have 63,000 of 100,000 each, writes and reads them.
func BenchmarkPartial(b *testing.B) {
	spec := &Spec{Place: "x", Field: "tag", Of: Terms{Size: 10, MinCount: 1}}
	half := func(seed uint64) *Partial {
		p := &part{missing: []uint64{0}, values: values{kind: columns.Terms}}
		for rng, i := rand.New(rand.NewPCG(seed, 0)), 0; i < 100_000; i++ {
			if rng.IntN(100) < 63 {
				p.values.terms.add(fmt.Appendf(nil, "product-%06d", i))
				p.counts = append(p.counts, uint64(1+rng.IntN(3)))
			}
		}
		p.ends = []int{p.values.len()}
		return &Partial{roots: []*Spec{spec}, parts: []*part{p}}
	}
	x, y := half(1), half(2)
	data, err := x.AppendBinary(nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("merge", func(b *testing.B) {
		for b.Loop() {
			mergeParts(spec, x.parts[0], y.parts[0], []pair{{0, 0}})
		}
	})
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			x.AppendBinary(nil)
		}
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if _, err := UnmarshalPartial(data, x.roots, 0); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("finish", func(b *testing.B) {
		for b.Loop() {
			if _, err := x.Finish(0); err != nil {
				b.Fatal(err)
			}
		}
	})
}
