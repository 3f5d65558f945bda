package segment

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/riffle-search/riffle/columns"
)

// randomValues makes the values of a document by field. Those of most fields are of one kind, and some
// documents have several or none. In some segments all kinds mix in some fields.
func randomValues(rng *rand.Rand, n int, mixed bool) map[string][]columns.Value {
	number := func() columns.Value {
		switch rng.IntN(4) {
		case 0:
			return columns.OfFloat(float64(rng.IntN(100)) / 8)
		case 1:
			return columns.OfInt(int64(rng.Uint64()))
		case 2:
			return columns.OfInt(int64(rng.IntN(30) - 15))
		}
		return columns.OfUint(math.MaxUint64 - rng.Uint64N(5000))
	}
	keyword := func() columns.Value {
		return columns.OfString([]string{"", "a", "\x00n", fmt.Sprintf("key %d", int(rng.ExpFloat64()*5)), fmt.Sprintf("rare %x", rng.IntN(2*n))}[rng.IntN(5)])
	}
	instant := func() columns.Value {
		if mixed && rng.IntN(50) == 0 {
			return columns.OfTime(time.Date(-44+rng.IntN(3), 3, 15, 12, 0, 0, 0, time.UTC))
		}
		return columns.OfTime(time.Unix(1e9+int64(rng.IntN(1e6)), int64(rng.IntN(2))))
	}
	makers := map[string]func() columns.Value{
		"year":    func() columns.Value { return columns.OfInt(1800 + int64(rng.IntN(200))) },
		"serial":  func() columns.Value { return columns.OfUint(math.MaxInt64 + uint64(rng.IntN(1000))) },
		"price":   func() columns.Value { return columns.OfFloat(float64(rng.IntN(1e5)) / 4) },
		"when":    instant,
		"flag":    func() columns.Value { return columns.OfBool(rng.IntN(3) > 0) },
		"key":     keyword, // of a field that has terms, too
		"numbers": number,
		"any": func() columns.Value {
			return []func() columns.Value{number, keyword, instant, func() columns.Value { return columns.OfBool(true) }}[rng.IntN(4)]()
		},
	}
	values := map[string][]columns.Value{}
	for _, name := range slices.Sorted(maps.Keys(makers)) {
		if (name == "any" || name == "numbers") && !mixed || name == "any" && rng.IntN(3) > 0 {
			continue
		}
		times := 1
		if name != "serial" && rng.IntN(4) == 0 {
			times = rng.IntN(4)
		}
		for range times {
			v := makers[name]()
			values[name] = append(values[name], v)
			if rng.IntN(20) == 0 {
				values[name] = append(values[name], v)
			}
		}
	}
	return values
}

// addValues adds the values of the document to a chunk, in an order of their own.
func (d modelDoc) addValues(c *Chunk) {
	for name, values := range d.values {
		for _, v := range values {
			c.Value(name, v)
		}
	}
}

// requireColumns fails the test unless r has the columns of the model.
func requireColumns(t testing.TB, m model, r Reader) {
	t.Helper()
	_, sealed := r.(*Disk)
	requireColumnsOf(t, m, r.Columns(), r.Column, sealed)
}

func requireColumnsOf(t testing.TB, m model, listed []string, open func(field string) (*columns.Column, error), sealed bool) {
	t.Helper()
	fields := map[string]bool{"none": true}
	for _, d := range m {
		for name := range d.values {
			fields[name] = true
		}
	}
	if listed != nil || len(fields) == 1 {
		if want := slices.DeleteFunc(slices.Sorted(maps.Keys(fields)), func(name string) bool { return name == "none" }); !slices.Equal(listed, want) {
			t.Fatalf("columns %q, want %q", listed, want)
		}
	}
	for name := range fields {
		c, err := open(name)
		if err != nil {
			t.Fatalf("column of %q: %v", name, err)
		}
		if (c == nil) != (name == "none") {
			t.Fatalf("column of %q: %v", name, c)
		}
		if c == nil {
			continue
		}
		if err := c.Check(); err != nil {
			t.Fatalf("column of %q: %v", name, err)
		}
		requireColumn(t, m, name, c, sealed)
	}
}

func requireColumn(t testing.TB, m model, name string, c *columns.Column, sealed bool) {
	t.Helper()
	docs, count := 0, 0
	distinct := map[uint64]bool{}
	var mix columns.Mix
	var keys []uint64
	for doc, d := range m {
		var err error
		if keys, err = c.Append(keys[:0], uint32(doc)); err != nil {
			t.Fatalf("column of %q, document %d: %v", name, doc, err)
		}
		want := slices.SortedFunc(slices.Values(d.values[name]), columns.Compare)
		if len(keys) != len(want) {
			t.Fatalf("column of %q, document %d: %d values, want %d", name, doc, len(keys), len(want))
		}
		if len(want) > 0 {
			docs++
		}
		count += len(want)
		for i, k := range keys {
			got, err := c.Value(k)
			if err != nil || columns.Compare(got, want[i]) != 0 {
				t.Fatalf("column of %q, document %d: value %v, %v, want %v", name, doc, got.Any(), err, want[i].Any())
			}
			distinct[k] = true
			mix.Add(want[i])
		}
	}
	if c.SegmentDocs() != len(m) || c.Docs() != docs || c.Values() != int64(count) {
		t.Fatalf("column of %q: %d documents of %d with %d values, want %d of %d with %d", name, c.Docs(), c.SegmentDocs(), c.Values(), docs, len(m), count)
	}
	if d := c.Dictionary(); d != nil && d.Len() != len(distinct) {
		t.Fatalf("column of %q: %d terms, want %d", name, d.Len(), len(distinct))
	}
	if got, want := c.Kind(), mix.Kind(); got != want && (sealed || got == columns.Int) { // a view may have that of later values
		t.Fatalf("column of %q has kind %v, its values %v", name, got, want)
	}
}
