package riffle

import (
	"encoding/json"
	"errors"
	"fmt"
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
