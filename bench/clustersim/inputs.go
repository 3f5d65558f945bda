package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"time"
)

// What was measured, on two cores of an Intel Xeon (Sapphire Rapids), and where it stands.
const (
	// A search of 24 million documents: CPU of the warm engine over 50 queries of gutenberg-dev, OR, top-10, mean and
	// p99; bytes of the index (bench/results/2026-11-23-one-pass.md, "First searches").
	measuredDocuments = 24e6
	searchMean        = 6.4 * float64(time.Millisecond)
	searchP99         = 45 * float64(time.Millisecond)
	indexBytes        = 2533e6

	// One query's times in several shards, as the deviation of their logarithms: 200,000 passages in 8 shards in turn,
	// mean of 200 queries (clustersim -measure).
	shardDeviation = 0.08

	// A request takes some 150 µs of CPU of client and node together: a search of four shards is eight
	// (bench/results/2026-11-26-cluster.md). Half of it is taken for each end.
	requestNode   = 75 * time.Microsecond
	requestClient = 75 * time.Microsecond

	// Statistics of a query: what a request takes beyond that (the same page: the engine's search is 12 % of eight
	// requests, statistics look up the same words and read no postings).
	statistics = 10 * time.Microsecond

	// Merging: cluster/scatter, BenchmarkMerge, of 400 shards, for each.
	mergeShard = 430 * time.Nanosecond

	// A hop: request and reply over a route of NATS take 25 µs on one machine. Networks of data centres add
	// about that again: this part is not measured.
	hop = 50 * time.Microsecond

	// Writes: CPU of Apply for each GB of text.
	applySeconds = 32.0 // for each GB

	// Bytes of a passage of gutenberg-a (its first 20,000).
	passageBytes = 1162.0

	// Bytes of a request and its reply with ten hits (cluster/remote, JSON), about.
	requestBytes, replyBytes = 900.0, 1500.0
)

// difficulty returns how long a query takes in a shard, on average, as a multiple of the mean: a logarithmic normal
// distribution with the measured mean and p99, cut off at ten times p99.
func difficulty(rng *rand.Rand) float64 {
	return min(math.Exp(spread*rng.NormFloat64()-spread*spread/2), 10*searchP99/searchMean)
}

// spread solves p99/mean = exp(2.326 s - s²/2).
var spread = 2.326 - math.Sqrt(2.326*2.326-2*math.Log(searchP99/searchMean))

// ofShard returns how one shard differs from that.
func ofShard(rng *rand.Rand) float64 {
	return math.Exp(shardDeviation*rng.NormFloat64() - shardDeviation*shardDeviation/2)
}

// searchTime is the mean of a search of one of the shards. Between 2.4 and 24 million documents, times grow a little
// faster than documents; it is taken in proportion from the larger one.
func (c *cluster) searchTime() float64 {
	return searchMean * c.documents / float64(c.shards) / measuredDocuments
}

// paper prints the estimate.
func paper(c *cluster, out io.Writer) {
	perShard := c.documents / float64(c.shards)
	replicas := float64(c.shards*c.replicas) / float64(c.nodes)
	index := indexBytes / measuredDocuments * c.documents * float64(c.replicas) / float64(c.nodes)
	text := c.documents * passageBytes
	search := float64(c.shards) * c.searchTime() / 1e9
	requests := 2 * float64(c.shards)
	overhead := requests * (requestNode + requestClient).Seconds()
	capacity := float64(c.nodes*c.cores) / (search + overhead)
	fmt.Fprintf(out, "On paper: %d nodes of %d cores, %.3g documents, %d shards with %d replicas\n\n", c.nodes, c.cores, c.documents, c.shards, c.replicas)
	fmt.Fprintf(out, "| what | figure |\n|---|---:|\n")
	fmt.Fprintf(out, "| documents of a shard | %.1f million |\n", perShard/1e6)
	fmt.Fprintf(out, "| replicas of a node | %.0f |\n", replicas)
	fmt.Fprintf(out, "| index of a node, words without stored text | %.0f GB |\n", index/1e9)
	fmt.Fprintf(out, "| text of all documents | %.1f TB |\n", text/1e12)
	fmt.Fprintf(out, "| indexing all of it, each replica for itself | %.2f hours of all cores |\n", text/1e9*applySeconds*float64(c.replicas)/float64(c.nodes*c.cores)/3600)
	fmt.Fprintf(out, "| CPU of a search: shards | %.2f s |\n", search)
	fmt.Fprintf(out, "| CPU of a search: %.0f requests | %.2f s, half of it on one node |\n", requests, overhead)
	fmt.Fprintf(out, "| merging | %.2f ms |\n", float64(c.shards)*mergeShard.Seconds()*1e3)
	fmt.Fprintf(out, "| searches a second with all cores busy | %.0f |\n", capacity)
	fmt.Fprintf(out, "| network of a search | %.1f MB |\n", requests*(requestBytes+replyBytes)/1e6)
	fmt.Fprintf(out, "| network of a node with all cores busy | %.0f MB/s |\n", 2*capacity*requests*(requestBytes+replyBytes)/1e6/float64(c.nodes))
}
