package blockmax

import "testing"

// TestLengthCodeLucene pins codes worked out by hand from the definition of
// SmallFloat.intToByte4. Length 100: 100-24 = 76 = 0b1001100 has 7 bits, so shift 3,
// mantissa 0b001, code 24 + (4<<3 | 1) = 57, which stands for 24 + (9<<3) = 96.
func TestLengthCodeLucene(t *testing.T) {
	for _, c := range []struct {
		length uint32
		code   uint8
		back   uint32
	}{
		{0, 0, 0}, {1, 1, 1}, {23, 23, 23}, {24, 24, 24}, {31, 31, 31}, {32, 32, 32}, {40, 40, 40},
		{41, 40, 40}, {42, 41, 42}, {43, 41, 42}, {44, 42, 44}, {56, 48, 56}, {60, 49, 60},
		{100, 57, 96}, {1000, 87, 984}, {1 << 20, 167, 983064}, {1<<31 - 1, 255, 2013265944}, {1<<32 - 1, 255, 2013265944},
	} {
		if got := LengthCode(c.length); got != c.code {
			t.Errorf("LengthCode(%d) = %d, want %d", c.length, got, c.code)
		}
		if got := CodeLength(c.code); got != c.back {
			t.Errorf("CodeLength(%d) = %d, want %d", c.code, got, c.back)
		}
	}
}

// TestLengthCodeRoundsDown checks all codes and both ends of every code's range: codes rise with
// lengths, and a code stands for its shortest length.
func TestLengthCodeRoundsDown(t *testing.T) {
	for c := range 256 {
		shortest := CodeLength(uint8(c))
		if got := LengthCode(shortest); got != uint8(c) {
			t.Errorf("LengthCode(CodeLength(%d)) = %d", c, got)
		}
		if shortest > 0 {
			if got := LengthCode(shortest - 1); got != uint8(c-1) {
				t.Errorf("LengthCode(%d) = %d, want %d: one below the range of code %d", shortest-1, got, c-1, c)
			}
		}
		if c > 0 && c < 255 {
			longest := CodeLength(uint8(c+1)) - 1
			if lost := float64(longest-shortest) / float64(longest); lost > 1./8 {
				t.Errorf("code %d loses %.3f of length %d", c, lost, longest)
			}
		}
	}
}
