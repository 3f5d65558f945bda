package postings

import (
	"math/rand/v2"
	"testing"
)

// TestCRC8: the checksum is that of its definition, bit by bit.
func TestCRC8(t *testing.T) {
	if got := crc8([]byte("123456789")); got != 0xDF { // the check value of CRC-8/AUTOSAR
		t.Errorf("the checksum of 123456789 is %#02x, want 0xdf", got)
	}
	rng := rand.New(rand.NewPCG(8, 8))
	for n := range 100 {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		want := uint8(0xFF)
		for _, x := range b {
			for bit := 7; bit >= 0; bit-- {
				high := want>>7 ^ x>>bit&1
				want <<= 1
				want ^= high * crc8Poly
			}
		}
		if got := crc8(b); got != ^want {
			t.Errorf("the checksum of %x is %#02x, want %#02x", b, got, ^want)
		}
	}
}
