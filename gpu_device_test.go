package riffle

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/gpuexec/listcache"
	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/internal/gpu/link"
)

// TestOnGPU runs on the GPU of the machine, or on an emulated one (docs/GPU.md). Searches answer as
// on the CPU, the lists of a log become resident, and those of merged segments are dropped.
func TestOnGPU(t *testing.T) { testOnGPU(t, GPULayoutCopies, nil) }

// TestOnGPUs lets two GPUs hold ranges.
func TestOnGPUs(t *testing.T) {
	t.Setenv("RIFFLE_EMULATOR_DEVICES", "2") // a machine with GPUs ignores this
	if infos, err := GPUs(); err != nil || len(infos) < 2 {
		t.Skip("there are no two GPUs: ", err)
	}
	testOnGPU(t, GPULayoutRanges, []int{0, 1}) // of more, some would have no documents
}

func testOnGPU(t *testing.T, layout GPULayout, devices []int) {
	if _, err := GPUs(); errors.Is(err, ErrNoDevice) {
		t.Skip(err)
	}
	ix := newIndex(t, &Options{
		GPU: &GPUOptions{
			Devices: devices, Layout: layout, Required: true, Policy: GPUPolicyGPU, MemoryBytes: 40 << 20, BatchBytes: 8 << 20, BatchDelay: 10 * time.Millisecond,
		},
		Merge: MergeOptions{Disabled: true},
		private: privateOptions{accelerator: func(o accelerator.Options) (accelerator.Accelerator, error) {
			o.Prune = true
			return link.Open(o)
		}},
	})
	ix.fillWords(2000)
	queries := gpuQueries(14)
	same := func() map[string]int {
		t.Helper()
		onCPU, err := ix.SearchBatch(t.Context(), queries, &SearchOptions{Processor: ProcessorCPU})
		ix.must(err)
		onGPU, err := ix.SearchBatch(t.Context(), queries, &SearchOptions{Processor: ProcessorGPU})
		ix.must(err)
		ran := map[string]int{} // by executor
		for i := range queries {
			if !reflect.DeepEqual(onGPU[i].Hits, onCPU[i].Hits) {
				t.Errorf("query %d: %d hits by %s, other than the %d of the CPU", i, len(onGPU[i].Hits), onGPU[i].Executor, len(onCPU[i].Hits))
			}
			ran[onGPU[i].Executor]++
		}
		o := &SearchOptions{Processor: ProcessorGPU, Profile: &ProfileOptions{}}
		profiled, err := ix.SearchBatch(t.Context(), queries, o)
		ix.must(err)
		for i, res := range profiled {
			if !reflect.DeepEqual(res.Hits, onCPU[i].Hits) {
				t.Errorf("query %d: with a profile %d hits by %s, other than the %d of the CPU", i, len(res.Hits), res.Executor, len(onCPU[i].Hits))
			}
			p := res.Profile
			if got := p.Blocks.Decoding + p.DeviceBlocks; got != res.Work.BlocksDecoded || !strings.Contains(p.Choice.Why, "SearchOptions.Processor") {
				t.Errorf("query %d: the profile has %d decoded blocks, the work %d; %+v", i, got, res.Work.BlocksDecoded, p.Choice)
			}
			if on := strings.HasPrefix(res.Executor, "gpu"); on && p.Times.GPU == 0 || strings.Contains(res.Executor, "cpu") && p.Times.CPU == 0 || on != (p.Passes[0].Algorithm == "gpu/maxscore") {
				t.Errorf("query %d ran on %s: times %+v, passes %+v", i, res.Executor, p.Times, p.Passes)
			}
		}
		return ran
	}
	caches := func(empty bool) (all listcache.Stats) {
		st, err := ix.Stats()
		ix.must(err)
		if st.GPU.NoGPU != "" || len(st.GPU.Devices) == 0 || st.GPU.Layout != layout {
			t.Fatalf("%+v", st.GPU)
		}
		for _, d := range st.GPU.Devices {
			if d.Info.Name == "" || empty != (d.Cache.Lists == 0) {
				t.Errorf("a GPU has no name, or lists are there when none should be, or the other way round: %+v", d)
			}
			all.Add(d.Cache)
		}
		return all
	}
	ix.must(ix.Warm(t.Context(), queries, nil))
	warm := caches(false)
	if ran := same(); ran["gpu/maxscore"] == 0 {
		t.Errorf("searches ran on %v", ran)
	}
	searched := caches(false)
	if searched.HitBytes == warm.HitBytes {
		t.Errorf("nothing that was asked for was there: %+v", searched)
	}
	ix.must(ix.Compact(t.Context()))
	if s := caches(true); s.EvictedBytes == searched.EvictedBytes || s.UsedBytes > 0 {
		t.Errorf("lists of merged segments are still there: %+v", s)
	}
	if ran := same(); ran["gpu/maxscore"] == 0 {
		t.Errorf("searches ran on %v", ran)
	}
	// The CPU answers for a few documents that are added. (With ranges, they may be all that one of
	// the GPUs has.)
	var few Batch
	for i := range 40 {
		few.Put(fmt.Sprint("few ", i), map[string]any{"t": fmt.Sprintf("w%d w%d w%d", i%7, i%11, i%13), "n": i % 5})
	}
	ix.must(ix.Apply(t.Context(), &few))
	if ran := same(); layout == GPULayoutCopies && ran["gpu/maxscore+cpu/bmm"] == 0 {
		t.Errorf("with a few documents added, searches ran on %v", ran)
	}
}

// TestFlatBytes: memory for flat lists is taken from the cache; asking for too much is an error.
func TestFlatBytes(t *testing.T) {
	if _, err := GPUs(); errors.Is(err, ErrNoDevice) {
		t.Skip(err)
	}
	open := func(o GPUOptions) (cache int64, err error) {
		o.Required, o.Devices, o.MemoryBytes, o.BatchBytes = true, []int{0}, 64<<20, 8<<20
		e, err := Open(t.TempDir(), &Options{GPU: &o})
		if err != nil {
			return 0, err
		}
		defer e.Close()
		st, err := e.Stats()
		if err != nil {
			return 0, err
		}
		return st.GPU.Devices[0].Cache.Bytes, nil
	}
	bytes := func(o GPUOptions) int64 {
		t.Helper()
		n, err := open(o)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	// Tables of extents take 1/128 of the memory for lists, in whole units of device.ArenaAlign.
	none := bytes(GPUOptions{NoFlat: true})
	for _, test := range []struct{ flat, takes int64 }{{0, 16 << 20}, {4 << 20, 4 << 20}} {
		less := none - bytes(GPUOptions{FlatBytes: test.flat})
		if want := test.takes - test.takes/128; less < want-device.ArenaAlign || less > want+device.ArenaAlign {
			t.Errorf("FlatBytes %d: the cache has %d bytes less than with none, want about %d", test.flat, less, want)
		}
	}
	if _, err := open(GPUOptions{FlatBytes: 60 << 20}); err == nil || !strings.Contains(err.Error(), "62914560 of flat lists do not fit") {
		t.Errorf("flat lists that leave no room for batches: error %v", err)
	}
}

// TestFunctionScoreOnGPU: functions that a GPU can add score there as on the CPU, to the bit; others run on
// the CPU, whatever is asked for.
func TestFunctionScoreOnGPU(t *testing.T) {
	if _, err := GPUs(); errors.Is(err, ErrNoDevice) {
		t.Skip(err)
	}
	ix := newIndex(t, &Options{
		GPU:   &GPUOptions{Required: true, Policy: GPUPolicyGPU, MemoryBytes: 40 << 20, BatchBytes: 8 << 20},
		Merge: MergeOptions{Disabled: true},
	})
	ix.fillWords(2000)
	added := func(f ...ScoreFunction) Query {
		return FunctionScore{Query: Match{Field: "t", Text: "w1 w9 w20"}, Functions: f}
	}
	log := FieldFactor{Field: "n", Modifier: ModifierLog1p, Weight: 2}
	queries := []Query{
		added(log), added(Random{Seed: 3}), added(log, Random{Seed: 4, Weight: 9, Filter: Term{"n", 3}}),
		added(Decay{Field: "n", Origin: 3, Scale: 1, Shape: DecayExp}),
		Bool{Must: []Query{added(log)}, Filter: []Query{Term{"t", "w2"}}},
		FunctionScore{Query: Match{Field: "t", Text: "w3 w4", Mode: ModeAnd}, Functions: []ScoreFunction{log}},
	}
	others := []Query{
		FunctionScore{Query: Match{Field: "t", Text: "w1 w9"}, Mode: FunctionMultiply, Functions: []ScoreFunction{log}},
		added(FieldFactor{Field: "n"}), Bool{Should: []Query{added(log), Term{"t", "w5"}}},
	}
	for i, q := range append(queries, others...) {
		onCPU := ix.search(q, &SearchOptions{Processor: ProcessorCPU})
		onGPU, err := ix.Search(t.Context(), q, &SearchOptions{Processor: ProcessorGPU})
		if i >= len(queries) {
			if err == nil && strings.HasPrefix(onGPU.Executor, "gpu") {
				t.Errorf("%v ran on %s", q, onGPU.Executor)
			}
			continue
		}
		ix.must(err)
		if !reflect.DeepEqual(onGPU.Hits, onCPU.Hits) {
			t.Errorf("%v: %v by %s, the CPU has %v", q, onGPU.Hits, onGPU.Executor, onCPU.Hits)
		}
		if !strings.HasPrefix(onGPU.Executor, "gpu") {
			t.Errorf("%v ran on %s", q, onGPU.Executor)
		}
	}
}
