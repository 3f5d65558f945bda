package riffle

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/internal/gpu/link"
)

// TestGPUWhileGrowing searches views of an index that grows, loses documents and is merged. Each view is
// searched on a GPU, in batches with searches of other views, and on the CPU: both give the same.
func TestGPUWhileGrowing(t *testing.T) {
	if _, err := GPUs(); errors.Is(err, ErrNoDevice) {
		t.Skip(err)
	}
	t.Setenv("RIFFLE_EMULATOR_DEVICES", "2") // a machine with GPUs ignores this
	for _, test := range []struct {
		name string
		o    GPUOptions
	}{
		{"resident", GPUOptions{Devices: []int{0}}},
		{"streams", GPUOptions{Devices: []int{0}, Stream: true}},
		{"ranges", GPUOptions{Layout: GPULayoutRanges}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if infos, _ := GPUs(); test.o.Devices == nil && len(infos) != 2 {
				t.Skip("there are not two GPUs")
			}
			searchWhileGrowing(t, test.o)
		})
	}
}

func searchWhileGrowing(t *testing.T, o GPUOptions) {
	o.Required, o.Policy, o.MemoryBytes, o.BatchBytes = true, GPUPolicyGPU, 48<<20, 8<<20
	ix := newIndex(t, &Options{
		GPU: &o, Rank: Rank{Field: "r", Alpha: 0.3}, Durability: SyncNone,
		private: privateOptions{accelerator: func(o accelerator.Options) (accelerator.Accelerator, error) {
			o.KeepSmall = true // the memory segment is theirs, too
			return link.Open(o)
		}},
	})
	var compared, onGPU atomic.Int64
	var done atomic.Bool
	var group sync.WaitGroup
	group.Go(func() {
		defer done.Store(true)
		rng := rand.New(rand.NewPCG(1, 1))
		for batch := range growBatches {
			var b Batch
			for i := range growDocs {
				doc := map[string]any{"t": randomWords(rng, 12, 15), "u": randomWords(rng, 4, 40), "n": rng.IntN(5), "r": float64(rng.IntN(100)) / 100}
				b.Put(fmt.Sprint(batch, "-", i), doc)
				if rng.IntN(20) == 0 && batch > 0 {
					b.Delete(fmt.Sprint(rng.IntN(batch), "-", rng.IntN(growDocs)))
				}
			}
			ix.must(ix.Apply(t.Context(), &b))
			if batch%80 == 79 {
				ix.must(ix.Flush(t.Context()))
			}
			for compared.Load() < int64(3*batch) && !t.Failed() {
				time.Sleep(time.Millisecond)
			}
		}
	})
	for worker := range 6 {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(2, uint64(worker)))
			for !done.Load() && !t.Failed() {
				s, err := ix.Snapshot()
				ix.must(err)
				for range 4 {
					q, o := randomGPUSearch(rng)
					o.Processor = ProcessorCPU
					want, err := s.Search(t.Context(), q, &o)
					ix.must(err)
					o.Processor = ProcessorGPU
					got, err := s.Search(t.Context(), q, &o)
					if err != nil || !reflect.DeepEqual(got.Hits, want.Hits) || o.ExactTotal && (got.Total != want.Total || !got.TotalExact) {
						t.Errorf("%s: %v %+v: %d hits of %d, want %d of %d (%v)", got.Executor, q, o, len(got.Hits), got.Total, len(want.Hits), want.Total, err)
						break
					}
					compared.Add(1)
					if got.Executor == "gpu/maxscore" {
						onGPU.Add(1)
					}
				}
				s.Close()
			}
		})
	}
	group.Wait()
	if onGPU.Load() < compared.Load()/2 {
		t.Errorf("of %d searches, %d ran on a GPU alone", compared.Load(), onGPU.Load())
	}
}

const growBatches, growDocs = 90, 250

func randomWords(rng *rand.Rand, most, spread int) string {
	var words strings.Builder
	for range 1 + rng.IntN(most) {
		fmt.Fprintf(&words, "w%d ", int(rng.ExpFloat64()*float64(spread)))
	}
	return words.String()
}

// randomGPUSearch returns a search that a GPU takes.
func randomGPUSearch(rng *rand.Rand) (q Query, o SearchOptions) {
	q = Match{Field: []string{"t", "u"}[rng.IntN(2)], Text: randomWords(rng, 4, 15), Mode: Mode(rng.IntN(3))}
	switch rng.IntN(6) {
	case 0:
		q = Bool{Must: []Query{q}, Filter: []Query{Term{"n", rng.IntN(5)}}}
	case 1:
		q = Bool{Should: []Query{Term{"t", "w1"}, Term{"u", "w2"}, Bool{Must: []Query{Term{"t", "w3"}, Term{"t", "w4"}}}}, MustNot: []Query{Term{"t", "w9"}}, MinShould: rng.IntN(3)}
	}
	alpha := []float64{0, 0.3, 0.9}[rng.IntN(3)]
	o = SearchOptions{K: 1 + rng.IntN(30), ExactTotal: rng.IntN(3) == 0, Alpha: &alpha}
	if rng.IntN(4) == 0 {
		o.From = rng.IntN(o.K)
	}
	return q, o
}
