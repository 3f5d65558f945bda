package riffle

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// metresBetween is the distance on the sphere of docs/PLACES.md, by the angle between vectors.
func metresBetween(a, b Point) float64 {
	vector := func(p Point) [3]float64 {
		lat, lon := p.Lat*math.Pi/180, p.Lon*math.Pi/180
		return [3]float64{math.Cos(lat) * math.Cos(lon), math.Cos(lat) * math.Sin(lon), math.Sin(lat)}
	}
	u, v := vector(a), vector(b)
	cross := [3]float64{u[1]*v[2] - u[2]*v[1], u[2]*v[0] - u[0]*v[2], u[0]*v[1] - u[1]*v[0]}
	return 6371008.7714 * math.Atan2(math.Hypot(math.Hypot(cross[0], cross[1]), cross[2]), u[0]*v[0]+u[1]*v[1]+u[2]*v[2])
}

// wantDecay is the value of a Decay by its documentation, for the places of a document.
func wantDecay(f Decay, origin Point, places []Point) float64 {
	if len(places) == 0 {
		return 1
	}
	nearest := math.Inf(1)
	for _, p := range places {
		nearest = min(nearest, metresBetween(origin, p))
	}
	offset, _ := f.Offset.(int)
	x := max(0, nearest-float64(offset)) / float64(f.Scale.(int))
	switch f.Shape {
	case DecayExp:
		return math.Pow(f.Decay, x)
	case DecayLinear:
		return max(0, 1-(1-f.Decay)*x)
	}
	return math.Pow(f.Decay, x*x)
}

// TestDecayPlaces compares Decay of places with the formulas of its documentation, in all modes: at a pole, at
// the date line, and where documents have several places or none. Pages, and a search that skips nothing, have
// the same hits.
func TestDecayPlaces(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 9))
	ix := newIndex(t, &Options{Merge: MergeOptions{Disabled: true}, Schema: &Schema{Fields: map[string]Field{
		"text": {Type: FieldText}, "home": {Type: FieldPlace}, "shops": {Type: FieldPlace},
	}}})
	centres := []Point{{Lat: 0, Lon: 179.9}, {Lat: 89.5, Lon: 0}, {Lat: 52.5, Lon: 13.4}}
	places := map[string]map[string][]Point{"home": {}, "shops": {}}
	n := 9000
	if testing.Short() {
		n = 5000
	}
	var b Batch
	for i := range n {
		id, centre := fmt.Sprint(i), centres[i*len(centres)/n]
		somewhere := func() Point {
			return Point{Lat: min(90, centre.Lat+r.NormFloat64()), Lon: math.Remainder(centre.Lon+2*r.NormFloat64(), 360)}
		}
		doc := map[string]any{"text": "every", "home": somewhere()}
		var shops []any
		for range []int{0, 1, 1, 1, 1, 3}[r.IntN(6)] {
			shops = append(shops, somewhere())
		}
		if doc["shops"] = shops; i%100 == 0 {
			delete(doc, "home")
		} else {
			places["home"][id] = []Point{doc["home"].(Point)}
		}
		for _, s := range shops {
			places["shops"][id] = append(places["shops"][id], s.(Point))
		}
		if b.Put(id, doc); i == n*3/4 {
			ix.must(ix.Apply(t.Context(), &b))
			ix.flush()
			b.Reset()
		}
	}
	ix.must(ix.Apply(t.Context(), &b))
	origins := append(slices.Clone(centres), Point{Lat: -0.5, Lon: -179.8}, Point{Lat: 90, Lon: 77}, Point{Lat: -52, Lon: -170}, Point{Lat: 30, Lon: 20})
	for round, origin := range origins {
		for mode := range FunctionMode(4) {
			f := Decay{
				Field: []string{"home", "shops"}[(round+int(mode))%2], Origin: origin, Scale: []int{20_000, 300_000, 5_000_000}[r.IntN(3)],
				Offset: []any{nil, 5000}[r.IntN(2)], Decay: []float64{0.3, 0.5}[r.IntN(2)], Shape: DecayShape(r.IntN(3)),
			}
			switch r.IntN(3) { // other forms of the same point
			case 0:
				f.Origin = &origin
			case 1:
				f.Origin = origin.String()
			}
			filtered := Bool{Must: []Query{Match{Field: "text", Text: "every"}}, Filter: []Query{Exists{Field: f.Field}}}
			q := FunctionScore{Query: ConstantScore{filtered, 0.5}, Functions: []ScoreFunction{f}, Mode: mode}
			want := map[string]float64{}
			for id, at := range places[f.Field] {
				v := wantDecay(f, origin, at)
				want[id] = []float64{0.5 + v, 0.5 * v, max(0.5, v), v}[mode]
			}
			all := ix.search(q, &SearchOptions{K: n})
			if len(all.Hits) != len(want) {
				t.Fatalf("%v: %d hits, want %d", q, len(all.Hits), len(want))
			}
			for _, h := range all.Hits {
				if math.Abs(h.Score-want[h.ID]) > 5e-5 {
					t.Fatalf("%v: %s scores %v, want %v", q, h.ID, h.Score, want[h.ID])
				}
			}
			checkFunctionHits(t, ix, q, all, round)
			text, err := json.Marshal(q)
			ix.must(err)
			read, err := UnmarshalQuery(text)
			ix.must(err)
			if got := ix.search(read, &SearchOptions{K: 20}); !slices.Equal(hitIDs(got), hitIDs(all)[:20]) {
				t.Fatalf("%s finds %v, want %v", text, hitIDs(got), hitIDs(all)[:20])
			}
		}
	}
}

// TestDecayMixedPlaces: a field that no schema declares may have places beside other values, which are not near.
func TestDecayMixedPlaces(t *testing.T) {
	ix := newIndex(t, nil)
	ix.put("here", map[string]any{"at": Point{Lat: 10, Lon: 20}})
	ix.put("north", map[string]any{"at": Point{Lat: 10.1, Lon: 20}})
	ix.put("truth", map[string]any{"at": true})
	ix.put("number", map[string]any{"at": 10})
	q := FunctionScore{Functions: []ScoreFunction{Decay{Field: "at", Origin: Point{Lat: 10, Lon: 20}, Scale: 11_119, Shape: DecayExp}}, Mode: FunctionReplace}
	ix.eachState(func(state string) {
		got := map[string]float64{}
		for _, h := range ix.search(q, nil).Hits {
			got[h.ID] = h.Score
		}
		if len(got) != 4 || got["here"] < 0.999 || math.Abs(got["north"]-0.5) > 1e-3 || got["truth"] != 0 || got["number"] != 0 {
			t.Errorf("%s: %v", state, got)
		}
	})
}
