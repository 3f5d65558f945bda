package riffle

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestNotFinite: what is no finite number is refused, by documents of all ways in and by queries, with an error
// that names the place. An infinite bound of a range on its own side is no bound.
func TestNotFinite(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	wants := func(what string, err error, text string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: error %v, want %q", what, err, text)
		}
	}
	for name, schema := range map[string]*Schema{"declared": {Fields: map[string]Field{"n": {Type: FieldNumber}}}, "undeclared": nil} {
		t.Run(name, func(t *testing.T) {
			ix := newIndex(t, &Options{Schema: schema})
			for i, v := range []float64{-1, 0, 2.5} {
				ix.put(fmt.Sprint(i), map[string]any{"n": v})
			}
			for _, c := range []struct {
				value any
				text  string
			}{
				{nan, "NaN"}, {inf, "+Inf"}, {-inf, "-Inf"}, {float32(nan), "NaN"}, {float32(-inf), "-Inf"}, {[]any{1, nan}, "NaN"}, {[]float64{1, inf}, "+Inf"}, {[]float32{float32(inf)}, "+Inf"},
			} {
				want := `document "a": field "n": ` + c.text + " is not a number that can be indexed"
				fields := map[string]any{"n": c.value}
				wants(fmt.Sprintf("Put %v", c.value), ix.Put(ctx, "a", fields), want)
				var b Batch
				b.Update("0", fields)
				wants(fmt.Sprintf("Update %v", c.value), ix.Apply(ctx, &b), strings.Replace(want, `"a"`, `"0"`, 1))
				_, err := Build(ctx, t.TempDir()+"/x", Documents(func(yield func(Document, error) bool) { yield(Document{ID: "a", Fields: fields}, nil) }), &BuildOptions{Index: Options{Schema: schema}})
				wants(fmt.Sprintf("Build %v", c.value), err, want[len(`document "a": `):])
			}
			for number, want := range map[string]string{"1e999": "1e999", "[1,-1e400]": "-1e400", "NaN": "'N'", "Infinity": "'I'", "-Infinity": "-"} {
				line := fmt.Sprintf("{\"id\":\"a\",\"n\":%s}\n", number)
				_, err := Build(ctx, t.TempDir()+"/x", JSONLines{Files: []string{"-"}, Stdin: strings.NewReader(line)}, &BuildOptions{Index: Options{Schema: schema}})
				wants("Build "+line, err, want)
				var b Batch
				if err := b.UnmarshalJSON([]byte(`[{"put":{"id":"a","fields":{"n":` + number + `}}}]`)); err == nil {
					wants("Put as JSON "+number, ix.Apply(ctx, &b), "n")
				}
			}

			decay := func(d Decay) Query { return FunctionScore{Functions: []ScoreFunction{d}} }
			factor := func(f FieldFactor) Query { f.Field = "n"; return FunctionScore{Functions: []ScoreFunction{f}} }
			for want, q := range map[string]Query{
				"riffle: Range.From: NaN":                          Range{Field: "n", From: nan},
				"riffle: Range.To: NaN":                            Range{Field: "n", From: 1, To: float32(nan)},
				"riffle: Range.From: no number lies beyond +Inf":   Range{Field: "n", From: inf},
				"riffle: Range.To: no number lies beyond -Inf":     Range{Field: "n", To: -inf},
				"riffle: Range: has no bound":                      Range{Field: "n", From: -inf, To: inf},
				"riffle: Decay.Origin: NaN":                        decay(Decay{Field: "n", Origin: nan, Scale: 1}),
				"riffle: Decay.Origin: -Inf":                       decay(Decay{Field: "n", Origin: -inf, Scale: 1}),
				"riffle: Decay.Scale: +Inf":                        decay(Decay{Field: "n", Origin: 1, Scale: inf}),
				"riffle: Decay.Scale: NaN":                         decay(Decay{Field: "n", Origin: 1, Scale: nan}),
				"riffle: Decay.Offset: +Inf":                       decay(Decay{Field: "n", Origin: 1, Scale: 1, Offset: inf}),
				"riffle: Decay.Decay: must lie between 0 and 1":    decay(Decay{Field: "n", Origin: 1, Scale: 1, Decay: nan}),
				"riffle: Decay.Weight: must lie in":                decay(Decay{Field: "n", Origin: 1, Scale: 1, Weight: inf}),
				"riffle: FieldFactor.Factor: must lie in":          factor(FieldFactor{Factor: inf}),
				"riffle: FieldFactor.Missing: must lie in":         factor(FieldFactor{Missing: nan}),
				"riffle: FieldFactor.Weight: must lie in":          factor(FieldFactor{Weight: nan}),
				`riffle: Terms.Values: field "n"`:                  Terms{Field: "n", Values: []any{inf}},
				`riffle: Term.Value: field "n": NaN is not a numb`: Term{"n", nan},
			} {
				_, err := ix.Search(ctx, q, nil)
				wants(fmt.Sprintf("%T", q), err, want)
				var of *QueryError
				if !errors.As(err, &of) {
					t.Errorf("%v is no QueryError", err)
				}
			}
			for q, want := range map[Range]int{{Field: "n", From: -inf, To: 2}: 2, {Field: "n", From: 0, To: inf}: 2, {Field: "n", From: float32(-inf), ExcludeFrom: true, To: 0, IncludeTo: true}: 2} {
				n, err := ix.Count(ctx, q)
				ix.must(err)
				text, err := json.Marshal(q)
				ix.must(err)
				again, err := UnmarshalQuery(text)
				ix.must(err)
				m, err := ix.Count(ctx, again)
				if ix.must(err); n != want || m != want {
					t.Errorf("%+v: %d documents, as JSON %s %d, want %d", q, n, text, m, want)
				}
			}
			ranges := func(from, to any) (int, error) {
				res, err := ix.Search(ctx, All{}, &SearchOptions{Aggregations: map[string]Aggregation{"x": RangeAggregation{Field: "n", Ranges: []AggregationRange{{From: from, To: to}}}}})
				if err != nil {
					return 0, err
				}
				return res.Aggregations["x"].Buckets[0].Count, nil
			}
			if n, err := ranges(-inf, inf); n != 3 || err != nil {
				t.Errorf("the range of all numbers has %d documents, %v, want 3", n, err)
			}
			_, err := ranges(nan, nil)
			wants("range", err, `Aggregations["x"].Ranges[0].From: NaN`)
			_, err = ranges(nil, -inf)
			wants("range", err, `Aggregations["x"].Ranges[0].To: no number lies beyond -Inf`)
		})
	}
}

// TestFunctionLimits: functions of the greatest and the least numbers of each type are finite and in the order of
// their formulas, in all modes, and the best of them are found as when all documents are scored. Numbers are
// fractions of the greatest, so that small ones may be equal beside great ones.
func TestFunctionLimits(t *testing.T) {
	rng := rand.New(rand.NewPCG(26, 11))
	for round := range 12 {
		ix := newIndex(t, &Options{Schema: &Schema{Fields: map[string]Field{"n": {Type: FieldNumber}}}, Durability: SyncNone, Merge: MergeOptions{Disabled: true}})
		docs := map[string]map[string]any{}
		for i := range 120 {
			d := map[string]any{"text": strings.Repeat("a ", 1+i%5)}
			for n := rng.IntN(4); n > 0; n-- {
				all, _ := d["n"].([]any)
				d["n"] = append(all, rangeNumber(rng))
			}
			docs[fmt.Sprint(i)] = d
			if ix.put(fmt.Sprint(i), d); i%50 == 49 {
				ix.flush()
			}
		}
		origin := []any{0, int64(math.MinInt64), uint64(math.MaxUint64), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64}[rng.IntN(6)]
		for _, f := range []ScoreFunction{
			FieldFactor{Field: "n", Modifier: Modifier(round % 4)}, FieldFactor{Field: "n", Modifier: Modifier(round % 4), Factor: MaxBoost, Missing: MaxBoost},
			FieldFactor{Field: "n", Modifier: Modifier(round % 4), Factor: 1e-3}, Random{Seed: uint64(round), Field: "n"},
			Decay{Field: "n", Origin: origin, Scale: []any{1, 1e300, math.SmallestNonzeroFloat64, math.MaxFloat64}[round%4], Shape: DecayShape(round % 3)},
		} {
			for mode := FunctionAdd; mode <= FunctionReplace; mode++ {
				q := FunctionScore{Query: Match{Field: "text", Text: "a"}, Functions: []ScoreFunction{f}, Mode: mode}
				all, err := ix.Search(ctx, q, &SearchOptions{K: 200})
				ix.must(err)
				checkFunctionHits(t, ix, q, all, round)
				if len(all.Hits) != len(docs) {
					t.Fatalf("%v: %d hits, want %d", q, len(all.Hits), len(docs))
				}
				want, greatest := []float64{}, 0.0 // the greatest of all numbers, also of those that do not count
				for _, h := range all.Hits {
					if math.IsNaN(h.Score) || math.IsInf(h.Score, 0) || h.Score < 0 {
						t.Fatalf("%v: %s scores %v", q, h.ID, h.Score)
					}
					if ff, ok := f.(FieldFactor); ok && mode == FunctionReplace {
						numbers := numbersIn(docs[h.ID], "n")
						want = append(want, limitValue(ff, numbers))
						for _, n := range append(numbers, ff.Missing) {
							greatest = max(greatest, limitValue(ff, []float64{n}))
						}
					}
				}
				if len(want) == 0 {
					continue
				}
				for i, h := range all.Hits {
					if math.Abs(h.Score-want[i]) > greatest/(1<<28) {
						t.Fatalf("%v: %s scores %v, want %v", q, h.ID, h.Score, want[i])
					}
				}
			}
		}
	}
}

// limitValue is the value of a FieldFactor for the numbers of a document: what is multiplied counts up to 1e30.
func limitValue(f FieldFactor, numbers []float64) float64 {
	x := f.Missing
	if len(numbers) > 0 {
		x = slices.Min(numbers)
	}
	if f.Factor != 0 {
		x *= f.Factor
	}
	x = min(max(x, 0), 1e30)
	switch f.Modifier {
	case ModifierLog1p:
		return math.Log1p(x)
	case ModifierSqrt:
		return math.Sqrt(x)
	case ModifierReciprocal:
		return 1 / (1 + x)
	}
	return x
}
