package search

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/internal/plan"
)

// An eager accelerator asks for many searches in flight.
type eager struct{ accelerator.Accelerator }

func (eager) Appetite() int { return 12 }

// batchSearcher has two cores, and an eager accelerator or none.
func batchSearcher(t *testing.T, accelerated bool) *Searcher {
	o := Options{Preparer: func() (p plan.Preparer) { return p }, Cores: 2}
	if accelerated {
		o.Accelerator = eager{}
	}
	s := New(o)
	t.Cleanup(s.Close)
	return s
}

// TestBatch: each search begins once and ends once, the earlier ones first. A goroutine has at most
// its share of the accelerator's searches in flight, and one without an accelerator.
func TestBatch(t *testing.T) {
	for _, c := range []struct {
		accelerated bool
		most        int // in flight, of both goroutines
	}{{false, 2}, {true, 14}} {
		s := batchSearcher(t, c.accelerated)
		var mu sync.Mutex
		var began, ended []int
		most := 0
		err := s.Batch(t.Context(), 100,
			func(_ context.Context, i int) (*Run, error) {
				mu.Lock()
				defer mu.Unlock()
				began = append(began, i)
				most = max(most, len(began)-len(ended))
				return &Run{settings: Settings{From: i}}, nil
			},
			func(_ context.Context, i int, x *Run, err error, at time.Time) error {
				mu.Lock()
				defer mu.Unlock()
				if x.settings.From != i || err != nil || at.IsZero() {
					t.Errorf("search %d ends with the run of %d, %v, begun at %v", i, x.settings.From, err, at)
				}
				ended = append(ended, i)
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(began)
		slices.Sort(ended)
		if len(began) != 100 || len(slices.Compact(began)) != 100 || !slices.Equal(began, ended) {
			t.Errorf("accelerated %v: began %v, ended %v", c.accelerated, began, ended)
		}
		if most > c.most || c.accelerated && most < 7 {
			t.Errorf("accelerated %v: %d under way, want at most %d", c.accelerated, most, c.most)
		}
	}
}

// TestBatchFails: the first error ends a batch and is returned. Searches in flight are ended all
// the same, with that error as the cause of their context.
func TestBatchFails(t *testing.T) {
	fault := errors.New("fault")
	for _, early := range []bool{true, false} { // begin fails, or the answer
		s := batchSearcher(t, true)
		var mu sync.Mutex
		open := map[int]bool{}
		err := s.Batch(t.Context(), 1000,
			func(_ context.Context, i int) (*Run, error) {
				mu.Lock()
				defer mu.Unlock()
				if early && i == 50 {
					return nil, fault
				}
				open[i] = true
				return &Run{}, nil
			},
			func(ctx context.Context, i int, x *Run, err error, _ time.Time) error {
				mu.Lock()
				defer mu.Unlock()
				delete(open, i)
				if (x == nil) != (err != nil) {
					t.Errorf("search %d ends with the run %v and %v", i, x, err)
				}
				if !early && i == 50 {
					return fault
				}
				return errors.Join(err, context.Cause(ctx))
			})
		if !errors.Is(err, fault) {
			t.Errorf("begin fails %v: %v", early, err)
		}
		if len(open) != 0 {
			t.Errorf("begin fails %v: %v have not ended", early, open)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := batchSearcher(t, false).Batch(ctx, 0, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a batch of none whose context has ended: %v", err)
	}
}
