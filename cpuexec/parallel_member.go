package cpuexec

import (
	"math/bits"

	"github.com/riffle-search/riffle/blockmax"
)

// A member is what a run knows of the job that it works on with others, as its owner
// or as a helper. It is zero for a run alone.
type member struct {
	job        *job
	turn       int    // 0 for the owner; each helper has another one
	leaving    bool   // takes no more units
	sheetClaim *claim // of the sheet at work, when that is taken tile by tile
}

// foundHits is how many hits a run keeps for itself while others have the collector.
const foundHits = 128

// needed is Need of the collector. doc is a global number.
func (r *run) needed(doc uint32) uint32 {
	j := r.job
	if j == nil {
		return r.top.Need(doc)
	}
	if len(r.found) > 0 {
		j.handOver(r)
	}
	worst := j.worst.Load()
	if worst == 0 {
		return 0
	}
	need := uint32(worst >> 32)
	if doc >= ^uint32(worst) {
		need++
	}
	return need
}

// keep offers a document, by its global number and whole score, to the collector.
func (r *run) keep(doc, score uint32) {
	j := r.job
	if j == nil {
		r.top.Offer(doc, score)
		return
	}
	if hitKey(doc, score) <= j.worst.Load() {
		return
	}
	r.found = append(r.found, blockmax.Hit{Doc: doc, Score: score})
	if len(r.found) >= foundHits {
		j.handOver(r)
	}
}

// mine reports whether tile t of the sheet at hand is for this run to visit. Each
// tile is for one run only.
func (r *run) mine(t int) bool {
	if r.sheetClaim == nil {
		return true
	}
	if r.leaving || !r.sheetClaim.take(t) {
		return false
	}
	r.took(1)
	return true
}

// took counts units taken, and now and then asks whether they were the last.
func (r *run) took(units int) {
	before := r.work.Tasks
	r.work.Tasks += int64(units)
	if r.work.Tasks/8 > before/8 {
		r.leaving = r.job.failed.Load() || r.turn > 0 && r.job.pool.crowded()
	}
}

// shareTiles is bestFirst for a sheet of which others take tiles, too. Each goes on
// elsewhere once it has taken the best ones.
func (r *run) shareTiles(tiles uint64, visit func(t int, bound uint32) error) error {
	members := r.job.helpers + 1
	ahead, best := ^uint64(0)<<(r.turn*64/members%64), (bestTiles+members-1)/members
	for i := 0; ; i++ {
		tiles &^= r.sheetClaim.taken.Load()
		t := -1
		switch {
		case tiles == 0 || r.leaving:
			return nil
		case i < best:
			t = strongest(&r.tileSums, tiles)
		case tiles&ahead != 0:
			t = bits.TrailingZeros64(tiles & ahead)
		default:
			t = bits.TrailingZeros64(tiles)
		}
		tiles &^= 1 << t
		bound := r.tileSums[t&63]
		if bound < r.need(r.sheet+uint32(t)*tileDocs) || !r.mine(t) {
			continue
		}
		if err := visit(t, bound); err != nil {
			return err
		}
	}
}
