// Command asm writes the assembly of package columns, kernels_amd64.s. It is a separate module so
// that users of riffle do not download avo. Run it with go generate in the parent folder.
//
// A function handles a whole tile. Requirements on arguments are stated at the declarations, in
// ../kernels_amd64.go.
package main

import . "github.com/mmcloughlin/avo/build"

func main() {
	ConstraintExpr("!purego")
	rangeAVX512()
	rangeAVX2()
	unpackAVX512()
	unpackAVX2()
	unpack32AVX512()
	unpack32AVX2()
	gatherAVX512()
	gatherAVX2()
	gather32AVX512()
	gather32AVX2()
	countAMD64()
	lanesAMD64()
	foldAVX2()
	severalBMI2()
	stepsAVX512()
	stepsAVX2()
	steps32AVX512()
	steps32AVX2()
	sumAVX2()
	depositBMI2()
	anyBMI2()
	docsAVX512()
	docsAVX2()
	onesPOPCNT()
	Generate()
}
