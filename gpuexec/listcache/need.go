package listcache

// RowBytes is the size of a row: a 16-byte unit of posting payload.
const RowBytes = 16

// Missing is the row of a piece that is not on the device.
const Missing = ^uint32(0)

// A Need is one list that a batch needs. Each list should come once: a repeat is right,
// but may be copied a second time. The zero Need asks for nothing, and counts no visit.
type Need struct {
	Key     uint64 // blockmax.Term.Key; a list of key 0 is never kept
	Version uint64 // of the head: one of another version is copied anew, and extents stay

	// Queries is how many queries of the batch have the list. 0 counts as 1.
	Queries int

	// Head and Extents are the rows of each part of the head, and of each extent. The cache keeps these slices: their
	// elements never change. A list that comes with the same ones again is known without a look at them.
	Head    []uint32
	Extents []uint32

	// Wanted says which extents the queries need: bit e%64 of word e/64 for extent e.
	// Nil stands for all.
	Wanted []uint64

	// Leave has extents that are not resident, and are not taken in, left Missing
	// instead of copied for this batch alone, if any other extent of the list is resident:
	// what a pruned list lacks is left to the CPU, as in Wang 2017.
	Leave bool

	// Rest has extents that are not wanted brought to the cache as well, so that the list is resident as a whole: a few
	// with each batch (rest.go), where there is memory that no list has, and only behind all that the batch wants.
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
	Rows  uint32 // how many
	At    uint32 // the first row it takes in the buffer
	Row   uint32 // where kernels find it: At, or a row of the cache to move it to
}

// A Batch is what Place answers. Its memory is used again for the next batch that is
// placed with it. Nothing in it may be changed.
type Batch struct {
	Lists  []Placed // parallel to the needs
	Copies []Copy
	Rows   uint32 // of the buffer, taken by Copies

	buffer         Region
	rest           uint32   // rows that may still be copied though nobody wants them
	heads, extents []uint32 // behind Lists
	entries        []*entry // of the needs, while they are placed
}

// A Placed says where the pieces of a list are while its batch runs.
type Placed struct {
	Head    []uint32 // row of each part, or Missing
	Extents []uint32 // row of each extent; Missing, too, for one that is neither wanted nor resident

	// Complete: no part of the head and no wanted extent is missing.
	Complete bool

	// Serial is not 0 when every piece of the list is resident, and then another one
	// whenever any of its places has changed: a table of rows that lies on the device
	// under a serial need not be sent again.
	Serial uint64
}
