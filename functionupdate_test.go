package riffle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/riffle-search/riffle/internal/accelerator"
)

// A soldIndex has the documents "0", "1", … that differ in what they sold, and in where they are.
type soldIndex struct {
	*testIndex
	sold map[string]int // of those that have it
}

// soldDocs is enough for the index to cache filters, and what devices take.
const soldDocs = 4300

// newSoldIndex puts documents into one segment. place is the name of the field of places.
func newSoldIndex(t *testing.T, o *Options, place string) *soldIndex {
	o.Schema = &Schema{Fields: map[string]Field{
		"text": {Type: FieldText}, "sold": {Type: FieldNumber, NoIndex: true, Column: ColumnStored}, place: {Type: FieldPlace},
	}}
	ix := &soldIndex{newIndex(t, o), map[string]int{}}
	var b Batch
	for i := range soldDocs {
		id := fmt.Sprint(i)
		b.Put(id, map[string]any{"text": "every", "sold": i, place: Point{Lat: 10, Lon: 20}})
		ix.sold[id] = i
	}
	ix.must(ix.Apply(t.Context(), &b))
	return ix
}

// set makes documents sell other numbers, or none for a negative one.
func (ix *soldIndex) set(sold map[string]int) {
	ix.t.Helper()
	var b Batch
	for id, n := range sold {
		if ix.sold[id] = n; n < 0 {
			b.Update(id, map[string]any{"sold": nil})
			delete(ix.sold, id)
		} else {
			b.Update(id, map[string]any{"sold": n})
		}
	}
	ix.must(ix.Apply(ix.t.Context(), &b))
}

// best returns the ids of the n documents that sold most.
func best(sold map[string]int, n int) []string {
	ids := slices.Collect(keysOf(sold))
	slices.SortFunc(ids, func(a, b string) int { return sold[b] - sold[a] })
	return ids[:n]
}

// steps are updates one after another: to more than any document had, to less, and to nothing.
var steps = []map[string]int{
	{"7": 20000, "8": 21000, "4200": 22000, "4201": 23000, "30": 24000},
	{"30": 9000, "4201": 25000, "9": 30000},
	{"9": -1, "4201": -1, "11": 19000},
}

// TestUpdateFunctions: functions of a field show its updates, in each mode, on the CPU and as ranks that devices
// take, which are cached; and a snapshot shows the values that it was made with.
func TestUpdateFunctions(t *testing.T) {
	const n = 5
	devices := withDevices(&GPUOptions{BatchDelay: time.Microsecond}, new(halfDevice))
	open := devices.private.accelerator
	devices.private.accelerator = func(o accelerator.Options) (accelerator.Accelerator, error) {
		o.Policy = accelerator.Devices
		return open(o)
	}
	var queries []Query
	for mode := FunctionAdd; mode <= FunctionReplace; mode++ {
		for _, f := range []ScoreFunction{
			FieldFactor{Field: "sold"}, FieldFactor{Field: "sold", Modifier: ModifierLog1p},
			Decay{Field: "sold", Origin: 40000, Scale: 30000, Shape: DecayLinear},
		} {
			q := FunctionScore{Query: Match{Field: "text", Text: "every"}, Mode: mode, Functions: []ScoreFunction{f}}
			if _, ok := f.(Decay); ok { // documents without a value would be the nearest
				q.Query = Bool{Must: []Query{q.Query}, Filter: []Query{Exists{Field: "sold"}}}
			}
			queries = append(queries, q)
		}
	}
	queries = append(queries, FunctionScore{Query: Match{Field: "text", Text: "every"}, Functions: []ScoreFunction{
		FieldFactor{Field: "sold", Modifier: ModifierLog1p, Filter: Range{Field: "sold", From: 4000}},
	}})
	for name, o := range map[string]*Options{"cpu": {Merge: MergeOptions{Disabled: true}}, "gpu": devices} {
		if testing.Short() && name == "cpu" {
			continue
		}
		ix := newSoldIndex(t, o, "where")
		require := func(when string, s *Snapshot, sold map[string]int) {
			t.Helper()
			want := best(sold, n)
			for _, q := range queries {
				for range 3 { // the last time from caches
					res, err := s.Search(t.Context(), q, &SearchOptions{K: n})
					ix.must(err)
					if got := hitIDs(res); !slices.Equal(got, want) {
						t.Fatalf("%s, %s: %v finds %v, want %v", name, when, q, got, want)
					}
				}
				if name == "cpu" || q.(FunctionScore).Mode != FunctionAdd || q.(FunctionScore).Functions[0] == queries[0].(FunctionScore).Functions[0] {
					continue
				}
				res, err := s.Search(t.Context(), q, &SearchOptions{K: n, Processor: ProcessorGPU})
				ix.must(err)
				if got := hitIDs(res); !slices.Equal(got, want) || !strings.HasPrefix(res.Executor, "gpu") {
					t.Fatalf("%s, %s: %v finds %v by %s, want %v", name, when, q, got, res.Executor, want)
				}
			}
		}
		for _, sealed := range []bool{false, true} {
			if sealed {
				ix.flush()
			}
			for i, step := range steps {
				when := fmt.Sprintf("sealed %v, step %d", sealed, i)
				old, before := ix.snapshot(), map[string]int{}
				for id, n := range ix.sold {
					before[id] = n
				}
				require(when+", before", old, before)
				ix.set(step)
				now := ix.snapshot()
				require(when, now, ix.sold)
				require(when+", the snapshot", old, before)
				require(when+", again", now, ix.sold)
				now.Close()
				old.Close()
			}
		}
	}
}

// snapshot returns a snapshot, which the caller closes.
func (ix *soldIndex) snapshot() *Snapshot {
	s, err := ix.Snapshot()
	ix.must(err)
	return s
}

// TestUpdateReaders: sorting, aggregations, and cached filters over numbers and over places show updates. The
// name of a field does not matter.
func TestUpdateReaders(t *testing.T) {
	const place = `where <is> "it"`
	ix := newSoldIndex(t, &Options{Merge: MergeOptions{Disabled: true}}, place)
	every := Match{Field: "text", Text: "every"}
	moved := 0
	require := func(when string) {
		t.Helper()
		sum, above, greatest := 0, 0, best(ix.sold, 5)
		for _, n := range ix.sold {
			if sum += n; n >= 15000 {
				above++
			}
		}
		far := WithinDistance{Field: place, Point: Point{Lat: -40, Lon: 20}, Metres: 1000}
		for range 3 {
			res := ix.search(every, &SearchOptions{
				K: 5, Sort: []SortKey{{Field: "sold", Desc: true}},
				Aggregations: map[string]Aggregation{"sold": StatsAggregation{Field: "sold"}},
			})
			if got := hitIDs(res); !slices.Equal(got, greatest) {
				t.Fatalf("%s: sorted %v, want %v", when, got, greatest)
			}
			if st := res.Aggregations["sold"].Stats; st.Sum != float64(sum) || st.Count != len(ix.sold) || st.Max != int64(ix.sold[greatest[0]]) {
				t.Fatalf("%s: stats %+v, want the sum %d of %d", when, st, sum, len(ix.sold))
			}
			for filter, want := range map[Query]int{Range{Field: "sold", From: 15000}: above, Exists{Field: "sold"}: len(ix.sold), far: moved} {
				got, err := ix.Count(context.Background(), Bool{Must: []Query{every}, Filter: []Query{filter}})
				if ix.must(err); got != want {
					t.Fatalf("%s: %d documents pass %v, want %d", when, got, filter, want)
				}
				q := Bool{Must: []Query{every}, Filter: []Query{filter}}
				if got := ix.search(q, &SearchOptions{K: 1, ExactTotal: true}).Total; got != want {
					t.Fatalf("%s: %d hits of %v, want %d", when, got, filter, want)
				}
			}
		}
	}
	for _, sealed := range []bool{false, true} {
		if sealed {
			ix.flush()
		}
		for i, step := range steps {
			require("before")
			ix.set(step)
			ix.update(fmt.Sprint(100*moved+40), map[string]any{place: Point{Lat: -40, Lon: 20}})
			moved++
			require(fmt.Sprintf("sealed %v, step %d", sealed, i))
		}
	}
}
