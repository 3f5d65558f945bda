package cpuexec

import (
	"math/bits"
)

// A member is what a run knows of the job that it works on with others, as its owner
// or as a helper. It is zero for a run alone.
type member struct {
	job     *job
	turn    int    // 0 for the owner; each helper has another one
	leaving bool   // takes no more units
	claim   *claim // of the sheet at work, when that is taken tile by tile
	units   int64  // taken so far
}

// mine reports whether tile t of the sheet at hand is for this run to visit. Each
// tile is for one run only.
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

// took counts units taken, and now and then asks whether they were the last.
func (m *member) took(units int) {
	before := m.units
	m.units += int64(units)
	if m.units/8 > before/8 {
		m.leaving = m.job.failed.Load() || m.turn > 0 && m.job.pool.crowded()
	}
}

// shareTiles is bestFirst for a sheet of which others take tiles, too. Each goes on
// elsewhere once it has taken the best ones.
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
