package listcache

// RowBytes is the size of a row: a 16-byte unit of posting payload.
const RowBytes = 16

// Missing is the row of a piece that is not on the device.
const Missing = ^uint32(0)

// A Need is one list that a batch needs. Each list should come once: a repeat is answered
// correctly, but may be copied a second time. The zero Need requests nothing, and counts no visit.
type Need struct {
	Key     uint64 // blockmax.Term.Key; a list of key 0 is never kept
	Version uint64 // of the head: another version is copied again, while extents stay

	// Queries is how many queries of the batch have the list. 0 counts as 1.
	Queries int

	// Head and Extents are the rows of each part of the head, and of each extent. The cache keeps
	// these slices, whose elements never change. It recognizes the same slices without comparing
	// elements.
	Head    []uint32
	Extents []uint32

	// Wanted says which extents the queries need: bit e%64 of word e/64 for extent e.
	// Nil stands for all.
	Wanted []uint64

	// Leave leaves extents Missing that are neither resident nor admitted, instead of copying them
	// for this batch alone, if any other extent of the list is resident. The CPU then completes
	// what a pruned list lacks, as in Wang 2017.
	Leave bool

	// Rest also brings extents to the cache that are not wanted, until the whole list is resident:
	// a few with each batch (rest.go), only into memory that no list uses, and only after all that
	// the batch wants.
	Rest bool
}

// A Region is a range of rows of the arena.
type Region struct {
	First, Rows uint32
}

// A Copy is a piece that must be copied to the device for a batch.
type Copy struct {
	List  int32  // index into the needs
	Piece int32  // extent Piece, or part -1-Piece of the head
	Rows  uint32 // number of rows
	At    uint32 // the first row it takes in the buffer
	Row   uint32 // where kernels find it: At, or a row of the cache to move it to
}

// A Batch is the answer of Place. Its memory is reused for the next batch that is placed with it.
// Callers must not change it.
type Batch struct {
	Lists  []Placed // parallel to the needs
	Copies []Copy
	Rows   uint32 // of the buffer, taken by Copies

	buffer         Region
	rest           uint32   // rows of unwanted extents that may still be copied
	heads, extents []uint32 // memory of Lists
	entries        []*entry // of the needs, during Place
}

// A Placed says where the pieces of a list are while its batch runs.
type Placed struct {
	Head    []uint32 // row of each part, or Missing
	Extents []uint32 // row of each extent; also Missing for one that is neither wanted nor resident

	// Complete: no part of the head and no wanted extent is missing.
	Complete bool

	// Serial is 0 unless every piece of the list is resident. It changes whenever one of the list's
	// places changes, so a table of rows that is on the device under a serial need not be sent
	// again.
	Serial uint64
}
