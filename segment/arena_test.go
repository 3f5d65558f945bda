package segment

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestArena keeps bytes of many lengths beside rooms that are taken, filled and given back: none
// may change another.
func TestArena(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	var a arena
	type thing struct {
		place uint32
		size  uint8
		want  []byte
	}
	var names, rooms []thing
	filled := func(n int) []byte { return bytes.Repeat([]byte{byte(rng.Uint32())}, n) }
	for i := range 20_000 {
		n := rng.IntN(20)
		if i%1000 == 0 {
			n = rng.IntN(3 * mostPage) // more than a page
		}
		name := filled(n)
		names = append(names, thing{place: a.keep(name), want: name})
		size := uint8(rng.IntN(roomSizes))
		room := thing{a.takeRoom(size), size, filled(arenaUnit << size)}
		copy(a.at(room.place), room.want)
		if rooms = append(rooms, room); len(rooms) > 500 {
			i := rng.IntN(len(rooms))
			a.giveRoom(rooms[i].place, rooms[i].size)
			rooms[i] = rooms[len(rooms)-1]
			rooms = rooms[:len(rooms)-1]
		}
	}
	for _, name := range names {
		if got := a.kept(name.place); !bytes.Equal(got, name.want) {
			t.Fatalf("%x is kept as %x", name.want, got)
		}
	}
	for _, room := range rooms {
		if got := a.at(room.place)[:len(room.want)]; !bytes.Equal(got, room.want) {
			t.Fatalf("a room of %d bytes has changed", len(got))
		}
	}
	if most := int64(len(rooms)<<12 + 20*mostPage*3 + 20_000*24); a.bytes > most {
		t.Errorf("%d bytes, want at most %d", a.bytes, most)
	}
}
