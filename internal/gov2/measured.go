package gov2

import (
	"math"
	"sort"
)

// Measured on gutenberg-a with terabyte05.tsv; TestLikeText measures them again.

// lengthQuantiles are lengths of documents in tokens, by the share of documents that are at most as
// long.
var lengthQuantiles = []struct{ share, length float64 }{
	{0, 24}, {0.01, 96}, {0.05, 96}, {0.10, 104}, {0.25, 112}, {0.50, 136}, {0.75, 200}, {0.90, 280}, {0.95, 344}, {0.99, 536}, {1, 6680},
}

// wordsOf is how many of 9,667 queries have 1, 2, ... 8 words; the longest 80 are cut.
var wordsOf = []int{1775, 3151, 2129, 1324, 665, 295, 152, 176}

// rankShares are log2 of the share of documents that a word is in, for words of the rank by number
// of queries, and its standard deviation.
var rankShares = []struct{ rank, mean, deviation float64 }{
	{1, -0.08, 0}, {3, -0.10, 0.08}, {4, -1.9, 2.8}, {8, -5.9, 5.0}, {16, -6.6, 3.4}, {64, -7.3, 3.5}, {512, -8.9, 3.4}, {4096, -12.0, 3.3},
}

// lengthAt is the length that a share of documents do not exceed. It interpolates between quantiles
// by the logarithm.
func lengthAt(share float64) float64 {
	i := sort.Search(len(lengthQuantiles)-1, func(i int) bool { return lengthQuantiles[i].share >= share })
	if i == 0 {
		return lengthQuantiles[0].length
	}
	a, b := lengthQuantiles[i-1], lengthQuantiles[i]
	return a.length * math.Pow(b.length/a.length, (share-a.share)/(b.share-a.share))
}

// shareAt returns mean and deviation for any rank, from 1. Beyond the last one it extrapolates
// linearly.
func shareAt(rank float64) (mean, deviation float64) {
	i := sort.Search(len(rankShares)-1, func(i int) bool { return rankShares[i].rank >= rank })
	i = max(i, 1)
	a, b := rankShares[i-1], rankShares[i]
	at := math.Log(rank/a.rank) / math.Log(b.rank/a.rank)
	deviation = b.deviation
	if at < 1 {
		deviation = a.deviation + float64(at*(b.deviation-a.deviation))
	}
	return a.mean + float64(at*(b.mean-a.mean)), deviation
}

// shape is that of the gamma distribution of rates among sites and among pages, for a word in a
// share f of all documents.
func shape(f float64) float64 {
	power := 0.45
	if f > 1./128 {
		power = 0.7
	}
	return max(0.1, math.Pow(128*f, power)/2)
}
