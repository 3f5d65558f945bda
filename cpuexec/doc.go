// Package cpuexec answers plans (blockmax.Plan) on the CPU. TopK ranks, Finish completes an
// answer that a GPU began, Count counts and Matches evaluates a filter. An Executor works on
// the calling goroutine; Parallel has several goroutines work on one plan.
//
// The package is internal to riffle: it makes no compatibility promise.
//
// # Which file answers what
//
//	OR              bmm.go         tile by tile, essential and other lists by the bounds of words
//	                maxscore.go    document at a time, essential and other lists by the bounds of lists
//	                wand.go        document at a time, pivots from the bounds of lists
//	                bmw.go         the same with the bounds of blocks
//	                exhaustive.go  every document is scored: what pruning is measured against
//	AND             and.go         led by the shortest list; dense.go where it can go by bits
//	AND+OR          executor.go    AND, and OR when fewer than k documents match
//	boolean trees   tree.go        bounds and tiles, eval.go the sets of a tile
//	counts, filters count.go       the same sets without scores
//	                sets.go        whole, where the dense lists have bitmaps (bitmap.go)
//	what is left    finish.go      documents that a GPU has not looked at
//
// # A run and its parts
//
// A run (run.go) is one plan at work on one goroutine. Algorithms are its methods, as they
// need several of its parts; what concerns one part is a method of that part:
//
//	query         what is asked: the plan, the tree of the pass, the context
//	part          the segment at work and the range of its documents: accept bitmap, static rank
//	results       hits, counts and work so far, and need: the lowest score that can still enter
//	docCursors    lists read document by document (doccursor.go)
//	tileCursors   lists read tile by tile, and their bounds in the sheet and the tile at hand (tiles.go)
//	window        which documents of the tile match, and what they score so far
//	candidates    those that can still enter
//	prefilter     what bounds and bitmaps say of candidates before they are looked up
//	evaluator     what matches a tree in a tile (eval.go)
//	setMaker      what matches a tree in a sheet, as whole sets (sets.go)
//	member        what the run takes of a query that goroutines share (parallel_member.go)
//
// # Words, tiles, sheets
//
// Documents are looked at on three levels of 64. A word is 64 documents, a tile is 64 words
// (4,096 documents), a sheet is 64 tiles (262,144 documents). So a bit mask picks words of a
// tile, or tiles of a sheet, and the bounds of a list in each of them are 64 bytes: one
// register of AVX-512.
//
// Bounds of words are what pruning lives by. A block of postings begins and ends where it
// happens to, and is as wide as its list is rare; words are the same 64 documents for all
// lists, so what lists can score there adds up, word by word. They are kept in
// blockmax.Ranges, which a list gets (refine.go) once its blocks have been decoded about as
// often as making them takes. Until then, and for lists too rare for them, the bounds
// of blocks stand in. Lists with few postings in a sheet are decoded at once, and bounded by
// the postings themselves.
//
// A tileCursor (tilecursor.go, sheet.go) reads one list so. An algorithm takes these steps in a tile:
//
//	addBounds     what the lists can score in each word, added up, against need
//	addPostings   what the lists that decide contribute, onto the scores of the tile (add.go)
//	sift          documents that can still get in, as candidates (candidates.go)
//	probeBlock    candidates looked up in the other lists: by bit test and population count in bitset
//	              blocks and short parts of bitmaps, by comparison in others, which are
//	              unpacked (probe.go)
//
// and hands what is left to the collector. AND led by a sparse list goes by its blocks instead:
//
//	leadBlock     postings of the block that can get in, as candidates
//	filter        those that the next two lists may hold, by bounds of words and bitmaps (filter.go)
//	probeBlock    as above
//
// Postings of dense lists are intersected and
// united as bits where they lie (dense.go). The tiles with the best bounds come first, so
// that their hits prune the others; the threshold begins with what k postings of one list are
// known to reach (blockmax.Plan.Seed).
//
// # Bitmaps
//
// A list with a posting for every 64 documents or more also gets a bitmap of all documents of
// its segment (postings.List.Bitmap), once its blocks have been used often enough (bitmap.go).
// To count the union or the intersection of such lists takes one bit a document and list,
// read at 100 GB/s from the second-level cache (count.go, sets.go). Sparse lists set, or ask
// for, one bit after the other. Ranking holds candidates against the bitmaps before it looks
// them up: seven of eight candidates of OR go, because lists that might save them do not hold
// them (hope.go, filter.go).
//
// # Kernels
//
// The steps above have variants in AVX-512, in AVX2 and in Go (kernels.go), chosen at run
// time. The build tag purego leaves only Go. Tests hold each variant to the one in Go
// and run all of package exectest with each. A call from Go to assembly costs some 2 ns
// and cannot be inlined, so kernels take a tile, or all that is to be done in a block or bitmap.
//
// # The promise
//
// Whatever the algorithm, the answer is the oracle's of package exectest, to the
// last hit and the last bit. A document, word, block, tile or segment is passed over
// only when an upper bound on its score is below need, the lowest score that can still
// enter. With the build tag invariants (or the race detector) postings scored are held
// against the bounds of their blocks and words.
//
// # Several goroutines
//
//	parallel.go         the executor, and its policies
//	parallel_pool.go    workers, who look for jobs, sleep and are woken
//	parallel_job.go     a query at work: who takes part, and what is taken
//	parallel_cuts.go    how its documents are divided
//	parallel_member.go  which units a run takes
//	results.go          the threshold and the collector that they share
package cpuexec
