package columns

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/riffle-search/riffle/internal/corrupt"
)

var errTooLarge = errors.New("more than a test loads")

// stretched returns the fuzzer's bytes again and again, up to the size that the directory wants, so
// that the fuzzer gets past that check.
func stretched(data []byte, size int) ([]byte, error) {
	if size > 1<<20 {
		return nil, errTooLarge
	}
	part := make([]byte, size)
	for at := 0; at < size && len(data) > 0; {
		at += copy(part[at:], data)
	}
	return part, nil
}

func mustBeCorrupt(t *testing.T, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, corrupt.Err) && !errors.Is(err, errTooLarge) {
		t.Fatalf("not reported as corruption: %v", err)
	}
}

// FuzzColumn opens damaged columns. Each is reported as corrupt, or keeps what readers rely on.
func FuzzColumn(f *testing.F) {
	rng := rand.New(rand.NewPCG(21, 22))
	for _, i := range []int{0, 2, 3, 4, 5, 6, 8, 10, 12, 13, 14, 20, 73} {
		for _, d := range densities() {
			for _, docs := range []int{20, 4200, 9000} {
				s := build(f, random(rng, shapes()[i], d, docs))
				f.Add(s[DirectoryPart], s[PayloadParts])
			}
		}
	}
	f.Fuzz(func(t *testing.T, directory, payload []byte) {
		c, err := Open(directory, nil)
		if err != nil {
			mustBeCorrupt(t, err)
			return
		}
		c.load = func(part uint32) ([]byte, error) {
			if part < PayloadParts {
				return stretched(payload, int(c.d.terms.sizes[part]))
			}
			return stretched(payload, c.d.chunks[part-PayloadParts])
		}
		if c.d.sums == nil { // of version 1
			c.d.sums = make([]uint32, len(c.d.chunks))
		}
		again, err := Open(appendDirectory(nil, c.d), nil)
		if err != nil || again.d.values != c.d.values || again.d.least != c.d.least || again.d.greatest != c.d.greatest {
			t.Fatalf("another round: %v", err)
		}
		if err := c.Check(); err != nil {
			mustBeCorrupt(t, err)
		}
		read(t, c)
	})
}

// read calls every method for some tiles.
func read(t *testing.T, c *Column) {
	for i := range min(len(c.d.tiles), 4) {
		tile := &c.d.tiles[i]
		number := int(tile.number)
		var set [64]uint64
		var dst [TileDocs]uint64
		n, err := c.Have(number, &set)
		if err != nil {
			mustBeCorrupt(t, err)
			continue
		}
		if z, ok := c.Zone(number); !ok || z.Docs != n {
			t.Fatalf("tile %d: zone %v %v, %d documents", number, z, ok, n)
		}
		middle := tile.least + (tile.greatest-tile.least)/2
		low, err := c.RangeTile(number, 0, middle, &set)
		high, err2 := c.RangeTile(number, middle+1, ^uint64(0), &set)
		if err != nil || err2 != nil || low+high < n || tile.single() && middle+1 != 0 && low+high != n {
			t.Fatalf("tile %d: %d and %d documents of %d, %v %v", number, low, high, n, err, err2)
		}
		if err := c.Load(number, Greatest, &dst, &set); err != nil {
			t.Fatal(err)
		}
		var s Selection
		if err := c.Select(number, &set, All, &s); err != nil || len(s.Keys) != int(tile.values) {
			t.Fatal(len(s.Keys), err)
		}
		doc := uint32(number*TileDocs) + uint32(s.Docs[len(s.Docs)/2])
		keys, err := c.Append(nil, doc)
		if err != nil || len(keys) == 0 {
			t.Fatal(keys, err)
		}
		for _, k := range append(s.Keys, keys...) {
			if k < tile.least || k > tile.greatest {
				t.Fatalf("tile %d: key %d is not in %d to %d", number, k, tile.least, tile.greatest)
			}
		}
		if tile.greatest-tile.least < 1<<16 {
			if err := c.Count(number, nil, tile.least, make([]uint32, tile.greatest-tile.least+1)); err != nil {
				t.Fatal(err)
			}
		}
		if v, err := c.Value(keys[0]); err == nil {
			if _, _, _, err := c.Keys(Bound{Value: v}, Bound{Value: OfInt(5), Exclusive: true}); err != nil {
				mustBeCorrupt(t, err)
			}
		} else {
			mustBeCorrupt(t, err)
		}
	}
}

// FuzzDictionary reads damaged dictionaries.
func FuzzDictionary(f *testing.F) {
	for _, terms := range dictionaries() {
		if len(terms) > 0 {
			s := build(f, model{kind: Terms, docs: [][]uint64{{uint64(len(terms) - 1)}}}, terms...)
			f.Add(s[DirectoryPart], s[0], terms[len(terms)/2])
		}
	}
	f.Fuzz(func(t *testing.T, directory, part []byte, probe string) {
		c, err := Open(directory, nil)
		if err != nil {
			mustBeCorrupt(t, err)
			return
		}
		d := c.Dictionary()
		if d == nil {
			return
		}
		d.load = func(i uint32) ([]byte, error) { return stretched(part, int(d.index.sizes[i])) }
		at, _, err := d.Find([]byte(probe))
		mustBeCorrupt(t, err)
		if err == nil && (at < 0 || at > d.Len()) {
			t.Fatalf("%q is at %d of %d", probe, at, d.Len())
		}
		for _, ord := range []uint64{0, uint64(at), uint64(d.Len()) / 2, uint64(d.Len())} {
			_, err := d.AppendTerm(nil, ord)
			mustBeCorrupt(t, err)
		}
		mustBeCorrupt(t, d.Each(0, min(d.Len(), 1000), func(int, []byte) error { return nil }))
	})
}

// TestDamage flips bits of stored columns. It need not be noticed, as segments have checksums, but
// must not do harm.
func TestDamage(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	for _, i := range []int{0, 2, 3, 5, 6, 8, 10, 12, 13, 14, 20} {
		for _, d := range densities() {
			s := build(t, random(rng, shapes()[i], d, 5000))
			for range 50 {
				part := s[DirectoryPart]
				if other := s[PayloadParts]; rng.IntN(2) == 0 && len(other) > 0 {
					part = other
				}
				if len(part) == 0 {
					continue
				}
				at, bit := rng.IntN(len(part)), byte(1)<<rng.IntN(8)
				part[at] ^= bit
				if c, err := Open(s[DirectoryPart], s.load); err != nil {
					mustBeCorrupt(t, err)
				} else {
					read(t, c)
				}
				part[at] ^= bit
			}
		}
	}
}
