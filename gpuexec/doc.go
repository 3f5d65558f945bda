// Package gpuexec answers batches of plans on a GPU. It gives the answers of the CPU, bit for bit, or, where lists
// or means are missing, a part of one and what remains to be looked at.
//
//	dev, err := device.Open(0, device.Options{MemoryBytes: 8 << 30})
//	gpu, err := gpuexec.New(dev, gpuexec.Options{})
//	answers, err := gpu.Run(ctx, plans)
//	for i, a := range answers {
//		top := a.Top
//		if len(a.Open) > 0 {
//			top, err = cpuexec.Executor{}.Finish(ctx, plans[i], &a.Partial)
//		}
//	}
//
// Flat plans of up to 64 terms and 1,000 hits are for the device, whatever their mode, filter, rank, position
// (After) and number of segments; others are refused, which means that all their documents remain.
//
// # How a batch runs
//
// The host makes one piece of memory of all that the batch needs and the device does not have (batch.go, lists.go): structs
// as kernels/layout.cuh has them, columns, heads and extents of lists. It goes to the device in one copy, some ten kernels
// run, and one copy comes back. What queries have in common stays from batch to batch: a list that lies on the device whole
// is neither looked at nor copied, and takes 80 bytes of a batch (known.go, tables.go).
//
//	scatter       extents that stay are moved to their places in the cache
//	index_lists   directories of tiles: where a list's blocks are, and its bounds; sparse lists are decoded for it
//	bound_tiles   an upper bound for each tile of each query; some of the best become seeds
//	queue_seeds   ... which are visited first, so that thresholds rise
//	or_strips     tiles are scored, candidates handed in: of flat lists strip by strip,
//	or_flat       or, where many strips of a tile are alive, as a whole;
//	or_maxscore   of others, or by another algorithm, block by block
//	queue_tiles   the tiles that can still win, and which parts of them
//	or_strips, or_flat, or_maxscore   the same for them
//	top_k         the best keys of each query, in order
//	flatten       lists that have come to stay are made flat, for the batches that follow
//
// ANDs come before ORs, by strips (and_strips), by tiles (and_tile) or by the blocks of the shortest list (and_lead), and settle decides
// which queries of mode AndOr go on with OR. The unit of work is a tile of a query, 16,384 documents, with a score for each
// in shared memory, or some of its 32 strips. Thread blocks are persistent: each takes items until none are left, so that an
// expensive query is shared by all.
//
// Flat postings (kernels/flat.cuh, flats.go) are a word each, impact and document, with bounds for each strip of 512 documents and each
// cell of 64 (kernels/cells.cuh).
// On an H200 they are scored several times as fast as blocks, at 4 bytes a posting instead of 1.2, so lists have them beside their blocks,
// which are what is stored, copied and cached, as far as Options.FlatBytes go. Queries by strips do without the blocks of lists that are
// flat: the cache is not asked for them, and may let go of them.
//
// A document is ranked by one number, its key (layout.cuh), and a query's threshold is the key that is
// the worst of its best k. All that is passed over has a bound, as a key, below the threshold, ties and all.
//
// # Missing extents
//
// listcache says for each extent of a list where it lies: in the cache, in the memory of the batch, or nowhere. A tile
// that needs an extent which is nowhere is dropped when its bound is below the threshold, and reported otherwise. It
// is all or nothing: what was reported has handed in nothing. Answer.Open has these documents, for the CPU to go on with
// from the device's threshold (Wang 2017: post-processing). The answer is exact in the end.
//
// # Windows
//
// With Options.Stream the device lacks most of the lists. They are in pinned main memory, as records (records.go), and a batch goes through the documents
// window by window (windows.go, kernels/windows.cu), on streams of its own for copying, planning and scoring:
//
//	fetch_rows      bounds of strips and directories of blocks come, and records that are to stay
//	queue_tiles     queues the tiles that can win, as above: to kernels a window is a segment
//	mark            marks their strips in all lists of their queries
//	choose_blocks   finds the blocks that touch marked strips
//	fetch_pieces    reads them from main memory, in pieces of about 1 KB
//	flatten_slices  makes them flat, in memory that windows share
//	bound_slices    bounds their cells
//	or_strips ...   as above
//
// Thresholds go from window to window. What stays on the device (residents.go) are records, not flat postings.
//
// # The papers' own methods
//
// Beside tiles, and to be measured against them, are Huang 2017's ranges (kernels/ranges.cu: a block of threads a query, a
// range of documents a thread), Wang 2017's rounds along the shortest list with early termination on
// global-score order (and_rounds.cu), and Ding 2009's codecs, data-parallel (block.cuh), and intersection with selection of
// the blocks to decode (lead.cuh).
//
// # Trust
//
// Kernels trust what they read. Directories have been checked when lists were opened; payload is decoded on the host before
// it is copied for the first time. A plan with a damaged list is refused, and the CPU reports what is wrong.
//
// # Files
//
//	options.go   algorithms, and the shape of kernels
//	plan.go      what a plan needs, and what the device refuses
//	batch.go     the structs of a batch, staging.go the memory they are written to, layout.go their layout
//	lists.go     the lists of a batch, pieces.go heads and extents on their way
//	known.go     what is remembered of lists
//	tables.go    where the extents of lists are, which stays
//	flats.go     lists as flat postings, which stay
//	windows.go   batches that go by windows, records.go lists in main memory, residents.go those of them that stay on the device
//	columns.go   length codes and the like, which stay
//	launch.go    which kernels run, in which order
//	results.go   what comes back
//	times.go     where the time goes
//	executor.go  batches under way: three, so that copies and kernels overlap
package gpuexec
