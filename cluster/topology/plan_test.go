package topology_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/cluster/topology"
)

// carry carries out steps on a map and returns how many replicas each node has.
func carry(t *testing.T, x *topology.Index, steps []topology.Step) map[string]int {
	t.Helper()
	for _, s := range steps {
		if s.To == "" {
			x.Remove(s.Shard, s.From)
			continue
		}
		before := len(x.Nodes[s.Shard])
		x.Join(s.Shard, s.To)
		if err := x.Replace(s.Shard, s.From, s.To); err != nil {
			t.Error(err)
		}
		if len(x.Nodes[s.Shard]) != before {
			t.Errorf("%v: shard %d is on %q", s, s.Shard, x.Nodes[s.Shard])
		}
	}
	if err := x.Check(); err != nil {
		t.Error(err)
	}
	load := map[string]int{}
	for _, nodes := range x.Nodes {
		for _, n := range nodes {
			load[n]++
		}
	}
	return load
}

// TestPlans fills and empties nodes, for many numbers of shards, nodes and replicas. Replicas that need not move stay.
func TestPlans(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f"}
	for shards := range 20 {
		for n := 1; n <= 5; n++ {
			for copies := 1; copies <= min(n, 3); copies++ {
				nodes := names[:n]
				places, err := topology.Place("books", shards+1, copies, nodes)
				if err != nil {
					t.Fatal(err)
				}
				x := &topology.Index{Name: "books", LogCopies: 1, Nodes: places}
				all, more := (shards+1)*copies, names[:n+1]
				steps := x.Fill("f", append(slices.Clone(nodes), "f"))
				if want := all / (n + 1); len(steps) != want {
					t.Errorf("%d shards on %d nodes: %d steps, want %d", shards+1, n, len(steps), want)
				}
				load := carry(t, x, steps)
				for _, name := range nodes {
					if load[name] < all/(n+1) || load[name] > (all+n-1)/n {
						t.Errorf("%d shards, %d copies, %d nodes: %v", shards+1, copies, n, load)
					}
				}
				if again := x.Fill("f", append(slices.Clone(nodes), "f")); len(again) != 0 {
					t.Errorf("again: %v", again)
				}
				if steps, err = x.Empty("a", append(slices.Clone(nodes), "f")); err != nil {
					t.Errorf("%v: %v", more, err)
				}
				if load = carry(t, x, steps); load["a"] != 0 {
					t.Errorf("%v", load)
				}
			}
		}
	}
}

// TestPlansGoOn: a move that has begun is finished.
func TestPlansGoOn(t *testing.T) {
	x := &topology.Index{Name: "books", LogCopies: 1, Nodes: [][]string{{"a", "b"}, {"a", "b"}, {"a", "c"}}}
	x.Join(2, "d")
	if got := fmt.Sprint(x.Fill("d", []string{"a", "b", "c", "d"})); got != "[shard 2 of books: from a to d]" {
		t.Error(got)
	}
	steps, err := x.Empty("a", []string{"b", "c", "d"})
	if err != nil || len(steps) != 3 || steps[2].To != "d" {
		t.Errorf("%v: %v", steps, err)
	}
	steps, err = x.Empty("d", []string{"a", "b", "c"})
	if err != nil || fmt.Sprint(steps) != "[shard 2 of books: remove from d]" {
		t.Errorf("%v: %v", steps, err)
	}
	if steps, err := x.Empty("a", []string{"a", "b"}); err == nil {
		t.Errorf("nowhere: %v", steps)
	}
}
