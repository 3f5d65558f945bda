package scatter

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/riffle-search/riffle"
)

// merge returns the page of the search from the hits of the shards.
func (s *search) merge(results []*riffle.Result) ([]Hit, error) {
	var compare func(a, b *riffle.Hit) int
	var fault error
	if keys := s.given.Sort; len(keys) == 0 {
		compare = func(a, b *riffle.Hit) int { return cmp.Compare(b.Score, a.Score) }
	} else {
		compare = func(a, b *riffle.Hit) int {
			for i := range keys {
				c, err := compareKeys(&keys[i], a.Sort[i], b.Sort[i])
				if err != nil {
					fault = err
				}
				if c != 0 {
					return c
				}
			}
			return 0
		}
	}
	at := s.after
	at.Shards = slices.Clone(at.Shards)
	next := make([]int, len(results))
	var hits []Hit
	for n := 0; n < s.from+s.k; n++ {
		best := -1
		for i, r := range results {
			if next[i] < len(r.Hits) && (best < 0 || compare(&r.Hits[next[i]], &results[best].Hits[next[best]]) < 0) {
				best = i
			}
		}
		if best < 0 || fault != nil {
			break
		}
		h := Hit{Hit: results[best].Hits[next[best]], Shard: best}
		next[best]++
		at.Shards = slices.Clone(at.Shards)
		at.Shards[best], h.Hit.Cursor = h.Hit.Cursor, riffle.Cursor{}
		if h.at = at; n >= s.from {
			hits = append(hits, h)
		}
	}
	return hits, fault
}

// compareKeys compares what two hits have for a key of the order.
func compareKeys(k *riffle.SortKey, a, b any) (int, error) {
	if a == nil || b == nil {
		if a == nil && b == nil {
			return 0, nil
		}
		if (a == nil) == (k.Missing == riffle.MissingFirst) {
			return -1, nil
		}
		return 1, nil
	}
	c, err := compareValues(a, b)
	if k.Desc {
		c = -c
	}
	return c, err
}

// compareValues compares values in the order of columns: numbers by their values, whatever their type.
func compareValues(a, b any) (int, error) {
	if x, ok := numberOf(a); ok {
		if y, ok := numberOf(b); ok {
			return x.compare(y), nil
		}
	}
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return strings.Compare(x, y), nil
		}
	case bool:
		if y, ok := b.(bool); ok {
			return cmp.Compare(bit(x), bit(y)), nil
		}
	case time.Time:
		if y, ok := b.(time.Time); ok {
			return x.Compare(y), nil
		}
	}
	return 0, fmt.Errorf("scatter: the shards have values of different types for a key of the order: %T and %T", a, b)
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A number is an int64, uint64 or float64.
type number struct {
	float    float64
	integer  uint64 // the magnitude, unless it is a float
	negative bool
	isFloat  bool
}

func numberOf(v any) (n number, ok bool) {
	switch v := v.(type) {
	case int64:
		if v < 0 {
			return number{integer: -uint64(v), negative: true}, true
		}
		return number{integer: uint64(v)}, true
	case uint64:
		return number{integer: v}, true
	case float64:
		return number{float: v, isFloat: true}, true
	}
	return n, false
}

func (n number) compare(o number) int {
	switch {
	case n.isFloat && o.isFloat:
		return cmp.Compare(n.float, o.float)
	case n.isFloat:
		return -o.compare(n)
	case !o.isFloat && n.negative != o.negative:
		return cmp.Compare(bit(o.negative), bit(n.negative))
	case !o.isFloat && n.negative:
		return cmp.Compare(o.integer, n.integer)
	case !o.isFloat:
		return cmp.Compare(n.integer, o.integer)
	case math.IsNaN(o.float):
		return 1 // as cmp.Compare, which has NaN first
	case math.IsInf(o.float, 0):
		return cmp.Compare(0, o.float)
	}
	x := new(big.Float).SetUint64(n.integer)
	if n.negative {
		x.Neg(x)
	}
	return x.Cmp(big.NewFloat(o.float))
}
