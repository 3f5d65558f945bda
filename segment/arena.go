package segment

import "encoding/binary"

// An arena gives a Memory room for ids, and for the names and the newest postings of its terms:
// hundreds of thousands of small things, which cost the garbage collector nothing because no pointer
// leads to them. It grows a page at a time, so no addition copies what is there. Room that is given
// back is used again.
//
// A place in it is a page and an offset, which counts in units of four bytes.
type arena struct {
	pages arenaPages
	used  int               // bytes of the last page
	free  [roomSizes]uint32 // the last room of each size that was given back, plus one; it names the one before
	bytes int64             // that things take
}

const (
	arenaUnit = 4
	pageUnits = 14                     // bits of an offset
	mostPage  = arenaUnit << pageUnits // bytes of a page, unless one thing needs more
	leastPage = 1 << 10
	roomSizes = 10                    // rooms have 4 to 2,048 bytes
	mostPages = 1 << (32 - pageUnits) // 16 GiB
)

// full reports whether few places are left: those for two gigabytes, more than a batch may have.
func (a *arena) full() bool { return len(a.pages) > mostPages-(2<<30)/mostPage }

// take returns the place of n new bytes, which are zero.
func (a *arena) take(n int) uint32 {
	last := len(a.pages) - 1
	if last < 0 || a.used+n > len(a.pages[last]) {
		size := leastPage
		if last >= 0 {
			size = min(2*len(a.pages[last]), mostPage)
		}
		size = max(size, n)
		a.pages, a.used = append(a.pages, make([]byte, size)), 0
		last++
	}
	place := uint32(last)<<pageUnits | uint32(a.used/arenaUnit)
	n = (n + arenaUnit - 1) &^ (arenaUnit - 1)
	a.used += n
	a.bytes += int64(n)
	return place
}

// arenaPages are the pages of an arena at one moment. What is kept in them stays as it is, so
// readers need no lock.
type arenaPages [][]byte

// at returns the bytes from a place to the end of its page.
func (p arenaPages) at(place uint32) []byte {
	return p[place>>pageUnits][place&(1<<pageUnits-1)*arenaUnit:]
}

// kept returns the bytes that keep has put in a place.
func (p arenaPages) kept(place uint32) []byte {
	b := p.at(place)
	n, size := binary.Uvarint(b)
	return b[size : size+int(n) : size+int(n)]
}

// at returns the bytes from a place to the end of its page.
func (a *arena) at(place uint32) []byte { return a.pages.at(place) }

// takeRoom returns a room of 4<<size bytes, which may hold anything.
func (a *arena) takeRoom(size uint8) uint32 {
	if a.free[size] == 0 {
		return a.take(arenaUnit << size)
	}
	place := a.free[size] - 1
	a.free[size] = binary.LittleEndian.Uint32(a.at(place))
	return place
}

// giveRoom takes a room back.
func (a *arena) giveRoom(place uint32, size uint8) {
	binary.LittleEndian.PutUint32(a.at(place), a.free[size])
	a.free[size] = place + 1
}

// keep copies bytes, which stay in place for as long as the arena.
func (a *arena) keep(b []byte) uint32 {
	var size [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(size[:], uint64(len(b)))
	place := a.take(n + len(b))
	room := a.at(place)
	copy(room, size[:n])
	copy(room[n:], b)
	return place
}

// kept returns the bytes that keep has put in a place.
func (a *arena) kept(place uint32) []byte { return a.pages.kept(place) }
