package aggregate

import (
	"errors"

	"github.com/riffle-search/riffle/columns"
)

// A setNode has buckets that are sets of the documents of a tile: those with a value in a range, those
// that pass a filter, those without a value. Bucket owner*size + i is the i-th of an owner.
type setNode struct {
	base
	size    int
	counts  []uint64
	missing []uint64 // of Ranges and Rings, by owner

	bounds []keyRange // of Ranges
	set    tileSet    // scratch
	sel    columns.Selection
	out    input
}

// A keyRange is a range in the keys of a segment.
type keyRange struct {
	lo, hi uint64
	some   bool
	err    error
}

func newSetNode(b base) *setNode {
	n := &setNode{base: b, size: 1}
	switch k := n.Of.(type) {
	case Ranges:
		n.size = len(k)
		if n.column == nil {
			break
		}
		for _, r := range k {
			var b keyRange
			b.lo, b.hi, b.some, b.err = n.column.Keys(r.From, r.To)
			n.bounds = append(n.bounds, b)
		}
	case Filters:
		n.size = len(k)
	case Rings:
		n.size = len(k)
	}
	return n
}

// find sets the documents of a tile that are of bucket i of any owner.
func (n *setNode) find(i int, in *input, set *tileSet) error {
	switch k := n.Of.(type) {
	case Ranges:
		b := &n.bounds[i]
		if b.err != nil || !b.some {
			clear(set[:])
			return b.err
		}
		if in.few() {
			n.findAmong(b, set)
			return nil
		}
		_, err := n.column.RangeTile(in.tile, b.lo, b.hi, set)
		return err
	case Rings:
		if n.column.Kind() != columns.Place {
			return errors.New("the field has values that are not places")
		}
		return k[i].documents(n.column, in.tile, &n.sel, set)
	case Filters:
		bits := n.run.segments[n.state.segment].Sets[k[i]]
		if bits == nil {
			*set = *in.all
			return nil
		}
		clear(set[:])
		copy(set[:], bits[min(len(bits), in.tile*tileWords):])
		return nil
	}
	if n.column == nil {
		*set = *in.all
		return nil
	}
	if _, err := n.column.Have(in.tile, set); err != nil {
		return err
	}
	for i, w := range in.all {
		set[i] = w &^ set[i]
	}
	return nil
}

// fewDocs is how many documents of a tile are few: their values are read, rather than all compared with each
// range.
const fewDocs = 16

func (in *input) few() bool { return in.n <= fewDocs && len(in.docs) <= fewDocs }

// findAmong is find for a range, of documents whose values collect has read.
func (n *setNode) findAmong(b *keyRange, set *tileSet) {
	clear(set[:])
	for i, key := range n.e.keys {
		if b.lo <= key && key <= b.hi {
			set[n.e.docs[i]/64&63] |= 1 << (n.e.docs[i] % 64)
		}
	}
}

func (n *setNode) collect(in *input) error {
	switch n.Of.(type) {
	case Ranges, Rings:
		if err := n.countMissing(in); err != nil || n.column == nil {
			return err
		}
	}
	if len(n.bounds) > 0 && in.few() {
		if err := n.reader.join(in, n.e); err != nil {
			return err
		}
	}
	for i := range n.size {
		if err := n.find(i, in, &n.set); err != nil {
			return err
		}
		var err error
		if in.set != nil {
			err = n.passSet(i, in)
		} else {
			err = n.passPairs(i, in)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bucket returns the number of a bucket, which it makes if need be.
func (n *setNode) bucket(owner uint32, i int) uint32 {
	n.counts = grow(n.counts, (owner+1)*uint32(n.size)-1)
	return owner*uint32(n.size) + uint32(i)
}

func (n *setNode) passSet(i int, in *input) error {
	for j, w := range in.set {
		n.set[j] &= w
	}
	docs := count(&n.set)
	if docs == 0 {
		return nil
	}
	bucket := n.bucket(in.owner, i)
	n.counts[bucket] += uint64(docs)
	if len(n.subs) == 0 {
		return nil
	}
	set := n.set
	return n.pass(&input{tile: in.tile, all: in.all, docsOfAll: in.docsOfAll, set: &set, n: docs, owner: bucket})
}

func (n *setNode) pass(out *input) error {
	for _, s := range n.subs {
		if err := s.collect(out); err != nil {
			return err
		}
	}
	return nil
}

func (n *setNode) passPairs(i int, in *input) error {
	n.out = input{tile: in.tile, all: in.all, docsOfAll: in.docsOfAll, docs: n.out.docs[:0], owners: n.out.owners[:0]}
	out := &n.out
	for j, d := range in.docs {
		if n.set[d/64]>>(d%64)&1 == 0 {
			continue
		}
		bucket := n.bucket(in.owners[j], i)
		n.counts[bucket]++
		out.docs, out.owners = append(out.docs, d), append(out.owners, bucket)
	}
	if len(n.subs) == 0 || len(out.docs) == 0 {
		return nil
	}
	return n.pass(out)
}

// countMissing counts the documents without a value.
func (n *setNode) countMissing(in *input) error {
	if n.column == nil {
		clear(n.set[:])
	} else if zone, _ := n.column.Zone(in.tile); zone.Docs == columns.TileDocs {
		return nil
	} else if _, err := n.column.Have(in.tile, &n.set); err != nil {
		return err
	}
	if in.set != nil {
		var lack tileSet
		for i, w := range in.set {
			lack[i] = w &^ n.set[i]
		}
		if docs := count(&lack); docs > 0 {
			n.missing = grow(n.missing, in.owner)
			n.missing[in.owner] += uint64(docs)
		}
		return nil
	}
	for j, d := range in.docs {
		if n.set[d/64]>>(d%64)&1 == 0 {
			n.missing = grow(n.missing, in.owners[j])
			n.missing[in.owners[j]]++
		}
	}
	return nil
}

func (n *setNode) merge(from node, owners []uint32) error {
	f := from.(*setNode)
	for owner, docs := range f.missing {
		if docs > 0 {
			n.missing = grow(n.missing, owners[owner])
			n.missing[owners[owner]] += docs
		}
	}
	buckets := make([]uint32, len(f.counts))
	for b, docs := range f.counts {
		if docs > 0 {
			buckets[b] = n.bucket(owners[b/n.size], b%n.size)
			n.counts[buckets[b]] += docs
		}
	}
	for i, s := range n.subs {
		if err := s.merge(f.subs[i], buckets); err != nil {
			return err
		}
	}
	return nil
}

func (n *setNode) result(owner uint32) (*Result, error) {
	r := &Result{}
	if int(owner) < len(n.missing) {
		r.Missing = int(n.missing[owner])
	}
	for i := range n.size {
		b, bucket := Bucket{Key: i}, uint32(noBucket)
		if at := uint64(owner)*uint64(n.size) + uint64(i); at < uint64(len(n.counts)) {
			b.Count, bucket = int(n.counts[at]), uint32(at)
		}
		for _, s := range n.subs {
			sub, err := s.result(bucket)
			if err != nil {
				return nil, err
			}
			b.Sub = append(b.Sub, sub)
		}
		r.Buckets = append(r.Buckets, b)
	}
	return r, nil
}

func (n *setNode) metric(uint32, Metric) (float64, bool) { return 0, false }

func (n *setNode) own() int64                { return 8 * int64(cap(n.counts)+cap(n.missing)) }
func (n *setNode) bytes() int64              { return n.own() + n.subBytes() }
func (n *setNode) heaviest() (string, int64) { return n.heaviestOf(n.own()) }
