// Package blockmax is the arithmetic of ranking: what a posting contributes to a
// score, what a block of postings can contribute at most, which scores can still
// enter an answer, and the shapes (Plan, TopK, Work) that executors are handed
// and give back. It holds no bytes and does no I/O, and it imports nobody.
//
// # Scores are integers
//
// Executors must agree bit for bit, on any processor and in any order of
// addition, so a score is an integer while a query runs:
//
//	length code  c = LengthCode(len)                            1 byte, exact up to 40
//	K[c]           = float32(k1 * (1 - b + b*CodeLength(c)/avg))  computed in float64, never fused
//	impact         = min(65535, round(65536 / (1 + K[c]/tf)))     16 bits, computed in float32
//	contribution   = (W * impact) >> 16                           W is the term's integer weight
//	score          = sum of contributions, below 1<<31
//
// 65536/(1+K/tf) is BM25's tf/(tf+K) as a 16-bit fraction. It is written with two
// divisions because then every step is monotone by itself: rounding included, an
// impact never falls when tf rises and never rises when the length does. That
// monotony is what makes bounds exact. The best score of a block is the best
// contribution among its Pareto pairs, by the same arithmetic, and no posting of
// the block scores above it. Each step also rounds by itself (IEEE 754, ties to
// even), so vector units and GPUs get the same bits.
//
// # Example
//
// One field with an average length of 10, k1 = 1.2, b = 0.75, and a query of two
// terms with idf 2 and 1. Scale multiplies by the largest power of two that keeps
// the sum of the weights below 1<<31, here 1<<29, so the weights are 1<<30 and
// 1<<29. A document of length 10 (code 10) has K = 1.2:
//
//	tf 1: impact 29789   contributes 488062976 to the first term, 244031488 to the second
//	tf 3: impact 46811   contributes 766951424 to the first term, 383475712 to the second
//
// It scores 488062976 + 383475712 = 871538688 with tf 1 and 3; over the scale that
// is 1.62337, the public score.
//
// # Ties, need and bounds
//
// A document ranks before another when its score is higher, or equal and its
// global number is lower. The Collector's need is the lowest score with which a
// document can still enter the answer. A list, block or window whose bound is
// below need is skipped; one whose bound equals need is not.
package blockmax
