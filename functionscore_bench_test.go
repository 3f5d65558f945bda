package riffle

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// BenchmarkFunctionScore compares queries for any of some words with the same under functions, on the
// passages of gutenberg-a in one segment. "at" rises from passage to passage, as in a log; "readers" is
// the same skewed number in random order, and "sorted" in ascending order. The measurement is that of
// BenchmarkOffPath: a figure is the mean over queries of the best of six rounds, the first two of which
// do not count. "scored" is how many documents a query scores on average.
//
//	plain     no function
//	readers   score + ln(1 + readers), whose tiles all have about the same bounds
//	sorted    score + ln(1 + sorted)
//	product   score × ln(1 + sorted)
//	recent    score × a decay by the age of "at": half after a tenth of the time
//	recent+   score + the same
//	random    score + a random number by id
//	replace   the decay alone
//	reader    the number of readers alone
//	max       the greater of the score and the decay
//	nested    a must of two words, one of which is under the decay
//
// Queries come again, so the index keeps the numbers of their functions. For product, recent and replace,
// "new" is the same with another origin or factor in each search, whose numbers nobody has asked for yet.
func BenchmarkFunctionScore(b *testing.B) {
	e, queries := functionCorpus(b)
	match := func(words []string) Query { return Match{Field: "text", Text: strings.Join(words, " ")} }
	under := func(mode FunctionMode, f ScoreFunction) func(words []string) Query {
		return func(words []string) Query {
			return FunctionScore{Query: match(words), Mode: mode, Functions: []ScoreFunction{f}}
		}
	}
	readers := FieldFactor{Field: "readers", Modifier: ModifierLog1p}
	sorted := FieldFactor{Field: "sorted", Modifier: ModifierLog1p}
	recent := Decay{Field: "at", Origin: functionTime(1), Scale: functionTime(1).Sub(functionTime(0)) / 10, Shape: DecayExp}
	shapes := []offPathShape{
		{"plain", match},
		{"readers", under(FunctionAdd, readers)},
		{"sorted", under(FunctionAdd, sorted)},
		{"product", under(FunctionMultiply, sorted)},
		{"recent", under(FunctionMultiply, recent)},
		{"recent+", under(FunctionAdd, recent)},
		{"random", under(FunctionAdd, Random{Seed: 1})},
		{"replace", under(FunctionReplace, recent)},
		{"reader", under(FunctionReplace, readers)},
		{"max", under(FunctionMax, recent)},
		{"nested", func(words []string) Query {
			return Bool{Should: []Query{FunctionScore{Query: match(words[:1]), Mode: FunctionMultiply, Functions: []ScoreFunction{recent}}, match(words[1:])}}
		}},
	}
	fresh := []struct {
		name string
		mode FunctionMode
		make func(n int) ScoreFunction
	}{
		{"product", FunctionMultiply, func(n int) ScoreFunction { f := sorted; f.Factor = 1 + float64(n)/1e6; return f }},
		{"readers", FunctionAdd, func(n int) ScoreFunction { f := readers; f.Factor = 1 + float64(n)/1e6; return f }},
		{"recent", FunctionMultiply, func(n int) ScoreFunction { f := recent; f.Origin = functionTime(1 - float64(n)/1e8); return f }},
		{"replace", FunctionReplace, func(n int) ScoreFunction { f := recent; f.Origin = functionTime(1 - float64(n)/1e8); return f }},
	}
	searches := 0
	for b.Loop() {
		best := bestOfRounds(b, e, queries, shapes)
		for i, s := range shapes {
			b.ReportMetric(float64(best[i].Nanoseconds())/1000/float64(len(queries)), s.name+"-µs")
		}
		for _, f := range fresh {
			sum := time.Duration(0)
			for _, words := range queries {
				least := time.Hour
				for range 4 {
					searches++
					q := FunctionScore{Query: match(words), Mode: f.mode, Functions: []ScoreFunction{f.make(searches)}}
					begin := time.Now()
					if _, err := e.Search(ctx, q, nil); err != nil {
						b.Fatal(err)
					}
					least = min(least, time.Since(begin))
				}
				sum += least
			}
			b.ReportMetric(float64(sum.Nanoseconds())/1000/float64(len(queries)), f.name+"-new-µs")
		}
	}
	for _, s := range shapes {
		scored := int64(0)
		for _, words := range queries {
			res, err := e.Search(ctx, s.query(words), nil)
			if err != nil {
				b.Fatal(err)
			}
			scored += res.Work.DocsScored
		}
		b.ReportMetric(float64(scored)/float64(len(queries)), s.name+"-scored")
	}
	b.ReportMetric(0, "ns/op")
}

// functionTime is the time of a document at a share of the index.
func functionTime(share float64) time.Time {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(share * float64(300*24*time.Hour)))
}

// functionCorpus returns the index of BenchmarkFunctionScore, and the words of 300 queries.
func functionCorpus(b *testing.B) (e *Engine, queries [][]string) {
	passages := readPassages(b)
	column := func(t FieldType) Field { return Field{Type: t, NoIndex: true, Column: ColumnStored} }
	e, err := Open(b.TempDir(), &Options{Durability: SyncNone, Schema: &Schema{NoStore: true, Fields: map[string]Field{
		"text": {}, "at": column(FieldDate), "readers": column(FieldNumber), "sorted": column(FieldNumber),
	}}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.Close() })
	rng := rand.New(rand.NewPCG(1, 5))
	var batch Batch
	for i := range passages {
		share := float64(i) / float64(len(passages))
		batch.Put(passages[i].ID, map[string]any{
			"text": textOf(&passages[i]), "at": functionTime(share),
			"readers": int64(math.Exp(10 * math.Pow(rng.Float64(), 3))), "sorted": int64(math.Exp(10 * math.Pow(share, 3))),
		})
		if batch.Len() == 1000 || i == len(passages)-1 {
			if err := e.Apply(ctx, &batch); err != nil {
				b.Fatal(err)
			}
			batch.Reset()
		}
	}
	if err := e.Compact(ctx); err != nil {
		b.Fatal(err)
	}
	for _, text := range readQueries(b, "gutenberg-dev", 400) {
		if words := strings.Fields(text); len(words) > 1 && len(queries) < 300 {
			queries = append(queries, words)
		}
	}
	return e, queries
}
