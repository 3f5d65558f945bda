package dispatch

import (
	"context"
	"testing"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
)

// A halfOpen leaves most documents of an empty plan open, after its due time.
type halfOpen struct{ *fakeDevice }

func (h halfOpen) Partials(_ context.Context, plans []*Plan) (all []blockmax.Partial, _ error) {
	for _, p := range plans {
		time.Sleep(50 * time.Millisecond)
		all = append(all, blockmax.Partial{
			Pass: blockmax.Or, Top: blockmax.TopK{Exact: true},
			Open: []blockmax.Span{{Segment: 1, To: p.Segments[1].Docs}},
		})
	}
	return all, nil
}

// TestBegunIsFinished: a query of which a device has answered a part is completed, however late.
func TestBegunIsFinished(t *testing.T) {
	d := New([]Device{halfOpen{newFake()}}, Options{Policy: Devices})
	defer d.Close()
	p := &Plan{K: 1, Segments: []blockmax.Segment{{Docs: 1000}, {Base: 1000, Docs: 10 * blockmax.TileDocs}}}
	due := time.Now().Add(20 * time.Millisecond)
	a, err := d.TopK(t.Context(), Query{Plan: p, CPU: cpuexec.Executor{}, On: OnGPU, Due: due, FailLate: true})
	if err != nil || a.By != OnBoth {
		t.Fatal(a.By, err)
	}
}
