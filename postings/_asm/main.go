// Command asm writes the assembly of package postings, decode_amd64.s. It is a separate module so
// that users of riffle do not download avo. Run it with go generate in the parent folder.
//
// All functions handle whole blocks: a call from Go takes 1.4 ns, a block 4 to 18. Requirements on
// arguments are stated at the declarations, in ../decode_amd64.go.
package main

import . "github.com/mmcloughlin/avo/build"

func main() {
	ConstraintExpr("!purego")
	unpackAVX512()
	unpackAVX2()
	bitsetAVX512()
	bitsetAVX2()
	progressionAVX2()
	sumUpAVX2()
	addQuotientsAVX2()
	addQuotientSumsAVX2()
	risingAVX512()
	blockDocsAVX512()
	blockFreqsAVX512()
	risingAVX2()
	packGapsAVX2()
	seekAVX512("seekBlockAVX512", 128)
	seekAVX512("seekExtentAVX512", 32)
	seekAVX2("seekBlockAVX2", 128)
	seekAVX2("seekExtentAVX2", 32)
	positionsAVX512()
	positionsAVX2()
	unaryEndsAVX2()
	unaryDeltasAVX2()
	Generate()
}
