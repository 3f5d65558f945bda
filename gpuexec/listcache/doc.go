// Package listcache decides which parts of which posting lists are resident in a device's memory,
// and where. It moves no bytes and knows no device. For each batch of queries it returns where
// every needed part lies or must be put; the caller copies and launches. Tests therefore need no
// device.
//
// # Pieces and rows
//
// Device memory is an arena of rows of 16 bytes, numbered from 0. A list is cut into pieces, each
// of which lies in consecutive rows:
//
//   - an extent is the payload of 32 blocks, from the first row of its first block on. Block
//     b of it begins at row(extent) + Off[b] - Off[first block of the extent];
//   - the head is what skipping and bounding need: directory and block maxima, in a form that
//     the executor chooses, cut into any number of parts. If any extent of a list is
//     resident, so is the head.
//
// A piece of 0 rows (an extent of runs, all frequencies 1) needs no place; its row is 0.
//
// # A batch
//
//	needs := []listcache.Need{{Key: term.Key, Head: ..., Extents: ..., Wanted: ...}, ...}
//	cache.Place(needs, listcache.Region{First: buffer, Rows: rows}, &batch)
//	for _, c := range batch.Copies { put piece c.Piece of needs[c.List] at row c.At of the buffer }
//	// copy the buffer to the device, move pieces with c.Row != c.At to c.Row, run the kernels
//
// Place gives every wanted piece one of three places: a row in the cache's part of the arena, if it
// is resident or admitted with this batch; a row in the buffer of this batch; or none (Missing), if
// the buffer is full or the caller says so (Need.Leave). The executor must prove that tiles which
// reach into missing extents do not matter, or report them as unresolved (blockmax.Partial).
//
// Copies fill the buffer without gaps, in the order of Copies, so that they are one transfer. The
// caller then moves an admitted piece to its place on the device, after all kernels of earlier
// batches and before those of this one, since an earlier batch may still read something else from
// that place. A stream of kernels has that order.
//
// # What is kept
//
// A Policy ranks extents by how often queries want them. Wang, Yu, Stones, Ren, Wang, Liu and Ren,
// "Efficient GPU-based Query Processing with Pruned List Caching in Search Engines", 2017, compares
// the three policies. The package differs from the paper in two points:
//
//   - Frequency alone ranks extents in VFB, although their sizes differ. An extent costs its
//     bytes to keep and saves as many each time it is wanted, so the saving for a byte kept is
//     the frequency. Dividing by bytes again copies up to 9 % more.
//   - The paper's cache is static: a query log fills it once (Count, then Admit). Config.Static
//     does the same. Otherwise the cache continues to count visits, which fade with a half-life.
//     A piece that was copied for a batch stays if it can replace something worth less.
//
// Files:
//
//	need.go, batch.go  question and answer
//	place.go           placing a batch
//	admit.go           admission, evict.go  eviction
//	rest.go            admission of pieces that no query of the batch wants
//	static.go          what a log of queries says
//	entry.go           a list: visits and places
//	slots.go           the arena: slabs of slots of one size
//	model.go           how memory is divided between lists and batches
package listcache
