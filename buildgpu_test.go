package riffle

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/segment"
)

// builtKeys builds an index in memory and returns its segments.
func builtKeys(t *testing.T, source Source, o *BuildOptions) (keys string, res *BuildResult) {
	t.Helper()
	mem := newCrashFS()
	o.Index.private.store.FS = mem
	res, err := Build(ctx, worldDir, source, o)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	err = eachKey(mem, worldDir, func(key, value []byte) error {
		if key[0] == 'S' {
			fmt.Fprintf(&all, "%x %x\n", key, value)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String(), res
}

// needGPU skips where there is no GPU, not even an emulated one (docs/GPU.md).
func needGPU(t *testing.T) {
	if _, err := GPUs(); errors.Is(err, ErrNoDevice) {
		t.Skip(err)
	}
}

// TestBuildOnGPU: a GPU makes the same segments, byte for byte, whatever its share, its memory and the number of
// workers, with positions and without.
func TestBuildOnGPU(t *testing.T) {
	needGPU(t)
	docs, _ := buildModel(rand.New(rand.NewPCG(16, 16)), 1200)
	files := JSONLines{Files: jsonLines(t, docs, 3)}
	// Words of titles have no positions; those of texts do, with what makes positions uneven: words that
	// are dropped, several at one place, and several values.
	synonyms, err := analysis.ParseSynonyms(strings.NewReader("w2, w3 w4\nw5, w6"), nil)
	if err != nil {
		t.Fatal(err)
	}
	index := Options{
		Schema:    &Schema{Analyzer: "uneven", Fields: map[string]Field{"title": {Positions: PositionsNone}, "rest": {Analyzer: "standard", CopyFrom: []string{"text"}}}},
		Analyzers: map[string]analysis.Analyzer{"uneven": analysis.New("uneven", analysis.Words{}, analysis.Lowercase{}, analysis.Stop("w1", "w7"), synonyms)},
	}
	want, _ := builtKeys(t, files, (&BuildOptions{Workers: 2, Index: index}).small())
	for _, workers := range []int{1, 4} {
		for _, gpu := range []BuildGPUOptions{{}, {Share: 0.5}, {MemoryBytes: 700 << 10}} {
			gpu.Required = true
			o := (&BuildOptions{Workers: workers, MemoryBytes: 4 << 20, GPU: &gpu, Index: index}).small()
			o.private.trees = workers == 1 && gpu.Share == 0
			got, res := builtKeys(t, files, o)
			if got != want || len(want) < 10_000 {
				t.Fatalf("with %d workers and %+v the segments have other bytes", workers, gpu)
			}
			if !res.GPU || res.NoGPU != "" || res.Times.GPU == 0 || res.Times.Index == 0 || res.Times.Write == 0 {
				t.Errorf("%+v", res)
			}
		}
	}
}

// TestBuildOnGPUSegments: also with several segments the index is whole.
func TestBuildOnGPUSegments(t *testing.T) {
	needGPU(t)
	docs, final := buildModel(rand.New(rand.NewPCG(17, 17)), 1000)
	world, err := tuning{}.open(worldDir, newCrashFS())
	if err != nil {
		t.Fatal(err)
	}
	defer world.Close()
	var b Batch
	for _, d := range docs {
		b.Put(d.id, map[string]any(d.doc))
	}
	if err := errors.Join(world.Apply(ctx, &b), world.Compact(ctx)); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "index")
	o := (&BuildOptions{Workers: 2, GPU: &BuildGPUOptions{Required: true}, Index: Options{Schema: world.Schema()}}).small()
	o.private.runBytes = 180 << 10 // what is kept for the GPU takes 128 KiB at least
	res, err := Build(ctx, dir, yieldAll(docs), o)
	if err != nil || res.Segments < 2 {
		t.Fatalf("%+v, %v", res, err)
	}
	e, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	requireBuilt(t, e, world, final)
}

// TestBuildOnGPUCorpus: real text, whose terms repeat in every block.
func TestBuildOnGPUCorpus(t *testing.T) {
	needGPU(t)
	files := JSONLines{Files: []string{corporaFile(t, "cranfield/docs.jsonl")}}
	options := func(gpu *BuildGPUOptions) *BuildOptions {
		o := &BuildOptions{Workers: 2, GPU: gpu, Index: Options{Schema: &Schema{NoStore: true}}}
		o.private.blockBytes = 200 << 10
		return o
	}
	want, _ := builtKeys(t, files, options(nil))
	got, res := builtKeys(t, files, options(&BuildGPUOptions{Required: true, MemoryBytes: 200 << 20}))
	if got != want || res.Docs < 1000 || res.NoGPU != "" {
		t.Errorf("%d documents: the segments have other bytes", res.Docs)
	}
}

// TestBuildGPUTooSmall: a GPU that cannot be used turns out to be so when there is something to invert.
func TestBuildGPUTooSmall(t *testing.T) {
	needGPU(t)
	docs, _ := buildModel(rand.New(rand.NewPCG(20, 20)), 100)
	want, _ := builtKeys(t, yieldAll(docs), (&BuildOptions{}).small())
	o := (&BuildOptions{GPU: &BuildGPUOptions{MemoryBytes: 100 << 10}}).small()
	got, res := builtKeys(t, yieldAll(docs), o)
	if got != want || !strings.Contains(res.NoGPU, "too few to build with") {
		t.Errorf("the same bytes: %v; %+v", got == want, res)
	}
	o.GPU.Required = true
	o.Index = Options{}
	dir := filepath.Join(t.TempDir(), "index")
	if _, err := Build(ctx, dir, yieldAll(docs), o); err == nil || !strings.Contains(err.Error(), "too few to build with") {
		t.Errorf("required: %v", err)
	}
	if _, err := Open(dir, nil); !errors.Is(err, ErrUnfinished) {
		t.Errorf("open: %v", err)
	}
}

// TestBuildLosesGPU: a GPU that is lost costs time and nothing else, and is reported.
func TestBuildLosesGPU(t *testing.T) {
	needGPU(t)
	docs, _ := buildModel(rand.New(rand.NewPCG(18, 18)), 400)
	want, _ := builtKeys(t, yieldAll(docs), (&BuildOptions{Workers: 2}).small())
	t.Setenv("RIFFLE_EMULATOR_FAIL", "60") // a device that is real does not fail
	var told []GPUEvent
	o := (&BuildOptions{Workers: 2, GPU: &BuildGPUOptions{Required: true, MemoryBytes: 600 << 10}}).small()
	o.Index.Listener = &Listener{GPUFailed: func(ev GPUEvent) { told = append(told, ev) }}
	got, res := builtKeys(t, yieldAll(docs), o)
	if got != want {
		t.Error("the segments have other bytes")
	}
	if res.NoGPU == "" {
		t.Skip("the device is real")
	}
	if len(told) != 1 || !errors.Is(told[0].Err, device.ErrLost) || !res.GPU {
		t.Errorf("told %+v, result %+v", told, res)
	}
}

// A brokenSorter fails at once.
type brokenSorter struct{ sorts int }

func (*brokenSorter) Room() int    { return 1000 }
func (*brokenSorter) Close() error { return nil }
func (s *brokenSorter) Sort(int, []segment.Piece) ([][]byte, error) {
	s.sorts++
	return nil, errors.New("out of order")
}

// TestBuildWithoutGPU: what a GPU does not do the CPU does, the same, unless one is required.
func TestBuildWithoutGPU(t *testing.T) {
	docs, _ := buildModel(rand.New(rand.NewPCG(19, 19)), 300)
	want, res := builtKeys(t, yieldAll(docs), (&BuildOptions{Workers: 2}).small())
	if res.GPU || res.NoGPU != "" || res.Times.Wait == 0 || res.Times.GPU != 0 {
		t.Errorf("without a GPU: %+v", res)
	}
	broken := &brokenSorter{}
	o := (&BuildOptions{Workers: 2, GPU: &BuildGPUOptions{Required: true}}).small()
	o.private.sorter = func(accelerator.SorterOptions) (int, func() (accelerator.Sorter, error), error) {
		return broken.Room(), func() (accelerator.Sorter, error) { return broken, nil }, nil
	}
	got, res := builtKeys(t, yieldAll(docs), o)
	if got != want || broken.sorts != 1 || res.NoGPU != "out of order" {
		t.Errorf("one that fails: %d sorts, %+v", broken.sorts, res)
	}
	o = (&BuildOptions{GPU: &BuildGPUOptions{Device: 99}}).small()
	got, res = builtKeys(t, yieldAll(docs), o)
	if got != want || res.GPU || !strings.Contains(res.NoGPU, "no GPU device") {
		t.Errorf("one that is not there: %+v", res)
	}
	o.GPU.Required = true
	for _, docs := range [][]modelPut{docs, nil} {
		dir := filepath.Join(t.TempDir(), "index")
		o.Index = Options{}
		if _, err := Build(ctx, dir, yieldAll(docs), o); !errors.Is(err, ErrNoDevice) {
			t.Errorf("one that is not there and required: %v", err)
		}
		if _, err := Open(dir, &Options{ReadOnly: true}); err == nil {
			t.Error("it has left an index")
		}
	}
	for _, gpu := range []BuildGPUOptions{{Device: -1}, {MemoryBytes: -1}, {Share: 1.5}, {Share: -1}} {
		if _, err := Build(ctx, "nowhere", yieldAll(nil), &BuildOptions{GPU: &gpu}); err == nil || !strings.Contains(err.Error(), "BuildOptions.GPU.") {
			t.Errorf("%+v: %v", gpu, err)
		}
	}
}
