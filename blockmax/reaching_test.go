package blockmax

import "testing"

// TestReaching: of bounds that rise from block to block, as many reach a contribution as lie above it.
func TestReaching(t *testing.T) {
	const weight = 1 << 20
	b := &Bounds{Block: make([]uint16, 1000)}
	for i := range b.Block {
		b.Block[i] = uint16(65 * i)
	}
	for _, test := range []struct {
		from, most int
		want       float64
	}{{0, 10, 1}, {500, 1000, 0.5}, {500, 10, 0.5}, {900, 20, 0.1}, {1001, 20, 0}, {250, 2000, 0.75}} {
		if got := b.Reaching(weight, Contribution(weight, uint16(65*test.from)), test.most); got != test.want {
			t.Errorf("from block %d on, in a sample of %d: %v of the blocks, want %v", test.from, test.most, got, test.want)
		}
	}
	if got := new(Bounds).Reaching(weight, 1, 10); got != 0 {
		t.Errorf("of no blocks %v reach something", got)
	}
}
