package topology

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// Place chooses nodes for the replicas of the shards of an index, by rendezvous hashing (Thaler and
// Ravishankar 1998): each shard takes the nodes whose hash with it is highest among those with the
// fewest replicas so far. So the numbers of replicas of two nodes differ by one at most, and the same
// nodes give the same places.
func Place(index string, shards, copies int, nodes []string) ([][]string, error) {
	if copies < 1 || copies > len(nodes) {
		return nil, fmt.Errorf("topology: %d replicas of each shard need as many nodes; there are %d", copies, len(nodes))
	}
	load := map[string]int{}
	places := make([][]string, shards)
	for i := range places {
		hash := func(node string) uint64 { return weight(index, i, node) }
		order := slices.SortedFunc(slices.Values(nodes), func(a, b string) int {
			return cmp.Or(cmp.Compare(load[a], load[b]), cmp.Compare(hash(b), hash(a)), cmp.Compare(a, b))
		})
		places[i] = order[:copies:copies]
		for _, n := range places[i] {
			load[n]++
		}
	}
	return places, nil
}

// ShardOf returns the shard of a document.
func ShardOf(id string, shards int) int { return int(xxhash.Sum64String(id) % uint64(shards)) }
