package aggregate

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/cpuexec"
)

// buildColumn makes the column of a field of documents with these numbers in the segment.
func buildColumn(t testing.TB, values [][]columns.Value) *columns.Column {
	var mix columns.Mix
	terms := map[string]uint64{}
	n := 0
	for _, of := range values {
		for _, v := range of {
			mix.Add(v)
			terms[string(v.AppendTerm(nil))] = 0
			n++
		}
	}
	if n == 0 {
		return nil
	}
	b := columns.NewBuilder(mix.Kind(), nil)
	if mix.Kind() == columns.Terms {
		for i, term := range slices.Sorted(maps.Keys(terms)) {
			terms[term] = uint64(i)
			if err := b.Term([]byte(term)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for doc, of := range values {
		var keys []uint64
		for _, v := range of {
			key, ok := v.In(mix.Kind())
			if mix.Kind() == columns.Terms {
				key, ok = terms[string(v.AppendTerm(nil))], true
			}
			if !ok {
				t.Fatalf("%v is not of kind %v", v.Any(), mix.Kind())
			}
			keys = append(keys, key)
		}
		if err := b.Add(uint32(doc), keys...); err != nil {
			t.Fatal(err)
		}
	}
	c, err := b.View(uint32(len(values)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A collection is random documents, in segments.
type collection struct {
	docs     []document
	segments []Segment
	scores   [][]uint32 // by segment
}

var zones = []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/St_Johns", "Asia/Kathmandu", "UTC", "Africa/Cairo", "America/Havana"}

// generators make values of fields, or none.
func generators(rng *rand.Rand) map[string]func() []columns.Value {
	var words []columns.Value
	for i := range 2 + rng.IntN(50) {
		words = append(words, columns.OfString(fmt.Sprintf("w%d", i*i)))
	}
	word := func() columns.Value { return words[min(rng.IntN(len(words)), rng.IntN(len(words)))] }
	base := time.Date(2023, 10, 28, 12, 0, 0, 0, time.UTC).Add(time.Duration(rng.IntN(200*24)) * time.Hour)
	spread := time.Duration(1) << (30 + rng.IntN(24))
	instant := func() columns.Value {
		return columns.OfTime(base.Add(time.Duration(rng.Int64N(int64(spread)))))
	}
	rising := base
	limits := []columns.Value{
		columns.OfInt(math.MinInt64), columns.OfInt(math.MaxInt64), columns.OfInt(0), columns.OfInt(-1), columns.OfUint(math.MaxUint64),
		columns.OfUint(1 << 63), columns.OfFloat(1e300), columns.OfFloat(-1e300), columns.OfFloat(5e-324), columns.OfFloat(0.5), columns.OfInt(1<<53 + 1),
	}
	one := func(f func() columns.Value) func() []columns.Value {
		return func() []columns.Value { return []columns.Value{f()} }
	}
	some := func(share float64, f func() columns.Value) func() []columns.Value {
		return func() (vs []columns.Value) {
			if rng.Float64() < share {
				vs = append(vs, f())
			}
			return vs
		}
	}
	several := func(most int, f func() columns.Value) func() []columns.Value {
		return func() (vs []columns.Value) {
			for range rng.IntN(most + 1) {
				vs = append(vs, f())
			}
			return vs
		}
	}
	small := func() columns.Value { return columns.OfInt(int64(rng.IntN(100) - 30)) }
	decimal := func() columns.Value { return columns.OfFloat(float64(rng.IntN(2000)-500) / 10) }
	return map[string]func() []columns.Value{
		"word":   one(word),
		"maybe":  some(0.7, word),
		"rare":   some(0.01, word),
		"words":  several(4, word),
		"int":    one(small),
		"ints":   several(3, small),
		"wide":   one(func() columns.Value { return columns.OfInt(int64(rng.Uint64()) >> rng.IntN(40)) }),
		"float":  some(0.9, decimal),
		"floats": several(3, decimal),
		"limits": some(0.5, func() columns.Value { return limits[rng.IntN(len(limits))] }),
		"bool":   some(0.9, func() columns.Value { return columns.OfBool(rng.IntN(3) == 0) }),
		"time":   one(instant),
		"times":  several(3, instant),
		"rising": one(func() columns.Value {
			rising = rising.Add(time.Duration(rng.IntN(1e9)) * 60)
			return columns.OfTime(rising)
		}),
		"far": some(0.8, func() columns.Value { return columns.OfTime(time.Unix(rng.Int64N(1<<36)-1<<35, rng.Int64N(1e9))) }),
		"mixed": several(3, func() columns.Value {
			return []columns.Value{word(), small(), decimal(), instant(), columns.OfBool(true)}[rng.IntN(5)]
		}),
		"shift":   some(0.8, small), // see randomCollection
		"nothing": func() []columns.Value { return nil },
	}
}

var classOfField = map[string]string{
	"int": "number", "ints": "number", "wide": "number", "float": "number", "floats": "number", "limits": "number", "mixed": "number",
	"bool": "bool", "time": "time", "times": "time", "rising": "time", "far": "time", "shift": "",
}

// setClasses sets the classes of the fields of a collection.
func setClasses(docs []document) {
	fieldClass = maps.Clone(classOfField)
	for _, class := range []string{"bool", "time", "number"} { // the last one that there is counts
		for _, d := range docs {
			if vs := d.values["shift"]; len(vs) > 0 && classOf(vs[0]) == class {
				fieldClass["shift"] = class
			}
		}
	}
}

const setCount = 4

var base0 = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

func randomCollection(t testing.TB, rng *rand.Rand, sizes ...int) *collection {
	c := &collection{}
	base := uint32(0)
	gens := generators(rng)
	fields := slices.Sorted(maps.Keys(gens))
	for i, size := range sizes {
		values := map[string][][]columns.Value{}
		sets := make([][]uint64, setCount) // the first is all documents
		shares := []int{1, 2, 1 + rng.IntN(100), 1 + rng.IntN(5)}
		for j := 1; j < setCount; j++ {
			sets[j] = make([]uint64, (size+63)/64)
		}
		scores := make([]uint32, (size+tileDocs)/tileDocs*tileDocs+tileDocs)
		for doc := range size {
			d := document{number: base + uint32(doc), values: map[string][]columns.Value{}, sets: []bool{true, false, false, false}, score: uint32(rng.IntN(20))}
			scores[doc] = d.score
			for _, f := range fields {
				vs := gens[f]()
				// A field may be of integers in one segment, and have fractions in another.
				if f == "float" && i == 0 {
					for k := range vs {
						vs[k] = columns.OfInt(int64(columns.KeyFloat(vs[k].Key)))
					}
				}
				// Or of different classes.
				if f == "shift" && i%3 < 2 {
					for k := range vs {
						n := columns.KeyInt(vs[k].Key)
						vs[k] = []columns.Value{columns.OfTime(base0.Add(time.Duration(n) * time.Hour)), columns.OfBool(n > 10)}[i%3]
					}
				}
				slices.SortFunc(vs, columns.Compare)
				d.values[f] = vs
				values[f] = append(values[f], vs)
			}
			for j := 1; j < setCount; j++ {
				if rng.IntN(shares[j]) == 0 {
					sets[j][doc/64] |= 1 << (doc % 64)
					d.sets[j] = true
				}
			}
			c.docs = append(c.docs, d)
		}
		built := map[string]*columns.Column{}
		for _, f := range fields {
			built[f] = buildColumn(t, values[f])
		}
		c.segments = append(c.segments, Segment{
			Docs: uint32(size), Base: base, Sets: sets,
			Column: func(field string) (*columns.Column, error) { return built[field], nil },
		})
		c.scores = append(c.scores, scores)
		base += uint32(size)
	}
	return c
}

func pick[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }

// randomSpec makes an aggregation of any kind, with subs down to a depth.
func randomSpec(rng *rand.Rand, depth int) *Spec {
	s := &Spec{Place: "x"}
	numeric := []string{"int", "ints", "float", "floats", "mixed", "shift", "nothing"}
	temporal := []string{"time", "times", "rising", "mixed", "shift", "nothing"}
	any := append(append([]string{"word", "maybe", "rare", "words", "wide", "limits", "bool", "far"}, numeric...), temporal...)
	buckets := true
	switch rng.IntN(11) {
	case 0, 1:
		s.Field = pick(rng, any...)
		s.Of = Terms{Size: 1 + rng.IntN(30), MinCount: 1 + rng.IntN(3), Order: Order{By: pick(rng, ByCount, ByKey), Desc: rng.IntN(2) == 0}}
	case 2:
		s.Field = pick(rng, numeric...)
		h := Histogram{Interval: pick(rng, 1, 5, 0.1, 7.5, 1000), Offset: pick(rng, 0, 3, -0.25), Fill: Fill{MinCount: rng.IntN(3)}}
		if h.MinCount == 0 && rng.IntN(2) == 0 {
			h.Bounded, h.From, h.To = true, -3, 4
		}
		s.Of = h
	case 3:
		s.Field = pick(rng, temporal...)
		zone, err := time.LoadLocation(pick(rng, zones...))
		if err != nil {
			panic(err)
		}
		c := Calendar{Unit: Unit(rng.IntN(int(Year) + 1)), Every: pick(rng, time.Hour, 90*time.Minute, 7*time.Second), Zone: zone, Fill: Fill{MinCount: 1 + rng.IntN(2)}}
		if c.Unit > Minute && rng.IntN(2) == 0 {
			c.MinCount = 0
		}
		if c.Unit == Fixed || c.Unit >= Day {
			c.Offset = pick(rng, 0, 0, 6*time.Hour, -90*time.Minute)
		}
		s.Of = c
	case 4:
		s.Field = pick(rng, any...)
		bound := func() columns.Bound {
			v := pick(rng, columns.OfInt(int64(rng.IntN(60)-20)), columns.OfFloat(float64(rng.IntN(100))/7), columns.OfString("w2"), columns.OfString("w6"),
				columns.OfTime(time.Date(2023, 12, 1+rng.IntN(200), 0, 0, 0, 0, time.UTC)), columns.OfBool(true))
			return columns.Bound{Value: v, Open: rng.IntN(4) == 0, Exclusive: rng.IntN(2) == 0}
		}
		var r Ranges
		for range 1 + rng.IntN(4) {
			r = append(r, Range{bound(), bound()})
		}
		s.Of = r
	case 5:
		s.Of = Filters{rng.IntN(setCount), rng.IntN(setCount)}
	case 6:
		s.Field, s.Of = pick(rng, any...), Missing{}
	default:
		buckets = false
		switch rng.IntN(4) {
		case 0:
			s.Field, s.Of = pick(rng, slices.Sorted(maps.Keys(classOfField))...), Stats{}
		case 1:
			s.Field, s.Of = pick(rng, any...), Cardinality{}
		case 2:
			s.Field, s.Of = pick(rng, slices.Sorted(maps.Keys(classOfField))...), Percentiles{0, 10, 25, 50, 70, 99.9, 100}
		case 3:
			s.Of = TopHits{Size: 1 + rng.IntN(5), Order: randomOrder(rng, any)}
		}
	}
	if buckets && depth > 0 {
		for range rng.IntN(3) {
			s.Sub = append(s.Sub, randomSpec(rng, depth-1))
		}
	}
	if k, ok := s.Of.(Terms); ok {
		for i, sub := range s.Sub {
			switch sub.Of.(type) {
			case Stats:
				k.Order = Order{ByMetric, rng.IntN(2) == 0, i, Metric{Name: pick(rng, "count", "min", "max", "sum", "mean", "variance")}}
			case Cardinality:
				k.Order = Order{ByMetric, rng.IntN(2) == 0, i, Metric{}}
			case Percentiles:
				k.Order = Order{ByMetric, rng.IntN(2) == 0, i, Metric{Percent: 99.9}}
			}
		}
		s.Of = k
	}
	return s
}

// randomOrder makes an order of fields, scores and ids at random, or none.
func randomOrder(rng *rand.Rand, fields []string) *cpuexec.Order {
	if rng.IntN(3) == 0 {
		return nil
	}
	o := &cpuexec.Order{ID: func(dst []byte, segment int, doc uint32) ([]byte, error) { panic("not prepared") }}
	var names []string
	for range 1 + rng.IntN(3) {
		k := cpuexec.SortKey{By: pick(rng, cpuexec.ByColumn, cpuexec.ByColumn, cpuexec.ByScore, cpuexec.ByID), Desc: rng.IntN(2) == 0}
		name := ""
		if k.By == cpuexec.ByColumn {
			name = pick(rng, fields...)
			k.Mode, k.MissingFirst = pick(rng, cpuexec.LeastValue, cpuexec.GreatestValue, cpuexec.MedianValue), rng.IntN(2) == 0
		}
		names, o.Keys = append(names, name), append(o.Keys, k)
	}
	orderFields[o] = names
	return o
}

// prepare gives the orders of a specification the columns and ids of segments.
func prepare(t *testing.T, s *Spec, segments []Segment) {
	for _, sub := range s.Sub {
		prepare(t, sub, segments)
	}
	k, ok := s.Of.(TopHits)
	if !ok || k.Order == nil {
		return
	}
	k.Order.ID = func(dst []byte, segment int, doc uint32) ([]byte, error) {
		return append(dst, idOf(segments[segment].Base+doc)...), nil
	}
	for i, name := range orderFields[k.Order] {
		for j := range segments {
			if name == "" {
				continue
			}
			c, err := segments[j].Column(name)
			if err != nil {
				t.Fatal(err)
			}
			k.Order.Keys[i].Columns = append(k.Order.Keys[i].Columns, c)
		}
	}
}

func describe(s *Spec) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%T %q %+v", s.Of, s.Field, s.Of)
	for _, sub := range s.Sub {
		fmt.Fprintf(&b, "\n  %s", strings.ReplaceAll(describe(sub), "\n", "\n  "))
	}
	return b.String()
}

func noPlace(_ string, err error) error { return err }

// run computes an aggregation of all documents, on some goroutines.
func (c *collection) run(root Root, workers int) ([]*Result, error) {
	r, err := Begin(c.segments, []Root{root}, Options{Workers: workers}, noPlace)
	if err != nil {
		return nil, err
	}
	return addAll(r, workers, c.tileScores)
}

func (c *collection) tileScores(segment, tile int) *[tileDocs]uint32 {
	return (*[tileDocs]uint32)(c.scores[segment][tile*tileDocs:])
}

// addAll adds all documents of a run, and returns the results.
func addAll(r *Run, workers int, scores func(segment, tile int) *[tileDocs]uint32) ([]*Result, error) {
	if err := collectAll(r, workers, scores); err != nil {
		return nil, err
	}
	return r.Results()
}

// collectAll adds all documents of a run. The tiles, in order, go to the goroutine that asks first.
func collectAll(r *Run, workers int, scores func(segment, tile int) *[tileDocs]uint32) error {
	var all []Matches
	for i := range r.segments {
		left := int(r.segments[i].Docs)
		for tile := 0; left > 0; tile++ {
			m := Matches{Segment: i, Tile: tile, Count: min(left, tileDocs), Set: new(tileSet), Scores: scores(i, tile)}
			for d := range m.Count {
				m.Set[d/64] |= 1 << (d % 64)
				if tile%2 == 0 {
					m.List = append(m.List, uint16(d))
				}
			}
			all, left = append(all, m), left-tileDocs
		}
	}
	var next atomic.Int64
	var added sync.WaitGroup
	errs := make([]error, workers)
	for w := range workers {
		added.Go(func() {
			c := r.Collector()
			defer c.End()
			for i := next.Add(1) - 1; i < int64(len(all)) && errs[w] == nil; i = next.Add(1) - 1 {
				errs[w] = c.Add(&all[i])
			}
		})
	}
	added.Wait()
	return errors.Join(errs...)
}

// TestOracle compares random trees of aggregations over random documents with the oracle.
func TestOracle(t *testing.T) {
	runs := 6
	if testing.Short() {
		runs = 3
	}
	compared, failed := 0, 0
	for seed := range uint64(runs) {
		rng := rand.New(rand.NewPCG(seed, 16))
		sizes := [][]int{{300}, {5000}, {1200, 700}, {tileDocs * 2, 50, 1}, {9000, 4097}}[rng.IntN(5)]
		c := randomCollection(t, rng, sizes...)
		setClasses(c.docs)
		for range 30 {
			spec, set := randomSpec(rng, 3), rng.IntN(setCount)
			prepare(t, spec, c.segments)
			got, err := c.run(Root{spec, set}, 1+rng.IntN(3))
			if err != nil {
				if strings.Contains(err.Error(), "away from the offset") {
					continue
				}
				t.Fatalf("seed %d: %v\n%s", seed, err, describe(spec))
			}
			var in []document
			for _, d := range c.docs {
				if d.sets[set] {
					in = append(in, d)
				}
			}
			want := text(oracle(spec, in), "")
			if g := text(got[0], ""); g != want {
				gl, wl := strings.Split(g, "\n"), strings.Split(want, "\n")
				at := 0
				for at < min(len(gl), len(wl))-1 && gl[at] == wl[at] {
					at++
				}
				t.Errorf("seed %d, segments %v, set %d:\n%s\nline %d of the result:\n got %s\nwant %s", seed, sizes, set, describe(spec), at, gl[at], wl[at])
				if failed++; failed > 5 {
					return
				}
			}
			compared++
		}
	}
	if compared < runs*25 {
		t.Errorf("only %d of %d were compared", compared, runs*30)
	}
}
