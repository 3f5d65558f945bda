package scatter

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/columns"
)

// A merging merges the hits of the shards in the order of the search.
type merging struct {
	s     *search
	lists []list
	at    cursor // behind the hits that were taken

	groups map[string]*group // of a search with Collapse, by the term of their value
}

// A list is the hits of a shard.
type list struct {
	hits []riffle.Hit
	next int
	more bool // the shard may have others behind these
}

// A group is the documents of all shards that have one value.
type group struct {
	size  int
	shown bool // its hit comes before what the search continues with, or has been taken
}

// merge returns the page of the search from the hits of the shards, and the number of groups.
func (s *search) merge(ctx context.Context, results []*riffle.Result) (hits []Hit, groups int, err error) {
	m := &merging{s: s, lists: make([]list, len(results)), at: s.after}
	m.at.Shards = slices.Clone(m.at.Shards)
	for i, r := range results {
		if r == nil {
			continue // a shard is missing
		}
		m.lists[i] = list{hits: r.Hits, more: len(r.Hits) == s.k+s.from}
	}
	if s.given.Collapse != nil {
		if m.groups, err = groupsOf(results); err != nil {
			return nil, 0, err
		}
	}
	for n := 0; n < s.from+s.k; {
		best, err := m.best(ctx)
		if best < 0 || err != nil {
			return hits, len(m.groups), err
		}
		l := &m.lists[best]
		h := Hit{Hit: l.hits[l.next], Shard: best}
		l.next++
		m.at.Shards[best], h.Hit.Cursor = h.Hit.Cursor, riffle.Cursor{}
		if m.groups != nil {
			g, err := m.groupOf(&h)
			if err != nil {
				return nil, 0, err
			}
			if g.shown {
				continue // by a hit of another shard that comes before
			}
			g.shown, h.GroupSize = true, g.size
		}
		if n++; n > s.from {
			h.at = m.at
			h.at.Shards = slices.Clone(m.at.Shards)
			hits = append(hits, h)
		}
	}
	return hits, len(m.groups), nil
}

// best returns the shard whose next hit comes first, or -1 if there is none.
func (m *merging) best(ctx context.Context) (best int, err error) {
	best = -1
	for i := range m.lists {
		l := &m.lists[i]
		if l.next == len(l.hits) && l.more && m.groups != nil {
			if err := m.refill(ctx, i); err != nil {
				return -1, err
			}
		}
		if l.next == len(l.hits) {
			continue
		}
		if best < 0 {
			best = i
			continue
		}
		c, err := m.s.compare(&l.hits[l.next], &m.lists[best].hits[m.lists[best].next])
		if err != nil {
			return -1, err
		}
		if c < 0 {
			best = i
		}
	}
	return best, nil
}

// refill fetches the next hits of a shard, whose hits so far were mostly of groups that others showed.
func (m *merging) refill(ctx context.Context, i int) error {
	l := &m.lists[i]
	o := m.s.options(i)
	o.After, o.Collapse = m.at.Shards[i], &riffle.Collapse{Field: o.Collapse.Field}
	r, err := m.s.sessions[i].Search(ctx, m.s.query, &o)
	if err != nil {
		return fmt.Errorf("shard %d: %w", i, err)
	}
	*l = list{hits: r.Hits, more: len(r.Hits) == o.K}
	return nil
}

// groupsOf adds up the groups of all shards.
func groupsOf(results []*riffle.Result) (map[string]*group, error) {
	all := map[string]*group{}
	for _, r := range results {
		if r == nil {
			continue
		}
		for _, from := range r.GroupCounts {
			key, err := groupKey(from.Group)
			if err != nil {
				return nil, err
			}
			g := all[key]
			if g == nil {
				g = &group{}
				all[key] = g
			}
			g.size += from.Size
			g.shown = g.shown || from.Before
		}
	}
	return all, nil
}

func (m *merging) groupOf(h *Hit) (*group, error) {
	key, err := groupKey(h.Group)
	if err != nil {
		return nil, err
	}
	g := m.groups[key]
	if g == nil {
		return nil, fmt.Errorf("scatter: shard %d has a hit of the group %v, which it did not count", h.Shard, h.Group)
	}
	return g, nil
}

// groupKey tells groups apart: numbers that are equal are one, whatever their types. That of the documents
// without a value is empty.
func groupKey(v any) (string, error) {
	if v == nil {
		return "", nil
	}
	value, err := valueOf(v)
	return string(value.AppendTerm(nil)), err
}

// compare compares two hits in the order of the search.
func (s *search) compare(a, b *riffle.Hit) (int, error) {
	keys := s.given.Sort
	if len(keys) == 0 {
		return cmp.Compare(b.Score, a.Score), nil
	}
	for i := range keys {
		if c, err := compareKeys(&keys[i], a.Sort[i], b.Sort[i]); c != 0 || err != nil {
			return c, err
		}
	}
	return 0, nil
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
	x, err := valueOf(a)
	if err != nil {
		return 0, err
	}
	y, err := valueOf(b)
	if err != nil {
		return 0, err
	}
	c := columns.Compare(x, y)
	if k.Desc {
		c = -c
	}
	return c, nil
}

// valueOf returns a key of a hit as a value of a column, whose order is that of sorted searches.
func valueOf(v any) (columns.Value, error) {
	switch v := v.(type) {
	case int64:
		return columns.OfInt(v), nil
	case uint64:
		return columns.OfUint(v), nil
	case float64:
		return columns.OfFloat(v), nil
	case bool:
		return columns.OfBool(v), nil
	case string:
		return columns.OfString(v), nil
	case time.Time:
		return columns.OfTime(v), nil
	case riffle.Point:
		return columns.OfPlace(v), nil
	}
	return columns.Value{}, fmt.Errorf("scatter: a hit has a value of type %T", v)
}
