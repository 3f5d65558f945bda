package clustered

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/riffle-search/riffle/cluster"
	"github.com/riffle-search/riffle/cluster/topology"
)

// TestHandles: the map is read once a second; while it does not answer, requests go on with what was known, and only
// the first ones wait a little.
func TestHandles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		ix, err, reads, silent := &cluster.Index{}, error(nil), 0, false
		h := &handles{open: func(ctx context.Context, name string) (*cluster.Index, error) {
			mu.Lock()
			reads++
			wait := silent
			mu.Unlock()
			if wait {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			mu.Lock()
			defer mu.Unlock()
			return ix, err
		}}
		ask := func(want *cluster.Index, wantErr error, took time.Duration) {
			t.Helper()
			began := time.Now()
			got, err := h.index(t.Context(), "books")
			if got != want || !errors.Is(err, wantErr) || time.Since(began) != took {
				t.Errorf("%p, %v after %v, want %p, %v after %v", got, err, time.Since(began), want, wantErr, took)
			}
		}
		first := ix
		ask(first, nil, 0)
		ask(first, nil, 0)
		if reads != 1 {
			t.Errorf("the map was read %d times", reads)
		}
		time.Sleep(readEvery)
		ix = &cluster.Index{}
		second := ix
		ask(second, nil, 0)
		time.Sleep(readEvery)
		silent = true
		ask(second, nil, readWait)
		ask(second, nil, 0)
		time.Sleep(readFor)
		mu.Lock()
		silent, err = false, topology.ErrNoIndex
		mu.Unlock()
		ask(nil, topology.ErrNoIndex, 0)
		err = nil
		ask(second, nil, 0)
		h.forget("books")
		before := reads
		ask(second, nil, 0)
		if reads != before+1 {
			t.Error("a forgotten index is found without the map")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		time.Sleep(readEvery)
		silent = true
		if _, err := h.index(ctx, "books"); !errors.Is(err, context.Canceled) {
			t.Errorf("after the end of the request: %v", err)
		}
		time.Sleep(readFor)
	})
}
