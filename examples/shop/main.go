// Shop searches products as shops do: words, and facets of what was found, by which the user narrows
// the search. A facet counts what its other choices would find. Each product lies in a store, so those
// nearby can come first.
//
//	go run ./examples/shop                              # all products
//	go run ./examples/shop boots                        # by word
//	go run ./examples/shop -brand Apex -price 50-100 -sort price boots
//	go run ./examples/shop -near 52.52,13.405 -within 5 boots  # in stores at most 5 km away
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"github.com/riffle-search/riffle"
)

var schema = &riffle.Schema{Fields: map[string]riffle.Field{
	"name":     {Type: riffle.FieldText, Analyzer: "english"},
	"brand":    {Type: riffle.FieldKeyword},
	"category": {Type: riffle.FieldKeyword}, // each level of the tree is a value: "Clothes", "Clothes/Boots"
	"price":    {Type: riffle.FieldNumber},
	"rating":   {Type: riffle.FieldNumber},
	"store":    {Type: riffle.FieldKeyword},
	"place":    {Type: riffle.FieldPlace}, // that of the store
}}

// choices are what the user has selected.
type choices struct {
	words, brand, category, price, sort string
	near                                string  // where the user is
	within                              float64 // at most so many kilometres from there, or 0 for all
}

func main() {
	var c choices
	flag.StringVar(&c.brand, "brand", "", "brands, with commas between them")
	flag.StringVar(&c.category, "category", "", "a category, such as Clothes/Boots")
	flag.StringVar(&c.price, "price", "", "a range, such as 50-100")
	flag.StringVar(&c.sort, "sort", "", "price, -price or -rating; by default the best match comes first, or with -near the nearest")
	flag.StringVar(&c.near, "near", "", "where you are, such as 52.52,13.405: latitude, longitude")
	flag.Float64Var(&c.within, "within", 0, "only stores at most so many kilometres from there")
	flag.Parse()
	c.words = strings.Join(flag.Args(), " ")
	dir, err := os.MkdirTemp("", "riffle-shop-")
	if err != nil {
		log.Fatal(err)
	}
	err = run(context.Background(), dir, c, os.Stdout)
	os.RemoveAll(dir)
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dir string, c choices, w io.Writer) error {
	e, err := riffle.Open(dir, &riffle.Options{Schema: schema})
	if err != nil {
		return err
	}
	defer e.Close()
	if err := e.Apply(ctx, stock()); err != nil {
		return err
	}
	here, err := c.here()
	if err != nil {
		return err
	}
	selections, err := c.selections(here)
	if err != nil {
		return err
	}
	o := &riffle.SearchOptions{
		K: 5, ExactTotal: true, Load: []string{"*"}, Selections: selections,
		Aggregations: map[string]riffle.Aggregation{
			"brand":    riffle.TermsAggregation{Field: "brand"},
			"category": riffle.TermsAggregation{Field: "category", Order: "key"},
			"price":    riffle.HistogramAggregation{Field: "price", Interval: 50, MinCount: 1},
			"paid":     riffle.StatsAggregation{Field: "price"},
		},
	}
	if c.sort != "" {
		if o.Sort, err = riffle.ParseSort(c.sort); err != nil {
			return err
		}
	}
	facets := []string{"brand", "category", "price"}
	if here != nil {
		// The last key is the distance: the order without -sort, and what is printed of each hit.
		o.Sort = append(o.Sort, riffle.SortKey{Field: "place", From: here})
		o.Aggregations["distance"] = riffle.DistanceAggregation{Field: "place", From: *here, Ranges: []riffle.DistanceRange{
			{Name: "below 5 km", To: 5000}, {Name: "5 to 15 km", From: 5000, To: 15_000}, {Name: "farther", From: 15_000},
		}}
		facets = append(facets, "distance")
	}
	var q riffle.Query = riffle.All{}
	if c.words != "" {
		q = riffle.Match{Field: "name", Text: c.words, Mode: riffle.ModeAnd}
	}
	res, err := e.Search(ctx, q, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d products\n", res.Total)
	for _, hit := range res.Hits {
		fmt.Fprintf(w, "  %-14s %-5s %6v  %v stars", hit.Fields["name"], hit.Fields["brand"], hit.Fields["price"], hit.Fields["rating"])
		if here != nil {
			fmt.Fprintf(w, "  %s, %.1f km", hit.Fields["store"], hit.Sort[len(hit.Sort)-1].(float64)/1000)
		}
		fmt.Fprintln(w)
	}
	for _, name := range facets {
		fmt.Fprintf(w, "%s:", name)
		for _, b := range res.Aggregations[name].Buckets {
			fmt.Fprintf(w, "  %v (%d)", b.Key, b.Count)
		}
		fmt.Fprintln(w)
	}
	if s := res.Aggregations["paid"].Stats; s != nil && s.Count > 0 {
		fmt.Fprintf(w, "from %v to %v, %.2f on average\n", s.Min, s.Max, s.Mean)
	}
	return nil
}

// here is where the user is, or nil.
func (c choices) here() (*riffle.Point, error) {
	if c.near == "" {
		if c.within != 0 {
			return nil, errors.New("-within goes with -near: from where?")
		}
		return nil, nil
	}
	p, err := riffle.ParsePoint(c.near)
	if err != nil {
		return nil, fmt.Errorf("-near: %w", err)
	}
	return &p, nil
}

// selections are the filters of the choices, by the facet that they belong to.
func (c choices) selections(here *riffle.Point) (map[string]riffle.Query, error) {
	s := map[string]riffle.Query{}
	if c.brand != "" {
		var brands []any
		for brand := range strings.SplitSeq(c.brand, ",") {
			brands = append(brands, brand)
		}
		s["brand"] = riffle.Terms{Field: "brand", Values: brands}
	}
	if c.category != "" {
		s["category"] = riffle.Term{Field: "category", Value: c.category}
	}
	if c.price != "" {
		low, high, ok := strings.Cut(c.price, "-")
		from, err := strconv.ParseFloat(low, 64)
		to, errTo := strconv.ParseFloat(high, 64)
		if !ok || err != nil || errTo != nil {
			return nil, fmt.Errorf("price %q is not a range such as 50-100", c.price)
		}
		s["price"] = riffle.Range{Field: "price", From: from, To: to}
	}
	if c.within != 0 {
		s["distance"] = riffle.WithinDistance{Field: "place", Point: *here, Metres: c.within * 1000}
	}
	return s, nil
}

// stores are where the products are.
var stores = []struct {
	name  string
	place riffle.Point
}{
	{"Mitte", riffle.Point{Lat: 52.5219, Lon: 13.4132}},
	{"Pankow", riffle.Point{Lat: 52.5690, Lon: 13.4020}},
	{"Spandau", riffle.Point{Lat: 52.5347, Lon: 13.2013}},
	{"Köpenick", riffle.Point{Lat: 52.4456, Lon: 13.5745}},
	{"Potsdam", riffle.Point{Lat: 52.4009, Lon: 13.0591}},
}

// stock makes up products, always the same.
func stock() *riffle.Batch {
	rng := rand.New(rand.NewPCG(2, 2))
	b := new(riffle.Batch)
	kinds := []struct {
		name, area string
		price      float64
	}{{"Boots", "Clothes", 90}, {"Jacket", "Clothes", 120}, {"Tent", "Camping", 180}, {"Stove", "Camping", 45}, {"Lamp", "Camping", 25}}
	for i := range 400 {
		kind, store := kinds[rng.IntN(len(kinds))], stores[i%len(stores)]
		b.Put(fmt.Sprint(i), map[string]any{
			"name":     []string{"Light", "Warm", "Sturdy", "Red"}[rng.IntN(4)] + " " + strings.ToLower(kind.name),
			"brand":    []string{"Acme", "Apex", "Nord"}[rng.IntN(3)],
			"category": []string{kind.area, kind.area + "/" + kind.name},
			"price":    float64(int(kind.price*(50+rng.Float64()*100))) / 100,
			"rating":   float64(10+rng.IntN(41)) / 10,
			"store":    store.name,
			"place":    store.place,
		})
	}
	return b
}
