package riffle

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestDeadline: answers do not depend on deadlines, on the CPU and with a GPU, whether searches are
// in time or late.
func TestDeadline(t *testing.T) {
	for _, test := range []struct {
		name string
		o    *Options
	}{{"cpu", &Options{SearchWorkers: 1}}, {"gpu", withDevices(&GPUOptions{Policy: GPUPolicyGPU}, &halfDevice{})}} {
		t.Run(test.name, func(t *testing.T) {
			ix := newIndex(t, test.o)
			ix.fillWords(2000)
			queries := gpuQueries(60)
			for _, from := range []int{0, 3} {
				plain, err := ix.SearchBatch(t.Context(), queries, &SearchOptions{From: from})
				ix.must(err)
				for _, deadline := range []time.Duration{1, time.Hour} {
					for _, on := range []Processor{ProcessorAuto, ProcessorCPU} {
						o := &SearchOptions{From: from, Deadline: deadline, Processor: on, FailLate: deadline == time.Hour}
						got, err := ix.SearchBatch(t.Context(), queries, o)
						ix.must(err)
						for i := range got {
							if !reflect.DeepEqual(got[i].Hits, plain[i].Hits) {
								t.Errorf("query %d, deadline %v: other hits", i, deadline)
							}
						}
					}
				}
			}
		})
	}
}

// TestFailLate: a search that is over before it begins fails, alone and in a batch, and the listener
// hears of it.
func TestFailLate(t *testing.T) {
	var late, others atomic.Int64 // searches that failed late, and others; those of a batch may end at once
	ix := newIndex(t, &Options{Listener: &Listener{Searched: func(ev SearchEvent) {
		if errors.Is(ev.Err, ErrLate) {
			late.Add(1)
		} else {
			others.Add(1)
		}
	}}})
	ix.fillWords(100)
	o := &SearchOptions{Deadline: 1, FailLate: true}
	q := Match{Field: "t", Text: "w1 w2"}
	_, err := ix.Search(t.Context(), q, o)
	if !errors.Is(err, ErrLate) || late.Load() != 1 || others.Load() != 0 {
		t.Errorf("%v; the listener: %d late, %d not", err, late.Load(), others.Load())
	}
	if _, err := ix.SearchBatch(t.Context(), []Query{q, q}, o); !errors.Is(err, ErrLate) {
		t.Errorf("of a batch: %v", err)
	}
	for _, o := range []*SearchOptions{{Deadline: -1}, {FailLate: true}} {
		if _, err := ix.Search(t.Context(), q, o); err == nil || !strings.Contains(err.Error(), "SearchOptions.") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ix.Search(ctx, q, &SearchOptions{Deadline: time.Hour}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled search: %v", err)
	}
}
