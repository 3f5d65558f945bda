package cpuexec

import "math/bits"

// exhaustive answers OR by adding up every list, tile by tile: what pruning is measured
// against.
func (r *run) exhaustive() error {
	lists, err := r.openLists()
	if err != nil {
		return err
	}
	for lo := r.from &^ (sheetDocs - 1); lo < r.to; lo += sheetDocs {
		if err := r.enterSheet(lists, lo); err != nil {
			return err
		}
		for tiles := r.tilesAtWork(lo, r.tiles); tiles != 0; tiles &= tiles - 1 {
			t := bits.TrailingZeros64(tiles)
			if !r.mine(t) {
				continue
			}
			if err := r.ctx.Err(); err != nil {
				return err
			}
			base := lo + uint32(t)*tileDocs
			r.win.place(base, r.from, r.to)
			r.enterTile(lists, t, base)
			if err := r.scoreWords(^uint64(0)); err != nil {
				return err
			}
		}
	}
	return nil
}

// saturatingSub is a - b, or 0 when that is negative.
func saturatingSub(a, b uint32) uint32 {
	if a < b {
		return 0
	}
	return a - b
}
