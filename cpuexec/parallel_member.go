package cpuexec

import (
	"math/bits"
)

// A member is the part of a run in a shared job, as its owner or as a helper. It is zero for a run
// alone.
type member struct {
	job     *job
	turn    int    // 0 for the owner, distinct for helpers
	leaving bool   // takes no more units
	claim   *claim // of the current sheet, when it is taken tile by tile
	units   int64  // taken so far
}

// mine reports whether this run must visit tile t of the current sheet. It is true in one run only.
func (m *member) mine(t int) bool {
	if m.claim == nil {
		return true
	}
	if m.leaving || !m.claim.take(t) {
		return false
	}
	m.took(1)
	return true
}

// took counts units taken, and occasionally checks whether the run must leave.
func (m *member) took(units int) {
	before := m.units
	m.units += int64(units)
	if m.units/8 > before/8 {
		m.leaving = m.job.failed.Load() || m.turn > 0 && m.job.pool.crowded()
	}
}

// shareTiles is bestFirst for a sheet that other runs share. Each moves elsewhere once it has taken
// the best tiles.
func (r *run) shareTiles(tiles uint64, visit func(t int, bound uint32) error) error {
	members := r.share.job.helpers + 1
	ahead, best := ^uint64(0)<<(r.share.turn*64/members%64), (bestTiles+members-1)/members
	for i := 0; ; i++ {
		tiles &^= r.share.claim.taken.Load()
		t := -1
		switch {
		case tiles == 0 || r.share.leaving:
			return nil
		case i < best:
			t = strongest(&r.tiled.tileSums, tiles)
		case tiles&ahead != 0:
			t = bits.TrailingZeros64(tiles & ahead)
		default:
			t = bits.TrailingZeros64(tiles)
		}
		tiles &^= 1 << t
		bound := r.tiled.tileSums[t&63]
		if bound < r.out.need(r.tiled.sheet+uint32(t)*tileDocs) || !r.share.mine(t) {
			continue
		}
		if err := visit(t, bound); err != nil {
			return err
		}
	}
}
