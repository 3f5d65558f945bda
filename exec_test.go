package riffle

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/riffle-search/riffle/cpuexec"
)

// TestParallelSearch: searches on several cores return exactly the hits of those on one core, alone
// and concurrently, and report how they ran.
func TestParallelSearch(t *testing.T) {
	ix := newIndex(t, &Options{SearchWorkers: 3, Merge: MergeOptions{Disabled: true}})
	for segment := range 3 {
		var b Batch
		for i := range 6000 {
			text := "every " + strings.Repeat("some ", i*i%7) + strings.Repeat("few ", max(0, i%11-8))
			b.Put(fmt.Sprintf("%d-%d", segment, i), map[string]any{"text": text})
		}
		ix.must(ix.Apply(ctx, &b))
		ix.must(ix.Flush(ctx))
	}
	queries := []Query{
		match("text", "every some few"),
		Match{Field: "text", Text: "every some few", Mode: ModeAnd},
		Match{Field: "text", Text: "some none", Mode: ModeAndOr},
		Bool{Must: []Query{match("text", "some few")}, MustNot: []Query{Term{"text", "few"}}},
		match("text", "none"),
	}
	var wg sync.WaitGroup
	for _, q := range queries {
		for _, k := range []int{1, 10, 1000} {
			whole := ix.search(q, &SearchOptions{K: k, ExactTotal: true, Exec: &Exec{Policy: PolicyInter}})
			if whole.Executor != "cpu/bmm" {
				t.Errorf("inter runs by %s", whole.Executor)
			}
			for policy := PolicyAdaptive; policy <= cpuexec.DOCP; policy++ {
				o := &SearchOptions{K: k, ExactTotal: true, Exec: &Exec{Grain: 1}}
				o.Exec.baseline = policy
				wg.Go(func() {
					for range 5 {
						r, err := ix.Search(ctx, q, o)
						if err != nil || !reflect.DeepEqual(r.Hits, whole.Hits) || r.Total != whole.Total {
							t.Errorf("%v, %v, k %d: %d hits of %d, whole %d of %d; %v", q, policy, k, len(r.Hits), r.Total, len(whole.Hits), whole.Total, err)
						}
					}
				})
			}
		}
	}
	wg.Wait()
	r := ix.search(queries[0], &SearchOptions{Exec: &Exec{Grain: 1}})
	if r.Executor != "cpu/bmm/adaptive" || r.Work.Tasks < 2 {
		t.Errorf("with idle cores a search runs by %s in %d tasks", r.Executor, r.Work.Tasks)
	}
	if r = ix.search(queries[0], &SearchOptions{Exec: &Exec{Grain: 1 << 20}}); r.Executor != "cpu/bmm" || r.Work.Tasks != 0 {
		t.Errorf("a search too short to cut runs by %s in %d tasks", r.Executor, r.Work.Tasks)
	}
}

// TestParallelWorkersEnd: workers start with the first search that can use help, and end with the
// Engine.
func TestParallelWorkersEnd(t *testing.T) {
	ix := newIndex(t, &Options{SearchWorkers: 9, private: privateOptions{spin: -1}})
	var b Batch
	for i := range 9000 {
		b.Put(fmt.Sprint(i), map[string]any{"text": "word"})
	}
	ix.must(ix.Apply(ctx, &b))
	ix.must(ix.Flush(ctx))
	before := runtime.NumGoroutine()
	ix.search(match("text", "word"), &SearchOptions{Exec: &Exec{Grain: 1}})
	if got := runtime.NumGoroutine() - before; got < 4 { // some of the Engine's own may have ended
		t.Errorf("%d more goroutines with 8 workers", got)
	}
	ix.must(ix.Close())
	for range 5000 {
		if runtime.NumGoroutine() < before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines after Close, %d before the workers started", runtime.NumGoroutine(), before)
}

// TestExecRefused: a search and Open refuse invalid values, and the policies that exist only for
// comparison.
func TestExecRefused(t *testing.T) {
	ix := newIndex(t, nil)
	_, err := ix.Search(ctx, All{}, &SearchOptions{Exec: &Exec{Algorithm: 77, Policy: cpuexec.FGQP, Grain: -3, Delta: -1}})
	for _, want := range []string{
		"SearchOptions.Exec: Algorithm: there is no Algorithm(77)", "Policy: must be PolicyAdaptive or PolicyInter, not fgqp",
		"Grain: must not be negative, not -3", "Delta: must not be negative, not -1",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

func TestParsePolicy(t *testing.T) {
	for p := PolicyAdaptive; p <= PolicyInter; p++ {
		if got, err := ParsePolicy(p.String()); err != nil || got != p {
			t.Errorf("ParsePolicy(%q) = %v, %v", p, got, err)
		}
	}
	if _, err := ParsePolicy("docp"); err == nil {
		t.Error("ParsePolicy takes a baseline")
	}
}

// TestExecOfOptions: counts, and searches without an Exec, run as Options.Exec says. Its algorithm
// keeps searches on the CPU, and a search may override that.
func TestExecOfOptions(t *testing.T) {
	ix := newIndex(t, &Options{SearchWorkers: 3, Exec: Exec{Algorithm: AlgorithmWAND, Policy: PolicyInter, Grain: 1}})
	var b Batch
	for i := range 9000 {
		b.Put(fmt.Sprint(i), map[string]any{"text": "word"})
	}
	ix.must(ix.Apply(ctx, &b))
	ix.must(ix.Flush(ctx))
	if r := ix.search(match("text", "word"), nil); r.Executor != "cpu/wand" {
		t.Errorf("runs by %s", r.Executor)
	}
	if r := ix.search(match("text", "word"), &SearchOptions{Exec: &Exec{Grain: 1}}); r.Executor != "cpu/bmm/adaptive" {
		t.Errorf("with an Exec of its own, it runs by %s", r.Executor)
	}
	if n, err := ix.Count(ctx, match("text", "word")); n != 9000 || err != nil {
		t.Errorf("%d documents, %v", n, err)
	}
}
