package riffle

import (
	"errors"
	"testing"
)

// TestWarmNested: a log of nested queries fills a cache that keeps nothing else.
func TestWarmNested(t *testing.T) {
	if _, err := GPUs(); errors.Is(err, ErrNoDevice) {
		t.Skip(err)
	}
	ix := newIndex(t, &Options{
		GPU:   &GPUOptions{Required: true, Policy: GPUPolicyGPU, Devices: []int{0}, MemoryBytes: 40 << 20, BatchBytes: 8 << 20, StaticCache: true},
		Merge: MergeOptions{Disabled: true},
	})
	ix.fillWords(2000)
	nested := Bool{Must: []Query{Term{"t", "w1"}, Bool{Should: []Query{Term{"t", "w2"}, Term{"t", "w3"}}}}}
	ix.must(ix.Warm(t.Context(), []Query{nested}, nil))
	st, err := ix.Stats()
	ix.must(err)
	if c := st.GPU.Devices[0].Cache; c.Lists == 0 || c.UsedBytes == 0 {
		t.Errorf("nothing is resident: %+v", c)
	}
}
