package columns

// unpack writes len(dst) packed numbers of width bits.
func unpack(dst []uint64, b []byte, width int) { unpackPortable(dst, b, width) }

// rangePacked sets a bit for each of n packed numbers that is in lo..lo+span, in as many words as
// that takes.
func rangePacked(set []uint64, b []byte, n, width int, lo, span uint64) {
	rangePortable(set, b, n, width, lo, span)
}

func deposit(set, has *[tileWords]uint64) { depositPortable(set, has) }

func extract(x, mask uint64) uint64 { return extractPortable(x, mask) }
