package server

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/riffle-search/riffle"
)

// A host has the indexes of a Server by name: those that were mounted, and those in a directory of its own.
type host struct {
	mu      sync.RWMutex
	indexes map[string]*index
	busy    map[string]bool                    // names of indexes that are being created or dropped
	dir     *os.Root                           // nil without Options.Dir
	listen  func(name string) *riffle.Listener // for the engines of the directory
	forget  func(name string)                  // is told of indexes that have been dropped
	cache   cacheBudget
}

// An index is one that a Server serves.
type index struct {
	name    string
	engine  *riffle.Engine // nil for one of a Cluster
	at      Reader         // the engine, or sharded
	sharded Index
	owned   bool // in the directory of the host, which closes it and may drop it
}

var indexName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// dropped begins the names of folders whose index has been dropped, while their files are being removed.
const dropped = ".dropped-"

// checkIndexName admits names that are safe as those of folders on every system.
func checkIndexName(name string) error {
	if !indexName.MatchString(name) {
		p := kindRequest.fault("the name of an index has 1 to 64 small letters, digits, dots, hyphens and underscores, the first a letter or digit, unlike %q", name)
		p.Part = "index"
		return p
	}
	return nil
}

// open opens all indexes in Options.Dir.
func (h *host) open(o *Options) error {
	h.indexes, h.busy = map[string]*index{}, map[string]bool{}
	if o.Dir == "" {
		return nil
	}
	if err := os.MkdirAll(o.Dir, 0o777); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	dir, err := os.OpenRoot(o.Dir)
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	h.dir = dir
	folders, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	var names []string
	for _, f := range folders {
		if strings.HasPrefix(f.Name(), dropped) {
			if err := dir.RemoveAll(f.Name()); err != nil {
				return fmt.Errorf("server: the rest of a dropped index: %w", err)
			}
			continue
		}
		if f.IsDir() && checkIndexName(f.Name()) == nil {
			names = append(names, f.Name())
		}
	}
	for _, name := range names {
		if err := h.openOwned(name, nil, len(names)); err != nil {
			return fmt.Errorf("server: index %s: %w", name, err)
		}
	}
	h.divideCache()
	return nil
}

// openOwned opens an index in the directory, with the schema of a new one, and adds it. It will be one of so many.
func (h *host) openOwned(name string, schema *riffle.Schema, of int) error {
	share := max(leastCache, h.cache.bytes/int64(of))
	e, err := riffle.Open(filepath.Join(h.dir.Name(), name), &riffle.Options{Schema: schema, Listener: h.listen(name), CacheBytes: share})
	if err != nil {
		return err
	}
	if err := h.add(&index{name: name, engine: e, at: engineReader{e}, owned: true}); err != nil {
		return errors.Join(err, e.Close())
	}
	return nil
}

// add adds an index, whose name must be free.
func (h *host) add(ix *index) error {
	if err := checkIndexName(ix.name); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.indexes[ix.name] != nil {
		return kindExists.fault("%s", ix.name)
	}
	h.indexes[ix.name] = ix
	return nil
}

// find returns the index of a name, or nil.
func (h *host) find(name string) *index {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.indexes[name]
}

// all returns the indexes in the order of their names.
func (h *host) all() []*index {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.sorted()
}

// sorted is all for a caller that holds the lock.
func (h *host) sorted() []*index {
	list := make([]*index, 0, len(h.indexes))
	for _, name := range slices.Sorted(maps.Keys(h.indexes)) {
		list = append(list, h.indexes[name])
	}
	return list
}

// reserve keeps a name from all others that create or drop an index.
func (h *host) reserve(name string) (release func(), err error) {
	if h.dir == nil {
		return nil, kindReadOnly.fault("this server has no directory for indexes of its own")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.busy[name] {
		return nil, kindExists.fault("%s is just being created or dropped", name)
	}
	h.busy[name] = true
	return func() {
		h.mu.Lock()
		delete(h.busy, name)
		h.mu.Unlock()
	}, nil
}

// create makes a new index in the directory.
func (h *host) create(name string, schema *riffle.Schema) error {
	if err := checkIndexName(name); err != nil {
		return err
	}
	release, err := h.reserve(name)
	if err != nil {
		return err
	}
	defer release()
	if _, err := h.dir.Lstat(name); err == nil {
		return kindExists.fault("%s", name)
	}
	if err := h.openOwned(name, schema, len(h.all())+1); err != nil {
		return errors.Join(err, h.dir.RemoveAll(name))
	}
	h.divideCache()
	return nil
}

// drop closes an index of the directory and removes its files. Requests that use it meanwhile fail.
func (h *host) drop(name string) error {
	release, err := h.reserve(name)
	if err != nil {
		return err
	}
	defer release()
	h.mu.Lock()
	ix := h.indexes[name]
	if ix != nil && ix.owned {
		delete(h.indexes, name)
	}
	h.mu.Unlock()
	if ix == nil {
		return kindNoIndex.fault("%q", name)
	}
	if !ix.owned {
		return kindReadOnly.fault("%s was mounted by the program, which alone can remove it", name)
	}
	// Renamed first: a crash leaves a whole index, or one that no Server opens.
	err = ix.engine.Close()
	h.divideCache()
	h.forget(name)
	if err := errors.Join(err, h.dir.Rename(name, dropped+name)); err != nil {
		return err
	}
	return h.dir.RemoveAll(dropped + name)
}

// close closes the indexes of the directory.
func (h *host) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for name, ix := range h.indexes {
		if ix.owned {
			errs = append(errs, ix.engine.Close())
		}
		delete(h.indexes, name)
	}
	if h.dir != nil {
		errs = append(errs, h.dir.Close())
	}
	return errors.Join(errs...)
}
