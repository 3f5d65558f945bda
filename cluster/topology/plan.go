package topology

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// A Step is the move of a replica. With To empty it is removed: it has not joined yet.
type Step struct {
	Index string `json:"index"`
	Shard int    `json:"shard"`
	From  string `json:"from"`
	To    string `json:"to,omitempty"`
}

func (s Step) String() string {
	if s.To == "" {
		return fmt.Sprintf("shard %d of %s: remove from %s", s.Shard, s.Index, s.From)
	}
	return fmt.Sprintf("shard %d of %s: from %s to %s", s.Shard, s.Index, s.From, s.To)
}

// weight is that of a node for a shard in rendezvous hashing.
func weight(index string, shard int, node string) uint64 {
	return xxhash.Sum64String(fmt.Sprintf("%s/%d/%s", index, shard, node))
}

// load returns how many replicas each node has, also joining ones.
func (x *Index) load() map[string]int {
	of := map[string]int{}
	for i := range x.Nodes {
		for _, n := range x.Members(i) {
			of[n]++
		}
	}
	return of
}

// Fill returns the moves that give a node its fair share of the replicas of the index: as many as the average over the
// nodes, rounded down. Each comes from the node that has most, and is of the shard for which the node has the
// highest weight. A move that somebody has begun is finished first.
func (x *Index) Fill(node string, nodes []string) []Step {
	load := x.load()
	all := 0
	for _, n := range load {
		all += n
	}
	if !slices.Contains(nodes, node) {
		nodes = append(slices.Clone(nodes), node)
	}
	places := make([][]string, len(x.Nodes))
	for i := range places {
		places[i] = slices.Clone(x.Nodes[i])
	}
	var steps []Step
	move := func(shard int, from string) {
		steps = append(steps, Step{Index: x.Name, Shard: shard, From: from, To: node})
		load[from]--
		places[shard] = slices.DeleteFunc(places[shard], func(n string) bool { return n == from })
		places[shard] = append(places[shard], node)
	}
	fullest := func(of []string) string {
		return slices.MaxFunc(of, func(a, b string) int { return cmp.Or(cmp.Compare(load[a], load[b]), cmp.Compare(b, a)) })
	}
	for i := range x.Joining {
		if slices.Contains(x.Joining[i], node) && len(places[i]) > 0 {
			move(i, fullest(places[i]))
			all--
		}
	}
	for load[node] < all/len(nodes) {
		best, from := -1, ""
		for i, has := range places {
			if len(has) == 0 || slices.Contains(has, node) {
				continue
			}
			f := fullest(has)
			if load[f] <= load[node]+1 {
				continue
			}
			if best < 0 || cmp.Or(cmp.Compare(load[f], load[from]), cmp.Compare(weight(x.Name, i, node), weight(x.Name, best, node))) > 0 {
				best, from = i, f
			}
		}
		if best < 0 {
			break
		}
		move(best, from)
		load[node]++
	}
	return steps
}

// Empty returns the moves that leave a node without replicas of the index: each goes to the node that has fewest,
// of several to that with the highest weight. A move that somebody has begun is finished.
func (x *Index) Empty(node string, nodes []string) ([]Step, error) {
	load := x.load()
	var steps []Step
	for i := range x.Nodes {
		if len(x.Joining) > 0 && slices.Contains(x.Joining[i], node) {
			steps = append(steps, Step{Index: x.Name, Shard: i, From: node})
		}
		if !slices.Contains(x.Nodes[i], node) {
			continue
		}
		fit := map[string]bool{}
		for _, n := range nodes {
			fit[n] = n != node && !slices.Contains(x.Nodes[i], n)
		}
		maps.DeleteFunc(fit, func(_ string, ok bool) bool { return !ok })
		if len(fit) == 0 {
			return nil, fmt.Errorf("topology: no other node can have the replica of shard %d of index %s on node %s", i, x.Name, node)
		}
		joining := func(n string) int { // first
			if slices.Contains(x.Members(i), n) {
				return 0
			}
			return 1
		}
		to := slices.MinFunc(slices.Sorted(maps.Keys(fit)), func(a, b string) int {
			return cmp.Or(cmp.Compare(joining(a), joining(b)), cmp.Compare(load[a], load[b]), cmp.Compare(weight(x.Name, i, b), weight(x.Name, i, a)))
		})
		load[to]++
		steps = append(steps, Step{Index: x.Name, Shard: i, From: node, To: to})
	}
	return steps, nil
}
