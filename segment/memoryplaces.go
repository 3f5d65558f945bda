package segment

import "encoding/binary"

// A placeList is the positions of a memoryTerm's run: bytes in rooms of the arena, of which each is
// twice as large as the one before, up to 2 KB, and ends with the place of the next.
type placeList struct {
	first, room uint32 // the first room and the last
	used        uint16 // bytes of the last room
	size        uint8  // of the last room, plus one; 0 without a room
}

// The sizes of the first room and of the largest: 8 and 2,048 bytes.
const (
	firstPlaceRoom = 1
	lastPlaceRoom  = roomSizes - 1
	placeLink      = 4
)

// append appends bytes to the list.
func (l *placeList) append(a *arena, b []byte) {
	for len(b) > 0 {
		left := 0
		if l.size > 0 {
			left = arenaUnit<<(l.size-1) - placeLink - int(l.used)
		}
		if left == 0 {
			l.grow(a)
			continue
		}
		n := copy(a.at(l.room)[l.used:int(l.used)+left], b)
		l.used += uint16(n)
		b = b[n:]
	}
}

// grow gives the list its next room.
func (l *placeList) grow(a *arena) {
	size := uint8(firstPlaceRoom)
	if l.size > 0 {
		size = min(l.size, lastPlaceRoom) // l.size is one more than that of the last room
	}
	room := a.takeRoom(size)
	if l.size > 0 {
		binary.LittleEndian.PutUint32(a.at(l.room)[arenaUnit<<(l.size-1)-placeLink:], room)
	} else {
		l.first = room
	}
	l.room, l.used, l.size = room, 0, size+1
}

// rooms calls f with the place, the size and the used bytes of each room. f may give the room back.
func (l *placeList) rooms(a *arena, f func(room uint32, size uint8, used int)) {
	if l.size == 0 {
		return
	}
	room := l.first
	for size := uint8(firstPlaceRoom); room != l.room; size = min(size+1, lastPlaceRoom) {
		end := arenaUnit<<size - placeLink
		next := binary.LittleEndian.Uint32(a.at(room)[end:])
		f(room, size, end)
		room = next
	}
	f(room, l.size-1, int(l.used))
}

// appendTo appends all bytes of the list.
func (l *placeList) appendTo(a *arena, dst []byte) []byte {
	l.rooms(a, func(room uint32, _ uint8, used int) { dst = append(dst, a.at(room)[:used]...) })
	return dst
}

// clear gives all rooms back.
func (l *placeList) clear(a *arena) {
	l.rooms(a, func(room uint32, size uint8, _ int) { a.giveRoom(room, size) })
	*l = placeList{}
}

// places returns the positions of a term's run, in a field with positions.
func (f *memoryField) placesOf(number uint32) *placeList {
	return &f.places[number/termSlab][number%termSlab]
}
