package columns

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/impl"
)

// A model has the keys of every document: the slow twin of a column.
type model struct {
	kind Kind
	docs [][]uint64
}

// eachVariant runs a test once for each variant of the kernels.
func eachVariant(t *testing.T, test func(t *testing.T)) {
	for variant := range impl.Each("columns") {
		t.Run(variant, test)
	}
}

// store keeps the parts that a builder emits.
type store map[uint32][]byte

func (s store) load(part uint32) ([]byte, error) {
	data, ok := s[part]
	if !ok {
		return nil, fmt.Errorf("part %d is not stored", part)
	}
	return data, nil
}

// emit returns the function for NewBuilder. It checks the order of parts.
func (s store) emit(t testing.TB) func(part uint32, data []byte) error {
	last := int64(-1)
	return func(part uint32, data []byte) error {
		if int64(part) <= last {
			t.Fatalf("part %d behind part %d", part, last)
		}
		last = int64(part)
		s[part] = data
		return nil
	}
}

// build encodes a model, with terms when it is of kind Terms.
func build(t testing.TB, m model, terms ...string) store {
	s := store{}
	b := NewBuilder(m.kind, s.emit(t))
	add(t, b, m, terms)
	if err := b.Finish(uint32(len(m.docs))); err != nil {
		t.Fatal(err)
	}
	return s
}

func add(t testing.TB, b *Builder, m model, terms []string) {
	for _, term := range terms {
		if err := b.Term([]byte(term)); err != nil {
			t.Fatal(err)
		}
	}
	for doc, keys := range m.docs {
		if err := b.Add(uint32(doc), keys...); err != nil {
			t.Fatal(err)
		}
	}
}

func open(t testing.TB, s store) *Column {
	t.Helper()
	c, err := Open(s[DirectoryPart], s.load)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// check compares everything that a column says with the model.
func (m model) check(t *testing.T, c *Column, rng *rand.Rand) {
	t.Helper()
	var docs, values int
	least, greatest := ^uint64(0), uint64(0)
	for _, keys := range m.docs {
		values += len(keys)
		if len(keys) > 0 {
			docs++
			least, greatest = min(least, slices.Min(keys)), max(greatest, slices.Max(keys))
		}
	}
	if lo, hi := c.Bounds(); c.Docs() != docs || int(c.Values()) != values || docs > 0 && (lo != least || hi != greatest) ||
		c.SegmentDocs() != len(m.docs) || c.Kind() != m.kind || c.Full() != (docs == len(m.docs)) || c.Single() != (docs == values) {
		t.Fatalf("%d documents, %d values of %d to %d; want %d, %d, %d, %d", c.Docs(), c.Values(), lo, hi, docs, values, least, greatest)
	}
	for tile := range c.Tiles() {
		m.checkTile(t, c, tile, rng)
	}
	m.checkGather(t, c, rng)
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
}

// tile returns the documents of a tile.
func (m model) tile(tile int) [][]uint64 {
	return m.docs[tile*TileDocs : min((tile+1)*TileDocs, len(m.docs))]
}

func (m model) checkTile(t *testing.T, c *Column, tile int, rng *rand.Rand) {
	t.Helper()
	docs := m.tile(tile)
	var want, set, have [64]uint64
	var all []uint64
	n := 0
	for i, keys := range docs {
		all = append(all, keys...)
		if len(keys) > 0 {
			want[i/64] |= 1 << (i % 64)
			n++
		}
	}
	if got, err := c.Have(tile, &set); err != nil || got != n || set != want {
		t.Fatalf("tile %d: %d documents, %v, want %d; sets equal: %v", tile, got, err, n, set == want)
	}
	z, ok := c.Zone(tile)
	if ok != (n > 0) || ok && (z.Docs != n || z.Values != len(all) || z.Least != slices.Min(all) || z.Greatest != slices.Max(all)) {
		t.Fatalf("tile %d: zone %+v %v; want %d documents", tile, z, ok, n)
	}
	if z.Rising && !slices.IsSorted(all) || z.Falling && !slices.IsSortedFunc(all, func(a, b uint64) int { return cmp.Compare(b, a) }) {
		t.Fatalf("tile %d: zone %+v", tile, z)
	}
	if lo, hi, _ := c.SheetBounds(tile / 64); ok && (lo > z.Least || hi < z.Greatest) {
		t.Fatalf("tile %d: %d to %d in a sheet of %d to %d", tile, z.Least, z.Greatest, lo, hi)
	}
	for range 12 {
		lo, hi := anyKey(rng, all), anyKey(rng, all)
		want, n := [64]uint64{}, 0
		for i, keys := range docs {
			if slices.ContainsFunc(keys, func(k uint64) bool { return lo <= k && k <= hi }) {
				want[i/64] |= 1 << (i % 64)
				n++
			}
		}
		set[5] = 0x123
		if got, err := c.RangeTile(tile, lo, hi, &set); err != nil || got != n || set != want {
			t.Fatalf("tile %d: %d to %d: %d documents, %v, want %d; sets equal: %v", tile, lo, hi, got, err, n, set == want)
		}
	}
	var dst [TileDocs]uint64
	for _, pick := range []Pick{Least, Greatest} {
		if err := c.Load(tile, pick, &dst, &have); err != nil || have != want {
			t.Fatalf("tile %d: load: %v; sets equal: %v", tile, err, have == want)
		}
		for i, keys := range docs {
			if len(keys) > 0 && dst[i] != pick.of(keys) {
				t.Fatalf("tile %d: document %d has key %d, want %d", tile, i, dst[i], pick.of(keys))
			}
		}
	}
	m.checkSelect(t, c, tile, rng)
}

func (p Pick) of(keys []uint64) uint64 {
	if p == Least {
		return slices.Min(keys)
	}
	return slices.Max(keys)
}

// anyKey returns a key of some, or one near it, or an extreme one.
func anyKey(rng *rand.Rand, keys []uint64) uint64 {
	if len(keys) == 0 || rng.IntN(8) == 0 {
		return []uint64{0, 1, ^uint64(0), 1 << 63, rng.Uint64()}[rng.IntN(5)]
	}
	return keys[rng.IntN(len(keys))] + uint64(rng.IntN(3)) - 1
}

// anySet returns some documents of a tile.
func anySet(rng *rand.Rand) *[64]uint64 {
	var set [64]uint64
	switch rng.IntN(4) {
	case 0:
		return nil
	case 1:
		for range rng.IntN(20) {
			set[rng.IntN(64)] |= 1 << rng.IntN(64)
		}
	case 2:
		for i := range set {
			set[i] = rng.Uint64()
		}
	}
	return &set
}

func (m model) checkSelect(t *testing.T, c *Column, tile int, rng *rand.Rand) {
	t.Helper()
	z, ok := c.Zone(tile)
	narrow := ok && z.Greatest-z.Least < 1<<20
	base := z.Least - min(z.Least, 3)
	sorted := make([][]uint64, len(m.tile(tile)))
	for i, keys := range m.tile(tile) {
		if sorted[i] = keys; !slices.IsSorted(keys) {
			sorted[i] = slices.Sorted(slices.Values(keys))
		}
	}
	checkBelow(t, c, tile, &z, sorted, rng)
	var s, want Selection
	for range 4 {
		set := anySet(rng)
		in := func(doc int) bool { return set == nil || set[doc/64]>>(doc%64)&1 == 1 }
		var counts []uint32
		if narrow {
			counts = make([]uint32, z.Greatest-base+1)
		}
		for pick := Least; pick <= All; pick++ {
			want.Docs, want.Keys = want.Docs[:0], want.Keys[:0]
			for i, keys := range sorted {
				if len(keys) == 0 || !in(i) {
					continue
				}
				switch pick {
				case Least:
					keys = keys[:1]
				case Greatest:
					keys = keys[len(keys)-1:]
				}
				for j, k := range keys {
					want.Docs, want.Keys = append(want.Docs, uint16(i)), append(want.Keys, k)
					if narrow && pick == All && (j == 0 || keys[j-1] != k) {
						counts[k-base]++
					}
				}
			}
			if err := c.Select(tile, set, pick, &s); err != nil || !slices.Equal(s.Docs, want.Docs) || !slices.Equal(s.Keys, want.Keys) {
				t.Fatalf("tile %d: pick %d: %d keys, %v, want %d", tile, pick, len(s.Keys), err, len(want.Keys))
			}
		}
		checkSum(t, c, tile, set, z.Least, want.Keys)
		checkMark(t, c, tile, set, &z, want.Keys)
		checkSteps(t, c, tile, set, want.Keys, rng)
		if !narrow {
			continue
		}
		got := make([]uint32, len(counts))
		if err := c.Count(tile, set, base, got); err != nil {
			t.Fatal(err)
		}
		for i, n := range got {
			if n != counts[i] {
				t.Fatalf("tile %d: key %d counts %d, want %d", tile, base+uint64(i), n, counts[i])
			}
		}
		var docs []uint16
		for i := range sorted {
			if in(i) {
				docs = append(docs, uint16(i))
			}
		}
		clear(got)
		if err := c.CountList(tile, docs, base, got); err != nil || !slices.Equal(got, counts) {
			t.Fatalf("tile %d: a list of %d documents counts %v, %v, want %v", tile, len(docs), got, err, counts)
		}
	}
}

// checkBelow compares the number of keys below another with a loop, where the column knows it.
func checkBelow(t *testing.T, c *Column, tile int, z *Zone, docs [][]uint64, rng *rand.Rand) {
	t.Helper()
	for _, key := range []uint64{0, z.Least, z.Least + 1, z.Greatest, z.Greatest + 1, z.Least + rng.Uint64N(z.Greatest-z.Least+1|1)} {
		got, ok, err := c.Below(tile, key)
		if err != nil || ok != (z.Rising && z.Docs == len(docs) && z.Values == z.Docs) {
			t.Fatalf("tile %d: below %d: %v, %v of the zone %+v", tile, key, ok, err, z)
		}
		want := 0
		for _, keys := range docs {
			if ok && keys[0] < key {
				want++
			}
		}
		if got != want {
			t.Fatalf("tile %d: %d documents below %d, want %d", tile, got, key, want)
		}
	}
}

// checkSum compares the sum of keys of a tile with a loop.
func checkSum(t *testing.T, c *Column, tile int, set *[64]uint64, least uint64, keys []uint64) {
	t.Helper()
	got, ok, err := c.Sum(tile, set)
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		return
	}
	want := Sum{Values: len(keys)}
	if len(keys) > 0 {
		want.Least, want.Greatest = slices.Min(keys), slices.Max(keys)
	}
	for _, k := range keys {
		want.Distances += k - least
		want.Squares += (k - least) * (k - least)
	}
	if got != want {
		t.Fatalf("tile %d: the sum is %+v, want %+v", tile, got, want)
	}
}

// checkMark compares marks of the keys of a tile with a loop.
func checkMark(t *testing.T, c *Column, tile int, set *[64]uint64, z *Zone, keys []uint64) {
	t.Helper()
	divisor := c.Divisor()
	span := (z.Greatest - z.Least) / divisor
	if span >= 1<<20 {
		return
	}
	got, want := make([]uint64, span/64+1), make([]uint64, span/64+1)
	for _, k := range keys {
		at := (k - z.Least) / divisor
		if at*divisor != k-z.Least {
			t.Fatalf("tile %d: %d does not divide the distance of %d from %d", tile, divisor, k, z.Least)
		}
		want[at/64] |= 1 << (at % 64)
	}
	if err := c.Mark(tile, set, z.Least, divisor, got); err != nil || !slices.Equal(got, want) {
		t.Fatalf("tile %d: %x is marked, %v, want %x", tile, got, err, want)
	}
}

func (m model) checkGather(t *testing.T, c *Column, rng *rand.Rand) {
	t.Helper()
	for _, ascending := range []bool{true, false} {
		docs := make([]uint32, rng.IntN(300))
		for i := range docs {
			docs[i] = uint32(rng.IntN(len(m.docs)))
		}
		if ascending {
			slices.Sort(docs)
		}
		for _, pick := range []Pick{Least, Greatest} {
			dst, have := make([]uint64, len(docs)), make([]bool, len(docs))
			if err := c.Gather(docs, pick, dst, have); err != nil {
				t.Fatal(err)
			}
			for i, doc := range docs {
				keys := m.docs[doc]
				if have[i] != (len(keys) > 0) || have[i] && dst[i] != pick.of(keys) {
					t.Fatalf("document %d: gathered %d %v, want one of %d", doc, dst[i], have[i], keys)
				}
				got, err := c.Append([]uint64{7}, doc)
				if want := append([]uint64{7}, slices.Sorted(slices.Values(keys))...); err != nil || !slices.Equal(got, want) {
					t.Fatalf("document %d: keys %d, %v, want %d", doc, got, err, want)
				}
			}
		}
	}
}

// A shape makes keys.
type shape struct {
	name string
	key  func(rng *rand.Rand, doc int) uint64
}

func shapes() []shape {
	table := []uint64{0, 5, 1 << 40, ^uint64(0), 1<<63 + 1}
	s := []shape{
		{"constant", func(*rand.Rand, int) uint64 { return 42 }},
		{"top", func(*rand.Rand, int) uint64 { return ^uint64(0) }},
		{"few", func(rng *rand.Rand, _ int) uint64 { return table[rng.IntN(5)] }},
		{"hundreds", func(rng *rand.Rand, _ int) uint64 { return (rng.Uint64N(700)+1)*0x123456789abcdf ^ 5 }},
		{"divisor", func(rng *rand.Rand, _ int) uint64 { return 1e18 + 1000*rng.Uint64N(1e6) }},
		{"regular", func(_ *rand.Rand, doc int) uint64 { return 1<<62 + 250*uint64(doc) }},
		{"falling", func(_ *rand.Rand, doc int) uint64 { return 1<<62 - 250*uint64(doc) }},
		{"rising", func(rng *rand.Rand, doc int) uint64 { return 1<<62 + 1e6*uint64(doc) + rng.Uint64N(1e6) }},
		{"falling at random", func(rng *rand.Rand, doc int) uint64 { return 1<<62 - 1e6*uint64(doc) - rng.Uint64N(1e6) }},
		{"steps", func(rng *rand.Rand, doc int) uint64 { return uint64(doc) / 300 * 1e12 }},
		{"nearly rising", func(rng *rand.Rand, doc int) uint64 { return 1<<62 + 1e6*uint64(doc) + rng.Uint64N(1e8) }},
		{"nearly falling", func(rng *rand.Rand, doc int) uint64 { return 1<<62 - 1e6*uint64(doc) + rng.Uint64N(1e8) }},
		{"bursts", bursts(1)},
		{"bursts, latest first", bursts(^uint64(0))},
		{"levels", func(rng *rand.Rand, doc int) uint64 { return uint64(doc/128*977%1009)<<20 + rng.Uint64N(50) }},
		{"normal", func(rng *rand.Rand, _ int) uint64 { return FloatKey(rng.NormFloat64()) }},
		{"limits", func(rng *rand.Rand, _ int) uint64 {
			return IntKey([]int64{math.MinInt64, math.MaxInt64, 0, -1, rng.Int64()}[rng.IntN(5)])
		}},
	}
	for width := 1; width <= 64; width++ {
		s = append(s, shape{fmt.Sprintf("width%d", width), func(rng *rand.Rand, _ int) uint64 {
			return rng.Uint64()>>(64-width) + 1<<63>>(width-1)*uint64(width/64^1)
		}})
	}
	return s
}

// bursts are keys with gaps that differ much, of which few are large.
func bursts(sign uint64) func(rng *rand.Rand, doc int) uint64 {
	last := uint64(1 << 62)
	return func(rng *rand.Rand, _ int) uint64 {
		last += sign * uint64(1e9*rng.ExpFloat64()*rng.ExpFloat64())
		return last
	}
}

// A density says how many keys a document has.
type density struct {
	name string
	keys func(rng *rand.Rand, doc int) int
}

func densities() []density {
	return []density{
		{"one", func(*rand.Rand, int) int { return 1 }},
		{"most", func(rng *rand.Rand, _ int) int { return min(1, rng.IntN(50)) }},
		{"half", func(rng *rand.Rand, _ int) int { return rng.IntN(2) }},
		{"rare", func(rng *rand.Rand, _ int) int { return rng.IntN(100) / 99 }},
		{"last", func(_ *rand.Rand, doc int) int { return doc / 4200 % 2 }},
		{"several", func(rng *rand.Rand, _ int) int { return rng.IntN(4) }},
		{"many", func(rng *rand.Rand, doc int) int {
			if doc%500 == 77 {
				return 1000
			}
			return 1 + rng.IntN(2)
		}},
		{"three", func(*rand.Rand, int) int { return 3 }},
		{"none or two", func(rng *rand.Rand, _ int) int { return rng.IntN(2) * 2 }},
		{"some with two", func(_ *rand.Rand, doc int) int { return 1 + doc/4099 }},
	}
}

func random(rng *rand.Rand, s shape, d density, docs int) model {
	m := model{kind: Uint, docs: make([][]uint64, docs)}
	for doc := range m.docs {
		for range d.keys(rng, doc) {
			m.docs[doc] = append(m.docs[doc], s.key(rng, doc))
		}
	}
	return m
}

// TestColumn compares columns of all shapes and densities with models, as stored and as views, which the same
// kernels read: these once only.
func TestColumn(t *testing.T) {
	views := true
	eachVariant(t, func(t *testing.T) {
		defer func() { views = false }()
		rng := rand.New(rand.NewPCG(1, 2))
		for i, s := range shapes() {
			for j, d := range densities() {
				if i%len(densities()) != j && strings.HasPrefix(s.name, "width") {
					continue
				}
				t.Run(s.name+"/"+d.name, func(t *testing.T) {
					m := random(rng, s, d, TileDocs+1+rng.IntN(TileDocs))
					stored := build(t, m)
					if len(stored) == 0 {
						t.Skip("no values")
					}
					c := open(t, stored)
					m.check(t, c, rng)
					c.Drop()
					m.checkTile(t, c, 1, rng)
					if !views {
						return
					}
					b := NewBuilder(Uint, nil)
					add(t, b, m, nil)
					view, err := b.View(uint32(len(m.docs)))
					if err != nil {
						t.Fatal(err)
					}
					m.check(t, view, rng)
				})
			}
		}
	})
}

// TestForms checks that each form and presence is used where it is meant to be.
func TestForms(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	forms := map[string]form{"constant": constant, "few": table, "hundreds": table, "divisor": packed, "regular": rising, "rising": rising,
		"steps": rising, "width20": packed, "width64": packed, "falling": rising,
		"nearly rising": linear, "nearly falling": linear, "bursts": linear, "bursts, latest first": linear, "levels": linear}
	for _, s := range shapes() {
		want, ok := forms[s.name]
		if !ok {
			continue
		}
		c := open(t, build(t, random(rng, s, densities()[0], 3*TileDocs)))
		tile := c.d.tiles[1]
		if tile.form != want {
			t.Errorf("%s: form %d, want %d", s.name, tile.form, want)
		}
		if rises, falls := s.name == "bursts", s.name == "bursts, latest first"; want == linear && (tile.rises != rises || tile.falls != falls) {
			t.Errorf("%s: rises %v, falls %v", s.name, tile.rises, tile.falls)
		}
	}
	for _, d := range densities() {
		c := open(t, build(t, random(rng, shapes()[2], d, 3*TileDocs)))
		if got, want := c.d.tiles[1].regular, d.name == "three" || d.name == "none or two"; got != want {
			t.Errorf("%s: regular %v, want %v", d.name, got, want)
		}
	}
	for name, want := range map[string]presence{"one": everyone, "most": missing, "half": bitmap, "rare": present} {
		d := densities()[slices.IndexFunc(densities(), func(d density) bool { return d.name == name })]
		c := open(t, build(t, random(rng, shapes()[0], d, 3*TileDocs)))
		if got := c.d.tiles[1].presence; got != want {
			t.Errorf("%s: presence %d, want %d", name, got, want)
		}
	}
}

// TestSparse has few documents far apart.
func TestSparse(t *testing.T) {
	s := store{}
	b := NewBuilder(Int, s.emit(t))
	docs := []uint32{7, 4095, 4096, 1000000, MaxDocs - 1}
	for _, doc := range docs {
		if err := b.Add(doc, IntKey(-int64(doc))); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Finish(MaxDocs); err != nil {
		t.Fatal(err)
	}
	if len(s) != 1 || len(s[DirectoryPart]) > 60 {
		t.Errorf("%d parts, a directory of %d bytes", len(s), len(s[DirectoryPart]))
	}
	c := open(t, s)
	dst, have := make([]uint64, 5), make([]bool, 5)
	if err := c.Gather(docs, Least, dst, have); err != nil {
		t.Fatal(err)
	}
	for i, doc := range docs {
		if !have[i] || KeyInt(dst[i]) != -int64(doc) {
			t.Errorf("document %d: %d %v", doc, KeyInt(dst[i]), have[i])
		}
	}
	if keys, err := c.Append(nil, 5000); err != nil || len(keys) > 0 {
		t.Errorf("a document without a value: %d %v", keys, err)
	}
	if err := c.Check(); err != nil {
		t.Error(err)
	}
}

// TestChunks has payload of several chunks, of which a range touches one.
func TestChunks(t *testing.T) {
	m := random(rand.New(rand.NewPCG(5, 6)), shape{key: func(rng *rand.Rand, doc int) uint64 { return uint64(doc)<<20 ^ rng.Uint64N(1<<40) }}, densities()[0], 200_000)
	s := build(t, m)
	c := open(t, s)
	touched := 0
	c.load = func(part uint32) ([]byte, error) {
		touched++
		return s.load(part)
	}
	for part, data := range s {
		if part != DirectoryPart && len(data) > chunkBytes+8*TileDocs {
			t.Errorf("part %x has %d bytes", part, len(data))
		}
	}
	if len(s) < 10 {
		t.Fatalf("%d parts", len(s))
	}
	var set [64]uint64
	for range 3 {
		if n, err := c.RangeTile(20, m.docs[20*TileDocs+7][0], m.docs[20*TileDocs+7][0], &set); err != nil || n == 0 {
			t.Fatal(n, err)
		}
	}
	if touched != 1 {
		t.Errorf("%d parts were loaded, want 1", touched)
	}
	broken := errors.New("no such part")
	c.Drop()
	c.load = func(uint32) ([]byte, error) { return nil, broken }
	if _, err := c.RangeTile(20, 1<<35, 1<<36, &set); !errors.Is(err, broken) {
		t.Errorf("error of load: %v", err)
	}
	c.load = func(part uint32) ([]byte, error) { return s[part][1:], nil }
	if _, err := c.RangeTile(20, 1<<35, 1<<36, &set); !errors.Is(err, corrupt.Err) {
		t.Errorf("a short part: %v", err)
	}
}

// TestViews takes views while a builder grows.
func TestViews(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	m := random(rng, shapes()[20], densities()[5], 3*TileDocs)
	b := NewBuilder(Uint, nil)
	views := map[int]*Column{}
	for doc, keys := range m.docs {
		if err := b.Add(uint32(doc), keys...); err != nil {
			t.Fatal(err)
		}
		if rng.IntN(1000) == 0 || doc%TileDocs == TileDocs-1 {
			v, err := b.View(uint32(doc + 1))
			if err != nil {
				t.Fatal(err)
			}
			views[doc+1] = v
		}
	}
	for docs, v := range views {
		model{m.kind, m.docs[:docs]}.check(t, v, rng)
	}
	empty, err := NewBuilder(Bool, nil).View(5)
	if err != nil || empty.Docs() != 0 {
		t.Fatal(empty, err)
	}
	model{Bool, make([][]uint64, 5)}.check(t, empty, rng)
}

// TestNoValues builds columns without a value.
func TestNoValues(t *testing.T) {
	if s := build(t, model{Int, make([][]uint64, 5000)}); len(s) != 0 {
		t.Errorf("parts %v", s)
	}
}

// TestSetRun compares runs of bits with loops.
func TestSetRun(t *testing.T) {
	for _, run := range [][2]int{{0, 0}, {0, 4096}, {63, 64}, {64, 65}, {5, 4000}, {100, 101}, {4095, 4096}, {200, 100}} {
		var set, want [64]uint64
		setRun(&set, run[0], run[1])
		for i := run[0]; i < run[1]; i++ {
			want[i/64] |= 1 << (i % 64)
		}
		if set != want {
			t.Errorf("%d", run)
		}
	}
}

// TestBits compares extract and deposit with loops.
func TestBits(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(9, 10))
		for range 1000 {
			x, mask := rng.Uint64(), rng.Uint64()|rng.Uint64()&rng.Uint64()
			if rng.IntN(10) == 0 {
				mask = ^uint64(0)
			}
			var want uint64
			n := 0
			for i := range 64 {
				if mask>>i&1 == 1 {
					want |= x >> i & 1 << n
					n++
				}
			}
			if got := extract(x, mask); got != want {
				t.Fatalf("extract %x %x: %x, want %x", x, mask, got, want)
			}
			var set, has, result [64]uint64
			at := 0
			for i := range has {
				has[i] = []uint64{0, ^uint64(0), rng.Uint64(), rng.Uint64() & rng.Uint64() & rng.Uint64()}[rng.IntN(4)]
				for bit := range 64 {
					if has[i]>>bit&1 == 1 {
						on := rng.Uint64() & 1
						set[at/64] |= on << (at % 64)
						result[i] |= on << bit
						at++
					}
				}
			}
			if deposit(&set, &has, at); set != result {
				t.Fatalf("deposit of %d bits", bits.OnesCount64(has[0]))
			}
		}
	})
}
