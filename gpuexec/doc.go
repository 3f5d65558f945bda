// Package gpuexec answers batches of plans on a GPU. An answer equals the CPU's bit for bit. If
// lists are missing, it is a partial answer, with the documents that remain open.
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
// The device takes flat plans of up to 64 terms, and boolean trees of up to 64 leaves, for up to
// 1,000 hits, with any mode, filter, rank, position (After) and number of segments. It refuses other
// plans: all their documents remain open.
//
// # How a batch runs
//
// The host gathers in one buffer what the batch needs and the device lacks (batch.go, lists.go):
// structs of kernels/layout.cuh, columns, heads and extents of lists. One copy takes the buffer to
// the device, some ten kernels run, and one copy comes back. Data that queries share stays on the
// device. A fully resident list is neither examined nor copied, and takes 80 bytes of a batch
// (known.go, tables.go).
//
//	scatter       moves admitted extents to their places in the cache
//	index_lists   makes directories of tiles: where a list's blocks are, and its bounds;
//	              decodes sparse lists for that
//	bound_tiles   bounds each tile of each query; some of the best become seeds
//	queue_seeds   queues the seeds first, so that thresholds rise
//	or_strips     scores tiles and collects candidates: strip by strip for flat lists;
//	or_maxscore   block by block for other lists, or by another algorithm
//	tree_strips   does the same for boolean trees
//	queue_tiles   queues the tiles that can still win, and which parts of them
//	or_strips, or_rounded, or_maxscore   score these: or_rounded tiles of flat lists as a whole,
//	              where many strips are alive; for more than 256 hits or_flat takes its place
//	count_matches counts, for plans of which only the total is wanted, by bits of documents
//	top_k         sorts the best keys of each query
//	flatten       makes newly resident lists flat, for the following batches
//
// Where no AND of a batch has bounds, queue_all queues all their tiles at once: there are no seeds.
//
// ANDs precede ORs: by strips (and_strips), by tiles (and_tile) or by the blocks of the shortest
// list (and_lead). settle decides which queries of mode AndOr continue with OR. The unit of work is
// a tile of a query, 16,384 documents, with a score for each in shared memory, or some of its 32
// strips. Thread blocks are persistent: each takes items until none are left, so all of them share
// an expensive query.
//
// A flat posting (kernels/flat.cuh, flats.go) is one word, impact and document. Flat lists have
// bounds for each strip of 512 documents and each cell of 64 (kernels/cells.cuh). An H200 scores
// them several times as fast as blocks, at 4 bytes a posting instead of 1.2. Flat postings
// supplement the blocks, which are stored, copied and cached, up to Options.FlatBytes. Queries by
// strips need no blocks of flat lists, so the cache may evict those blocks. While they are resident,
// a batch of few tiles goes block by block all the same: strips take as long as the longest tile,
// however few there are (stripchoice.go).
//
// Where a threshold is known, whole tiles go by sums of 16 bits, rounded up (or_rounded): a tile
// takes half the shared memory, so two take turns, and no warp waits at a barrier. Documents whose
// sum reaches the threshold are scored exactly, from the lists.
//
// A document is ranked by one number, its key (layout.cuh). A query's threshold is at most the k-th
// best key. Whatever is skipped has a bound, as a key, below the threshold, ties included.
//
// Keys that reach the threshold join the query's list under its lock, and the threshold rises when
// the list is cut to k. Queries by strips for 64 hits or more append keys without a lock, count them
// by score, and take the threshold from the counts (kernels/append.cuh, append.go).
//
// # Boolean trees
//
// A leaf of a tree is a list with a bit (trees.go). A warp adds all postings of a strip, required,
// optional and excluded ones, to a score and a mask of leaves for each document. Only where that
// score would enter does it evaluate the tree, by masks of leaves and nodes (kernels/tree.cuh). Leaves
// below a node that has no match do not count; their lists are then read again, to take away what
// they added. Bounds of strips and of their cells (kernels/tree_cells.cuh) are evaluated likewise, on
// the lists that have postings there.
//
// A tree goes by strips whether its lists are flat or not; blocks of other lists are decoded for each
// strip that they touch. Refused are: sets of documents, proximities, BM25F, the best of several
// scores, and trees that documents without any of their words match. A tree with another one for few
// hits takes a second batch if it has too few (turns.go).
//
// # Missing extents
//
// For each extent, package listcache reports whether it is in the cache, in the memory of the
// batch, or missing. A tile that needs a missing extent is dropped if its bound is below the
// threshold, and reported otherwise. A reported tile has contributed no candidate. Answer.Open has
// its documents, and the CPU continues with them from the device's threshold (post-processing in
// Wang 2017). The final answer is exact.
//
// # Small segments
//
// With Options.SmallDocs segments with few documents are left to the CPU: Answer.Open has them. Each
// costs the host of a batch as much as a large one (small.go). A plan of two turns leaves them in its
// second one only.
//
// # Windows
//
// With Options.Stream the device lacks most of the lists. They are in pinned main memory, as
// records (records.go). A batch processes the documents in steps of one to three windows (windows.go,
// steps.go, kernels/windows.cu), with separate streams for copying, planning and scoring:
//
//	fetch_rows      copies bounds of strips, levels of their cells, directories of blocks, and
//	                records that will stay
//	open_slices     spreads out the bounds and levels of rare lists, which are packed
//	queue_and_mark  queues the tiles that can win, as above, and marks their strips in all lists
//	                of their queries: to kernels a window is a segment
//	choose_blocks   finds the blocks that touch marked strips
//	fetch_pieces    reads them from main memory, in pieces of about 1 KB
//	flatten_slices  makes them flat, in memory that steps share
//	and_probe       scores ANDs: looks documents of the shortest list, in cells that can win, up in
//	                the others
//	or_strips ...   as above
//
// Trees go by windows, too, and so do flat plans of more than 32 terms, as trees of one node. Plans of
// mode AndOr run as And, and those with too few hits once more, as Or (turns.go).
//
// The level of a cell, two bits in a record, says whether a list has postings there, and how high
// their impacts are. In a strip that two lists share, their postings are seldom in one cell, and their
// high impacts neither. So levels rule out half of the strips before any block is copied, and they
// take the place of the bounds of cells that flat lists have otherwise, a byte each. A packed record
// has a bit for each cell of those strips that have postings.
//
// Length codes, accepted documents and ranks that are not resident come in parts, too, one for each
// window (parted.go). So a segment may have more documents than a batch has bytes.
//
// Thresholds carry over from step to step. Batches of few lists run two at a time, in tracks: one
// computes where the other waits. The data that stays on the device (residents.go) is
// records, not flat postings.
//
// # Several devices
//
// Package partition lets several executors hold an index together: each gets plans over parts of
// segments, boolean trees and counts included. The first documents of a part (blockmax.Segment.Skip) are not of the plan, since some
// postings there mean nothing. Kernels do not visit their tiles.
//
// # The papers' own methods
//
// Two methods serve for comparison with tiles. Huang 2017's ranges (gpuexec/baselines/ranges.cu)
// give each query a thread block, and each thread a range of documents. Wang 2017's rounds
// (and_rounds.cu) follow the shortest list, with early termination on global-score order. Ding 2009
// contributes the data-parallel codecs (block.cuh) and intersection with selection of the blocks to
// decode (lead.cuh).
//
// # Trust
//
// Kernels trust what they read. Open checks the directories of lists, and the host decodes payload
// before it is copied for the first time. A plan with a damaged list is refused, and the CPU
// reports the damage.
//
// # Files
//
//	options.go        algorithms, and the shape of kernels
//	plan.go           what a plan needs, and what the device refuses
//	batch.go          the structs of a batch
//	staging.go        the memory they are written to
//	layout.go         their layout
//	lists.go          the lists of a batch
//	pieces.go         heads and extents on their way
//	want.go           which extents a batch needs
//	small.go          segments that are left to the CPU
//	leadshare.go      whether warps share the blocks of the shortest list
//	known.go          what is remembered of lists
//	tables.go         resident tables of where the extents of lists are
//	flats.go          resident lists as flat postings
//	renew.go          the same, when the mean length has changed
//	windows.go        batches that go by windows
//	windowshare.go    how much memory they get
//	steps.go          how many windows they take at a time
//	windowsfill.go    what the host writes of them
//	windowslaunch.go  their kernels
//	append.go         what queries for many hits find
//	records.go        lists in main memory
//	residents.go      records of them that stay on the device
//	columns.go        resident length codes and the like
//	parted.go         the same in parts, by windows
//	pinned.go         main memory that is pinned as it is needed
//	trees.go          boolean trees as masks
//	counts.go         plans of which only the total is wanted, as steps on rows of bits
//	launch.go         which kernels run, in which order
//	results.go        what comes back
//	turns.go          plans that run again when they find too few documents
//	times.go          where the time goes
//	executor.go       the memory of a device, divided among lists and batches
//	run.go            batches under way: three, so that copies and kernels overlap
//	forget.go         after a batch that has failed
package gpuexec
