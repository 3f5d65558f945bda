package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/bench/protocol"
)

// placesOf reads the places of rows.
func placesOf(t *testing.T, c corpus) (places []place) {
	t.Helper()
	for _, text := range column(t, c, "place") {
		lat, lon, err := protocol.Place(text)
		if err != nil {
			t.Fatal(err)
		}
		places = append(places, place{lat, lon})
	}
	return places
}

// byVectors is the distance of two places by their angle, another way than the haversine.
func byVectors(a, b place) float64 {
	vector := func(p place) (v [3]float64) {
		sin, cos := math.Sincos(p.lat * math.Pi / 180)
		y, x := math.Sincos(p.lon * math.Pi / 180)
		return [3]float64{x * cos, y * cos, sin}
	}
	u, v := vector(a), vector(b)
	cross := [3]float64{u[1]*v[2] - u[2]*v[1], u[2]*v[0] - u[0]*v[2], u[0]*v[1] - u[1]*v[0]}
	return earthRadius * math.Atan2(math.Sqrt(cross[0]*cross[0]+cross[1]*cross[1]+cross[2]*cross[2]), u[0]*v[0]+u[1]*v[1]+u[2]*v[2])
}

// TestPlaceAnswers compares what riffle answers about places and by functions with what reading the rows gives.
func TestPlaceAnswers(t *testing.T) {
	s, _ := findShape("@products")
	c := testShape(t, s)
	riffle := riffleOver(t, c)
	sets, err := rowSets(c, s, 3)
	if err != nil {
		t.Fatal(err)
	}
	places := placesOf(t, c)
	asked := map[string]int{}
	for _, set := range sets {
		mode := set.modes[0]
		if !slices.Contains([]string{"within", "inside", "nearest", "score"}, mode) {
			continue
		}
		request := protocol.Request{Op: "run", Mode: mode, Want: "top", K: 10, Queries: set.queries, Reps: 1, Hits: true}
		if mode == "within" {
			request.Want = "count"
		}
		reply, err := riffle.proc.call(request)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range set.queries {
			q, err := protocol.ParseColumnQuery(mode, text)
			if err != nil {
				t.Fatal(err)
			}
			asked[mode]++
			if mode == "within" {
				if b := borderOf(q.Shape, places); !b.has(reply.Counts[i]) {
					t.Errorf("%q: %d, want %d to %d", text, reply.Counts[i], b.least, b.most)
				}
				continue
			}
			want := placesByHand(t, riffle, c, mode, q, places)
			got := reply.Hits[i]
			if len(got) != min(10, len(want)) {
				t.Errorf("%s %q: %d hits of %d", mode, text, len(got), len(want))
				continue
			}
			for n, h := range got {
				at := slices.IndexFunc(want, func(w protocol.Hit) bool { return w.ID == h.ID })
				same := equal
				if mode == "nearest" {
					same = sameMetres(false)
				}
				if at < 0 || !same(h.Score, want[at].Score) || !same(h.Score, want[n].Score) {
					t.Errorf("%s %q: hit %d is %v, want %v", mode, text, n, h, want[n])
				}
			}
		}
	}
	for _, mode := range []string{"within", "inside", "nearest", "score"} {
		if asked[mode] == 0 {
			t.Errorf("no query of %s", mode)
		}
	}
}

// placesByHand returns all rows that a query matches with their scores, the best first.
func placesByHand(t *testing.T, riffle *contestant, c corpus, mode string, q protocol.ColumnQuery, places []place) (hits []protocol.Hit) {
	t.Helper()
	scores := map[int]float64{} // of the word alone, of which other tests make sure
	if q.Word == protocol.AllDocuments {
		for row := range places {
			scores[row] = 1
		}
	} else {
		reply, err := riffle.proc.call(protocol.Request{Op: "run", Mode: "filtered", Want: "top", K: testRows,
			Queries: []string{q.Word + " price 0 1000000000"}, Reps: 1, Hits: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range reply.Hits[0] {
			scores[h.ID] = h.Score
		}
	}
	border := map[int]bool{}
	if mode == "inside" {
		for row, p := range places {
			if borderOf(q.Shape, []place{p}).least == 1 {
				border[row] = true
			}
		}
	}
	prices := numbersOf(t, column(t, c, "price"))
	n := q.Score.Numbers
	for row, score := range scores {
		switch {
		case mode == "inside" && !border[row]:
			continue
		case mode == "nearest":
			score = byVectors(places[row], place{q.Shape.Numbers[0], q.Shape.Numbers[1]})
		case mode == "score":
			var value float64
			switch {
			case q.Score.Kind == "log1p":
				value = math.Log(1 + n[0]*float64(prices[row]))
			case q.Column == "price":
				value = math.Pow(0.5, math.Pow((float64(prices[row])-n[0])/n[1], 2))
			default:
				value = math.Pow(0.5, math.Pow(byVectors(places[row], place{n[0], n[1]})/n[2], 2))
			}
			score = map[string]float64{"sum": score + value, "multiply": score * value, "replace": value}[q.Score.Mode]
		}
		hits = append(hits, protocol.Hit{ID: row, Score: score})
	}
	slices.SortFunc(hits, func(a, b protocol.Hit) int {
		if up := mode == "nearest"; (a.Score < b.Score) == up {
			return -1
		}
		return 1
	})
	return hits
}

// TestShapesHaveTheirShare: about as many rows are in a shape as its name says, boxes over the date line are, and no
// polygon is.
func TestShapesHaveTheirShare(t *testing.T) {
	s, _ := findShape("@products")
	c := testShape(t, s)
	sets, err := rowSets(c, s, 5)
	if err != nil {
		t.Fatal(err)
	}
	shapes := 0
	for _, set := range sets {
		if set.modes[0] != "within" {
			continue
		}
		var share float64
		name := strings.Fields(set.name)
		if _, err := fmt.Sscan(name[len(name)-2], &share); err != nil {
			t.Fatal(err)
		}
		for i, text := range set.queries {
			q, err := protocol.ParseColumnQuery("within", text)
			if err != nil {
				t.Fatal(err)
			}
			b, want := set.borders[i], max(1, share/100*testRows)
			if float64(b.most) < want-2 || float64(b.least) > 1.05*want+2 {
				t.Errorf("%s, %q: %d to %d rows, want %g", set.name, text, b.least, b.most, want)
			}
			if over := q.Shape.Kind == "box" && q.Shape.Numbers[1] > q.Shape.Numbers[3]; strings.Contains(set.name, "date line") && !over {
				t.Errorf("%s: %q is not over the date line", set.name, text)
			}
			shapes++
		}
	}
	if shapes != 5*len(shapeKinds)*len(shapeShares) {
		t.Errorf("%d shapes", shapes)
	}
}

// TestBorder: what is inside for sure, and what depends on an engine's precision or geometry.
func TestBorder(t *testing.T) {
	triangle := []float64{60, 0, 60, 60, 0, 30} // whose northern side is at 63.4 degrees in the middle, on the Earth
	metre := 360 / (2 * math.Pi * earthRadius)
	for _, tc := range []struct {
		name            string
		shape           protocol.PlaceShape
		at              place
		surely, perhaps bool
		loose           bool // perhaps, to bleve
	}{
		{"middle of the triangle", protocol.PlaceShape{Kind: "polygon", Numbers: triangle}, place{40, 30}, true, true, true},
		{"south of the map's side", protocol.PlaceShape{Kind: "polygon", Numbers: triangle}, place{59.999, 30}, true, true, true},
		{"between the sides", protocol.PlaceShape{Kind: "polygon", Numbers: triangle}, place{62, 30}, false, true, true},
		{"north of the Earth's side", protocol.PlaceShape{Kind: "polygon", Numbers: triangle}, place{63.5, 30}, false, false, false},
		{"beside it", protocol.PlaceShape{Kind: "polygon", Numbers: triangle}, place{30, 10}, false, false, false},
		{"beyond it", protocol.PlaceShape{Kind: "polygon", Numbers: triangle}, place{40, 80}, false, false, false},
		{"near", protocol.PlaceShape{Kind: "distance", Numbers: []float64{0, 0, 1000}}, place{0, 990 * metre}, true, true, true},
		{"a centimetre too far", protocol.PlaceShape{Kind: "distance", Numbers: []float64{0, 0, 1000}}, place{1000.01 * metre, 0}, false, true, true},
		{"a metre too far", protocol.PlaceShape{Kind: "distance", Numbers: []float64{0, 0, 1000}}, place{0, 1001 * metre}, false, false, true},
		{"too far", protocol.PlaceShape{Kind: "distance", Numbers: []float64{0, 0, 1000}}, place{0, 1010 * metre}, false, false, false},
		{"over the date line", protocol.PlaceShape{Kind: "box", Numbers: []float64{-1, 170, 1, -170}}, place{0, -175}, true, true, true},
		{"not over it", protocol.PlaceShape{Kind: "box", Numbers: []float64{-1, 170, 1, -170}}, place{0, 0}, false, false, false},
		{"a decimetre beside a box", protocol.PlaceShape{Kind: "box", Numbers: []float64{-1, 1, 1, 2}}, place{0, 2.000001}, false, false, true},
	} {
		b := borderOf(tc.shape, []place{tc.at})
		if b.least == 1 != tc.surely || b.most == 1 != tc.perhaps || b.of(true).most == 1 != tc.loose {
			t.Errorf("%s: %+v", tc.name, b)
		}
	}
}

// TestCompareShapes: counts may differ by what is at the border, and hits by the documents that are there.
func TestCompareShapes(t *testing.T) {
	set := querySet{queries: []string{"* place distance 0 0 1"}, borders: []border{{least: 3, most: 5, leastLoose: 2, mostLoose: 6, perhaps: []int{7, 9}}}}
	for _, tc := range []struct {
		ref, other    int
		loose         bool
		border, wrong int
	}{
		{4, 4, false, 0, 0}, {3, 5, false, 1, 0}, {3, 6, false, 0, 1}, {3, 6, true, 1, 0}, {2, 4, true, 0, 1}, {6, 6, false, 0, 1},
	} {
		var a agreement
		a.compareCells(set, &cell{counts: []int{tc.ref}}, &cell{counts: []int{tc.other}}, 1, tc.loose)
		if a.Counts != 1 || a.CountsBorder != tc.border || a.CountsWrong != tc.wrong {
			t.Errorf("%d and %d, loose %v: %+v", tc.ref, tc.other, tc.loose, a)
		}
	}
	hits := func(ids ...int) (all []protocol.Hit) {
		for i, id := range ids {
			all = append(all, protocol.Hit{ID: id, Score: float64(10 - i)})
		}
		return all
	}
	for _, tc := range []struct {
		ref, other []protocol.Hit
		same, off  int
	}{
		{hits(1, 2), hits(1, 2), 2, 0},
		{hits(7, 1), []protocol.Hit{{ID: 1, Score: 9}, {ID: 2, Score: 8}}, 1, 0},
		{hits(1, 2, 4), hits(1, 3, 4), 2, 1},
		{hits(1, 8), hits(1), 1, 1},
	} {
		var a agreement
		inside := task{mode: "inside", want: "top", k: 2}
		a.compareCells(set, &cell{task: inside, hits: [][]protocol.Hit{tc.ref}}, &cell{task: inside, hits: [][]protocol.Hit{tc.other}}, 1, false)
		if a.Same != tc.same || a.Off != tc.off {
			t.Errorf("%v and %v: %+v", tc.ref, tc.other, a)
		}
	}
}
