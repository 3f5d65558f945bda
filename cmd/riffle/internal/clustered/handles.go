package clustered

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/riffle-search/riffle/cluster"
	"github.com/riffle-search/riffle/cluster/topology"
)

// handles are open indexes. A request does not read the map: that would cost it a round trip, and while the map has no
// leader, because a server has just gone, no request would find its index. So the map is read once a second for an index
// in use. A request that comes meanwhile waits a moment for the answer and then goes on with what was known.
type handles struct {
	open func(ctx context.Context, name string) (*cluster.Index, error)

	mu     sync.Mutex
	byName map[string]*handle
}

// A handle is an index that was open when the map was read last.
type handle struct {
	ix     *cluster.Index
	read   time.Time
	asking chan struct{} // closed when the map has been read again; nil if it is not being read
	asked  time.Time     // when that began
}

const (
	readEvery = time.Second
	readWait  = 100 * time.Millisecond // for a map that is being read
	readFor   = 10 * time.Second       // until it has failed
)

// index returns an open index. The error matches topology.ErrNoIndex if there is none of the name.
func (h *handles) index(ctx context.Context, name string) (*cluster.Index, error) {
	h.mu.Lock()
	k := h.byName[name]
	if k == nil {
		h.mu.Unlock()
		return h.first(ctx, name)
	}
	if time.Since(k.read) < readEvery {
		h.mu.Unlock()
		return k.ix, nil
	}
	if k.asking == nil {
		k.asking, k.asked = make(chan struct{}), time.Now()
		go h.again(name, k)
	}
	asking, wait := k.asking, readWait-time.Since(k.asked)
	h.mu.Unlock()
	if wait > 0 {
		select {
		case <-asking:
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if k = h.byName[name]; k == nil {
		return nil, topology.ErrNoIndex
	}
	return k.ix, nil
}

// first opens an index.
func (h *handles) first(ctx context.Context, name string) (*cluster.Index, error) {
	ix, err := h.open(ctx, name)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byName == nil {
		h.byName = map[string]*handle{}
	}
	h.byName[name] = &handle{ix: ix, read: time.Now()}
	return ix, nil
}

// again reads the map for an index that is open.
func (h *handles) again(name string, k *handle) {
	ctx, cancel := context.WithTimeout(context.Background(), readFor)
	defer cancel()
	ix, err := h.open(ctx, name)
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err == nil:
		k.ix, k.read = ix, time.Now()
	case errors.Is(err, topology.ErrNoIndex), errors.Is(err, cluster.ErrClosed):
		if h.byName[name] == k {
			delete(h.byName, name)
		}
	}
	close(k.asking)
	k.asking = nil
}

// forget closes nothing; it lets the next request read the map.
func (h *handles) forget(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.byName, name)
}
