package invert

// Mirrors of the structs of layout.cuh, which explains the fields.

// devPiece mirrors Piece.
type devPiece struct {
	from, bytes uint32
	base        uint32
	cell        uint32
	positions   uint32
}

// devArgs mirrors Args; its 64-bit numbers are addresses on the device.
type devArgs struct {
	bytes, pieces    uint64
	pieceFirst       uint64
	records          uint64
	from, to         uint64
	slots, nextSlots uint64
	order            uint64
	head             uint64
	differs          uint64
	keep             uint64
	values           uint64
	sums             uint64
	whole            uint64
	begins, ends     uint64
	size, placeSize  uint64
	out              uint64
	cellStart        uint64
	nodes, chains    uint64
	nextCollection   uint64

	pieceCount      uint32
	recordCount     uint32
	count           uint32
	valueCount      uint32
	depth           uint32
	pass            uint32
	collectionCount uint32
	_               uint32
}

// Sizes of what only the device sees, and of its steps.
const (
	pieceBytes  = 20
	recordBytes = 44
	entryBytes  = 16
	wholeBytes  = 16
	nodeBytes   = 384
	chainBytes  = 12
	argsBytes   = 224

	tile     = 4096
	digits   = 256
	keyBytes = 7
)
