package bulk

// BlockBytes is how much input a worker takes at once, unless memory is small. Its table of terms
// roughly stays in the second-level cache. A term has some ten postings in a block, so there is one
// lookup in the whole dictionary, which fits in no cache, for each ten.
const BlockBytes = 2 << 20

// A build with less memory takes smaller blocks, down to leastBlockBytes. Those of 512 KiB, for 64
// MiB, make it some percent slower.
const (
	memoryOfBlock   = 128
	leastBlockBytes = 128 << 10
)

// blockWeight is about how many bytes an input block takes for each of its own, with the chunk that
// is made of it.
const blockWeight = 4

// blocksFor is how many blocks a build has. Each worker parses one while another waits for it or has
// been parsed; one more is being read, and one is being added.
func blocksFor(workers int) int { return 2*workers + 2 }

// BlockBytesFor returns the size of the blocks of a build with so much memory.
func BlockBytesFor(memory int64) int {
	return int(min(max(memory/memoryOfBlock, leastBlockBytes), BlockBytes))
}

// RunBytes returns what a build may hold of inverted documents: its memory without the blocks, of
// which at least three quarters.
func RunBytes(memory int64, workers int) int64 {
	blocks := int64(blocksFor(workers)) * blockWeight * int64(BlockBytesFor(memory))
	return memory - min(blocks, memory/4)
}
