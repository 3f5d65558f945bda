package store

import (
	"slices"
	"sync"
	"sync/atomic"
	"weak"
)

// lentPages bounds the memory of mapped files that counts as the process's. It costs the system's page
// cache nothing extra, but it looks like memory of the process, whose user has set a budget.
//
// When more than the limit has been lent since the last time, the process gives all pages back. What
// is still in use comes back page by page, from the page cache; that takes some 0.1 us a page.
type lentPages struct {
	limit  int64
	bytes  atomic.Int64
	mu     sync.Mutex
	tables []weak.Pointer[mappedTable]

	copies sync.Pool // of *[]byte, for lentPages.find
}

// add notes a mapped table.
func (p *lentPages) add(t *mappedTable) {
	p.mu.Lock()
	defer p.mu.Unlock()
	gone := func(w weak.Pointer[mappedTable]) bool { return w.Value() == nil }
	p.tables = append(slices.DeleteFunc(p.tables, gone), weak.Make(t))
}

// count notes that bytes of a table are about to be lent.
func (p *lentPages) count(bytes int) {
	if p.bytes.Add(int64(bytes)) <= p.limit {
		return
	}
	p.bytes.Store(int64(bytes))
	p.giveBack()
}

// giveBack gives the pages of all tables back.
func (p *lentPages) giveBack() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.tables {
		if t := w.Value(); t != nil {
			t.giveBack()
		}
	}
}
