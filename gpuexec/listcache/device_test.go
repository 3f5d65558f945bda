package listcache

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// A cell records the content of a row of a device: which row of which piece of which list.
type cell struct {
	key, version uint64
	piece        int32
	row          uint32
}

// A device simulates an arena: it holds its cells and carries out the copies of Place.
type device struct {
	t     *testing.T
	cells []cell
}

// run carries out the copies of a batch and checks every place that the batch was told.
func (d *device) run(needs []Need, buffer Region, b *Batch) {
	next := buffer.First
	for _, c := range b.Copies {
		if c.At != next || c.Rows == 0 {
			d.t.Fatalf("copy %+v, want it at row %d", c, next)
		}
		next += c.Rows
		n := &needs[c.List]
		for i := range c.Rows {
			d.cells[c.At+i] = cell{n.Key, versionOf(n, c.Piece), c.Piece, i}
		}
	}
	if b.Rows != next-buffer.First || b.Rows > buffer.Rows {
		d.t.Fatalf("%d rows are copied to a buffer of %d; Batch.Rows is %d", next-buffer.First, buffer.Rows, b.Rows)
	}
	moved := map[uint32]cell{}
	for _, c := range b.Copies {
		for i := uint32(0); c.Row != c.At && i < c.Rows; i++ {
			before, again := moved[c.Row+i] // a repeat of a list may be copied again
			if again && before != d.cells[c.At+i] || c.Row+i >= buffer.First && c.Row+i < buffer.First+buffer.Rows {
				d.t.Fatalf("copy %+v is moved to row %d, where another is", c, c.Row+i)
			}
			moved[c.Row+i] = d.cells[c.At+i]
			d.cells[c.Row+i] = d.cells[c.At+i]
		}
	}
	for i := range needs {
		d.check(&needs[i], &b.Lists[i])
	}
}

// versionOf is the version of a piece: extents have none.
func versionOf(n *Need, piece int32) uint64 {
	if piece >= 0 {
		return 0
	}
	return n.Version
}

// check reads every piece at its reported place.
func (d *device) check(n *Need, p *Placed) {
	complete := len(p.Head) == len(n.Head) && len(p.Extents) == len(n.Extents)
	read := func(piece int32, rows, at uint32) {
		for i := range rows {
			if got, want := d.cells[at+i], (cell{n.Key, versionOf(n, piece), piece, i}); got != want {
				d.t.Fatalf("row %d has %+v, want %+v", at+i, got, want)
			}
		}
	}
	for i, at := range p.Head {
		if at == Missing {
			complete = false
			continue
		}
		read(int32(-1-i), n.Head[i], at)
	}
	for x, at := range p.Extents {
		if at == Missing {
			complete = complete && !n.wants(x)
			continue
		}
		read(int32(x), n.Extents[x], at)
	}
	if complete != p.Complete {
		d.t.Fatalf("list %x is said to be complete: %v, but %v", n.Key, p.Complete, p)
	}
}

// checkSlots checks that slots and entries agree.
func checkSlots(t *testing.T, c *Cache) {
	t.Helper()
	used, owned, lists, extents := int64(0), 0, 0, 0
	for _, e := range c.entries {
		resident := int64(0)
		for x, rows := range e.sizes {
			if rows > 0 && e.place(x) != Missing {
				resident += int64(rows)
				owned++
				extents++
				if !c.slots.packed && *c.slots.owner(e.at[x]) != (owner{e, int32(x)}) {
					t.Fatalf("extent %d of list %x is not in its slot", x, e.key)
				}
			}
		}
		if e.headAt != nil {
			lists++
			used += e.head
			for i, rows := range e.parts {
				if rows > 0 {
					owned++
					if !c.slots.packed && *c.slots.owner(e.headAt[i]) != (owner{e, int32(-1 - i)}) {
						t.Fatalf("part %d of the head of list %x is not in its slot", i, e.key)
					}
				}
			}
		}
		if resident != e.resident || resident > 0 && e.headAt == nil {
			t.Fatalf("list %x: %d rows, said to be %d; head at %v", e.key, resident, e.resident, e.headAt)
		}
		if c.config.Policy == VFB && float64(resident) > c.config.Lambda*float64(e.total) {
			t.Fatalf("list %x: %d rows of %d are more than a share of %v", e.key, resident, e.total, c.config.Lambda)
		}
		if c.Resident(e.key) != RowBytes*resident {
			t.Fatalf("list %x: %d bytes are resident, said to be %d", e.key, RowBytes*resident, c.Resident(e.key))
		}
		used += resident
	}
	for _, s := range c.slots.slabs {
		for _, o := range s.owners {
			if o.entry != nil {
				owned--
			}
		}
	}
	if used != c.slots.used || lists != c.stats.Lists || extents != c.stats.Extents || !c.slots.packed && owned != 0 {
		t.Fatalf("%d rows in %d lists and %d extents, said to be %d in %d and %d; %d slots too few", used, lists, extents, c.slots.used, c.stats.Lists, c.stats.Extents, owned)
	}
}

// randomLists makes lists with keys from 1 on; some have no key.
func randomLists(rng *rand.Rand) (lists []Need) {
	for i := range 1 + rng.IntN(60) {
		n := Need{Key: uint64(i+1) << 32, Version: 1}
		if rng.IntN(10) == 0 {
			n.Key = 0
		}
		for range rng.IntN(3) {
			n.Head = append(n.Head, rng.Uint32N(6))
		}
		most := uint32(1 + rng.IntN(40))
		for range 1 + rng.IntN(1+rng.IntN(80)) {
			n.Extents = append(n.Extents, rng.Uint32N(most))
		}
		lists = append(lists, n)
	}
	return lists
}

// pick makes a batch of some of the lists, the first ones more often.
func pick(rng *rand.Rand, lists []Need) (needs []Need) {
	for range 1 + rng.IntN(12) {
		n := lists[rng.IntN(1+rng.IntN(len(lists)))]
		n.Queries = rng.IntN(3)
		n.Leave, n.Rest = rng.IntN(4) == 0, rng.IntN(3) == 0
		if rng.IntN(20) == 0 {
			n.Version++
		}
		if rng.IntN(2) == 0 {
			n.Wanted = make([]uint64, (len(n.Extents)+63)/64)
			for i := range n.Wanted {
				n.Wanted[i] = rng.Uint64() & rng.Uint64()
			}
		}
		needs = append(needs, n)
	}
	return needs
}

// TestModel runs random batches on a simulated device that remembers its contents. Every piece must
// be where Place reported, while lists come and go, under any policy.
func TestModel(t *testing.T) {
	for round := range 300 {
		rng := rand.New(rand.NewPCG(1, uint64(round)))
		config := Config{
			Region:   Region{First: rng.Uint32N(100), Rows: rng.Uint32N(1 + rng.Uint32N(6000))},
			Policy:   Policy(rng.IntN(int(policies))),
			Lambda:   []float64{0, 0.5, 0.8, 1}[rng.IntN(4)],
			Static:   rng.IntN(3) == 0,
			HalfLife: 1 + rng.IntN(200),
		}
		t.Run(fmt.Sprintf("%d/%v", round, config.Policy), func(t *testing.T) { model(t, rng, config) })
	}
}

func model(t *testing.T, rng *rand.Rand, config Config) {
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	buffer := Region{First: config.Region.First + config.Region.Rows, Rows: 50 + rng.Uint32N(5000)}
	d := &device{t, make([]cell, buffer.First+buffer.Rows)}
	lists := randomLists(rng)
	var b Batch
	for range 40 {
		switch rng.IntN(12) {
		case 0:
			gone := rng.Uint64N(10)
			c.Drop(func(key uint64) bool { return key>>32%10 == gone })
		case 1:
			c.Reset()
			clear(d.cells)
		case 2:
			c.Count(pick(rng, lists))
			c.Admit()
			checkSlots(t, c)
			for key, extents := range c.Pending {
				if i := slices.IndexFunc(lists, func(n Need) bool { return n.Key == key }); i >= 0 {
					n := lists[i]
					n.Wanted = extents
					c.Place([]Need{n}, buffer, &b)
					d.run([]Need{n}, buffer, &b)
				}
			}
		}
		needs := pick(rng, lists)
		c.Place(needs, buffer, &b)
		d.run(needs, buffer, &b)
		checkSlots(t, c)
	}
}
