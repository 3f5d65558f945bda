package segment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/columns"
)

// wideMemory has documents with several columns: of few and of many parts, of terms, and of different kinds.
func wideMemory(docs int) *Memory {
	rng := rand.New(rand.NewPCG(61, 62))
	m := NewMemory()
	var c Chunk
	for i := range docs {
		c.Begin(fmt.Sprintf("%06d", i))
		for n := range 6 { // 64 bits each: a part for each two tiles
			c.Value(fmt.Sprint("number", n), columns.OfUint(rng.Uint64()))
		}
		c.Value("level", columns.OfString([]string{"info", "error"}[rng.IntN(2)]))
		c.Value("host", columns.OfString(fmt.Sprintf("%d.example.com", rng.IntN(5000))))
		if i == docs-1 {
			c.Value("one", columns.OfBool(true))
		}
		c.End(0, nil)
	}
	c.Group(OnePartition())
	m.AddChunk(&c)
	return m
}

// TestColumnsAreTheSameForAnyNumberOfWorkers compares every byte, with room for few parts and for many.
func TestColumnsAreTheSameForAnyNumberOfWorkers(t *testing.T) {
	view := wideMemory(5 * 4096 * 2).View()
	inputs := []Input{{Reader: view}}
	for _, order := range []Order{{}, {Kind: ByField, Field: "number3"}} {
		_, _, want := merge(t, inputs, MergeOptions{Workers: 1, Order: order})
		if !hasParts(want, leastParts+1) {
			t.Fatal("no column has more parts than there is room for")
		}
		for _, opts := range []MergeOptions{{Workers: 2, MemoryBytes: 16 * 50_000 * 2}, {Workers: 20}, {Workers: 3, Cores: NewCores(2)}} {
			opts.Order = order
			got := newMapStore(t)
			if _, err := Merge(t.Context(), got, inputs, opts); err != nil {
				t.Fatal(err)
			}
			if !maps.EqualFunc(got.values, want.values, slices.Equal) {
				t.Errorf("order %v, %d workers: another segment", order, opts.Workers)
			}
			if opts.Cores != nil && len(opts.Cores.busy) > 0 {
				t.Errorf("%d turns have not ended", len(opts.Cores.busy))
			}
		}
	}
}

// hasParts reports whether a column has so many parts.
func hasParts(s *mapStore, n int) bool {
	parts := map[byte]int{}
	for key := range s.values {
		if Kind(key[0]) == kindValues {
			parts[key[2]]++
		}
	}
	return slices.Max(slices.Collect(maps.Values(parts))) >= n
}

// TestColumnsEnd: an error of the sink, and the end of the context, end all goroutines that make columns.
func TestColumnsEnd(t *testing.T) {
	inputs := []Input{{Reader: wideMemory(5 * 4096).View()}}
	_, _, s := merge(t, inputs, MergeOptions{Workers: 1})
	first := slices.IndexFunc(s.keys, func(key string) bool { return Kind(key[0]) == kindValues })
	for _, n := range []int{first, first + 1, first + 4} {
		cores := NewCores(2)
		opts := MergeOptions{Workers: 4, MemoryBytes: 1 << 20, Cores: cores}
		if _, err := Merge(t.Context(), &failingSink{n}, inputs, opts); err == nil {
			t.Errorf("no error of a sink that fails at value %d", n)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := Merge(ctx, &cancelingSink{n, cancel}, inputs, opts); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled at value %d: %v", n, err)
		}
		cancel()
		if len(cores.busy) > 0 {
			t.Errorf("%d turns have not ended", len(cores.busy))
		}
	}
}

// cancelingSink cancels at the n-th value.
type cancelingSink struct {
	left   int
	cancel func()
}

func (s *cancelingSink) Set(_, _ []byte) error {
	if s.left--; s.left == 0 {
		s.cancel()
	}
	return nil
}
