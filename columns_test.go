package riffle

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/document"
)

// columnValues are the values of a document's columns by field, ascending.
type columnValues map[string][]columns.Value

// sameColumns compares the columns of a snapshot with those of its documents by id.
func sameColumns(s *Snapshot, want map[string]columnValues) error {
	fields := map[string]bool{}
	for _, values := range want {
		for name := range values {
			fields[name] = true
		}
	}
	v, seen := s.v, 0
	for i := range v.Segments() {
		part := v.Segment(i)
		cols := map[string]*columns.Column{}
		for name := range fields {
			c, err := v.Column(i, name)
			if err != nil {
				return err
			}
			if c != nil && c.SegmentDocs() != int(part.Reader().Docs()) {
				return fmt.Errorf("part %d has %d documents, the column of %q %d", i, part.Reader().Docs(), name, c.SegmentDocs())
			}
			cols[name] = c
		}
		accept := part.Accept()
		for doc := range part.Reader().Docs() {
			if accept != nil && accept[doc/64]>>(doc%64)&1 == 0 {
				continue
			}
			seen++
			home := v.SegmentOf(part.Base() + doc)
			id, err := home.Reader().ID(part.Base() + doc - home.Base())
			if err != nil {
				return err
			}
			for name, c := range cols {
				if err := sameValues(c, doc, want[id][name]); err != nil {
					return fmt.Errorf("part %d, document %q, column of %q: %w", i, id, name, part.At(err))
				}
			}
		}
	}
	if seen != len(want) {
		return fmt.Errorf("%d documents, want %d", seen, len(want))
	}
	return nil
}

// sameValues compares the values of a document in a column, which may be nil.
func sameValues(c *columns.Column, doc uint32, want []columns.Value) error {
	var keys []uint64
	var err error
	if c != nil {
		keys, err = c.Append(nil, doc)
	}
	if err != nil {
		return err
	}
	var got []columns.Value
	for _, k := range keys {
		v, err := c.Value(k)
		if err != nil {
			return err
		}
		got = append(got, v)
	}
	if !slices.EqualFunc(got, want, func(a, b columns.Value) bool { return columns.Compare(a, b) == 0 }) {
		return fmt.Errorf("values %v, want %v", got, want)
	}
	return nil
}

// valuesOf returns the values that the columns of a document have, as the rules of fields say it:
// everything that is no text, without the fields of the schema below that have no column.
func valuesOf(t testing.TB, doc map[string]any) columnValues {
	t.Helper()
	flat, err := document.Flatten(doc)
	if err != nil {
		t.Fatal(err)
	}
	values := columnValues{}
	for i := range flat {
		v := &flat[i]
		if strings.HasPrefix(v.Name, "key") || v.Kind != document.KindText && v.Name != "none" && v.Name != "hidden" {
			values[v.Name] = append(values[v.Name], v.Column())
		} else if v.Name == "day" {
			at, err := document.ParseTime(v.Str)
			if err != nil {
				t.Fatal(err)
			}
			values[v.Name] = append(values[v.Name], columns.OfTime(at))
		}
	}
	for _, list := range values {
		slices.SortFunc(list, columns.Compare)
	}
	return values
}

// columnSchema has every type, fields without a column, and fields that only have one.
var columnSchema = &Schema{Fields: map[string]Field{
	"key": {Type: FieldKeyword}, "keyrange": {Type: FieldKeyword, NoIndex: true, Column: ColumnStored}, "n": {Type: FieldNumber}, "day": {Type: FieldDate}, "flag": {Type: FieldBool},
	"none": {Type: FieldNumber, Column: ColumnNone}, "hidden": {Type: FieldNumber, NoIndex: true}, "ranged": {Type: FieldNumber, NoIndex: true, NoStore: true, Column: ColumnStored},
	"body": {CopyFrom: []string{"text"}},
}}

// columnDocument makes a document with values of every kind: several, none, and such that make columns of
// one field differ in kind from segment to segment.
func columnDocument(rng *rand.Rand, era int) map[string]any {
	doc := map[string]any{"text": "some words", "other": rng.IntN(1000)}
	number := func() any {
		switch rng.IntN(20) {
		case 0:
			return []any{0.5, -0.25, math.MaxFloat64, -math.SmallestNonzeroFloat64}[rng.IntN(4)]
		case 1:
			return []any{uint64(math.MaxUint64), uint64(math.MaxInt64 + 1), uint64(math.MaxUint64 - 1)}[rng.IntN(3)]
		case 2:
			return []any{int64(math.MinInt64), int64(math.MaxInt64), int64(1<<53 + 1)}[rng.IntN(3)]
		}
		return rng.IntN(100) - 50
	}
	doc["count"] = rng.IntN(1 << era)
	if era%2 == 1 {
		doc["n"], doc["count"] = number(), float64(rng.IntN(1000))/4
	} else if rng.IntN(3) > 0 {
		doc["n"] = rng.IntN(1e6)
	}
	if rng.IntN(4) > 0 {
		doc["day"] = time.Unix(1e9+int64(rng.IntN(1e8)), int64(rng.IntN(3))).In(time.FixedZone("x", 3600))
	} else if rng.IntN(2) == 0 {
		doc["day"] = []any{"2024-01-05", time.Date(2024, 1, 4, 0, 0, 0, 1, time.UTC)}
	} else if era%3 == 2 {
		doc["day"] = time.Date(1, 2, 3, 4, 5, 6, 7, time.UTC) // has no nanoseconds since 1970
	}
	if rng.IntN(2) == 0 {
		doc["flag"], doc["nested"] = rng.IntN(2) == 0, map[string]any{"n": rng.IntN(3), "text": "x", "on": true}
	}
	key := func() string {
		return []string{"", "a", "\x00i", "é", fmt.Sprint("k", rng.IntN(20)), fmt.Sprint("era", era, " ", rng.IntN(200))}[rng.IntN(6)]
	}
	if rng.IntN(5) > 0 {
		doc["key"], doc["keyrange"] = []string{key(), key(), "twice", "twice"}[:1+rng.IntN(4)], key()
	}
	if rng.IntN(3) == 0 {
		doc["none"], doc["hidden"], doc["ranged"] = rng.IntN(9), rng.IntN(9), number()
	}
	if rng.IntN(3) == 0 {
		doc["mixed"] = []any{"text", number(), rng.IntN(2) == 0, number()}[:1+rng.IntN(4)]
	}
	return doc
}

// TestColumns puts documents with values of every kind, and reads the columns back through snapshots: of
// memory with and without a tail, after seals and merges in every order, with replaced and deleted
// documents, after Open, of an index made by Build, and with a cache that holds nothing.
func TestColumns(t *testing.T) {
	for _, order := range []DocOrder{OrderByArrival, OrderByGlobalScore, OrderByGraph, OrderByField} {
		t.Run(order.String(), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(16, uint64(order)))
			o := &Options{Schema: columnSchema, CacheBytes: 1, Merge: MergeOptions{Order: order, Disabled: true}}
			if order == OrderByField {
				o.Merge.OrderField, o.Merge.OrderDescending = "mixed", true
			}
			ix := newIndex(t, o)
			want := map[string]columnValues{}
			check := func(what string) {
				t.Helper()
				s, err := ix.Snapshot()
				ix.must(err)
				defer s.Close()
				if err := sameColumns(s, want); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
			}
			docs := 5200                                                                 // more than a tile, and than what has no tail
			if testing.Short() || order == OrderByGlobalScore || order == OrderByGraph { // which merge as by field
				docs = 700
			}
			early, err := ix.Snapshot()
			ix.must(err)
			var earlier map[string]columnValues
			for era := range 4 {
				for first := 0; first < docs>>(era&1); {
					var b Batch
					n := min(docs-first, []int{docs, 1, 40, 300}[rng.IntN(4)])
					for range n {
						id := fmt.Sprint(era*docs/2 + first + rng.IntN(5)) // some come again
						doc := columnDocument(rng, era)
						b.Put(id, doc)
						want[id] = valuesOf(t, doc)
						first++
						if rng.IntN(20) == 0 {
							gone := fmt.Sprint(rng.IntN(2 * docs))
							b.Delete(gone)
							delete(want, gone)
						}
					}
					ix.must(ix.Apply(ctx, &b))
					if rng.IntN(8) == 0 {
						check("in memory")
					}
				}
				check("in memory")
				switch era {
				case 0:
					ix.reopen(o)
					check("from the log")
					early, err = ix.Snapshot()
					ix.must(err)
					earlier = maps.Clone(want)
				case 2:
					continue // two segments, one of them in memory
				}
				ix.flush()
				check("sealed")
				if era == 1 {
					ix.must(ix.Compact(ctx))
					check("merged")
				}
			}
			if err := sameColumns(early, earlier); err != nil {
				t.Errorf("an early snapshot: %v", err)
			}
			early.Close()
			ix.reopen(o)
			check("reopened")
			ix.must(ix.Compact(ctx))
			check("merged again")
			ix.must(checkAll(ix.Engine))
			if s, err := ix.Sizes(ctx); err != nil || s.Columns == 0 {
				t.Errorf("sizes %+v, %v", s, err)
			}
			st, err := ix.Stats()
			ix.must(err)
			if !slices.Contains(st.Segments[0].Features, "columns") {
				t.Errorf("features %q", st.Segments[0].Features)
			}
		})
	}
}

// TestBuildColumns: Build makes the columns of all documents, in one segment and in several.
func TestBuildColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 7))
	want := map[string]columnValues{}
	var docs []Document
	for i := range 3000 {
		doc := columnDocument(rng, i/1000)
		docs = append(docs, Document{ID: fmt.Sprint(i), Fields: doc})
		want[fmt.Sprint(i)] = valuesOf(t, doc)
	}
	for _, memory := range []int64{0, 100 << 10} { // one segment, and several
		dir := filepath.Join(t.TempDir(), "index")
		o := &BuildOptions{Index: Options{Schema: columnSchema}, Workers: 3, private: privateBuild{blockBytes: 20 << 10, runBytes: memory}}
		source := Documents(func(yield func(Document, error) bool) {
			for _, d := range docs {
				if !yield(d, nil) {
					return
				}
			}
		})
		if _, err := Build(ctx, dir, source, o); err != nil {
			t.Fatal(err)
		}
		e, err := Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := e.Snapshot()
		if err == nil {
			err = sameColumns(s, want)
			s.Close()
		}
		if err != nil {
			t.Errorf("memory %d: %v", memory, err)
		}
		if err := checkAll(e); err != nil {
			t.Error(err)
		}
		e.Close()
	}
}

// TestReindexColumns: an index without columns keeps none, whatever happens to it, and Reindex adds them.
func TestReindexColumns(t *testing.T) {
	earlier := &Schema{Fields: map[string]Field{"key": {Type: FieldKeyword}}, Columns: ColumnNone}
	ix := newIndex(t, &Options{Schema: earlier})
	rng := rand.New(rand.NewPCG(16, 9))
	want := map[string]columnValues{}
	for i := range 50 {
		doc := map[string]any{"n": rng.IntN(9), "key": fmt.Sprint("k", i%7), "text": "some words", "big": uint64(math.MaxUint64) - uint64(i)}
		ix.put(fmt.Sprint(i), doc)
		want[fmt.Sprint(i)] = valuesOf(t, doc)
		if i == 25 {
			ix.flush()
		}
	}
	requireNone := func() {
		t.Helper()
		s, err := ix.Snapshot()
		ix.must(err)
		defer s.Close()
		for i := range s.v.Segments() {
			for _, field := range []string{"n", "key", "big"} {
				if c, err := s.v.Column(i, field); c != nil || err != nil {
					t.Errorf("field %q has the column %v, %v", field, c, err)
				}
			}
		}
	}
	requireNone()
	ix.must(ix.Compact(ctx))
	ix.reopen(nil)
	requireNone()
	ix.must(ix.Close())
	if _, err := Open(ix.dir, &Options{Schema: &Schema{Columns: ColumnStored}}); err == nil || !strings.Contains(err.Error(), "Schema.Columns: the index has none, not stored; Reindex makes") {
		t.Errorf("columns for an index without: %v", err)
	}
	ix.open(nil)
	s, err := ix.Snapshot()
	ix.must(err)
	defer s.Close()
	dir := filepath.Join(t.TempDir(), "again")
	schema := ix.Schema()
	schema.Columns = ColumnStored
	if _, err := Reindex(ctx, s, dir, &BuildOptions{Index: Options{Schema: schema}}); err != nil {
		t.Fatal(err)
	}
	e, err := Open(dir, nil)
	ix.must(err)
	defer e.Close()
	again, err := e.Snapshot()
	ix.must(err)
	defer again.Close()
	if err := sameColumns(again, want); err != nil {
		t.Error(err)
	}
}
