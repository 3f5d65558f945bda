package segment

import (
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/riffle-search/riffle/columns"
)

// A memoryValues is the column of a field of a Memory. Memory.mu guards it, but for what building guards.
type memoryValues struct {
	gatheredValues
	used int64 // memory, as counted in Memory.bytes

	building sync.Mutex // locked when Memory.mu is not
	growing  *valueEncoder
	grown    int   // values that growing has
	known    int   // terms of its dictionary: those with the numbers below
	encoded  int64 // memory of its column, as counted in Memory.bytes
}

// addValues appends the values of a chunk's documents. Views do not show them yet.
func (m *Memory) addValues(c *Chunk, first uint32) {
	for _, cv := range c.values {
		if cv.values.len() == 0 {
			continue
		}
		g := m.gatheredOf(cv)
		for i := 0; i < cv.values.len(); {
			end := min(i+lockedValues, cv.values.len())
			m.mu.Lock()
			g.add(cv, i, end, first)
			m.countValues(g)
			m.mu.Unlock()
			i = end
			runtime.Gosched() // to readers, and rather here than with the lock in hand
		}
	}
}

// lockedValues is how many values are added under one lock: some 20 µs.
const lockedValues = 512

// gatheredOf returns the column that a chunk adds to, which may be new.
func (m *Memory) gatheredOf(cv *chunkValues) *memoryValues {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.gathered(cv.name)
	g.begin(cv)
	return g
}

// gathered returns the column of a field, which may be new.
func (m *Memory) gathered(field string) *memoryValues {
	g := m.values[field]
	if g == nil {
		g = &memoryValues{gatheredValues: gatheredValues{name: strings.Clone(field)}}
		if m.values == nil {
			m.values = make(map[string]*memoryValues)
		}
		m.values[g.name] = g
	}
	return g
}

// addValue adds a value of a document.
func (m *Memory) addValue(doc uint32, v fieldValue) {
	one := chunkValues{name: v.field}
	key := v.value.Key
	if v.value.Kind == columns.Terms {
		key = uint64(one.terms.slot([]byte(v.value.Term)).number - 1)
	}
	one.values.add(0, v.value.Kind, key)
	g := m.gathered(v.field)
	g.begin(&one)
	g.add(&one, 0, 1, doc)
	m.countValues(g)
}

// countValues counts the growth of a column.
func (m *Memory) countValues(g *memoryValues) {
	size := g.bytes()
	if g.full() {
		size += arenaFull
	}
	m.bytes.Add(size - g.used)
	g.used = size
}

// A columnView is the values of a field in some documents of a Memory.
type columnView struct {
	of     *memoryValues
	values fieldValues
	terms  termTable // for its terms alone
	kind   columns.Kind
}

// columnOf returns the values of documents first to below end, or ok false if there are none.
func (m *Memory) columnOf(field string, first, end uint32) (v columnView, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.values[field]
	if g == nil {
		return columnView{}, false
	}
	v = columnView{of: g, values: g.values.of(first, end), kind: g.mix.Kind()}
	v.terms.ends, v.terms.arena = g.terms.ends, g.terms.arena
	return v, v.values.len() > 0
}

// Columns implements Reader.
func (v *MemoryView) Columns() []string {
	v.m.mu.Lock()
	defer v.m.mu.Unlock()
	var names []string
	for name, g := range v.m.values {
		if g.values.len() > 0 && g.values.docs[0] < v.docs {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Column implements Reader. The first call for a field encodes the values that no earlier view had; where
// there are new terms of a keyword, or the kind of the column has changed, it encodes all of them; only new
// terms are sorted.
func (v *MemoryView) Column(field string) (*columns.Column, error) {
	return v.columns.get(field, func() (*columns.Column, error) {
		col, ok := v.m.columnOf(field, 0, v.docs)
		if !ok {
			return nil, nil
		}
		return v.m.grow(col, v.docs)
	})
}

// grow makes the column of the first docs documents, if it can from that of an earlier view.
func (m *Memory) grow(v columnView, docs uint32) (*columns.Column, error) {
	g, n := v.of, v.values.len()
	g.building.Lock()
	defer g.building.Unlock()
	if g.growing != nil && g.grown > n { // for an earlier view, which is seldom asked so late
		e, err := encodeValues(v.values, &v.terms, v.kind, 0, nil)
		if err != nil {
			return nil, err
		}
		return e.builder.View(docs)
	}
	if e := g.growing; e == nil || e.kind != v.kind || v.kind == columns.Terms && !v.hasOnly(g.grown, g.known) {
		before := g.growing
		g.growing = nil
		var err error
		if before != nil && before.kind == columns.Terms && !v.mixed() {
			e, err = encodeAfter(before, v.values, &v.terms, v.kind, 0, nil)
		} else {
			e, err = encodeValues(v.values, &v.terms, v.kind, 0, nil)
		}
		if err != nil {
			return nil, err
		}
		g.growing, g.known = e, e.terms
	} else {
		more := v.values.between(g.grown, n)
		if err := e.add(&more, 0); err != nil {
			g.growing = nil
			return nil, err
		}
	}
	g.grown = n
	col, err := g.growing.builder.View(docs)
	if err == nil {
		parts, directory := col.Bytes()
		size := parts + directory + 4*int64(len(g.growing.ordinals)+len(g.growing.order)) + min(2*parts, pendingBytes)
		m.bytes.Add(size - g.encoded)
		g.encoded = size
	}
	return col, err
}

// pendingBytes is about what a large column takes that is not encoded yet: a tile, and a chunk and its copy
// in the last view.
const pendingBytes = 256 << 10

// mixed reports whether some values are no terms, or may be none.
func (v *columnView) mixed() bool { return v.values.kinds != nil || v.values.kind != columns.Terms }

// hasOnly reports whether the values from the given one on are terms with numbers below n.
func (v *columnView) hasOnly(from, n int) bool {
	if v.mixed() {
		return false
	}
	for _, number := range v.values.keys[from:] {
		if number >= uint64(n) {
			return false
		}
	}
	return true
}

// madeColumns are columns that a view has been asked for, nil where it has no value of a field.
type madeColumns struct {
	mu   sync.Mutex
	made map[string]*columns.Column
}

// get returns the column of a field, which it makes if needed.
func (m *madeColumns) get(field string, build func() (*columns.Column, error)) (*columns.Column, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, ok := m.made[field]; ok {
		return c, nil
	}
	c, err := build()
	if err != nil {
		return nil, err
	}
	if m.made == nil {
		m.made = make(map[string]*columns.Column)
	}
	m.made[strings.Clone(field)] = c
	return c, nil
}

// Column returns the column of a field of the tail's documents, or nil if none of them has a value.
func (t *MemoryTail) Column(field string) (*columns.Column, error) {
	return t.made.get(field, func() (*columns.Column, error) {
		v, ok := t.view.m.columnOf(field, t.first, t.view.docs)
		if !ok {
			return nil, nil
		}
		e, err := encodeValues(v.values, &v.terms, v.kind, t.first, nil)
		if err != nil {
			return nil, err
		}
		return e.builder.View(t.Docs())
	})
}
