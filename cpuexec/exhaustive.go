package cpuexec

import "math/bits"

// exhaustive answers OR by adding up every list, tile by tile: the reference for pruning.
func (r *run) exhaustive() error {
	lists, err := r.tiled.openAll(r)
	if err != nil {
		return err
	}
	for lo := r.at.from &^ (sheetDocs - 1); lo < r.at.to; lo += sheetDocs {
		if err := r.tiled.enterSheet(lists, lo, &r.at); err != nil {
			return err
		}
		for tiles := r.at.tilesAtWork(lo, r.tiled.present); tiles != 0; tiles &= tiles - 1 {
			t := bits.TrailingZeros64(tiles)
			if !r.share.mine(t) {
				continue
			}
			if err := r.query.ctx.Err(); err != nil {
				return err
			}
			base := lo + uint32(t)*tileDocs
			r.win.place(base, r.at.from, r.at.to)
			r.tiled.enterTile(lists, t, base)
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
