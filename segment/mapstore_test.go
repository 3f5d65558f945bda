package segment

import (
	"bytes"
	"context"
	"slices"
	"sort"
	"testing"
)

// A mapStore is a Sink that checks the order of keys, and a Source.
type mapStore struct {
	t      testing.TB
	keys   []string
	values map[string][]byte
	last   [3]string // of each of the three runs
	sorted bool
}

func newMapStore(t testing.TB) *mapStore { return &mapStore{t: t, values: make(map[string][]byte)} }

func (s *mapStore) Set(key, value []byte) error {
	run := 0
	if Kind(key[0]) >= kindPlain {
		run = 1
	}
	if k := Kind(key[0]); kindPositioned <= k && k < kindCoded {
		run = 2
	}
	k := string(key)
	if k <= s.last[run] {
		s.t.Fatalf("key %x (%s) follows %x (%s)", k, KeyString(key), s.last[run], KeyString([]byte(s.last[run])))
	}
	s.last[run] = k
	s.keys = append(s.keys, k)
	s.values[k] = bytes.Clone(value)
	s.sorted = false
	return nil
}

func (s *mapStore) sort() {
	if !s.sorted {
		slices.Sort(s.keys)
		s.sorted = true
	}
}

func (s *mapStore) Get(key []byte) ([]byte, error) { return s.values[string(key)], nil }

func (s *mapStore) Ceil(key, upper []byte) (first, value []byte, err error) {
	s.sort()
	at := sort.SearchStrings(s.keys, string(key))
	if at == len(s.keys) || s.keys[at] >= string(upper) {
		return nil, nil, nil
	}
	return []byte(s.keys[at]), bytes.Clone(s.values[s.keys[at]]), nil
}

func (s *mapStore) Scan(lower, upper []byte) (Iterator, error) {
	s.sort()
	from := sort.SearchStrings(s.keys, string(lower))
	to := sort.SearchStrings(s.keys, string(upper))
	return &mapIterator{s: s, keys: s.keys[from:max(from, to)]}, nil
}

// delete removes a key.
func (s *mapStore) delete(key string) {
	s.keys = slices.DeleteFunc(s.keys, func(k string) bool { return k == key })
	delete(s.values, key)
}

// A mapIterator reuses one buffer for all keys and values, and overwrites earlier ones.
type mapIterator struct {
	s          *mapStore
	keys       []string
	key, value []byte
}

func (it *mapIterator) Next() bool {
	for _, lent := range [][]byte{it.key, it.value} {
		for i := range lent {
			lent[i] = 0xcc
		}
	}
	if len(it.keys) == 0 {
		return false
	}
	it.key = append(it.key[:0], it.keys[0]...)
	it.value = append(it.value[:0], it.s.values[it.keys[0]]...)
	it.keys = it.keys[1:]
	return true
}

func (it *mapIterator) Key() []byte   { return it.key }
func (it *mapIterator) Value() []byte { return it.value }
func (it *mapIterator) Err() error    { return nil }
func (it *mapIterator) Close() error  { return nil }

// merge merges into a new store, opens the result and checks it.
func merge(t testing.TB, inputs []Input, opts MergeOptions) (*Disk, *Result, *mapStore) {
	t.Helper()
	s := newMapStore(t)
	res, err := Merge(context.Background(), s, inputs, opts)
	if err != nil {
		t.Fatalf("Merge: %v", err)
	}
	d, err := Open(s)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	Check(context.Background(), s, func(err error) { t.Errorf("Check: %v", err) })
	if t.Failed() {
		t.FailNow()
	}
	return d, res, s
}
