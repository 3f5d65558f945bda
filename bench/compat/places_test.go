package compat

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	upstream "github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/geo"
)

// placeMappings are mappings with fields of places.
var placeMappings = []string{
	`{"default_mapping": {"properties": {
		"at": {"fields": [{"type": "geopoint", "index": true, "store": true, "include_in_all": true, "docvalues": true}]},
		"home": {"dynamic": false, "fields": [{"type": "geopoint", "name": "house", "index": true, "store": true}, {"type": "text", "analyzer": "keyword", "index": true}]},
		"name": {"fields": [{"type": "text", "analyzer": "keyword", "index": true, "store": true, "include_in_all": true, "docvalues": true}]},
		"n": {"fields": [{"type": "number", "index": true, "docvalues": true}]}}}}`,
	`{"types": {"book": {"properties": {"at": {"fields": [{"type": "geopoint", "index": true}]}}}, "note": {"dynamic": false, "properties": {
		"at": {"fields": [{"type": "geopoint", "store": true}, {"type": "text", "index": true, "store": true}]}, "home": {"fields": [{"type": "geopoint", "name": "house", "index": true, "store": true, "include_in_all": true}]}}}},
	  "default_mapping": {"dynamic": false, "properties": {"at": {"fields": [{"type": "geopoint", "index": true, "store": true, "include_in_all": true}]},
		"name": {"fields": [` + text(`, "analyzer": "keyword"`) + `]}, "n": {"fields": [{"type": "number", "index": true}]}}}}`,
}

// coordinates makes a point at random: anywhere, at a pole, at the date line, in one city, or one of a few.
func coordinates(rng *rand.Rand) (lon, lat float64) {
	tiny := []float64{0, 1e-8, 1e-6, 1e-3, 1}[rng.IntN(5)] * rng.Float64()
	sign := []float64{-1, 1}[rng.IntN(2)]
	lon, lat = rng.Float64()*360-180, rng.Float64()*180-90
	switch rng.IntN(9) {
	case 0:
		lat = sign * (90 - tiny)
	case 1, 2:
		lon = sign * (180 - tiny)
	case 3, 4, 5:
		lon, lat = 13.4+rng.NormFloat64()*tiny, 52.5+rng.NormFloat64()*tiny
	case 6:
		lon, lat = float64(rng.IntN(3)*10), float64(rng.IntN(3)*10)
	}
	return lon, lat
}

// point writes a point in one of the forms that bleve reads.
func point(rng *rand.Rand, lon, lat float64) any {
	switch rng.IntN(7) {
	case 0:
		return []any{lon, lat}
	case 1:
		return fmt.Sprint(lat, ",", lon)
	case 2:
		return fmt.Sprintf(" %v ,  %v", lat, lon)
	case 3:
		return map[string]any{"lng": lon, "lat": lat}
	case 4:
		return geo.EncodeGeoHash(lat, lon)[:1+rng.IntN(12)]
	}
	return map[string]any{"lon": lon, "lat": lat}
}

func randomPoint(rng *rand.Rand) any {
	lon, lat := coordinates(rng)
	return point(rng, lon, lat)
}

// placeDocument makes a document at random. Some of its points are none, or out of range.
func placeDocument(rng *rand.Rand) map[string]any {
	d := map[string]any{"name": vocabulary[rng.IntN(len(vocabulary))]}
	if rng.IntN(8) > 0 {
		d["at"] = randomPoint(rng)
	}
	switch rng.IntN(24) {
	case 0:
		d["at"] = []any{"", "not a geohash", "1,2,3", "a,b", []any{1}, []any{"1", 2}, map[string]any{"lat": 3}, 5, true, nil}[rng.IntN(10)]
	case 1:
		d["at"] = []any{[]any{190.5, 10}, map[string]any{"lon": 10, "lat": 95.25}, "0,-200", []any{1e6, 3}}[rng.IntN(4)]
	case 2, 3:
		d["at"] = []any{randomPoint(rng), randomPoint(rng), "52.5,13.4"}[:1+rng.IntN(3)]
	}
	if rng.IntN(2) == 0 {
		d["home"] = randomPoint(rng)
	}
	if rng.IntN(3) > 0 {
		d["n"] = number(rng)
	}
	if rng.IntN(3) == 0 {
		d["_type"] = []string{"book", "note", "other"}[rng.IntN(3)]
	}
	return d
}

// placeQuery makes a query for places at random. borders are distances that documents have from the origin.
func placeQuery(rng *rand.Rand, borders []string) map[string]any {
	q := map[string]any{"field": []string{"at", "at", "at", "house", "home", "nowhere"}[rng.IntN(6)], "boost": 1 + rng.IntN(2)}
	switch rng.IntN(7) {
	case 0, 1:
		q["location"] = randomPoint(rng)
		q["distance"] = fmt.Sprint([]float64{0, 0.3, 2, 50, 700, 3000, 12000, 20015, 21000}[rng.IntN(9)]*(1+rng.Float64()), []string{"km", "km", "m", "mi", "nauticalmiles", "kilometers"}[rng.IntN(6)])
	case 2:
		q["location"], q["distance"] = origin, borders[rng.IntN(len(borders))]
	case 3, 4:
		west, south := coordinates(rng)
		east, north := coordinates(rng)
		if south > north && rng.IntN(10) > 0 {
			south, north = north, south
		}
		q["top_left"], q["bottom_right"] = []any{west, north}, []any{east, south}
		if rng.IntN(4) == 0 {
			q["top_left"], q["bottom_right"] = point(rng, west, north), point(rng, east, south)
		}
	default:
		lon, lat := coordinates(rng)
		size := []float64{1e-6, 0.01, 1, 30, 90}[rng.IntN(5)]
		var ring []any
		for range 3 + rng.IntN(6) {
			if rng.IntN(8) == 0 {
				lon, lat = coordinates(rng)
			}
			ring = append(ring, point(rng, min(max(lon+rng.NormFloat64()*size, -180), 180), min(max(lat+rng.NormFloat64()*size, -90), 90)))
		}
		q["polygon_points"] = ring
	}
	return q
}

// origin is where distances are measured from.
var origin = map[string]any{"lon": 13.4, "lat": 52.5}

func geoDistanceKey(rng *rand.Rand) map[string]any {
	k := map[string]any{"by": "geo_distance", "field": []string{"at", "at", "at", "house", "n", "name"}[rng.IntN(6)], "location": randomPoint(rng), "desc": rng.IntN(2) == 0}
	if rng.IntN(3) == 0 {
		k["unit"] = []string{"m", "km", "mi", "feet", "parsec", ""}[rng.IntN(6)]
	}
	return k
}

// placeRequest makes a request at random. Its last key is the id, since bleve has the documents of a batch in any order.
func placeRequest(rng *rand.Rand, borders []string) map[string]any {
	r := map[string]any{"query": placeQuery(rng, borders), "size": 1 + rng.IntN(20), "sort": []any{"_id"}, "fields": []string{"*"}, "includeLocations": rng.IntN(2) == 0}
	switch rng.IntN(8) {
	case 0:
		r["query"] = map[string]any{"match_all": map[string]any{}}
	case 1:
		r["query"] = map[string]any{"must": map[string]any{"conjuncts": []any{placeQuery(rng, borders)}}, "must_not": map[string]any{"disjuncts": []any{placeQuery(rng, borders)}}}
	case 2:
		r["facets"] = map[string]any{"f": map[string]any{"field": []string{"at", "house"}[rng.IntN(2)], "size": 10}}
	}
	if rng.IntN(3) > 0 {
		keys := []any{geoDistanceKey(rng)}
		switch rng.IntN(8) {
		case 0:
			keys = append([]any{[]string{"name", "-n", "at", "house"}[rng.IntN(4)]}, keys...)
		case 1:
			keys = append(keys, geoDistanceKey(rng))
		case 2:
			keys = append(keys, "-name", "_score")
			r["score"] = "none" // those of bleve are others
		}
		r["sort"] = append(keys, []string{"_id", "-_id"}[rng.IntN(2)])
	}
	return r
}

// TestSamePlaces compares what bleve and riffle answer to queries for places and to sorting by distances, at
// poles, at the date line and at the borders of areas.
func TestSamePlaces(t *testing.T) {
	requests := 50 // bleve needs up to a second for a large area
	if n, err := strconv.Atoi(os.Getenv("ROUNDS")); err == nil {
		requests *= n
	}
	found := 0
	for number, mapping := range placeMappings {
		rng := rand.New(rand.NewPCG(9, uint64(number)))
		theirs, ours := bothOf(t, mapping, rng, 300, placeDocument)
		borders := bordersOf(t, theirs)
		for range requests {
			r := placeRequest(rng, borders)
			for page := range 4 {
				request, err := json.Marshal(r)
				if err != nil {
					t.Fatal(err)
				}
				n, _ := compare(t, theirs, ours, mapping, request)
				if found += n; t.Failed() {
					t.FailNow()
				}
				last := lastHit(t, ours, request)
				if last == nil || slices.Contains(last, "_score") {
					break
				}
				delete(r, "search_after")
				delete(r, "search_before")
				r[[]string{"search_after", "search_after", "search_before", ""}[page]] = last
			}
		}
	}
	if t.Logf("%d documents found", found); found < 20*requests {
		t.Error("too few to compare")
	}
}

// bordersOf returns the distances of documents from the origin, and some a little less or more.
func bordersOf(t *testing.T, theirs upstream.Index) (borders []string) {
	request := upstream.NewSearchRequestOptions(upstream.NewMatchAllQuery(), 200, 0, false)
	if err := json.Unmarshal([]byte(`{"query": {"match_all": {}}, "size": 200, "sort": [{"by": "geo_distance", "field": "at", "location": {"lon": 13.4, "lat": 52.5}}]}`), request); err != nil {
		t.Fatal(err)
	}
	res, err := theirs.Search(request)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range res.Hits {
		d, err := strconv.ParseFloat(h.DecodedSort[0], 64)
		if err != nil || d != d {
			continue
		}
		for _, more := range []float64{0, 1e-9, -1e-9} {
			borders = append(borders, strconv.FormatFloat(d*(1+more), 'f', -1, 64)+"m")
		}
	}
	if len(borders) < 300 {
		t.Fatalf("%d distances", len(borders))
	}
	return borders
}

// TestPlaceErrors compares which requests about places are errors.
func TestPlaceErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	theirs, ours := bothOf(t, placeMappings[0], rng, 30, placeDocument)
	for _, query := range []string{
		`{"location": [1, 2], "distance": "5km"}`, `{"location": [1, 2], "distance": ""}`, `{"location": [1, 2], "distance": "x"}`, `{"location": [1, 2], "distance": null}`,
		`{"location": [1, 2], "distance": 5}`, `{"location": [1, 2], "distance": "5 km"}`, `{"location": [1, 2], "distance": "1e400m"}`, `{"location": [1, 2], "distance": "-5km"}`,
		`{"location": [1, 2], "distance": "NaN"}`, `{"location": [1, 2], "distance": "inf"}`, `{"location": [1, 91], "distance": "5km"}`, `{"location": [181, 2], "distance": "5km"}`,
		`{"location": null, "distance": "5km"}`, `{"distance": "5km"}`, `{"location": "abc", "distance": "5km"}`, `{"location": "", "distance": "50km"}`, `{"location": {"lat": "1", "lon": 2}, "distance": "5km"}`,
		`{"location": [1, 2]}`, `{"location": [1, 2, 3], "distance": "5km"}`, `{"location": "1,2,3", "distance": "5km"}`, `{"location": "anothergeohash", "distance": "5km"}`,
		`{"top_left": [1, 2], "bottom_right": [3, 1]}`, `{"top_left": [1, 2], "bottom_right": [3, 3]}`, `{"top_left": [1, 2]}`, `{"bottom_right": [1, 2]}`, `{"top_left": [170, 80], "bottom_right": [-170, -80]}`,
		`{"top_left": [1, 2], "bottom_right": null}`, `{"top_left": [-500, 200], "bottom_right": [500, -200]}`, `{"top_left": [1, 2], "distance": "5km", "location": [1, 2]}`,
		`{"polygon_points": []}`, `{"polygon_points": [[1, 2], [3, 4]]}`, `{"polygon_points": [[1, 2], [3, 4], [5, 91]]}`, `{"polygon_points": [[1, 2], [3, 4], [5, "x"]]}`, `{"polygon_points": {}}`,
		`{"polygon_points": [[1, 2], [3, 4], [5, 6], [-170, 60]]}`, `{"polygon_points": null}`, `{"match": "a", "distance": 5, "top_left": 3}`,
	} {
		for _, field := range []string{`, "field": "at"}`, `, "field": "name"}`, `, "field": "nowhere"}`} {
			compare(t, theirs, ours, placeMappings[0], []byte(`{"query": `+query[:len(query)-1]+field+`, "size": 50, "sort": ["_id"]}`))
		}
	}
	for _, key := range []string{
		`{"by": "geo_distance", "field": "at"}`, `{"by": "geo_distance", "field": "at", "location": "x", "unit": 3}`, `{"by": "geo_distance", "field": "at", "location": [1, 2], "unit": "x"}`,
		`{"by": "geo_distance", "location": [1, 2]}`, `{"by": "geo_distance", "field": 3, "location": [1, 2]}`, `{"by": "geo_distance", "field": "at", "location": [200, 2]}`,
		`{"by": "geo_distance", "field": "at", "location": [1, 2], "unit": "mi", "desc": "yes"}`, `{"by": "geo_distance", "field": "nowhere", "location": [1, 2]}`,
	} {
		for _, page := range []string{``, `, "search_after": ["5", "a"]`, `, "search_after": ["x", "a"]`, `, "search_before": ["NaN", "a"]`, `, "search_before": ["7000000", "dz"]`} {
			compare(t, theirs, ours, placeMappings[0], []byte(`{"query": {"match_all": {}}, "size": 50, "sort": [`+key+`, "_id"]`+page+`}`))
		}
	}
}
