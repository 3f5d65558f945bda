package aggregate

import (
	"math/bits"
	"slices"

	"github.com/riffle-search/riffle/columns"
)

// A keyNode has a bucket for each owner and each key of a value: of Terms and Cardinality, the
// value itself; of histograms, its step.
type keyNode struct {
	base
	lo, hi uint64 // keys of the column that count
	first  uint64 // of Terms: the key of the column that is key 0 of the state
	index  index  // cells are counts when there are no subs, else numbers of buckets plus 1

	// By number of the bucket.
	owners []uint32
	keys   []uint64
	counts []uint32

	missing []uint64 // by owner
	out     input    // for subs: scratch

	found   *grouped // for results; those of a Partial have nothing else
	numbers []int    // of buckets by owner, for those of Cardinality
}

// nestedSpan is the greatest number of keys for which an owner that is not the only one gets a row.
const nestedSpan = 4096

func newKeyNode(b base) *keyNode {
	n := &keyNode{base: b}
	span := uint64(0)
	if n.steps != nil {
		span = n.steps.span()
	} else if !n.field.interned {
		n.first, span = n.field.base, n.field.span
	}
	if n.column != nil {
		n.lo, n.hi = n.column.Bounds()
		if n.steps != nil {
			m := &n.steps.measure.segments[b.state.segment]
			n.lo, n.hi = m.lo, m.hi
			if !m.some {
				n.column = nil
			}
		} else {
			n.first, span = n.field.local(b.state.segment)
		}
	}
	most := int64(rowBytes)
	if n.depth == 0 {
		if limit := n.run.options.Bytes; limit > 0 {
			most = max(1<<20, limit/int64(4*max(1, n.run.options.Workers)))
		} else {
			most = 1 << 28
		}
		// A row much longer than there are documents is slower than a table.
		if span > 1<<16 && span > 4*uint64(n.run.docs) {
			span = 0
		}
	} else if span > nestedSpan {
		span = 0
	}
	n.index = newIndex(span, most)
	return n
}

func (n *keyNode) collect(in *input) error {
	if n.column == nil {
		n.lacks(in)
		return nil
	}
	zone, some := n.column.Zone(in.tile)
	if !some {
		n.lacks(in)
		return nil
	}
	if in.set != nil {
		done, err := n.collectSet(in, &zone)
		if done || err != nil {
			return err
		}
	}
	e := n.e
	if err := n.reader.join(in, e); err != nil {
		return err
	}
	n.addMissing(in)
	single := zone.Docs == zone.Values
	if zone.Least < n.lo || zone.Greatest > n.hi {
		n.keepCounting(in)
	}
	if n.steps != nil {
		if err := n.steps.places(n.state.segment, n.column.Kind(), e.keys); err != nil {
			return err
		}
	} else {
		for i := range e.keys {
			e.keys[i] -= n.first
		}
	}
	if !single {
		e.dropRepeated()
	}
	if len(n.subs) == 0 {
		n.countEntries(in)
		return nil
	}
	return n.passEntries(in)
}

// addMissing adds the documents that join found without a value.
func (n *keyNode) addMissing(in *input) {
	if in.set != nil {
		n.miss(in.owner, n.e.lacks)
		return
	}
	for _, owner := range n.e.lack {
		n.miss(owner, 1)
	}
}

func (n *keyNode) miss(owner uint32, docs int) {
	if docs > 0 {
		n.missing = grow(n.missing, owner)
		n.missing[owner] += uint64(docs)
	}
}

// lacks adds documents none of which has a value.
func (n *keyNode) lacks(in *input) {
	if in.set != nil {
		n.miss(in.owner, in.n)
	}
	for _, owner := range in.owners {
		n.miss(owner, 1)
	}
}

// collectSet adds a set of documents without looking at each, where that can be done.
func (n *keyNode) collectSet(in *input, zone *columns.Zone) (done bool, err error) {
	if zone.Least < n.lo || zone.Greatest > n.hi {
		return false, nil
	}
	key, last := zone.Least-n.first, zone.Greatest-n.first
	if n.steps != nil {
		kind := n.column.Kind()
		if key, err = n.steps.place(n.state.segment, kind, zone.Least); err != nil {
			return false, err
		}
		if last, err = n.steps.place(n.state.segment, kind, zone.Greatest); err != nil {
			return false, err
		}
	}
	if key == last {
		return true, n.addAll(in, key, zone)
	}
	if n.steps != nil && len(n.subs) == 0 && zone.Rising {
		if done, err := n.byRuns(in, key, last); done || err != nil {
			return done, err
		}
	}
	if n.steps != nil || len(n.subs) > 0 {
		if done, err := n.bySets(in, zone, key, last); done || err != nil || len(n.subs) > 0 {
			return done, err
		}
	}
	row := n.index.row(in.owner)
	if row == nil {
		return false, nil
	}
	switch {
	case n.steps != nil:
		done, err = n.steps.count(n.state.segment, n.column, in, row)
	case in.list != nil:
		done, err = true, n.column.CountList(in.tile, in.list, n.first, row)
	default:
		done, err = true, n.column.Count(in.tile, in.whole(), n.first, row)
	}
	if !done || err != nil {
		return false, err
	}
	lacking, err := n.lacking(in)
	n.miss(in.owner, lacking)
	return true, err
}

// fewBuckets is how many buckets of a tile are made as sets: about the number of comparisons of all
// values that takes as long as looking at each. Values that rise with the documents are not compared.
const fewBuckets, fewRising = 4, 64

// bySets adds a set of documents whose keys are first..last, a set for each key, if these are few.
func (n *keyNode) bySets(in *input, zone *columns.Zone, first, last uint64) (done bool, err error) {
	most := uint64(fewBuckets)
	if zone.Rising {
		most = fewRising
	}
	if last-first >= most || n.steps != nil && (n.steps.listed == nil || n.column.Kind() == columns.Terms) {
		return false, nil
	}
	lacking, err := n.lacking(in)
	if err != nil {
		return false, err
	}
	n.miss(in.owner, lacking)
	for key := first; ; key++ {
		lo, hi := key+n.first, key+n.first
		if n.steps != nil {
			lo, hi = n.steps.keysOf(n.state.segment, key)
		}
		var set tileSet
		if _, err := n.column.RangeTile(in.tile, lo, hi, &set); err != nil {
			return false, err
		}
		for i, w := range in.set {
			set[i] &= w
		}
		if docs := count(&set); docs > 0 {
			if err := n.addSet(in, key, &set, docs); err != nil {
				return false, err
			}
		}
		if key == last {
			return true, nil
		}
	}
}

// byRuns counts a set of documents whose steps are first..last, where those of each step follow those of
// the step before.
func (n *keyNode) byRuns(in *input, first, last uint64) (done bool, err error) {
	if last-first >= fewRising || n.steps.listed == nil || n.column.Kind() == columns.Terms {
		return false, nil
	}
	from := 0
	for key := first; ; key++ {
		end := in.docsOfAll
		if key < last {
			_, hi := n.steps.keysOf(n.state.segment, key)
			below, ok, err := n.column.Below(in.tile, hi+1)
			if !ok || err != nil {
				return false, err
			}
			end = below
		}
		if docs := countBetween(in.set, from, end); docs > 0 {
			*n.index.cell(in.owner, key) += uint32(docs)
		}
		if from = end; key == last {
			return true, nil
		}
	}
}

// lacking returns how many documents of a set have no value.
func (b *base) lacking(in *input) (n int, err error) {
	if zone, _ := b.column.Zone(in.tile); zone.Docs == in.docsOfAll {
		return 0, nil
	}
	var have tileSet
	if _, err := b.column.Have(in.tile, &have); err != nil {
		return 0, err
	}
	for i, w := range in.set {
		n += bits.OnesCount64(w &^ have[i])
	}
	return n, nil
}

// addAll adds a set of documents whose values all have one key.
func (n *keyNode) addAll(in *input, key uint64, zone *columns.Zone) error {
	set, docs := in.set, in.n
	var have tileSet
	if zone.Docs < in.docsOfAll {
		if _, err := n.column.Have(in.tile, &have); err != nil {
			return err
		}
		for i, w := range in.set {
			have[i] &= w
		}
		set, docs = &have, count(&have)
		n.miss(in.owner, in.n-docs)
	}
	if docs == 0 {
		return nil
	}
	return n.addSet(in, key, set, docs)
}

// addSet adds a set of documents, which is not empty, to a bucket.
func (n *keyNode) addSet(in *input, key uint64, set *tileSet, docs int) error {
	cell := n.index.cell(in.owner, key)
	if len(n.subs) == 0 {
		*cell += uint32(docs)
		return nil
	}
	bucket := n.bucketOf(cell, in.owner, key)
	n.counts[bucket] += uint32(docs)
	out := input{tile: in.tile, all: in.all, docsOfAll: in.docsOfAll, set: set, n: docs, owner: bucket}
	for _, s := range n.subs {
		if err := s.collect(&out); err != nil {
			return err
		}
	}
	return nil
}

// bucketOf returns the number of the bucket of a cell. It makes a bucket if there is none.
func (n *keyNode) bucketOf(cell *uint32, owner uint32, key uint64) uint32 {
	if *cell == 0 {
		n.owners, n.keys, n.counts = append(n.owners, owner), append(n.keys, key), append(n.counts, 0)
		*cell = uint32(len(n.counts))
	}
	return *cell - 1
}

// keepCounting drops entries whose keys do not count. Documents that have no other are missing.
func (n *keyNode) keepCounting(in *input) {
	e := n.e
	at := 0
	for i := 0; i < len(e.keys); {
		owner := in.owner
		if in.set == nil {
			owner = e.owners[i]
		}
		kept, d := at, e.docs[i]
		for ; i < len(e.keys) && e.docs[i] == d && (in.set != nil || e.owners[i] == owner); i++ {
			if k := e.keys[i]; k < n.lo || k > n.hi {
				continue
			}
			e.docs[at], e.keys[at] = d, e.keys[i]
			if in.set == nil {
				e.owners[at] = owner
			}
			at++
		}
		if at == kept {
			n.miss(owner, 1)
		}
	}
	e.cut(at)
}

func (e *entries) cut(n int) {
	e.docs, e.keys = e.docs[:n], e.keys[:n]
	if len(e.owners) > 0 {
		e.owners = e.owners[:n]
	}
}

// dropRepeated keeps one of equal keys of a document. They follow each other.
func (e *entries) dropRepeated() {
	at := 0
	for i, k := range e.keys {
		if at > 0 && e.docs[at-1] == e.docs[i] && e.keys[at-1] == k && (len(e.owners) == 0 || e.owners[at-1] == e.owners[i]) {
			continue
		}
		e.docs[at], e.keys[at] = e.docs[i], k
		if len(e.owners) > 0 {
			e.owners[at] = e.owners[i]
		}
		at++
	}
	e.cut(at)
}

// countEntries counts the entries, without subs.
func (n *keyNode) countEntries(in *input) {
	e := n.e
	if in.set == nil {
		for i, k := range e.keys {
			*n.index.cell(e.owners[i], k)++
		}
		return
	}
	if row := n.rowOfAll(in); row != nil {
		countKeys(row, e.keys)
		return
	}
	for _, k := range e.keys {
		*n.index.cell(in.owner, k)++
	}
}

// countKeys counts keys in a row. It goes through four parts of the keys at once: neighbors are often
// equal, and would wait for each other.
func countKeys(row []uint32, keys []uint64) {
	n := len(keys) / 4
	first, second, third, fourth := keys[:n], keys[n:2*n], keys[2*n:3*n], keys[3*n:]
	for i := range n {
		row[first[i]]++
		row[second[i]]++
		row[third[i]]++
		row[fourth[i]]++
	}
	for _, k := range fourth[n:] {
		row[k]++
	}
}

// rowOfAll returns the row of the cells of all entries, if there is one.
func (n *keyNode) rowOfAll(in *input) []uint32 {
	if in.set == nil {
		return nil
	}
	return n.index.row(in.owner)
}

// passEntries counts the entries and hands the documents to the subs.
func (n *keyNode) passEntries(in *input) error {
	e, out := n.e, &n.out
	*out = input{tile: in.tile, all: in.all, docsOfAll: in.docsOfAll, docs: e.docs, owners: out.owners[:0]}
	out.owners = slices.Grow(out.owners, len(e.keys))[:len(e.keys)]
	if row := n.rowOfAll(in); row != nil {
		for i, k := range e.keys {
			cell := row[k]
			if cell == 0 {
				cell = n.bucketOf(&row[k], in.owner, k) + 1
			}
			n.counts[cell-1]++
			out.owners[i] = cell - 1
		}
	} else {
		for i, k := range e.keys {
			owner := in.owner
			if in.set == nil {
				owner = e.owners[i]
			}
			bucket := n.bucketOf(n.index.cell(owner, k), owner, k)
			n.counts[bucket]++
			out.owners[i] = bucket
		}
	}
	if len(out.docs) == 0 {
		return nil
	}
	for _, s := range n.subs {
		if err := s.collect(out); err != nil {
			return err
		}
	}
	return nil
}

func (n *keyNode) merge(from node, owners []uint32) error {
	f := from.(*keyNode)
	segment := f.state.segment
	for owner, docs := range f.missing {
		if docs > 0 {
			n.miss(owners[owner], int(docs))
		}
	}
	if n.mergeRows(f, owners) {
		return nil
	}
	// Keys of the run are found together, so that terms are read in order.
	type cell struct{ owner, value uint32 }
	var cells []cell
	var keys []uint64
	f.index.each(func(owner uint32, key uint64, value uint32) {
		cells, keys = append(cells, cell{owner, value}), append(keys, key)
	})
	if n.steps == nil && len(keys) > 0 {
		var err error
		if keys, err = n.field.globals(segment, keys); err != nil {
			return err
		}
	}
	var buckets []uint32
	if len(n.subs) > 0 {
		buckets = make([]uint32, len(f.counts))
	}
	for i, c := range cells {
		to := n.index.cell(owners[c.owner], keys[i])
		if len(n.subs) == 0 {
			*to += c.value
			continue
		}
		bucket := n.bucketOf(to, owners[c.owner], keys[i])
		n.counts[bucket] += f.counts[c.value-1]
		buckets[c.value-1] = bucket
	}
	for i, s := range n.subs {
		if err := s.merge(f.subs[i], buckets); err != nil {
			return err
		}
	}
	return nil
}

// mergeRows adds rows of counts whose keys are those of the run.
func (n *keyNode) mergeRows(f *keyNode, owners []uint32) bool {
	if len(n.subs) > 0 || n.index.span == 0 || n.index.span != f.index.span || f.index.hashed.n > 0 || n.steps == nil && n.field.interned {
		return false
	}
	for owner, from := range f.index.rows {
		if from == nil {
			continue
		}
		if n.index.adopt(owners[owner], from) {
			continue
		}
		row := n.index.row(owners[owner])
		for key, docs := range from {
			if docs == 0 {
				continue
			}
			if row != nil {
				row[key] += docs
			} else {
				*n.index.cell(owners[owner], uint64(key)) += docs
			}
		}
	}
	return true
}

func (n *keyNode) own() int64 {
	return n.index.bytes() + 4*int64(cap(n.owners)+cap(n.counts)) + 8*int64(cap(n.keys)+cap(n.missing))
}

func (n *keyNode) bytes() int64              { return n.own() + n.subBytes() }
func (n *keyNode) heaviest() (string, int64) { return n.heaviestOf(n.own()) }
