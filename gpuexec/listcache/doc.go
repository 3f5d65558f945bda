// Package listcache decides which parts of which posting lists lie in the memory of a
// device, and where. It moves no byte itself and knows no device: for each batch of
// queries it says where every part that the batch needs lies or is to be put, and whoever
// runs the batch copies and launches. So all of it runs, and is tested, anywhere.
//
// # Pieces and rows
//
// Device memory is an arena of rows of 16 bytes, numbered from 0. A list is cut into
// pieces, each of which lies in consecutive rows:
//
//   - an extent is the payload of 32 blocks, from the first row of its first block on. Block
//     b of it begins at row(extent) + Off[b] - Off[first block of the extent];
//   - the head is all that is needed to skip in the list and to bound it: directory and
//     block maxima, in a form that is the executor's own business, cut into as many parts
//     as it likes. The head of a list of which any extent is resident is resident, too.
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
// Place gives every wanted piece one of three places: a row in the part of the arena that
// is the cache's, when it is resident or is taken in with this batch; a row in the buffer of
// this batch; or none (Missing), when the buffer is full or the caller says so (Need.Leave).
// Tiles that reach into missing extents are the executor's to prove harmless or to
// report as unresolved (blockmax.Partial).
//
// What is copied goes into the buffer without gaps, in the order of Copies, so that it is
// one transfer. What is taken in must then be moved to its place on the device, behind all
// kernels of earlier batches and before those of this one: its place may be one that an
// earlier batch still reads something else from. A stream of kernels does just that.
//
// # What is kept
//
// A Policy weighs extents by how often queries want them; Wang, Yu, Stones, Ren, Wang, Liu
// and Ren, "Efficient GPU-based Query Processing with Pruned List Caching in Search Engines",
// 2017, compares the three there are. Two things are done in other ways than in the paper:
//
//   - Frequency alone ranks extents in VFB, though they differ in size. To keep an extent costs
//     its bytes, and spares as many whenever it is wanted; so what is spared for a byte kept is
//     the frequency. Dividing that by bytes once more was tried: it copies up to 9 % more.
//   - The paper's cache is static: filled once, by a log of queries (Count, then Admit).
//     That is here, too (Config.Static). Otherwise visits go on being counted, fade with a half-life,
//     and a piece that was copied for a batch stays if something worth less lies where it fits.
//
// Which file answers what:
//
//	need.go, batch.go  what is asked and what is answered
//	place.go           the way of a batch
//	admit.go           what is taken in, evict.go  what goes for it
//	rest.go            what is taken in though nobody wants it
//	static.go          what a log of queries says
//	entry.go           a list: visits and places
//	slots.go           the arena: slabs of slots of one size
//	model.go           how memory is divided between lists and batches
package listcache
