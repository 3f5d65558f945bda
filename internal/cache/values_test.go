package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/segment"
)

// A mapSource is a segment in a map, which lends nothing. It may fail.
type mapSource struct {
	values map[string][]byte
	fails  error
}

func (s *mapSource) Set(key, value []byte) error {
	s.values[string(key)] = slices.Clone(value)
	return nil
}

func (s *mapSource) Get(key []byte) ([]byte, error) { return s.values[string(key)], s.fails }

func (s *mapSource) Ceil(_, _ []byte) (key, value []byte, err error) {
	return nil, nil, errors.New("not in this test")
}

func (s *mapSource) Scan(_, _ []byte) (segment.Iterator, error) {
	return nil, errors.New("not in this test")
}

const (
	valueFields = 20
	valueDocs   = 40_000
)

// valueOf is a value with some 24 bits.
func valueOf(field int, doc uint32) int64 {
	return int64(uint64(doc+1) * uint64(field+3) * 0x9e3779b97f4a7c15 >> 40)
}

// segmentOfValues makes a segment with the columns n0, n1, and so on.
func segmentOfValues(t *testing.T) (*segment.Disk, *mapSource) {
	t.Helper()
	var c segment.Chunk
	for doc := range uint32(valueDocs) {
		c.Begin(fmt.Sprint(doc))
		for f := range valueFields {
			c.Value(fmt.Sprint("n", f), columns.OfInt(valueOf(f, doc)))
		}
		c.End(0, nil)
	}
	c.Group(segment.OnePartition())
	m := segment.NewMemory()
	m.AddChunk(&c)
	s := &mapSource{values: map[string][]byte{}}
	if _, err := segment.Merge(context.Background(), s, []segment.Input{{Reader: m.View()}}, segment.MergeOptions{}); err != nil {
		t.Fatal(err)
	}
	d, err := segment.Open(s)
	if err != nil {
		t.Fatal(err)
	}
	return d, s
}

// TestValues reads columns in a cache that has room for a few of them.
func TestValues(t *testing.T) {
	d, source := segmentOfValues(t)
	const column = valueDocs * 3 // bytes
	c := NewLists(5 * column)
	read := func(field int, docs ...uint32) {
		t.Helper()
		col, err := c.Values(Values|7, fmt.Sprint("n", field), d.HoldColumn)
		if err != nil {
			t.Error(err)
			return
		}
		for _, doc := range docs {
			keys, err := col.Append(nil, doc)
			if err != nil || len(keys) != 1 || columns.KeyInt(keys[0]) != valueOf(field, doc) {
				t.Errorf("column %d, document %d: %v, %v", field, doc, keys, err)
			}
		}
	}
	if col, err := c.Values(Values|7, "none", d.HoldColumn); col != nil || err != nil {
		t.Errorf("a column that is not there: %v, %v", col, err)
	}
	if n, _ := c.Bytes(); n != 0 {
		t.Errorf("%d bytes before the first column", n)
	}
	read(0)
	opened, _ := c.Bytes()
	read(0, 5, 6)
	if n, _ := c.Bytes(); n <= opened || n > opened+column {
		t.Errorf("%d bytes after a document, %d before", n, opened)
	}
	var all []uint32
	for doc := uint32(0); doc < valueDocs; doc += 1000 {
		all = append(all, doc)
	}
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 3 * valueFields {
				read((i+5*worker)%valueFields, all...)
			}
		})
	}
	wg.Wait()
	read(1)
	if n, budget := c.Bytes(); n > budget || n < budget/2 {
		t.Errorf("%d bytes of %d are held", n, budget)
	}
	if r := c.Resident(); r.Values == 0 || r.Sum() != c.Measure() {
		t.Errorf("resident %+v, measured %d", r, c.Measure())
	}
	source.fails = errors.New("the disk is gone")
	if _, err := c.Values(Values|8, "n1", d.HoldColumn); !errors.Is(err, source.fails) {
		t.Errorf("a source that fails: %v", err)
	}
	source.fails = nil
	read(1, all...)
	c.DropSegment(Values | 7)
	if n, _ := c.Bytes(); n != 0 {
		t.Errorf("%d bytes of a segment that is gone", n)
	}
	read(1, all...)
}
