package segment

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
)

// writeBulkIDs writes the ids of a Bulk.
func (m *merger) writeBulkIDs(v *bulkView) error {
	v.sorting.Wait()
	m.twice = len(v.replaced) > 0
	return m.writeIDs()
}

// sortIDs sorts the ids, and finds the last of several documents with one id.
func (v *bulkView) sortIDs() {
	v.byID = sortedByBytes(int(v.docs), v.commonPrefix(), v.id)
	for i, doc := range v.byID {
		if i+1 < len(v.byID) && bytes.Equal(v.id(doc), v.id(v.byID[i+1])) {
			v.replaced = append(v.replaced, doc)
		}
	}
	slices.Sort(v.replaced)
}

// commonPrefix is the length of the prefix that all ids share.
func (v *bulkView) commonPrefix() int {
	if v.docs == 0 {
		return 0
	}
	first := v.id(0)
	n := len(first)
	for doc := range v.docs {
		n = sharedPrefix(first[:n], v.id(doc))
	}
	return n
}

// compareWork is the time of a comparison in postings (see pace).
const compareWork = 3

// sortedByBytes returns the numbers 0 to n-1, sorted by the bytes that of returns for them. The
// first skip bytes are the same for all. The sort is stable.
//
// Each number carries eight bytes of its key, so that most comparisons read nothing else.
func sortedByBytes(n, skip int, of func(uint32) []byte) []uint32 {
	type entry struct {
		key    uint64 // the bytes after those skipped, padded with zeros
		number uint32
	}
	var p pace
	entries := make([]entry, n)
	for i := range entries {
		p.add(compareWork)
		var key [8]byte
		copy(key[:], of(uint32(i))[skip:])
		entries[i] = entry{binary.BigEndian.Uint64(key[:]), uint32(i)}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		p.add(compareWork)
		if a.key != b.key {
			if a.key < b.key {
				return -1
			}
			return 1
		}
		if c := bytes.Compare(of(a.number), of(b.number)); c != 0 {
			return c
		}
		return cmp.Compare(a.number, b.number)
	})
	order := make([]uint32, n)
	for i, e := range entries {
		order[i] = e.number
	}
	return order
}

func (b *Bulk) id(doc uint32) []byte {
	start := uint32(0)
	if doc > 0 {
		start = b.idEnds[doc-1]
	}
	return b.ids[start:b.idEnds[doc]]
}

// Lookup implements Reader.
func (v *bulkView) Lookup(id string) (uint32, bool, error) {
	i, ok := v.search(id)
	for ok && i+1 < len(v.byID) && string(v.id(v.byID[i+1])) == id {
		i++
	}
	if !ok {
		return 0, false, nil
	}
	return v.byID[i], true, nil
}

// search finds the first place in the order of ids whose id is not below id.
func (v *bulkView) search(id string) (place int, found bool) {
	v.sorting.Wait()
	return slices.BinarySearchFunc(v.byID, id, func(doc uint32, id string) int { return strings.Compare(string(v.id(doc)), id) })
}

// IDs implements Reader.
func (v *bulkView) IDs(from string) (IDIterator, error) {
	first, _ := v.search(from)
	return &bulkIDs{v: v, docs: v.byID[first:], at: -1}, nil
}

// bulkIDs walks ids.
type bulkIDs struct {
	v    *bulkView
	docs []uint32
	at   int
}

func (it *bulkIDs) Next() bool   { it.at++; return it.at < len(it.docs) }
func (it *bulkIDs) ID() []byte   { return it.v.id(it.docs[it.at]) }
func (it *bulkIDs) Doc() uint32  { return it.docs[it.at] }
func (it *bulkIDs) Err() error   { return nil }
func (it *bulkIDs) Close() error { return nil }
