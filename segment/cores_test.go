package segment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A crowdedSink counts the goroutines that are in a call of it or of another one.
type crowdedSink struct {
	*tableStore
	inside, most *atomic.Int32
	calls        atomic.Int32
}

func (s *crowdedSink) Set(key, value []byte) error {
	defer s.enter()()
	return s.tableStore.Set(key, value)
}

func (s *crowdedSink) enter() (leave func()) {
	n := s.inside.Add(1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
	if s.calls.Add(1)%64 == 0 {
		time.Sleep(time.Microsecond) // another goroutine would enter
	}
	return func() { s.inside.Add(-1) }
}

func (s *crowdedSink) Table(kind Kind) Table {
	return &crowdedTable{s.tableStore.Table(kind), s}
}

type crowdedTable struct {
	Table
	sink *crowdedSink
}

func (t *crowdedTable) Set(key, value []byte) error {
	defer t.sink.enter()()
	return t.Table.Set(key, value)
}

// TestCores: merges that share cores never write from more goroutines than there are cores, make the
// same segments, and all come to an end, also when one of them fails.
func TestCores(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 32))
	m := randomModel(rng, 4000, "m")
	for i := range m {
		m[i].stored = strings.Repeat(fmt.Sprint("stored ", i), rng.IntN(20))
	}
	view := m.memory().View()
	broken := errors.New("broken")
	for _, n := range []int{1, 2} {
		for _, order := range []Order{{}, {Kind: ByGraph}} {
			alone := newTableStore(t)
			opts := MergeOptions{Order: order, Workers: 3, TableBytes: 20 << 10}
			if _, err := Merge(t.Context(), alone, []Input{{Reader: view}}, opts); err != nil {
				t.Fatal(err)
			}
			opts.Cores = NewCores(n)
			var inside, most atomic.Int32
			var wg sync.WaitGroup
			for i := range 4 {
				s := &crowdedSink{tableStore: newTableStore(t), inside: &inside, most: &most}
				if i == 3 {
					s.fail = func(int, string) error { return broken }
				}
				wg.Go(func() {
					_, err := Merge(context.Background(), s, []Input{{Reader: view}}, opts)
					if i == 3 {
						if !errors.Is(err, broken) {
							t.Errorf("%d cores, merge %d: %v", n, i, err)
						}
					} else if err != nil || !maps.EqualFunc(s.values, alone.values, func(a, b []byte) bool { return string(a) == string(b) }) {
						t.Errorf("%d cores, merge %d: %v, %d values, want %d", n, i, err, len(s.values), len(alone.values))
					}
				})
			}
			wg.Wait()
			if got := int(most.Load()); got != n {
				t.Errorf("%d cores: %d goroutines at once", n, got)
			}
			if len(opts.Cores.busy) > 0 {
				t.Errorf("%d cores: %d turns have not ended", n, len(opts.Cores.busy))
			}
		}
	}
}
