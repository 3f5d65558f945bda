package gpuexec

import "unsafe"

//lint:file-ignore U1000 kernels read and write fields that nothing here does.

// The structs that kernels read and write, mirroring kernels/layout.cuh, which explains each. A
// test compares sizes and offsets. Addresses are the device's; 0 is null.

// Numbers that kernels share.
const (
	missingRow    = ^uint32(0)     // the row of an extent that is not resident
	unneededRow   = missingRow - 1 // the same, if it cannot matter
	maxTerms      = 64             // of a plan
	maxRangeTerms = 16             // of a plan, for Huang's ranges
	maxK          = 1000
	seedTiles     = 64 // of a query
	seedPieces    = 4  // of a seed of a query without bounds; times those seeds, at most seedTiles
	tileStrips    = 32 // of a tile
	stripCells    = 8  // of a strip
	poolSlack     = 32

	rowBytes = 16
)

// How kernels traverse the documents of a part.
const (
	byOrTiles uint32 = iota
	byAndTiles
	byLeadBlocks
	byCounting
)

// What a step of counting does.
const (
	countOr uint32 = iota
	countAnd
	countNot
	countFill
	countOrSlot
	countAndSlot
	countNotSlot
	countAdd
	countLeast
)

// Which bounds kernels use.
const (
	noBounds uint32 = iota
	listBounds
	blockBounds
)

// What ranges.cu does for OR.
const (
	rangeOr uint32 = iota
	rangeWAND
	rangeBMW
)

type devExtent struct {
	last, head, rows, bound uint32
}

type devHead struct {
	last                 [32]uint32
	off, encoding, bound [32]uint16
}

type devList struct {
	arena, extents, table, norms, tileFirst, tileBound                      uint64
	flat, flatFirst, flatBound                                              uint64
	count, blockSize, blocks, highest, tiles, firstBlock, sparse, flatShift uint32
}

type devFlattening struct {
	list, flat, first, bound uint64
	shift, entries           uint32
}

// Units in which kernels count work.
const (
	sliceUnit = 16  // blocks
	fetchUnit = 256 // rows

	windowCounters = 8 // room for counters
)

type devSlice struct {
	record, source, table, norms, marks, flat, first, bound uint64
	blocks, blockSize, lastSize, from                       uint32
	tiles, shift, entries, firstUnit, head, packed          uint32
}

type devFetch struct {
	from, to        uint64
	rows, firstUnit uint32
}

type devPiece struct {
	from, to                 uint64
	rows, slice, unit, marks uint32
}

type devWindow struct {
	slices, fetches, counters, pieces, rowsRead                  uint64
	sliceCount, units, fetchCount, fetchUnits, tileShift, unused uint32
}

type devTable struct {
	small [16][256]uint16
	k     [256]float32
}

// Sizes of a TileList and of Fixed of tile.cuh.
const (
	tileListBytes = 144
	fixedBytes    = 1392
)

type devTerm struct {
	list         uint64
	weight, leaf uint32
}

type devNode struct {
	required, requiredNodes, excluded, excludedNodes, optional, optionalNodes, scoring, scoringNodes uint64

	least, constant uint32
}

const (
	nodeBytes = int(unsafe.Sizeof(devNode{}))
	stepBytes = int(unsafe.Sizeof(devStep{}))
)

type devStep struct {
	op, slot, from, bits, least uint32
}

type devPart struct {
	accept, rank, rankTile, tail, terms      uint64
	termCount, query, skip, base, docs, way  uint32
	tiles, firstTile, leadShared, firstGroup uint32
}

type devQuery struct {
	after, seed                                      uint64
	best, answer, counts, parts                      uint64
	partCount, k, mode, bounds, rankWeight, byStrips uint32
	wholeStrips, room, lowest, rangeShift            uint32
	nodeCount, constants                             uint32
	nodes, scoring, steps                            uint64
	stepCount, unused                                uint32
}

type devState struct {
	threshold, matched, scored, decoded              uint64
	lock, held, pruned, unresolved, answered, unused uint32
}

type devItem struct {
	part, tile, alive uint32
}

type devQueue struct {
	items      uint64
	size, next uint32
}

type devRange struct {
	part, from, to, bound uint32
}

type devMove struct {
	from, to, rows, unused uint32
}

type devBatch struct {
	lists, queries, states, parts, tileBounds, seeds, queue, stripQueue, flatQueue, treeQueue, unresolved, unresolvedCount uint64
	moves, rows, heaps, counters, flattenings                                                                              uint64
	queryCount, partCount, moveCount, groupCount, tilesMost, tileShift                                                     uint32
	unresolvedRoom, tileRoom, poolRoom, heapRoom, listCount, blockCount                                                    uint32
	andPass, rangeAlgorithm, listRoom, stagedFrom, flatteningCount, marks                                                  uint32

	countParts                                       uint64
	countPartCount, countUnits, countRun, countSlots uint32
}
