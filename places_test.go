package riffle

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/internal/geo"
)

// somePlace returns a random point, often at a pole, at the date line or in one region.
func somePlace(rng *rand.Rand) Point {
	p := Point{Lat: math.Asin(2*rng.Float64()-1) * 180 / math.Pi, Lon: rng.Float64()*360 - 180}
	switch rng.IntN(8) {
	case 0:
		p.Lat = math.Copysign(90-rng.Float64()/10, p.Lat)
	case 1:
		p.Lon = math.Copysign(180-rng.Float64()/10, p.Lon)
	case 2:
		p = Point{Lat: []float64{-90, 0, 90}[rng.IntN(3)], Lon: []float64{-180, 0, 180}[rng.IntN(3)]}
	case 3, 4, 5:
		p = Point{Lat: 48 + rng.NormFloat64(), Lon: 11 + rng.NormFloat64()}
	}
	return p
}

// pointAt returns the point of a latitude and a longitude, which may be beyond the date line.
func pointAt(lat, lon float64) Point { return Point{Lat: lat, Lon: math.Remainder(lon, 360)} }

// written returns points as documents may write those of a declared field.
func written(rng *rand.Rand, points []Point) any {
	one := func(p Point) any {
		switch rng.IntN(3) {
		case 0:
			return map[string]any{"lat": p.Lat, "lon": p.Lon}
		case 1:
			return map[string]any{"lng": p.Lon, "lat": p.Lat}
		}
		return map[string]any{"type": "Point", "coordinates": []float64{p.Lon, p.Lat}}
	}
	switch form := rng.IntN(5); {
	case form == 0 && len(points) == 1:
		return one(points[0])
	case form == 1:
		var texts []string
		for _, p := range points {
			texts = append(texts, p.String())
		}
		return texts
	case form == 2:
		var pairs [][2]float64
		for _, p := range points {
			pairs = append(pairs, [2]float64{p.Lon, p.Lat})
		}
		return pairs
	case form == 3 && len(points) == 1:
		return &points[0]
	}
	return points
}

// A placeModel has the points of documents by field, and those with another value.
type placeModel struct {
	points map[string]map[string][]Point
	others map[string]bool // values of the field "mixed" that are no points
}

func (m placeModel) matches(id string, q Query) bool {
	has := func(field string, in func(p Point) bool) bool {
		return slices.ContainsFunc(m.points[id][field], func(p Point) bool { return in(p.Round()) })
	}
	switch q := q.(type) {
	case WithinDistance:
		return has(q.Field, func(p Point) bool { return geo.Distance(q.Point, p) <= q.Metres })
	case WithinBox:
		low, high := Point{Lat: q.South, Lon: q.West}.Round(), Point{Lat: q.North, Lon: q.East}.Round()
		return has(q.Field, func(p Point) bool {
			lon := low.Lon <= p.Lon && p.Lon <= high.Lon
			if low.Lon > high.Lon {
				lon = low.Lon <= p.Lon || p.Lon <= high.Lon
			}
			return low.Lat <= p.Lat && p.Lat <= high.Lat && lon
		})
	case WithinPolygon: // package shapes compares these with crossings
		s, err := q.shape()
		if err != nil {
			panic(err)
		}
		return has(q.Field, func(p Point) bool { return s.Contains(geo.Key(p)) })
	case Term:
		return has(q.Field, func(p Point) bool { return p == q.Value.(Point).Round() })
	case Terms:
		return slices.ContainsFunc(q.Values, func(v any) bool { return m.matches(id, Term{q.Field, v}) })
	case Exists:
		return len(m.points[id][q.Field]) > 0 || q.Field == "mixed" && m.others[id]
	case Match:
		return strings.HasSuffix(id, "0")
	case Bool:
		for _, part := range q.Must {
			if !m.matches(id, part) {
				return false
			}
		}
		for _, part := range q.Filter {
			if !m.matches(id, part) {
				return false
			}
		}
		return !slices.ContainsFunc(q.MustNot, func(part Query) bool { return m.matches(id, part) })
	}
	panic(fmt.Sprintf("a query of type %T", q))
}

var placeFields = []string{"place", "free", "hidden", "mixed"}

func (m placeModel) query(rng *rand.Rand, depth int) Query {
	field := placeFields[rng.IntN(len(placeFields))]
	at := somePlace(rng)
	switch rng.IntN(8) {
	case 0, 1:
		return WithinDistance{field, at, math.Exp(rng.Float64() * math.Log(geo.Farthest))}
	case 2:
		to := somePlace(rng)
		return WithinBox{field, min(at.Lat, to.Lat), at.Lon, max(at.Lat, to.Lat), to.Lon}
	case 3:
		d := rng.Float64() * 5
		lat := min(max(at.Lat, -80), 80)
		q := WithinPolygon{Field: field, Points: []Point{pointAt(lat-d, at.Lon-d), pointAt(lat-d, at.Lon+d), pointAt(lat+d, at.Lon)}}
		if rng.IntN(2) == 0 {
			q.Holes = [][]Point{{pointAt(lat, at.Lon), pointAt(lat-d/2, at.Lon), pointAt(lat-d/2, at.Lon+d/8)}}
		}
		return q
	case 4:
		for _, values := range m.points { // any document
			if len(values[field]) > 0 {
				at = values[field][0]
				break
			}
		}
		if rng.IntN(2) == 0 {
			return Terms{Field: field, Values: []any{at, somePlace(rng)}}
		}
		return Term{field, at}
	case 5:
		return Exists{field}
	}
	if depth == 0 {
		return WithinDistance{field, at, 2e6}
	}
	b := Bool{Filter: []Query{m.query(rng, depth-1)}}
	if rng.IntN(2) == 0 {
		b.Must = append(b.Must, Match{Field: "text", Text: "tenth"})
	}
	if rng.IntN(3) == 0 {
		b.MustNot = append(b.MustNot, m.query(rng, depth-1))
	}
	return b
}

var placeSchema = &Schema{Fields: map[string]Field{
	"text": {Type: FieldText}, "place": {Type: FieldPlace}, "hidden": {Type: FieldPlace, NoIndex: true, NoStore: true, Column: ColumnStored},
}}

// fillPlaces puts documents into an index: over several segments, with deletions, some in the log.
func fillPlaces(t *testing.T, ix *testIndex, rng *rand.Rand, docs int) placeModel {
	m := placeModel{points: map[string]map[string][]Point{}, others: map[string]bool{}}
	for part := range 3 {
		var batch Batch
		for i := range docs {
			id := fmt.Sprintf("%d-%d", part, i)
			doc, values := map[string]any{"text": "word"}, map[string][]Point{}
			if i%10 == 0 {
				doc["text"] = "a tenth word"
			}
			for _, field := range placeFields {
				for n := []int{0, 1, 1, 1, 3}[rng.IntN(5)]; n > 0; n-- {
					values[field] = append(values[field], somePlace(rng))
				}
				if len(values[field]) == 0 {
					continue
				}
				if doc[field] = values[field]; field == "place" || field == "hidden" {
					doc[field] = written(rng, values[field])
				}
			}
			if part == 1 && rng.IntN(3) == 0 { // so that the column has terms
				doc["mixed"] = []any{7, true, values["mixed"]}
				m.others[id] = true
			}
			batch.Put(id, doc)
			m.points[id] = values
		}
		if part == 1 { // the form in which batches travel
			text, err := json.Marshal(&batch)
			ix.must(err)
			batch = Batch{}
			ix.must(json.Unmarshal(text, &batch))
		}
		ix.must(ix.Apply(ctx, &batch))
		if part < 2 {
			ix.must(ix.Flush(ctx))
		}
	}
	var gone Batch
	for id := range m.points {
		if rng.IntN(10) == 0 {
			gone.Delete(id)
			delete(m.points, id)
		}
	}
	ix.must(ix.Apply(ctx, &gone))
	return m
}

// checkPlaces compares a query, read back from its text, with the model.
func checkPlaces(t *testing.T, ix *testIndex, m placeModel, q Query) {
	t.Helper()
	if again, err := ParseQuery(q.String(), nil); err != nil || again.String() != q.String() {
		t.Fatalf("%v is read as %v, %v", q, again, err)
	}
	want := []string{}
	for id := range m.points {
		if m.matches(id, q) {
			want = append(want, id)
		}
	}
	slices.Sort(want)
	res, err := ix.Search(ctx, q, &SearchOptions{K: 5000, ExactTotal: true})
	if err != nil {
		t.Fatalf("%v: %v", q, err)
	}
	got := []string{}
	for _, h := range res.Hits {
		got = append(got, strings.Clone(h.ID))
	}
	slices.Sort(got)
	if n, err := ix.Count(ctx, q); err != nil || n != len(want) || !slices.Equal(got, want) {
		t.Fatalf("%v: %d hits, %d counted, %v, want %d:\n%q\n%q", q, len(got), n, err, len(want), got, want)
	}
	for _, id := range []string{"0-0", "1-5", "2-7"} {
		if m.points[id] == nil {
			continue
		}
		if x, err := ix.Explain(ctx, q, id, nil); err != nil || x.Matches != m.matches(id, q) {
			t.Fatalf("%v: explaining %s: %v, %v", q, id, x, err)
		}
	}
}

// TestPlaces compares queries on places with the documents: of declared and undeclared fields, beside
// other values, in memory, sealed, after a restart and merged, in orders of arrival and of places.
func TestPlaces(t *testing.T) {
	queries := 40
	if testing.Short() {
		queries = 10
	}
	for seed, order := range []MergeOptions{{Disabled: true}, {Order: OrderByField, OrderField: "place"}} {
		rng := rand.New(rand.NewPCG(uint64(seed), 17))
		o := &Options{Durability: SyncNone, Schema: placeSchema, Merge: order}
		dir := filepath.Join(t.TempDir(), "index")
		ix := openIndex(t, dir, o)
		m := fillPlaces(t, ix, rng, 150+1300*seed)
		check := func() {
			t.Helper()
			for range queries {
				checkPlaces(t, ix, m, m.query(rng, 2))
			}
			for range queries / 2 {
				m.checkDistances(t, ix, rng)
			}
			for range 2 {
				m.checkFacets(t, ix, rng)
			}
			repeated := m.query(rng, 1) // from the cache of filters
			for range 4 {
				checkPlaces(t, ix, m, repeated)
			}
		}
		check()
		ix.must(ix.Close())
		ix = openIndex(t, dir, o)
		check()
		ix.must(ix.Compact(ctx))
		check()
		for id, values := range m.points { // the exact points come back
			doc, err := ix.Get(ctx, id)
			ix.must(err)
			for _, field := range []string{"place", "free"} {
				var want any
				switch points := values[field]; len(points) {
				case 0:
				case 1:
					want = points[0]
				default:
					var all []any
					for _, p := range points {
						all = append(all, p)
					}
					want = all
				}
				if got := doc[field]; fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("%s.%s is %v, want %v", id, field, got, want)
				}
			}
			if doc["hidden"] != nil {
				t.Fatalf("%s has a field that is not stored: %v", id, doc)
			}
		}
		ix.must(ix.Check(ctx, func(err error) { t.Error(err) }))
	}
}

// distancesOf returns the distances of a document's points, ascending.
func (m placeModel) distancesOf(id, field string, from Point) []float64 {
	var all []float64
	for _, p := range m.points[id][field] {
		all = append(all, geo.Distance(from, p.Round()))
	}
	slices.Sort(all)
	return all
}

// checkDistances compares a search sorted by distance, page by page, with the documents.
func (m placeModel) checkDistances(t *testing.T, ix *testIndex, rng *rand.Rand) {
	t.Helper()
	from := somePlace(rng)
	key := SortKey{Field: placeFields[rng.IntN(3)], From: &from, Desc: rng.IntN(3) == 0,
		Missing: MissingOrder(rng.IntN(2)), Mode: SortMode(rng.IntN(4))}
	var q Query = All{}
	if rng.IntN(2) == 0 {
		q = Match{Field: "text", Text: "tenth"}
	}
	value := func(id string) any {
		switch all := m.distancesOf(id, key.Field, from); {
		case len(all) == 0:
			return nil
		case key.Mode == ModeMedian:
			return all[(len(all)-1)/2]
		case key.Mode == ModeMax, key.Mode == ModeDefault && key.Desc:
			return all[len(all)-1]
		default:
			return all[0]
		}
	}
	var ids []string
	values := map[string]any{}
	for id := range m.points {
		if _, all := q.(All); all || m.matches(id, q) {
			ids = append(ids, id)
			values[id] = value(id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int {
		x, y := values[a], values[b]
		switch {
		case x == nil || y == nil:
			c := strings.Compare(fmt.Sprint(x == nil), fmt.Sprint(y == nil)) // false, true
			if key.Missing == MissingFirst {
				c = -c
			}
			return cmp.Or(c, strings.Compare(a, b))
		case key.Desc:
			return cmp.Or(cmp.Compare(y.(float64), x.(float64)), strings.Compare(a, b))
		}
		return cmp.Or(cmp.Compare(x.(float64), y.(float64)), strings.Compare(a, b))
	})
	keys := []SortKey{key, {ID: true}}
	if again, err := ParseSort(key.String()); err != nil || again[0].String() != key.String() {
		t.Fatalf("%v is read as %v, %v", key, again, err)
	}
	o := &SearchOptions{K: 1 + rng.IntN(40), Sort: keys}
	for page := range 3 {
		res, err := ix.Search(ctx, q, o)
		if err != nil {
			t.Fatal(err)
		}
		want := ids[min(page*o.K, len(ids)):min((page+1)*o.K, len(ids))]
		if len(res.Hits) != len(want) {
			t.Fatalf("%v by %v: page %d has %d hits, want %d", q, keys, page, len(res.Hits), len(want))
		}
		for i, h := range res.Hits {
			if h.ID != want[i] || h.Sort[0] != values[want[i]] {
				t.Fatalf("%v by %v: page %d has %s at %v, want %s at %v", q, keys, page, h.ID, h.Sort[0], want[i], values[want[i]])
			}
		}
		if len(want) < o.K {
			break
		}
		o.After = res.Hits[o.K-1].Cursor
	}
}

// checkFacets compares aggregations of places with the documents.
func (m placeModel) checkFacets(t *testing.T, ix *testIndex, rng *rand.Rand) {
	t.Helper()
	from, field, precision := somePlace(rng), placeFields[rng.IntN(3)], 1+rng.IntN(12)
	ranges := []DistanceRange{{Name: "near", To: 1e5}, {From: 1e5, To: 1e7}, {From: 5e6}, {}}
	sub := map[string]Aggregation{"near": DistanceAggregation{Field: field, From: from, Ranges: ranges}}
	as := map[string]Aggregation{
		"cells": GeohashAggregation{Field: field, Precision: precision, Size: 20, Sub: sub},
		"rings": DistanceAggregation{Field: field, From: from, Ranges: ranges, Sub: map[string]Aggregation{
			"cells": GeohashAggregation{Field: "place", Precision: 2}}},
	}
	for name, a := range as { // as it travels
		text, err := json.Marshal(a)
		ix.must(err)
		as[name], err = UnmarshalAggregation(text)
		ix.must(err)
	}
	res, err := ix.Search(ctx, All{}, &SearchOptions{Aggregations: as})
	if err != nil {
		t.Fatal(err)
	}
	rings := func(ids []string) (counts []int) {
		for _, r := range ranges {
			n := 0
			for _, id := range ids {
				if slices.ContainsFunc(m.distancesOf(id, field, from), func(d float64) bool { return d >= r.From && (r.To == 0 || d < r.To) }) {
					n++
				}
			}
			counts = append(counts, n)
		}
		return counts
	}
	counted := func(r AggregationResult) (counts []int) {
		for _, b := range r.Buckets {
			counts = append(counts, b.Count)
		}
		return counts
	}
	cells, missing, all := map[string][]string{}, 0, []string{}
	for id := range m.points {
		all = append(all, id)
		var of []string
		for _, p := range m.points[id][field] {
			of = append(of, geo.Geohash(geo.Key(p), precision))
		}
		slices.Sort(of)
		for _, cell := range slices.Compact(of) {
			cells[cell] = append(cells[cell], id)
		}
		if len(of) == 0 {
			missing++
		}
	}
	names := slices.SortedFunc(maps.Keys(cells), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(cells[b]), len(cells[a])), strings.Compare(a, b))
	})
	got, other := res.Aggregations["cells"], 0
	for _, name := range names[min(20, len(names)):] {
		other += len(cells[name])
	}
	if len(got.Buckets) != min(20, len(names)) || got.Missing != missing || got.Distinct != len(names) || got.Other != other {
		t.Fatalf("%d cells of %d, %d missing, %d others, want %d, %d, %d", len(got.Buckets), got.Distinct, got.Missing, got.Other, len(names), missing, other)
	}
	for i, b := range got.Buckets {
		if b.Key != names[i] || b.Count != len(cells[names[i]]) || !slices.Equal(counted(b.Sub["near"]), rings(cells[names[i]])) {
			t.Fatalf("cell %d is %v, want %s of %d", i, b, names[i], len(cells[names[i]]))
		}
	}
	if got := res.Aggregations["rings"]; !slices.Equal(counted(got), rings(all)) || got.Missing != missing {
		t.Fatalf("rings %v, want %v, %d missing", got, rings(all), missing)
	}
}

// TestPlacesRefused: bad points and queries have errors that name the field or the part.
func TestPlacesRefused(t *testing.T) {
	ix := newIndex(t, &Options{Schema: &Schema{Fields: map[string]Field{
		"place": {Type: FieldPlace}, "text": {Type: FieldText}, "n": {Type: FieldNumber},
	}}})
	for _, c := range []struct {
		value any
		want  string
	}{
		{Point{Lat: 91}, `latitude 91 is not within -90 to 90`},
		{Point{Lon: math.NaN()}, `longitude NaN is not within -180 to 180`},
		{"91,0", `latitude 91 is not`},
		{"hello", `"hello" is neither a latitude and a longitude`},
		{[]float64{1, 2, 3}, `3 numbers: a place is a longitude and a latitude, as in GeoJSON`},
		{[]float64{0, 91}, `latitude 91 is not`},
		{map[string]any{"lat": 1}, `an object that is a place has "lat", and "lon" or "lng"`},
		{map[string]any{"type": "Polygon", "coordinates": []float64{1, 2}}, `a place is a Point of GeoJSON, not Polygon`},
		{true, `a place is a point, not bool`},
	} {
		err := ix.Put(ctx, "x", map[string]any{"place": c.value})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `"place`) {
			t.Errorf("%v: %v, want %q", c.value, err, c.want)
		}
	}
	ix.must(ix.Put(ctx, "y", map[string]any{"place": Point{}, "text": "a", "n": 1}))
	for _, c := range []struct {
		q    Query
		want string
	}{
		{WithinDistance{"", Point{}, 1}, "WithinDistance.Field"},
		{WithinDistance{"place", Point{Lat: 100}, 1}, "WithinDistance.Point"},
		{WithinDistance{"place", Point{}, -1}, "WithinDistance.Metres"},
		{WithinDistance{"n", Point{}, 1}, `field "n" has values of type number, not places`},
		{WithinDistance{"none", Point{}, 1}, `no field "none"`},
		{WithinBox{"place", 2, 0, 1, 0}, "WithinBox"},
		{WithinPolygon{Field: "place", Points: []Point{pointAt(0, 0), pointAt(1, 1)}}, "WithinPolygon"},
		{Range{Field: "place", From: 5}, "places, which have no order"},
		{Match{Field: "place", Text: "a"}, "is neither a latitude and a longitude"},
	} {
		_, err := ix.Search(ctx, c.q, nil)
		var qe *QueryError
		if !errors.As(err, &qe) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.q, err, c.want)
		}
	}
	for want, o := range map[string]*SearchOptions{
		`Sort[0].From: goes with a Field`:      {Sort: []SortKey{{Score: true, From: &Point{}}}},
		`Sort[0].From: latitude 91`:            {Sort: []SortKey{{Field: "place", From: &Point{Lat: 91}}}},
		`field "n" has values that are not`:    {Sort: []SortKey{{Field: "n", From: &Point{}}}},
		`["a"].Precision: must lie in 1 to 12`: {Aggregations: map[string]Aggregation{"a": GeohashAggregation{Field: "place"}}},
		`field "n" has values of type number`:  {Aggregations: map[string]Aggregation{"a": GeohashAggregation{Field: "n", Precision: 1}}},
		`["a"].Ranges: are none`:               {Aggregations: map[string]Aggregation{"a": DistanceAggregation{Field: "place"}}},
		`["a"].Ranges[0]: must be from`:        {Aggregations: map[string]Aggregation{"a": DistanceAggregation{Field: "place", Ranges: []DistanceRange{{From: 2, To: 1}}}}},
	} {
		if _, err := ix.Search(ctx, All{}, o); err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(want, "Sort")) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if n, err := ix.Count(ctx, Match{Field: "place", Text: "0,0"}); err != nil || n != 1 {
		t.Errorf("a point as a text finds %d, %v", n, err)
	}
}

// TestPlaceSchemas: tags declare places, and a later schema must agree with the documents.
func TestPlaceSchemas(t *testing.T) {
	type shop struct {
		Name string
		At   Point                      `riffle:"at"`
		Also []*Point                   `riffle:"also"`
		Here struct{ Lat, Lng float64 } `riffle:"here,place"`
	}
	s, err := SchemaOf(shop{})
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"at", "also", "here"} {
		if s.Fields[field].Type != FieldPlace {
			t.Errorf("field %s of %v", field, s)
		}
	}
	declared := newIndex(t, &Options{Schema: s})
	declared.must(declared.Put(ctx, "a", shop{Here: struct{ Lat, Lng float64 }{5, 6}}))
	if n, err := declared.Count(ctx, WithinDistance{"here", Point{Lat: 5, Lon: 6}, 1}); n != 1 || err != nil {
		t.Errorf("found %d, %v", n, err)
	}
	dir := filepath.Join(t.TempDir(), "index")
	ix := openIndex(t, dir, nil)
	if err := ix.Put(ctx, "a", shop{}); err == nil || !strings.Contains(err.Error(), "its tag says place") {
		t.Errorf("a tag without a schema: %v", err)
	}
	ix.must(ix.Put(ctx, "a", struct {
		At Point `riffle:"at"`
	}{Point{Lat: 1, Lon: 2}}))
	ix.must(ix.Flush(ctx))
	ix.must(ix.Close())
	if _, err := Open(dir, &Options{Schema: &Schema{Fields: map[string]Field{"at": {Type: FieldNumber}}}}); err == nil || !strings.Contains(err.Error(), "indexed as places") {
		t.Errorf("a place as a number: %v", err)
	}
	ix = openIndex(t, dir, &Options{Schema: &Schema{Fields: map[string]Field{"at": {Type: FieldPlace}}}})
	if n, err := ix.Count(ctx, WithinDistance{"at", Point{Lat: 1, Lon: 2}, 1}); n != 1 || err != nil {
		t.Errorf("found %d, %v", n, err)
	}
}

// TestPlacesInLanguage: what the language says of places, and what it refuses.
func TestPlacesInLanguage(t *testing.T) {
	o := &ParseOptions{Schema: placeSchema}
	for text, want := range map[string]Query{
		`place:[52.3,13 TO 52.7,13.8]`: WithinBox{"place", 52.3, 13, 52.7, 13.8},
		`place:[-10,170 TO 10,-170]`:   WithinBox{"place", -10, 170, 10, -170},
		`place:"52.52,13.405"~5000`:    WithinDistance{"place", Point{Lat: 52.52, Lon: 13.405}, 5000},
		`place:=52.52,13.405`:          Term{"place", Point{Lat: 52.52, Lon: 13.405}},
		`place:[u33 TO u33]`:           WithinBox{"place", 52.734375, 13.359375, 52.734375, 13.359375},
		`place:*`:                      Exists{"place"},
		`{"within_distance":{"field":"place","point":[13.405,52.52],"metres":10}}`: WithinDistance{"place", Point{Lat: 52.52, Lon: 13.405}, 10},
	} {
		q, err := ParseQuery(text, o)
		if err != nil || q.String() != want.String() {
			t.Errorf("%s is %v, %v, want %v", text, q, err, want)
		}
	}
	for _, text := range []string{`place:[52.3,13 TO *]`, `place:{52.3,13 TO 52.7,13.8]`, `place:>52.3,13`, `place:[a TO b]`, `place:"xo"~5`, `place:x*`, `place:[53,13 TO 52,14]`} {
		if q, err := ParseQuery(text, o); err == nil {
			t.Errorf("%s is %v", text, q)
		}
	}
}
