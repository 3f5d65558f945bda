// Command asm writes the assembly of package cpuexec, kernels_amd64.s. It is a separate module so
// that users of riffle do not download avo. Run it with go generate in the parent folder.
//
// A function handles a whole tile, or a block: a call from Go costs about as much as 30 additions.
// Requirements on arguments are stated at the declarations, in ../kernels_amd64.go.
package main

import . "github.com/mmcloughlin/avo/build"

func main() {
	ConstraintExpr("!purego")
	addBoundsAVX512()
	addBoundsAVX2()
	siftAVX512()
	siftAVX2()
	addPostings()
	markBytes()
	flushMarksAVX512()
	flushMarksAVX2()
	probeBitset()
	probeSortedDocs()
	probeSortedAVX512()
	impactsAVX512()
	leadAVX512()
	addExcerptAVX512()
	filterAVX512()
	dropHopelessAVX512()
	unite("uniteAVX512", avx512)
	unite("uniteAVX2", avx2)
	intersectAVX512()
	intersectAVX2()
	alignAVX2()
	Generate()
}

// Predicates of VPCMPUD, which compares its third operand with its second.
const (
	below    = 1
	notBelow = 5
)
