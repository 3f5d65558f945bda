// Package blockmax is the arithmetic of ranking: what a posting adds to a score, what a block of
// postings adds at most, and which scores can still enter the top k. It also defines what executors
// take (Plan) and return (TopK, Work). It holds no bytes and does no I/O. Of package postings it
// uses only the type of the lists in a plan.
//
// The package is internal to riffle: it makes no compatibility promise.
//
// # Scores are integers
//
// Executors must agree bit for bit, on a CPU and on a GPU, in any order of addition. A
// score is therefore an integer while a query runs:
//
//	length code  c = LengthCode(len)                            1 byte, exact up to 40
//	K[c]           = float32(k1 * (1 - b + b*CodeLength(c)/avg))  computed in float64, never fused
//	impact         = min(65535, round(65536 / (1 + K[c]/tf)))     16 bits, computed in float32
//	contribution   = (W * impact) >> 16                           W is the term's integer weight
//	score          = sum of contributions, below 1<<31
//
// 65536/(1+K/tf) is BM25's tf/(tf+K) as a 16-bit fraction. It takes two divisions so that
// every step is monotone, rounding included: an impact never falls when tf rises and
// never rises when the length does. Bounds are exact for that reason. The best score of a
// block is the best contribution among its Pareto-best (tf, length) pairs, by the same
// arithmetic, and no posting of the block exceeds it. Each step rounds by itself (IEEE 754,
// ties to even), so vector units and GPUs get the same bits.
//
// # Precision
//
// A term's score is off by at most W/65536 from W * tf/(tf+K), as impacts have 16 bits. Relative to
// that score this is 3e-4 or less while tf/(tf+K) is above 0.026: with k1 = 1.2 and b = 0.75, for a
// word that occurs once in a document of up to 40 times the average length. Longer documents score
// less, so the same error weighs more: 6e-4 at 80 times the average, 3e-3 at 400 times. K comes
// from one-byte lengths, as in Lucene, and from the average rounded to four digits, which adds up
// to 5e-4 * K/(tf+K).
//
// # Example
//
// One field with an average length of 10, k1 = 1.2, b = 0.75, and a query of two
// terms with idf 2 and 1. Scale multiplies by the largest power of two that keeps
// the sum of the weights below 1<<31, here 1<<29, so the weights are 1<<30 and
// 1<<29. A document of length 10 (code 10) has K = 1.2:
//
//	tf 1: impact 29789   contributes 488062976 for the first term, 244031488 for the second
//	tf 3: impact 46811   contributes 766951424 for the first term, 383475712 for the second
//
// With tf 1 and 3 it scores 488062976 + 383475712 = 871538688. Divided by the scale that
// is 1.62337, the public score.
//
// # Ties, need and bounds
//
// A document ranks before another when its score is higher, or when scores are equal and its
// global number is lower. The Collector's need is the lowest score with which a document
// can still enter the top k. A list, block or tile is skipped when its bound is below need,
// and not when its bound equals need.
package blockmax
