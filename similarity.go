package riffle

import "github.com/riffle-search/riffle/blockmax"

// BM25 holds the parameters of the similarity:
//
//	type BM25 struct {
//		K1  float64 // how slowly repeated terms saturate, up to 1000; BM25Zero ignores frequency
//		B   float64 // how strongly long fields are penalized, up to 1; BM25Zero is not at all
//		IDF IDF     // how rarity becomes weight: IDFLucene or IDFRobertson
//	}
//
// Parameters left at 0 are those of Lucene: k1 = 1.2, b = 0.75. BM25Zero stands for the number 0.
type BM25 = blockmax.BM25

// An IDF says how the rarity of a term becomes its weight: N is the number of documents, and n is
// how many of them have the term.
type IDF = blockmax.IDF

const (
	IDFLucene    = blockmax.Lucene    // ln(1 + (N-n+0.5)/(n+0.5)), above zero for every term
	IDFRobertson = blockmax.Robertson // ln((N-n+0.5)/(n+0.5)), zero for terms in more than half of the documents
)

// BM25Zero is 0 as K1 or B of a BM25, where 0 itself stands for the default.
const BM25Zero = blockmax.Zero
