package aggregate

import (
	"cmp"
	"slices"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/geo"
	"github.com/riffle-search/riffle/internal/shapes"
)

// Geohashes is buckets by the cells of geohashes.
type Geohashes struct {
	Precision int // characters, 1 to geo.MaxGeohash
	Size      int // most buckets that are returned: the largest
	MinCount  int // of documents in a bucket that is returned, at least 1
}

func (Geohashes) kind() {}

func (Geohashes) class() class { return places }

// shift is how many bits of a key a cell does not tell apart.
func (g Geohashes) shift() int { return 64 - 5*g.Precision }

// StepOf implements scale: the cells of one precision follow each other.
func (g Geohashes) StepOf(v columns.Value) (int64, error) { return int64(v.Key >> g.shift()), nil }

func (Geohashes) next(step int64) int64 { return step + 1 }

func (g Geohashes) first(_ columns.Kind, step int64) uint64 { return uint64(step) << g.shift() }

func (g Geohashes) key(step int64) any { return geo.Geohash(uint64(step)<<g.shift(), g.Precision) }

// geohashes returns the largest buckets; of equal ones, those whose geohash comes first.
func (n *keyNode) geohashes(r *Result, found []foundBucket, k Geohashes) error {
	kept := make([]foundBucket, 0, len(found))
	r.Distinct = len(found)
	for _, b := range found {
		if r.Other += int(b.count); int(b.count) >= k.MinCount {
			kept = append(kept, b)
		}
	}
	slices.SortFunc(kept, func(a, b foundBucket) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(n.steps.stepOf(a.key), n.steps.stepOf(b.key)))
	})
	for _, b := range kept[:min(k.Size, len(kept))] {
		r.Other -= int(b.count)
		if err := n.add(r, k.key(n.steps.stepOf(b.key)), b); err != nil {
			return err
		}
	}
	return nil
}

// Rings are buckets of the documents with any point at a distance in an interval. They may overlap.
type Rings []Ring

// A Ring is the distances from From to below To.
type Ring struct {
	Origin   geo.Origin
	From, To float64

	// Regions of the points below From, and below To; nil for From 0, and for no To.
	Inner, Outer *shapes.Region
}

func (Rings) kind() {}

// documents sets the documents of a tile of a column of places with any point in the ring.
func (r *Ring) documents(c *columns.Column, tile int, sel *columns.Selection, set *tileSet) error {
	if r.Outer == nil {
		if _, err := c.Have(tile, set); err != nil {
			return err
		}
	} else if _, err := r.Outer.Tile(c, tile, set); err != nil {
		return err
	}
	if r.Inner == nil {
		return nil
	}
	if zone, some := c.Zone(tile); !some || zone.Docs == zone.Values {
		var inner tileSet
		if _, err := r.Inner.Tile(c, tile, &inner); err != nil {
			return err
		}
		for i := range set {
			set[i] &^= inner[i]
		}
		return nil
	}
	// One point may be nearer, and another one in the ring.
	if err := c.Select(tile, set, columns.All, sel); err != nil {
		return err
	}
	clear(set[:])
	for i, key := range sel.Keys {
		if d := r.Origin.ToKey(key); d >= r.From && (r.Outer == nil || d < r.To) {
			set[sel.Docs[i]/64&63] |= 1 << (sel.Docs[i] % 64)
		}
	}
	return nil
}
