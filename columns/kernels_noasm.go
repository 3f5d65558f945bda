//go:build !amd64 || purego

package columns

func rangePacked(set []uint64, b []byte, n, width int, lo, span uint64) {
	rangePortable(set, b, n, width, lo, span)
}

func unpackKeys(dst []uint64, b []byte, width int, least, divisor uint64) {
	unpackKeysPortable(dst, b, width, least, divisor)
}

func unpack32(dst []uint32, b []byte, width int) { unpack32Portable(dst, b, width) }

func gatherKeys(dst []uint64, b []byte, places []uint16, width int, least, divisor uint64) {
	gatherPortable(dst[:len(places)], b, places, width, least, divisor)
}

func gather32(dst []uint32, b []byte, places []uint16, width int) {
	gather32Portable(dst[:len(places)], b, places, width)
}

func stepsOf(keys []uint64, g *Grid, first uint64) { stepsPortable(keys, g, first) }

func stepsOf32(numbers []uint32, g *Grid, scale, distance, first uint32) {
	stepsPortable32(numbers, g, scale, distance, first)
}

func countUp(counts, numbers []uint32) { countPortable(counts, numbers) }

func countLanes(counts, _, numbers []uint32) { countPortable(counts, numbers) }

func foldLanes(_, _ []uint32) {} // countLanes leaves them clear

func countSeveral(counts []uint32, b []byte, ranks []uint16, width, every int) {
	severalPortable(counts, b, ranks, width, every)
}

func sum32(numbers []uint32) (s sums32) {
	s.least = noLeast
	s.sum32Portable(numbers)
	return s
}

func deposit(set, has *[tileWords]uint64, _ int) { depositPortable(set, has) }

func anyOf(set *[tileWords]uint64, found, ends []uint64) { anyPortable(set, found, ends) }

func docsOf(dst *[TileDocs]uint16, set *[tileWords]uint64) (n int) { return docsPortable(dst, set) }

func onesOf(set *[tileWords]uint64) int { return onesPortable(set) }
