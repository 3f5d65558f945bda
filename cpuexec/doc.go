// Package cpuexec answers plans (blockmax.Plan) on the CPU. TopK ranks, Finish completes an answer
// that a GPU began, Count counts, EachMatch visits all matches, and Matches evaluates a filter. An Executor works on the calling
// goroutine; in Parallel several goroutines share a plan.
//
// The package is internal to riffle: it makes no compatibility promise.
//
// # Which file answers what
//
//	OR              bmm.go         tile by tile, essential and other lists by the bounds of words
//	                maxscore.go    document at a time, essential and other lists by the bounds of lists
//	                wand.go        document at a time, pivots from the bounds of lists
//	                bmw.go         the same with the bounds of blocks
//	                exhaustive.go  scores every document: the reference for pruning
//	AND             and.go         led by the shortest list; dense.go where bitsets are faster
//	under a filter  few.go         led by the accepted documents, if they are rare
//	                excerpts.go    from what the lists have in its documents, if it comes again
//	                accepted.go    OR that looks accepted documents up, if they are not many
//	AND+OR          executor.go    AND, and OR when fewer than k documents match
//	boolean trees   operands.go    the operands of a tree that is a union or a conjunction
//	                branch.go      nodes that are read like lists, treebound.go their bounds
//	                best.go        fields that cannot be the best one
//	                conjunction.go trees with required nodes
//	                tree.go, eval.go, clause.go  any node, by the sets of a tile
//	phrases         proximity.go   their lists, bounds and frequencies
//	                verify.go      candidates that match, and phrases that are whole queries
//	                judge.go       many candidates at a time, list by list
//	                batch.go       where the words stand in these
//	                align.go       in which of them two words stand at a distance
//	counts, filters count.go       sets of tiles without scores
//	                sets.go        whole sets, where the dense lists have bitmaps (bitmap.go)
//	all matches     matches.go     tile by tile, with scores if they are wanted
//	sorted          order.go       keys, and the order of places
//	                sortcodes.go   keys of documents of a segment as numbers
//	                sorted.go      segments, and what goroutines share
//	                sortpass.go    sheets and tiles, the best first
//	                sortheap.go    the best documents of a segment
//	                collapse.go    the first of each group of matches with one value
//	the rest        finish.go      documents that a GPU has not searched
//
// # A run and its parts
//
// A run (run.go) executes one plan on one goroutine. Algorithms are its methods, because they need
// several of its parts. Code that needs only one part is a method of that part:
//
//	query         the plan, the tree of the pass, the context
//	part          the current segment and range of documents: accept bitmap, static rank
//	results       hits, counts and work so far, and need: the lowest score that can still enter
//	docCursors    lists read document by document (doccursor.go)
//	tileCursors   lists read tile by tile, and their bounds in the current sheet and tile (tiles.go)
//	window        which documents of the tile match, and their scores so far
//	candidates    those that can still enter
//	prefilter     filters candidates by bounds and bitmaps before they are looked up
//	fewDocs       accepted documents that lead, and their bounds
//	evaluator     what matches a tree in a tile (eval.go), and its operands (operands.go)
//	setMaker      what matches a tree in a sheet, as whole sets (sets.go)
//	excerptSet    what the lists have in the documents of a filter
//	member        the run's units of a query that goroutines share (parallel_member.go)
//
// # Words, tiles, sheets
//
// Documents are grouped on three levels of 64. A word is 64 documents, a tile is 64 words
// (4,096 documents), a sheet is 64 tiles (262,144 documents). A bit mask thus selects words
// of a tile, or tiles of a sheet, and a list's bounds in each of them are 64 bytes: one AVX-512
// register.
//
// Pruning depends on the bounds of words. Blocks of different lists begin and end at different
// documents, and blocks of rare lists are wide. Words are the same 64 documents for all lists,
// so the bounds of several lists add up word by word. They are kept in blockmax.Ranges, which a
// list gets (refine.go) once decoding its blocks has cost about as much as making them: a part from
// each query that uses it, so that none takes long. Until then, and for lists too rare for them,
// the bounds of blocks are used, or those of extents where these are narrow, so that a query need
// not read the directory of a long list whole (postings.List.OnDemand). Lists with few postings in a
// sheet are decoded at once, and the postings themselves are the bounds.
//
// A tileCursor (tilecursor.go, sheet.go) reads one list in this way. An algorithm takes these
// steps in a tile:
//
//	addBounds     adds up the lists' bounds in each word and compares them with need
//	addPostings   adds the contributions of the essential lists to the scores of the tile (add.go)
//	sift          collects the documents that can still enter the top k, as candidates (candidates.go)
//	probeBlock    looks candidates up in the other lists: by bit test and population count in bitset
//	              blocks and short parts of bitmaps, by comparison in other blocks, which are
//	              unpacked (probe.go)
//
// It gives the remaining candidates to the collector. An AND that a sparse list leads goes by
// the blocks of that list instead:
//
//	leadBlock     collects the postings of the block that can enter the top k, as candidates
//	filter        keeps those that the next two lists may contain, by bounds of words and bitmaps (filter.go)
//	probeBlock    as above
//
// Dense lists are intersected and united as bits in place (dense.go). The tiles with the best
// bounds come first, so that their hits prune the others. The segment with the best bound comes
// first, too, and a segment that cannot reach the threshold is not opened (segments.go). The
// threshold starts at what k postings of one term are known to reach (blockmax.Plan.Seed).
//
// # Trees
//
// A boolean tree is a union of operands: lists, and branches for all other nodes. A branch is read
// like a list. Its bounds, in the tiles of a sheet and in the words of a tile, follow from those of
// its lists by the arithmetic of its nodes: sums, the best of some with a share of the rest,
// constants, and 0 where a required list has no posting. So the algorithm of OR above runs on
// trees, too. In words where a branch is not essential, it only looks up candidates. An AND of
// lists, an OR of lists and the best of such ORs use the kernels of lists; other branches are
// evaluated by sets, in the words or for the candidates in question. Nested ORs and nodes of one
// child are flattened first.
//
// A tree with must nodes is led by the cheapest of them, in the words where all of them have
// postings and the bounds of the whole tree reach need. The other required nodes drop candidates,
// and optional nodes are looked up last. The other conditions of a tree (Filter, Not, MinShould)
// are tested on the remaining candidates.
//
// Lucene does the same by blocks, in WANDScorer, BlockMaxConjunctionScorer and ReqOptSumScorer;
// bounds of blocks are from Ding and Suel 2011.
//
// # Phrases
//
// A phrase, or another proximity, is a node whose lists are required and do not score. Its bound is the
// least of theirs under its own weight (proximity.go). Where it is required, its lists join those of the
// conjunction, and it is tested after all other required operands: candidates are looked up in its
// lists, dropped if their frequencies cannot lift them to need, and their positions read last
// (verify.go), 128 candidates at a time (judge.go). The threshold of a phrase is its own: postings of
// its words must not raise it.
//
// # Filters
//
// A filter comes as the documents that a segment accepts (blockmax.Segment.Accept and Few). It
// lowers the threshold, because fewer documents compete for the k places. So the work must become
// less elsewhere:
//
//   - A filter that comes again has a blockmax.Subset, unless more than one in eight documents pass.
//     Queries leave excerpts of their lists there, and later queries with these lists read nothing
//     else (excerpts.go).
//   - Where one in 256 documents is accepted, or fewer, these lead: OR and AND go from one accepted
//     document to the next and not through tiles (few.go). AND is so led if the accepted documents
//     are fewer than the postings of its shortest list.
//   - Where at most one in four documents of a tile's words is accepted, OR reads only which
//     documents the essential lists hold, by bitmaps or without frequencies. It looks up those of
//     them that are accepted (accepted.go).
//   - Where more are accepted, they are tested last, as deletions are. Words and tiles without any
//     are skipped.
//   - AND by bitsets begins with the accepted documents instead of all.
//
// # Bitmaps
//
// A list with a posting for every 64 documents or more also gets a bitmap of all documents of
// its segment (postings.List.Bitmap), once its blocks have been used often enough (bitmap.go).
// Counting the union or the intersection of such lists reads one bit for each document and
// list, at 100 GB/s from the second-level cache (count.go, sets.go). Sparse lists set or test
// one bit at a time. Ranking tests candidates against the bitmaps before it looks them up. That
// drops seven of eight candidates of OR, because the lists that could lift them over the
// threshold do not contain them (hope.go, filter.go).
//
// # Kernels
//
// The steps above have variants in AVX-512, AVX2 and Go (kernels.go), chosen at run time. The
// build tag purego leaves only Go. Tests compare each variant with the one in Go and run all
// of package exectest with each. A call from Go to assembly costs some 2 ns and cannot be
// inlined, so a kernel handles a whole tile, or all work in a block or bitmap.
//
// # The promise
//
// Every algorithm returns the answer of the oracle in package exectest: the same hits with the
// same score bits. A document, word, block, tile or segment is skipped only when an upper
// bound on its score is below need, the lowest score that can still enter the top k. With the
// build tag invariants (or the race detector) each scored posting is compared with the bounds
// of its block and word.
//
// # Several goroutines
//
//	parallel.go         the executor, and its policies
//	parallel_pool.go    workers: looking for jobs, sleeping, waking
//	parallel_job.go     a query being run: its helpers, and the units taken
//	parallel_cuts.go    division of its documents into units
//	parallel_member.go  the units that a run takes
//	results.go          their shared threshold and collector
package cpuexec
