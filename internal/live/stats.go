package live

import (
	"context"
	"slices"
	"strings"

	"github.com/riffle-search/riffle/internal/cache"
	"github.com/riffle-search/riffle/segment"
	"github.com/riffle-search/riffle/store"
)

// Stats are figures about an index. Sizes are in bytes.
type Stats struct {
	Docs, Deleted uint64 // live documents, and those deleted but not yet merged away
	Segments      []SegmentStats
	Fields        []FieldStats // by name
	MemoryBytes   int64        // of segments in memory
	CacheBytes    int64
	Lists         cache.Counts
	Resident      Resident
	Filters       cache.FilterCounts
	Stored        StoredCounts
	Pinned        PinnedStats
	LogRecords    uint64 // those that no sealed segment covers
	Written       Written
	Store         store.Stats
}

// Resident says what is in memory to make searches fast, in bytes.
type Resident struct {
	cache.Resident
	Segments int64 // norms, ranks, ids and their places, terms, bounds of tiles, updates
	Trigrams int64 // indexes of terms
	Stored   int64 // stored documents
	Blocks   int64 // of the store's tables
}

// Written says how many bytes were written since Open.
type Written struct {
	Log    uint64
	Seals  uint64 // segments made of documents in memory
	Merges uint64 // segments made of others
}

// SegmentStats are figures about one segment.
type SegmentStats struct {
	Number  uint64 // 0 in memory
	Sealed  bool
	Docs    uint32 // deleted ones included
	Deleted uint64
	Bytes   int64
	Order   segment.Order
	Format  segment.Format // of a sealed one
}

// FieldStats are figures about one indexed field, deleted documents included.
type FieldStats struct {
	Name     string
	Docs     uint64 // documents that have the field
	Terms    uint64 // distinct terms, added up over segments
	Postings uint64
	Tokens   uint64
	Norms    bool // lengths are kept
}

// Stats returns current figures.
func (ix *Index) Stats() (*Stats, error) {
	v, err := ix.Acquire()
	if err != nil {
		return nil, err
	}
	defer v.Release()
	st := &Stats{Docs: v.live, Pinned: ix.pinnedStats()}
	st.CacheBytes, _ = ix.lists.Bytes()
	st.Lists = ix.lists.Counts()
	st.Filters = ix.lists.FilterCounts()
	st.Stored = ix.stored.counts()
	st.Resident = Resident{Resident: ix.lists.Resident(), Stored: st.Stored.Bytes}
	for i := range v.segs {
		s := &v.segs[i]
		line := SegmentStats{Number: s.home.number, Sealed: s.home.disk != nil, Docs: s.reader.Docs(), Deleted: s.deleted.count(), Bytes: s.home.bytes, Order: s.reader.Order()}
		if line.Sealed {
			line.Format = s.home.disk.Format()
			st.Resident.Segments += s.home.disk.HeldBytes() + s.updates.heldBytes() + s.updates.logBytes()
		} else {
			line.Bytes = s.home.memory.Bytes()
			st.MemoryBytes += line.Bytes + s.updates.logBytes()
		}
		st.Deleted += line.Deleted
		st.Segments = append(st.Segments, line)
	}
	st.Fields = v.fields()
	ix.mu.Lock()
	st.LogRecords = ix.seq - ix.sealedSeq
	st.Written = ix.written
	ix.mu.Unlock()
	st.Store, err = ix.store.Stats()
	st.Written.Log = st.Store.LogWritten
	st.Resident.Blocks = st.Store.CacheBytes
	st.Resident.Trigrams = ix.trigrams.Used()
	return st, err
}

// Fields returns current figures about all fields, by name: those of Stats, at a fraction of its cost.
func (ix *Index) Fields() ([]FieldStats, error) {
	v, err := ix.Acquire()
	if err != nil {
		return nil, err
	}
	defer v.Release()
	return v.fields(), nil
}

func (v *View) fields() (list []FieldStats) {
	fields := map[string]*FieldStats{}
	for i := range v.segs {
		for _, f := range v.segs[i].reader.Fields() {
			addField(fields, f)
		}
	}
	for _, f := range fields {
		list = append(list, *f)
	}
	slices.SortFunc(list, func(a, b FieldStats) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Sizes reads all sealed segments and adds up their parts. It takes about as long
// as reading the index from disk.
func (ix *Index) Sizes(ctx context.Context) (segment.Sizes, error) {
	var sum segment.Sizes
	err := ix.apart(ctx, func(ctx context.Context) (err error) {
		v := ix.retain()
		defer v.Unref()
		sum, err = v.sizes(ctx)
		return err
	})
	if err != nil {
		return segment.Sizes{}, err // sum may still be written to
	}
	return sum, nil
}

func (v *View) sizes(ctx context.Context) (sum segment.Sizes, err error) {
	for i := range v.segs {
		s := v.segs[i].home
		if s.disk == nil {
			continue
		}
		part, err := s.disk.Sizes(ctx)
		if err != nil {
			return sum, s.at(err)
		}
		sum.Add(part)
	}
	return sum, nil
}

func addField(fields map[string]*FieldStats, f segment.FieldInfo) {
	t := fields[f.Name]
	if t == nil {
		t = &FieldStats{Name: f.Name}
		fields[f.Name] = t
	}
	t.Docs += uint64(f.Docs)
	t.Terms += f.Terms
	t.Postings += f.Postings
	t.Tokens += f.Tokens
	t.Norms = t.Norms || f.Norms
}
