package riffle

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/internal/dispatch"
	"github.com/riffle-search/riffle/internal/gpu"
)

// A halfDevice answers plans on the CPU but leaves every second tile open, like a GPU that lacks
// half of its lists. It fails on demand.
type halfDevice struct {
	mu    sync.Mutex
	plans int
	fail  error
}

func (h *halfDevice) Partials(ctx context.Context, plans []*blockmax.Plan) ([]blockmax.Partial, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.plans += len(plans)
	if h.fail != nil {
		return nil, h.fail
	}
	out := make([]blockmax.Partial, len(plans))
	for i, p := range plans {
		first := *p
		first.Segments = append([]blockmax.Segment(nil), p.Segments...)
		out[i].Pass = blockmax.And
		for s := range first.Segments {
			seg := &first.Segments[s]
			accept := make([]uint64, (seg.Docs+63)/64)
			for d := range seg.Docs {
				if p.Tree == nil && p.Mode != blockmax.AndOr && d/blockmax.TileDocs%2 == 0 && (seg.Accept == nil || seg.Accept[d/64]>>(d%64)&1 == 1) {
					accept[d/64] |= 1 << (d % 64)
				}
			}
			for from := uint32(0); from < seg.Docs; from += blockmax.TileDocs {
				if p.Tree != nil || p.Mode == blockmax.AndOr || from/blockmax.TileDocs%2 == 1 {
					out[i].Open = append(out[i].Open, blockmax.Span{Segment: s, From: from, To: min(from+blockmax.TileDocs, seg.Docs)})
				}
			}
			seg.Accept, seg.Few = accept, nil
		}
		if p.Mode == blockmax.AndOr {
			first.Mode = blockmax.And
		}
		top, err := cpuexec.Executor{}.TopK(ctx, &first)
		if err != nil {
			return nil, err
		}
		out[i].Top = top
	}
	return out, nil
}

func (h *halfDevice) Resident(uint64) int64 { return 0 }

func (h *halfDevice) Lost() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fail
}

// overDevices replaces the GPUs of the machine.
func overDevices(devices ...dispatch.Device) accelerator.Opener {
	return func(o accelerator.Options) (accelerator.Accelerator, error) { return gpu.Over(o, devices...), nil }
}

// withDevices are options for an index with such GPUs.
func withDevices(o *GPUOptions, devices ...dispatch.Device) *Options {
	return &Options{GPU: o, private: privateOptions{accelerator: overDevices(devices...)}, Merge: MergeOptions{Disabled: true}}
}

// fillWords puts documents of random words, a few segments of them.
func (ix *testIndex) fillWords(docs int) {
	ix.t.Helper()
	rng := rand.New(rand.NewPCG(4, 4))
	for part := range 3 {
		var b Batch
		for i := range docs {
			var words strings.Builder
			for range 1 + rng.IntN(30) {
				fmt.Fprintf(&words, "w%d ", int(rng.ExpFloat64()*15))
			}
			b.Put(fmt.Sprintf("%d-%d", part, i), map[string]any{"t": words.String(), "n": rng.IntN(5)})
		}
		ix.must(ix.Apply(ix.t.Context(), &b))
		if part < 2 {
			ix.flush()
		}
	}
	for i := range 50 {
		ix.must(ix.Delete(ix.t.Context(), fmt.Sprintf("1-%d", i*7)))
	}
}

// gpuQueries are queries of all kinds.
func gpuQueries(n int) (qs []Query) {
	rng := rand.New(rand.NewPCG(5, 5))
	for i := range n {
		var words strings.Builder
		for range 1 + rng.IntN(4) {
			fmt.Fprintf(&words, "w%d ", rng.IntN(60))
		}
		mode := Mode(i % 3)
		if i%7 == 6 {
			mode = ModeOr
		}
		q := Query(Match{Field: "t", Text: words.String(), Mode: mode})
		switch i % 7 {
		case 5:
			q = Bool{Must: []Query{q}, Filter: []Query{Term{"n", 2}}}
		case 6:
			q = Bool{Should: []Query{q, ConstantScore{Term{"n", 1}, 2}}}
		}
		qs = append(qs, q)
	}
	return qs
}

// TestGPUAnswersAlike: hits are the same with or without devices, one at a time or in batches, on
// either processor.
func TestGPUAnswersAlike(t *testing.T) {
	plain := newIndex(t, &Options{Merge: MergeOptions{Disabled: true}})
	plain.fillWords(4500)
	queries := gpuQueries(28)
	for _, policy := range []accelerator.Policy{accelerator.Auto, accelerator.Devices, accelerator.Halves, accelerator.Groups} {
		a, b := new(halfDevice), new(halfDevice)
		opts := withDevices(&GPUOptions{BatchDelay: time.Microsecond, BatchQueries: 8}, a, b)
		opts.private.accelerator = func(o accelerator.Options) (accelerator.Accelerator, error) {
			o.Policy = policy
			return overDevices(a, b)(o)
		}
		ix := newIndex(t, opts)
		ix.fillWords(4500)
		for _, k := range []int{2, 50} {
			o := &SearchOptions{K: k, ExactTotal: k == 2}
			together, err := ix.SearchBatch(t.Context(), queries, o)
			ix.must(err)
			for i, q := range queries {
				want := plain.search(q, o)
				for _, on := range []Processor{ProcessorAuto, ProcessorCPU, ProcessorGPU} {
					o := *o
					o.Processor = on
					got := ix.search(q, &o)
					if !reflect.DeepEqual(got.Hits, want.Hits) || got.TotalExact && want.TotalExact && got.Total != want.Total {
						t.Fatalf("%v, processor %d, k %d, %+v: %d of %d hits, by %s, want %d of %d", policy, on, k, q, len(got.Hits), got.Total, got.Executor, len(want.Hits), want.Total)
					}
					if on == ProcessorCPU && !strings.HasPrefix(got.Executor, "cpu") || on == ProcessorGPU && i%7 < 5 && i%3 != 2 && got.Executor != "gpu+cpu/bmm" {
						t.Errorf("processor %d: ran on %s", on, got.Executor)
					}
				}
				if !reflect.DeepEqual(together[i].Hits, want.Hits) {
					t.Fatalf("%v, k %d, query %d of a batch differs", policy, k, i)
				}
			}
		}
		if res := ix.search(queries[0], &SearchOptions{Exec: &Exec{Algorithm: AlgorithmWAND}}); res.Executor != "cpu/wand" {
			t.Errorf("%v: a search by WAND ran on %s", policy, res.Executor)
		}
		for _, q := range queries {
			want, err := plain.Count(t.Context(), q)
			ix.must(err)
			before := ix.gpuBatches()
			if got, err := ix.Count(t.Context(), q); err != nil || got != want {
				t.Fatalf("%v, count of %+v: %d, error %v, want %d", policy, q, got, err, want)
			}
			if m, flat := q.(Match); policy == accelerator.Devices && flat && strings.Contains(m.Text, " w") && ix.gpuBatches() == before {
				t.Errorf("%v: the count of %+v ran on no device", policy, q)
			}
		}
		st, err := ix.Stats()
		ix.must(err)
		if s := st.GPU.Searches; s.Batches == 0 || s.OnBoth == 0 || s.Refused == 0 || a.plans+b.plans == 0 {
			t.Errorf("%v: %+v", policy, s)
		}
	}
}

// gpuBatches is how many batches devices had.
func (ix *testIndex) gpuBatches() int64 {
	ix.t.Helper()
	st, err := ix.Stats()
	ix.must(err)
	return int64(st.GPU.Searches.Batches)
}

// TestGPULost: after a loss searches go on, the listener is told, and a GPU that is demanded is an
// error.
func TestGPULost(t *testing.T) {
	broken := errors.New("broken")
	events := make(chan GPUEvent, 1)
	o := withDevices(&GPUOptions{Policy: GPUPolicyGPU, BatchDelay: time.Microsecond}, &halfDevice{fail: broken})
	o.Listener = &Listener{GPUFailed: func(ev GPUEvent) { events <- ev }}
	ix := newIndex(t, o)
	ix.put("1", map[string]any{"t": "a b c"})
	if res := ix.search(match("t", "a b"), nil); len(res.Hits) != 1 || res.Executor != "cpu/bmm" {
		t.Errorf("%d hits by %s", len(res.Hits), res.Executor)
	}
	if ev := <-events; !ev.Lost || !errors.Is(ev.Err, broken) || ev.Device != 0 {
		t.Errorf("was told %+v", ev)
	}
	if _, err := ix.Search(t.Context(), match("t", "a b"), &SearchOptions{Processor: ProcessorGPU}); !errors.Is(err, ErrNoDevice) {
		t.Errorf("a search that demands the GPU: %v", err)
	}
	if res := ix.search(match("t", "a b"), nil); len(res.Hits) != 1 {
		t.Errorf("%d hits", len(res.Hits))
	}
}

// TestNoGPU: a GPU may be missing if it is only allowed, but not if it is required. This holds on
// any machine, since none has GPU number 1,000.
func TestNoGPU(t *testing.T) {
	o := &GPUOptions{Devices: []int{1000}}
	ix := newIndex(t, &Options{GPU: o})
	ix.put("1", map[string]any{"t": "a"})
	if res := ix.search(match("t", "a"), nil); res.Executor != "cpu/bmm" {
		t.Errorf("ran on %s", res.Executor)
	}
	st, err := ix.Stats()
	ix.must(err)
	if st.GPU == nil || !strings.Contains(st.GPU.NoGPU, "no GPU device") {
		t.Errorf("%+v does not say why there is no GPU", st.GPU)
	}
	for _, err := range []error{
		func() error {
			_, err := ix.Search(t.Context(), All{}, &SearchOptions{Processor: ProcessorGPU})
			return err
		}(),
		func() error {
			_, err := Open(t.TempDir(), &Options{GPU: &GPUOptions{Devices: []int{1000}, Required: true}})
			return err
		}(),
		ix.Warm(t.Context(), nil, nil),
	} {
		if !errors.Is(err, ErrNoDevice) {
			t.Errorf("error %v, want ErrNoDevice", err)
		}
	}
}

// TestGPUOptions: an error names each invalid field.
func TestGPUOptions(t *testing.T) {
	for _, test := range []struct {
		o    GPUOptions
		want string
	}{
		{GPUOptions{Devices: []int{0, 0}}, "Devices: 0 is negative or comes twice"},
		{GPUOptions{Devices: []int{-1}}, "Devices: -1"},
		{GPUOptions{MemoryBytes: -1}, "MemoryBytes"},
		{GPUOptions{Policy: GPUPolicyCPU + 1}, "Policy"},
		{GPUOptions{Layout: GPULayoutRanges + 1}, "Layout: there is no GPULayout(3)"},
		{GPUOptions{BatchQueries: -1}, "BatchQueries"},
		{GPUOptions{BatchQueries: 1 << 40}, "BatchQueries must be 0 to 65536, not 1099511627776"},
		{GPUOptions{BatchBytes: -1}, "BatchBytes"},
		{GPUOptions{BatchBytes: 1 << 20}, "BatchBytes must be 0 or at least 4194304, not 1048576"},
		{GPUOptions{BatchBytes: 1 << 62}, "BatchBytes must be at most a third of the memory, 68719476736, not 4611686018427387904"},
		{GPUOptions{BatchBytes: 20 << 20, MemoryBytes: 32 << 20}, "BatchBytes must be at most a third of the memory, 33554432, not 20971520"},
		{GPUOptions{FlatBytes: -1}, "FlatBytes must not be negative, not -1"},
		{GPUOptions{HostBytes: -1, Stream: true}, "HostBytes must not be negative, not -1"},
		{GPUOptions{HostBytes: 1}, "HostBytes is for Stream, which is off"},
		{GPUOptions{Stream: true, NoFlat: true}, "Stream takes the place of FlatBytes and NoFlat"},
		{GPUOptions{FlatBytes: 1 << 20, NoFlat: true}, "FlatBytes must be 0 with NoFlat, not 1048576"},
		{GPUOptions{FlatBytes: 2 << 20, MemoryBytes: 1 << 20}, "FlatBytes must be less than MemoryBytes, 1048576, not 2097152"},
		{GPUOptions{BatchDelay: -1}, "BatchDelay"},
	} {
		err := (&Options{GPU: &test.o}).Validate()
		if err == nil || !strings.Contains(err.Error(), "Options.GPU: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: error %v, want one about %s", test.o, err, test.want)
		}
	}
	o := (&Options{GPU: &GPUOptions{Policy: GPUPolicyCPU, FlatBytes: 5000}}).String()
	for _, line := range []string{"gpu.policy=cpu\n", "gpu.layout=auto\n", "gpu.flat_bytes=5000\n", "gpu.no_flat=false\n", "gpu.host_bytes=0\n"} {
		if !strings.Contains(o, line) {
			t.Errorf("options print as\n%s, without %q", o, line)
		}
	}
}

// TestGPUOptionsArrive: an Engine passes all its options to the accelerator, except those that it
// handles itself.
func TestGPUOptionsArrive(t *testing.T) {
	var given GPUOptions
	from := reflect.ValueOf(&given).Elem()
	for i := range from.NumField() { // every field gets a value of its own
		switch f := from.Field(i); f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Float64:
			f.SetFloat(0.5)
		case reflect.Slice:
			f.Set(reflect.ValueOf([]int{i}))
		case reflect.Uint8:
			f.SetUint(uint64(GPUPolicyGPU))
		default:
			f.SetInt(int64(i + 1))
		}
	}
	to := reflect.ValueOf(given.accelerator())
	for i := range from.NumField() {
		name := from.Type().Field(i).Name
		if name == "Required" {
			continue
		}
		// The accelerator's policy has another type with the same names.
		if got, want := to.FieldByName(name), from.Field(i).Interface(); !got.IsValid() || fmt.Sprint(got.Interface()) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

// TestSearchBatch: without a GPU, too, a batch answers like single searches, and an error says
// which query it concerns.
func TestSearchBatch(t *testing.T) {
	ix := newIndex(t, nil)
	ix.fillWords(500)
	queries := gpuQueries(40)
	all, err := ix.SearchBatch(t.Context(), queries, &SearchOptions{K: 5, Load: []string{"n"}})
	ix.must(err)
	for i, q := range queries {
		if want := ix.search(q, &SearchOptions{K: 5, Load: []string{"n"}}); !reflect.DeepEqual(all[i].Hits, want.Hits) {
			t.Errorf("query %d of a batch differs", i)
		}
	}
	if none, err := ix.SearchBatch(t.Context(), nil, nil); err != nil || len(none) != 0 {
		t.Errorf("a batch of nothing: %v, %v", none, err)
	}
	queries[17] = Match{Text: "no field"}
	var qe *QueryError
	if _, err := ix.SearchBatch(t.Context(), queries, nil); !errors.As(err, &qe) || !strings.Contains(err.Error(), "query 17: ") {
		t.Errorf("a bad query: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ix.SearchBatch(ctx, queries[:10], nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	s, err := ix.Snapshot()
	ix.must(err)
	defer s.Close()
	ix.put("new", map[string]any{"t": strings.Repeat("w1 ", 50)})
	old, err := s.SearchBatch(t.Context(), queries[:1], nil)
	ix.must(err)
	if len(old[0].Hits) > 0 && old[0].Hits[0].ID == "new" {
		t.Error("a snapshot sees what came after it")
	}
}

// TestPricesAreKept: what searches cost is known after the index is reopened.
func TestPricesAreKept(t *testing.T) {
	o := withDevices(&GPUOptions{Policy: GPUPolicyCPU}, new(halfDevice))
	ix := newIndex(t, o)
	ix.fillWords(100)
	prices := func() string {
		text, err := ix.accelerator.Model().MarshalJSON()
		ix.must(err)
		return string(text)
	}
	begin := prices()
	for _, q := range slices.Repeat(gpuQueries(28), 40) {
		ix.search(q, nil)
	}
	learnt := prices()
	if learnt == begin {
		t.Fatal("searches taught nothing")
	}
	ix.reopen(o)
	if again := prices(); again != learnt {
		t.Errorf("prices are\n%s, and were\n%s", again, learnt)
	}
}
