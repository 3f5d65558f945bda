package riffle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/riffle-search/riffle/columns"
)

// updatable is a schema whose fields updates can change.
var updatable = &Schema{Fields: map[string]Field{
	"text":  {Type: FieldText},
	"sold":  {Type: FieldNumber, NoIndex: true, Column: ColumnStored},
	"tag":   {Type: FieldKeyword, NoIndex: true, Column: ColumnStored},
	"seen":  {Type: FieldDate, NoIndex: true, Column: ColumnStored},
	"where": {Type: FieldPlace},
	"offer": {Type: FieldBool, NoIndex: true, Column: ColumnStored},
	"quiet": {Type: FieldNumber, NoIndex: true, NoStore: true, Column: ColumnStored},
}}

// layered are options under which also few updates are stored in layers.
var layered = &Options{Schema: updatable, Merge: MergeOptions{Disabled: true}, private: privateOptions{layerBytes: 1}}

// update applies one update.
func (ix *testIndex) update(id string, fields any) {
	ix.t.Helper()
	var b Batch
	b.Update(id, fields)
	ix.must(ix.Apply(ix.t.Context(), &b))
}

// An updatedDoc is what a document has after updates, as Get returns it, and in its columns.
type updatedDoc struct {
	fields map[string]any
	values columnValues
}

// randomUpdate changes a document and returns what to pass to Update.
func (d *updatedDoc) randomUpdate(r *rand.Rand) map[string]any {
	now := time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)
	number := func() any {
		return []any{r.IntN(40), r.IntN(40), float64(r.IntN(9)) / 4, math.MaxInt64, uint64(math.MaxUint64), -1e300}[min(5, r.IntN(80))]
	}
	update := map[string]any{}
	for name, value := range map[string]func() any{
		"sold":  number,
		"quiet": number,
		"tag":   func() any { return []string{"new", "", "\x00", fmt.Sprint("tag ", r.IntN(90))}[min(3, r.IntN(20))] },
		"seen":  func() any { return now.Add(time.Duration(r.IntN(1e6)) * time.Second) },
		"where": func() any { return Point{Lat: float64(r.IntN(180)) - 90, Lon: float64(r.IntN(360)) - 179.5} },
		"offer": func() any { return r.IntN(2) == 0 },
	} {
		if r.IntN(3) > 0 {
			continue
		}
		var list []any
		for range min(3, r.IntN(5)) {
			list = append(list, value())
		}
		switch len(list) {
		case 1:
			update[name] = list[0]
		case 0:
			update[name] = []any{nil, list}[r.IntN(2)]
		default:
			update[name] = list
		}
		d.set(name, list)
	}
	return update
}

// set notes the values of a field: Get returns them in ascending order.
func (d *updatedDoc) set(name string, list []any) {
	delete(d.fields, name)
	delete(d.values, name)
	var values []columns.Value
	for _, x := range list {
		switch x := x.(type) {
		case int:
			values = append(values, columns.OfInt(int64(x)))
		case uint64:
			values = append(values, columns.OfUint(x))
		case float64:
			if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
				values = append(values, columns.OfInt(int64(x)))
			} else {
				values = append(values, columns.OfFloat(x))
			}
		case string:
			values = append(values, columns.OfString(x))
		case bool:
			values = append(values, columns.OfBool(x))
		case Point:
			values = append(values, columns.OfPlace(x))
		case time.Time:
			values = append(values, columns.OfTime(x))
		}
	}
	if len(values) == 0 {
		return
	}
	slices.SortStableFunc(values, columns.Compare)
	d.values[name] = values
	if name == "quiet" {
		return
	}
	var plain []any
	for _, v := range values {
		plain = append(plain, v.Any())
	}
	d.fields[name] = plain[0]
	if len(plain) > 1 {
		d.fields[name] = plain
	}
}

// requireUpdated compares an engine with what its documents should have, in every way to read them.
func requireUpdated(t *testing.T, when string, e *Engine, want map[string]*updatedDoc) {
	t.Helper()
	s, err := e.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	values := map[string]columnValues{}
	sold, of := 0, map[string]bool{}
	for id, d := range want {
		values[id] = d.values
		got, err := s.Get(ctx, id)
		if err != nil || !reflect.DeepEqual(got, d.fields) {
			t.Fatalf("%s: get %s: %v %v, want %v", when, id, got, err, d.fields)
		}
		for _, v := range d.values["sold"] {
			if columns.Compare(v, columns.OfInt(20)) >= 0 {
				sold++
				of[id] = true
				break
			}
		}
	}
	if err := sameColumns(s, values); err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	q := Bool{Must: []Query{Match{Field: "text", Text: "every"}}, Filter: []Query{Range{Field: "sold", From: 20}}}
	res, err := s.Search(ctx, q, &SearchOptions{K: MaxK, Load: []string{"sold", "quiet"}, ExactTotal: true})
	if err != nil || res.Total != sold {
		t.Fatalf("%s: %d documents have sold 20, %v, want %d", when, res.Total, err, sold)
	}
	for _, h := range res.Hits {
		if d := want[h.ID]; !of[h.ID] || !reflect.DeepEqual(h.Fields["sold"], d.fields["sold"]) || h.Fields["quiet"] != nil {
			t.Fatalf("%s: hit %s has %v, want %v", when, h.ID, h.Fields, d.fields)
		}
	}
	if err := checkAll(e); err != nil {
		t.Fatalf("%s: check: %v", when, err)
	}
}

// TestUpdate makes random updates of all types of fields, wherever documents are: in memory, in several
// sealed segments, in several batches since the last seal, after a crash and in a read-only engine.
func TestUpdate(t *testing.T) {
	r := rand.New(rand.NewPCG(seedOf(t), 5))
	ix := newIndex(t, layered)
	want := map[string]*updatedDoc{}
	put := func(n int) {
		var b Batch
		for range n {
			id := fmt.Sprint("d", len(want))
			want[id] = &updatedDoc{map[string]any{"text": "every " + id}, columnValues{}}
			doc := want[id].randomUpdate(r)
			doc["text"] = "every " + id
			for name := range updatable.Fields { // Get returns what was put in its order
				if list, ok := doc[name].([]any); ok && len(list) > 1 {
					delete(doc, name)
					want[id].set(name, nil)
				}
			}
			b.Put(id, doc)
		}
		ix.must(ix.Apply(t.Context(), &b))
	}
	update := func(n int) {
		var b Batch
		for range n {
			id := fmt.Sprint("d", r.IntN(len(want)))
			b.Update(id, want[id].randomUpdate(r))
		}
		ix.must(ix.Apply(t.Context(), &b))
	}
	put(100)
	for round := range 4 {
		update(60)
		requireUpdated(t, "updated", ix.Engine, want)
		update(1)
		requireUpdated(t, "once more", ix.Engine, want)
		if round == 2 {
			ix.must(ix.Close())
			readOnly, err := Open(ix.dir, &Options{ReadOnly: true})
			ix.must(err)
			requireUpdated(t, "read-only", readOnly, want)
			ix.must(readOnly.Close())
			ix.open(layered)
		}
		ix.flush()
		requireUpdated(t, "flushed", ix.Engine, want)
		ix.reopen(layered)
		requireUpdated(t, "reopened", ix.Engine, want)
		put(30)
		update(20)
	}
	copied := ix.dir + ".copy"
	ix.must(ix.Checkpoint(t.Context(), copied))
	checkpoint, err := Open(copied, nil)
	ix.must(err)
	requireUpdated(t, "checkpoint", checkpoint, want)
	ix.must(checkpoint.Close())
	ix.must(ix.Compact(t.Context()))
	requireUpdated(t, "compacted", ix.Engine, want)
	ix.must(ix.Close())
	ix.must(eachKey(nil, ix.dir, func(key, _ []byte) error {
		if key[0] == 'C' {
			t.Errorf("a compacted index has the key %q", key)
		}
		return nil
	}))
}

// TestUpdateWhileMerging: updates that come while a merge runs, before and after a seal that stores them,
// are in the merged segment and survive.
func TestUpdateWhileMerging(t *testing.T) {
	ix := newIndex(t, layered)
	want := map[string]int{}
	for i := range 40 {
		id := fmt.Sprint("d", i)
		want[id] = i
		ix.put(id, map[string]any{"text": "every", "sold": i})
		if i%20 == 19 {
			ix.flush()
		}
	}
	update := func(from, n, sold int) {
		var b Batch
		for i := from; i < from+n; i++ {
			b.Update(fmt.Sprint("d", i), map[string]any{"sold": sold})
			want[fmt.Sprint("d", i)] = sold
		}
		ix.must(ix.Apply(t.Context(), &b))
	}
	require := func(when string) {
		t.Helper()
		for id, sold := range want {
			if got, err := ix.Get(t.Context(), id); err != nil || got["sold"] != int64(sold) {
				t.Fatalf("%s: %s has %v, %v, want %d", when, id, got, err, sold)
			}
			if n := len(ix.ids(Range{Field: "sold", From: sold, To: sold, IncludeTo: true})); n == 0 {
				t.Fatalf("%s: nothing has sold %d", when, sold)
			}
		}
	}
	update(0, 25, 100)
	old, err := ix.Snapshot()
	ix.must(err)
	defer old.Close()
	ix.must(ix.probe().MergeAround(t.Context(), func() {
		update(10, 12, 200)
		ix.flush() // stores them
		require("flushed")
		update(15, 2, 300)
		update(30, 2, 300)
		ix.put("d20", map[string]any{"text": "every", "sold": 400})
		want["d20"] = 400
		ix.must(ix.Delete(t.Context(), "d5"))
		delete(want, "d5")
		ix.put("d35", map[string]any{"text": "every", "sold": 1})
		update(35, 1, 500)
		require("while it runs")
	}))
	require("merged")
	if n, err := old.Count(t.Context(), Range{Field: "sold", From: 100}); err != nil || n != 25 {
		t.Errorf("the snapshot has %d documents that sold 100, %v, want 25", n, err)
	}
	update(16, 1, 600)
	require("updated")
	old.Close()
	ix.reopen(layered)
	require("reopened")
	ix.flush()
	ix.reopen(layered)
	require("reopened after a seal")
	ix.must(checkAll(ix.Engine))
}

// TestUpdateInBatch: the changes of a batch count in their order, and an id without a document changes
// nothing.
func TestUpdateInBatch(t *testing.T) {
	for _, sealed := range []bool{false, true} {
		ix := newIndex(t, &Options{Schema: updatable})
		for _, id := range []string{"put", "updated", "deleted", "twice"} {
			ix.put(id, map[string]any{"sold": 1})
		}
		if sealed {
			ix.flush()
		}
		var b Batch
		b.Update("put", map[string]any{"sold": 2})
		b.Put("put", map[string]any{"tag": "again"})
		b.Put("new", map[string]any{"sold": 1})
		b.Update("new", map[string]any{"sold": 3})
		b.Delete("deleted")
		b.Update("deleted", map[string]any{"sold": 4})
		b.Update("nobody", map[string]any{"sold": 5})
		b.Update("twice", map[string]any{"sold": 6, "offer": true})
		b.Update("twice", map[string]any{"sold": 7})
		b.Update("updated", struct {
			Sold *int   `riffle:"sold"`
			Tag  string `riffle:"tag"`
		}{nil, "struct"})
		ix.must(ix.Apply(t.Context(), &b))
		ix.eachState(func(state string) {
			for id, want := range map[string]map[string]any{
				"put": {"tag": "again"}, "new": {"sold": int64(3)}, "twice": {"sold": int64(7), "offer": true}, "updated": {"tag": "struct"},
			} {
				if got, err := ix.Get(t.Context(), id); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("sealed %v, %s: %s is %v, %v, want %v", sealed, state, id, got, err, want)
				}
			}
			if n := ix.Len(); n != 4 {
				t.Errorf("sealed %v, %s: %d documents, want 4", sealed, state, n)
			}
		})
	}
}

// TestUpdateCachedFilters: a filter that is cached shows updates of its fields, and stays cached when others
// are updated.
func TestUpdateCachedFilters(t *testing.T) {
	ix := newIndex(t, &Options{Schema: updatable})
	var b Batch
	const docs = 5000
	for i := range docs {
		b.Put(fmt.Sprint(i), map[string]any{"text": "every", "sold": i})
	}
	ix.must(ix.Apply(t.Context(), &b))
	count := func() int {
		q := Bool{Must: []Query{Match{Field: "text", Text: "every"}}, Filter: []Query{Range{Field: "sold", From: docs}}}
		return ix.search(q, &SearchOptions{ExactTotal: true}).Total
	}
	hits := func() int64 {
		st, err := ix.Stats()
		ix.must(err)
		return st.Filters.Hits
	}
	for _, sealed := range []bool{false, true} {
		if sealed {
			ix.flush()
		}
		before := count()
		for range 4 {
			count()
		}
		if ix.update("7", map[string]any{"tag": "other"}); count() != before {
			t.Errorf("an update of another field has changed the filter")
		}
		was := hits()
		if count(); hits() == was {
			t.Errorf("sealed %v: an update of another field has dropped the filter", sealed)
		}
		for i := range 3 {
			ix.update(fmt.Sprint(100*before+i), map[string]any{"sold": docs + i})
			for range 3 {
				if n := count(); n != before+i+1 {
					t.Errorf("sealed %v: %d documents pass, want %d", sealed, n, before+i+1)
				}
			}
		}
	}
}

// TestUpdateRefused: an update of a field that has more than a column is refused with all of its batch, by
// an error that says how to declare the field.
func TestUpdateRefused(t *testing.T) {
	schema := &Schema{Fields: map[string]Field{
		"sold":   {Type: FieldNumber, NoIndex: true, Column: ColumnStored},
		"price":  {Type: FieldNumber},
		"text":   {Type: FieldText},
		"plain":  {Type: FieldNumber, NoIndex: true},
		"rank":   {Type: FieldNumber, NoIndex: true, Column: ColumnStored},
		"source": {Type: FieldKeyword, NoIndex: true, Column: ColumnStored},
		"copy":   {Type: FieldText, CopyFrom: []string{"source"}},
		"seen":   {Type: FieldDate, NoIndex: true, Column: ColumnStored},
	}}
	ix := newIndex(t, &Options{Schema: schema, Rank: Rank{Field: "rank"}})
	ix.put("a", map[string]any{"sold": 1})
	for _, c := range []struct {
		field string
		value any
		want  string
	}{
		{"price", 1, "it has terms; an update changes fields that have their values in a column alone: declare it with NoIndex"},
		{"price", nil, "it has terms"},
		{"text", "x", "it is text"},
		{"plain", 1, "it has no column"},
		{"unknown", 1, "the schema does not declare it"},
		{"rank", 0.5, "static rank"},
		{"source", "x", `field "copy" has a copy of it`},
		{"sold", "many", "the schema wants number, not text"},
		{"seen", "yesterday-ish", "yesterday-ish"},
		{"sold", math.NaN(), "NaN is not a number"},
		{strings.Repeat("n", MaxNameBytes+1), 1, "a name of"},
		{"a\xff", nil, "not UTF-8"},
	} {
		var b Batch
		b.Update("a", map[string]any{"sold": 2})
		b.Update("a", map[string]any{c.field: c.value})
		var de *DocumentError
		if err := ix.Apply(t.Context(), &b); !errors.As(err, &de) || de.ID != "a" || de.Field == "" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.20q: %v, want %q", c.field, err, c.want)
		}
	}
	var b Batch
	b.Update("", map[string]any{"sold": 2})
	b.Update("a", 7)
	if err := ix.Apply(t.Context(), &b); err == nil || !strings.Contains(err.Error(), "an id must not be empty") || !strings.Contains(err.Error(), "a map or a struct") {
		t.Error(err)
	}
	if got, err := ix.Get(t.Context(), "a"); err != nil || got["sold"] != int64(1) {
		t.Errorf("after refused batches: %v, %v", got, err)
	}
}

// TestUpdatePlaces: an update reads a place in all the ways in which Put does, from its log, too.
func TestUpdatePlaces(t *testing.T) {
	ix := newIndex(t, &Options{Schema: &Schema{Fields: map[string]Field{
		"where": {Type: FieldPlace}, "where.type": {Type: FieldKeyword, NoIndex: true, Column: ColumnStored}, "stops": {Type: FieldPlace},
	}}})
	ix.put("put", map[string]any{})
	type position struct {
		Latitude  float32 `riffle:"lat"`
		Longitude float32 `riffle:"lng"`
	}
	at := func(lat, lon float64) map[string]any { return map[string]any{"lat": lat, "lon": lon} }
	for i, fields := range []any{
		map[string]any{"where": at(52.5, 13.25), "stops": []any{at(-1, 2), at(3, -4)}},
		map[string]any{"where": position{52.5, 13.25}, "stops": []position{{1, 2}, {3, 4}}},
		map[string]any{"where": map[string]any{"Lat": 52.5, "LNG": 13.25}},
		map[string]any{"where": "52.5,13.25", "stops": []string{"u33dc0", "1,2"}},
		map[string]any{"where": []float64{13.25, 52.5}, "stops": []float64{1, 2, 3, 4}},
		map[string]any{"stops": map[string]any{"type": "Point", "coordinates": []float64{13.25, 52.5}}},
		map[string]any{"stops": []any{"u33dc0", at(1, 2), Point{Lat: 3, Lon: 4}}},
		map[string]any{"where.lat": 52.5, "where.lon": 13.25, "where.type": "shop"}, // declared: no part of a place
		struct {
			Where position   `riffle:"where"`
			Stops []position `riffle:"stops"`
		}{position{52.5, 13.25}, []position{{1, 2}}},
		map[string]any{"where": at(52.5, 13.25), "stops": nil},
		map[string]any{"where": map[string]any{"lat": 52.5, "lng": 13.25, "lon": nil}},
	} {
		ix.put("updated", map[string]any{"where": Point{Lat: 9, Lon: 9}, "stops": Point{Lat: 9, Lon: 9}})
		ix.put("cleared", map[string]any{"where": Point{Lat: 9, Lon: 9}, "stops": Point{Lat: 9, Lon: 9}})
		ix.update("updated", map[string]any{"where": nil, "stops": nil})
		ix.update("cleared", map[string]any{"where": map[string]any{"lat": nil, "lon": nil}, "stops": map[string]any{"type": "Point", "coordinates": []any{}}})
		ix.must(ix.Put(t.Context(), "put", fields))
		var b, read Batch
		b.Update("updated", fields)
		text, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		ix.must(json.Unmarshal(text, &read))
		ix.must(ix.Apply(t.Context(), &read))
		if i%3 == 0 {
			ix.reopen(nil)
		}
		all := func(id string) []string { // of the column, and the points that are stored, in any order
			fields, err := ix.Get(t.Context(), id)
			ix.must(err)
			points := []string{}
			for _, name := range []string{"where", "stops"} {
				list, several := fields[name].([]any)
				if fields[name] != nil && !several {
					list = []any{fields[name]}
				}
				for _, p := range list {
					p := p.(Point)
					points = append(points, fmt.Sprintf("%s %.5f %.5f", name, p.Lat, p.Lon))
					near := Bool{Filter: []Query{WithinDistance{name, p, 1}}}
					r, err := ix.Search(t.Context(), near, &SearchOptions{K: 10})
					ix.must(err)
					if !slices.ContainsFunc(r.Hits, func(h Hit) bool { return h.ID == id }) {
						t.Errorf("%v: %q is not found at %v", fields, id, p)
					}
				}
			}
			slices.Sort(points)
			return points
		}
		if got, want := all("updated"), all("put"); !slices.Equal(got, want) || len(got) == 0 {
			t.Errorf("%v: updated to %v, put as %v", fields, got, want)
		}
		if got := all("cleared"); len(got) > 0 {
			t.Errorf("points are left: %v", got)
		}
	}
	for _, c := range []struct {
		value any
		want  string
	}{
		{at(91, 0), `latitude 91 is not`},
		{"hello", `"hello" is neither a latitude and a longitude`},
		{[]float64{1, 2, 3}, `3 numbers: a place is a longitude and a latitude`},
		{map[string]any{"lat": 1, "lon": nil}, `an object that is a place has "lat", and "lon" or "lng"`},
		{map[string]any{"type": "Polygon"}, `a place is a Point of GeoJSON, not Polygon`},
		{map[string]any{"city": "Berlin"}, `"stops.city": the schema does not declare it`},
		{true, `a place is a point, not bool`},
	} {
		var b Batch
		b.Update("put", map[string]any{"stops": c.value})
		var de *DocumentError
		if err := ix.Apply(t.Context(), &b); !errors.As(err, &de) || de.ID != "put" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.value, err, c.want)
		}
	}
	ix.update("put", map[string]any{"stops": at(1, 2)}) // nothing is left of the points that were refused
	if got, err := ix.Get(t.Context(), "put"); err != nil || fmt.Sprint(got["stops"]) != fmt.Sprint(columns.OfPlace(Point{Lat: 1, Lon: 2}).Any()) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestUpdateJSON: updates survive the JSON form of a batch.
func TestUpdateJSON(t *testing.T) {
	var b, back Batch
	b.Update("a", map[string]any{"sold": 3, "tag": []string{"x", "y"}, "offer": nil, "seen": time.Unix(7, 0)})
	b.Update("b", map[string]any{"sold": nil})
	b.Update("c", map[string]any{})
	data, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"update":"a","fields":{"seen":{"time":"1970-01-01T00:00:07Z"},"sold":3,"tag":["x","y"],"offer":null}},` +
		`{"update":"b","fields":{"sold":null}},{"update":"c","fields":{}}]`
	if string(data) != want {
		t.Errorf("%s\nwant\n%s", data, want)
	}
	if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(b.ops, back.ops) || b.Size() != back.Size() {
		t.Errorf("read back: %v\n%+v\nwant\n%+v", err, back.ops, b.ops)
	}
	for _, bad := range []string{`[{"update":"a"}]`, `[{"update":"a","put":"b","fields":{}}]`, `[{"put":"a","fields":{"x":null}}]`, `[{"update":"a","fields":{"x":[null]}}]`} {
		if err := json.Unmarshal([]byte(bad), &back); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

// TestUpdatesWhileSealing fills memory with updates alone. While the seal that stores them waits for its
// commit, there is room for as many again, as there is for documents. Then batches wait.
func TestUpdatesWhileSealing(t *testing.T) {
	o := &Options{Schema: updatable, Merge: MergeOptions{Disabled: true}}
	o.private.memoryBytes = 64 << 10
	ix := newIndex(t, o)
	for i := range 50 {
		ix.put(fmt.Sprint("d", i), map[string]any{"text": "w"})
	}
	ix.flush()
	release := ix.probe().HoldCommits()
	held := true
	defer func() {
		if held {
			release()
		}
	}()
	sold := map[string]int{}
	update := func(ctx context.Context, n int) error {
		var b Batch
		for i := range 10 {
			id := fmt.Sprint("d", (n+i)%50)
			sold[id] = n
			b.Update(id, map[string]any{"sold": n})
		}
		return ix.Apply(ctx, &b)
	}
	before, n := 0, 0
	for ; ; n++ {
		if runs, _ := ix.probe().Sealing(); runs {
			break
		}
		ix.must(update(t.Context(), n))
		before++
	}
	during := 0
	for {
		ended, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		err := update(ended, n)
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if err != nil && !errors.Is(err, ErrPending) { // a pending batch takes effect
			if _, full := ix.probe().Sealing(); full {
				break
			}
			continue // the machine stood still
		}
		n++
		during++
	}
	if during < before/2 || during > 2*before {
		t.Errorf("%d batches before the seal began, and %d while it ran", before, during)
	}
	release()
	held = false
	ix.must(update(t.Context(), n))
	check := func() {
		t.Helper()
		for id, n := range sold {
			if got, err := ix.Get(t.Context(), id); err != nil || got["sold"] != int64(n) {
				t.Errorf("%s: %v, want %d: %v", id, got, n, err)
			}
		}
	}
	check()
	ix.reopen(o)
	check()
}
