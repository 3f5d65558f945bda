package listcache

import (
	"math"
	"math/bits"
	"slices"
)

// slots divide the rows of a cache. Pieces have any size and come and go one by one, so a heap of
// free ranges would soon be full of gaps that fit nothing. Instead rows are divided into slabs, all
// of one size; a slab is divided into slots of one size, and a piece takes a slot of the next size
// up. There are eight sizes between a number and its double, so a slot is at most an eighth too
// large, and some 5 % on average. Slabs may end up with slot sizes that no piece wants any longer;
// such a slab is emptied and divided anew (Cache.emptySlab). So nothing is ever moved, and no
// memory is lost for long.
//
// A cache that never evicts does not need this: its pieces lie one after another (packed).
type slots struct {
	region Region
	packed bool
	next   uint32 // packed: rows taken from the beginning

	slabRows uint32
	slabs    []slab
	free     []int32  // slabs that are not divided; the last is taken first
	bySize   []*class // by the size of their slots
	classes  []*class // in the order in which they were first needed
	hand     int      // the slab that is sampled next
	used     int64    // rows of pieces
	floor    float32  // the least floor of all classes
}

// A slab is divided into slots of one size.
type slab struct {
	class  *class // nil when free
	owners []owner

	price  float32 // Cache.slabPrice
	priced uint64  // the batch for which it holds; 0 if an owner has changed since
}

// An owner is the piece in a slot; its entry is nil for a free slot.
type owner struct {
	entry *entry
	piece int32 // as in Copy
}

// A class is all slots of one size.
type class struct {
	size  uint32
	free  []uint32 // first rows of free slots; the last is taken first
	slabs []int32  // in ascending order
	hand  int      // the slot that is sampled next, counted over slabs

	// A lower estimate of what pieces here are worth: a sample had none below floor.
	floor   float32
	refused int // pieces worth no more than floor since the last sample
	failed  int // pieces worth more that found no slot since slabs were last sampled
}

// A slab should hold several slots of each of some ten sizes, but should be large enough for the
// parts of heads, unless the cache itself is small.
const (
	slabsWanted = 256
	slabsLeast  = 16
	goodRows    = 1 << 11
	minSlabRows = 1 << 6
	maxSlabRows = 1 << 14
	sizesDouble = 8 // sizes of slots between a number and its double
)

// slabRows is the size of a slab in a cache of that many rows: a power of two.
func slabRows(rows uint32) uint32 {
	n := max(rows/slabsWanted, min(goodRows, rows/slabsLeast))
	return min(maxSlabRows, max(minSlabRows, uint32(1)<<bits.Len32(n/2)))
}

func newSlots(region Region, packed bool) *slots {
	s := &slots{region: region, packed: packed, slabRows: slabRows(region.Rows)}
	s.clear()
	return s
}

// clear empties all slots.
func (s *slots) clear() {
	s.next, s.hand, s.used = 0, 0, 0
	s.slabs, s.free, s.classes, s.floor = nil, nil, nil, 0
	s.bySize = make([]*class, s.slabRows+1)
	if s.packed {
		return
	}
	s.slabs = make([]slab, s.region.Rows/s.slabRows)
	for i := range s.slabs {
		s.free = append(s.free, int32(len(s.slabs)-1-i))
	}
}

// slotSize is the size of the slots for pieces of that many rows.
func slotSize(rows uint32) uint32 {
	if rows <= sizesDouble {
		return rows
	}
	step := uint32(1) << (bits.Len32((rows - 1) / (2 * sizesDouble)))
	return (rows + step - 1) &^ (step - 1)
}

// take finds a place for a piece without evicting another. o is its owner.
func (s *slots) take(rows uint32, o owner) (row uint32, ok bool) {
	if s.packed {
		if rows > s.region.Rows-s.next {
			return 0, false
		}
		row = s.region.First + s.next
		s.next += rows
		s.used += int64(rows)
		return row, true
	}
	c := s.class(rows)
	if c == nil {
		return 0, false
	}
	if len(c.free) == 0 && !s.divide(c) {
		if c = s.larger(c.size); c == nil {
			return 0, false
		}
	}
	row = c.free[len(c.free)-1]
	c.free = c.free[:len(c.free)-1]
	s.own(row, o)
	s.used += int64(rows)
	return row, true
}

// larger returns the next larger class that has a free slot, up to half as large again. Leaving the
// slot empty would waste more.
func (s *slots) larger(size uint32) *class {
	for n := slotSize(size + 1); n <= size+size/2 && n <= s.slabRows; n = slotSize(n + 1) {
		if c := s.bySize[n]; c != nil && len(c.free) > 0 {
			return c
		}
	}
	return nil
}

// settle computes the least worth of any class.
func (s *slots) settle() {
	s.floor = math.MaxFloat32
	for _, c := range s.classes {
		if len(c.slabs) > 0 {
			s.floor = min(s.floor, c.floor)
		}
	}
	if s.floor == math.MaxFloat32 {
		s.floor = 0
	}
}

// fade halves the least worth, along with everything else's.
func (s *slots) fade() {
	for _, c := range s.classes {
		c.floor /= 2
	}
}

// room bounds the rows of pieces that can still be added.
func (s *slots) room() int64 {
	if s.packed {
		return int64(s.region.Rows - s.next)
	}
	return math.MaxInt64
}

// class returns the class of slots for a piece, nil if it is larger than a slab.
func (s *slots) class(rows uint32) *class {
	size := slotSize(rows)
	if size > s.slabRows {
		return nil
	}
	c := s.bySize[size]
	if c == nil {
		c = &class{size: size}
		s.bySize[size] = c
		s.classes = append(s.classes, c)
	}
	return c
}

// divide divides a free slab into slots.
func (s *slots) divide(c *class) bool {
	if len(s.free) == 0 {
		return false
	}
	i := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	n := s.slabRows / c.size
	s.slabs[i] = slab{class: c, owners: make([]owner, n)}
	at, _ := slices.BinarySearch(c.slabs, i)
	c.slabs = slices.Insert(c.slabs, at, i)
	for slot := n; slot > 0; slot-- {
		c.free = append(c.free, s.first(i)+(slot-1)*c.size)
	}
	return true
}

// first is the first row of a slab.
func (s *slots) first(slab int32) uint32 { return s.region.First + uint32(slab)*s.slabRows }

// owner returns the owner of the slot at a row.
func (s *slots) owner(row uint32) *owner {
	i := (row - s.region.First) / s.slabRows
	slab := &s.slabs[i]
	return &slab.owners[(row-s.first(int32(i)))/slab.class.size]
}

// own sets the owner of the slot at a row.
func (s *slots) own(row uint32, o owner) {
	*s.owner(row) = o
	s.slabs[(row-s.region.First)/s.slabRows].priced = 0
}

// give frees the slot of a piece.
func (s *slots) give(row, rows uint32) {
	s.used -= int64(rows)
	if s.packed {
		return // its rows are lost until the cache is cleared
	}
	s.own(row, owner{})
	c := s.slabs[(row-s.region.First)/s.slabRows].class
	c.free = append(c.free, row)
}

// undivide frees a slab whose slots are all free.
func (s *slots) undivide(i int32) {
	slab := &s.slabs[i]
	c, first := slab.class, s.first(i)
	c.free = slices.DeleteFunc(c.free, func(row uint32) bool { return row >= first && row-first < s.slabRows })
	at, _ := slices.BinarySearch(c.slabs, i)
	c.slabs = slices.Delete(c.slabs, at, at+1)
	slab.class, slab.owners = nil, nil
	s.free = append(s.free, i)
}

// each calls visit with the owner of the next n slots of a class, in a cycle, at most each slot
// once.
func (s *slots) each(c *class, n int, visit func(owner)) {
	per := int(s.slabRows / c.size)
	total := per * len(c.slabs)
	for range min(n, total) {
		if c.hand >= total {
			c.hand = 0
		}
		visit(s.slabs[c.slabs[c.hand/per]].owners[c.hand%per])
		c.hand++
	}
}
