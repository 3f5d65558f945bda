package trec

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// ranking makes hits of the named documents, best first.
func ranking(docs string) []Hit {
	var hits []Hit
	for i, d := range strings.Fields(docs) {
		hits = append(hits, Hit{Doc: d, Score: float64(-i)})
	}
	return hits
}

// filled puts a document at a rank, after others without judgements.
func filled(rank int, doc string) []Hit {
	var hits []Hit
	for i := 1; i < rank; i++ {
		hits = append(hits, Hit{Doc: fmt.Sprint("unjudged", i), Score: float64(-i)})
	}
	return append(hits, Hit{Doc: doc, Score: float64(-rank)})
}

// TestMeasuresByHand compares each measure with sums done on paper.
func TestMeasuresByHand(t *testing.T) {
	log2of3 := math.Log2(3)
	for _, c := range []struct {
		name   string
		judged map[string]int
		hits   []Hit
		want   Measures
	}{
		{"example of the package comment", map[string]int{"d1": 2, "d3": 1, "d9": 1}, ranking("d1 d2 d3"),
			Measures{1, (1 + 2.0/3) / 3, 2.5 / (2 + 1/log2of3 + 0.5), 0.2, 2.0 / 3, 2.0 / 3}},
		{"perfect", map[string]int{"a": 3, "b": 1}, ranking("a b"),
			Measures{1, 1, 1, 0.2, 1, 1}},
		{"the lower grade first", map[string]int{"a": 3, "b": 1}, ranking("b a"),
			Measures{1, 1, (1 + 3/log2of3) / (3 + 1/log2of3), 0.2, 1, 1}},
		{"nothing relevant found", map[string]int{"a": 1}, ranking("x y"),
			Measures{1, 0, 0, 0, 0, 0}},
		{"nothing relevant judged", map[string]int{"x": 0, "y": -1}, ranking("x y"),
			Measures{1, 0, 0, 0, 0, 0}},
		{"negative and zero grades gain nothing", map[string]int{"a": 1, "x": 0, "y": -1}, ranking("x y a"),
			Measures{1, 1.0 / 3, 0.5, 0.1, 1, 1}},
		{"rank 10 is inside", map[string]int{"a": 1}, filled(10, "a"),
			Measures{1, 0.1, 1 / math.Log2(11), 0.1, 1, 1}},
		{"rank 11 is outside", map[string]int{"a": 1}, filled(11, "a"),
			Measures{1, 1.0 / 11, 0, 0, 1, 1}},
		{"rank 100 is inside", map[string]int{"a": 1, "b": 1}, filled(100, "a"),
			Measures{1, 0.005, 0, 0, 0.5, 0.5}},
		{"rank 101 is outside", map[string]int{"a": 1}, filled(101, "a"),
			Measures{1, 1.0 / 101, 0, 0, 0, 1}},
		{"rank 1001 counts for MAP alone", map[string]int{"a": 1}, filled(1001, "a"),
			Measures{1, 1.0 / 1001, 0, 0, 0, 0}},
	} {
		got, err := Evaluate(Qrels{"q": c.judged}, Run{"q": c.hits})
		if err != nil || !near(got, c.want) {
			t.Errorf("%s:\n got %+v, %v\nwant %+v", c.name, got, err, c.want)
		}
	}
}

// TestIdealIsCut: with twelve relevant documents the ideal ranking has ten, as nDCG@10 defines.
func TestIdealIsCut(t *testing.T) {
	judged := make(map[string]int)
	var docs string
	for i := range 12 {
		judged[fmt.Sprint("d", i)] = 1
		docs += fmt.Sprint("d", i, " ")
	}
	got, _ := Evaluate(Qrels{"q": judged}, Run{"q": ranking(docs)})
	if want := (Measures{1, 1, 1, 1, 1, 1}); !near(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func near(a, b Measures) bool {
	eq := func(x, y float64) bool { return math.Abs(x-y) < 1e-12 }
	return a.Queries == b.Queries && eq(a.MAP, b.MAP) && eq(a.NDCG10, b.NDCG10) && eq(a.P10, b.P10) &&
		eq(a.Recall100, b.Recall100) && eq(a.Recall1000, b.Recall1000)
}

// TestWhichQueriesCount: all those with judgements, relevant or not, answered or not.
func TestWhichQueriesCount(t *testing.T) {
	qrels := Qrels{
		"perfect":    {"a": 1},
		"irrelevant": {"a": 0},
		"unanswered": {"a": 1},
	}
	run := Run{
		"perfect":    ranking("a"),
		"irrelevant": ranking("a"),
		"unjudged":   ranking("a"),
	}
	got, err := Evaluate(qrels, run)
	want := Measures{3, 1.0 / 3, 1.0 / 3, 0.1 / 3, 1.0 / 3, 1.0 / 3}
	if err != nil || !near(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if _, err := Evaluate(Qrels{"1": {"a": 1}}, Run{"2": ranking("a")}); err == nil {
		t.Error("an average over no query was returned")
	}
}

func ExampleMeasures_Print() {
	qrels, _ := ReadQrels("qrels.tsv", strings.NewReader("1\td1\t2\n1\td3\t1\n1\td9\t1\n"))
	run, _ := ReadRun("run.txt", strings.NewReader("1 Q0 d1 1 9.5 x\n1 Q0 d2 2 7.25 x\n1 Q0 d3 3 7 x\n"))
	m, err := Evaluate(qrels, run)
	if err != nil {
		fmt.Println(err)
		return
	}
	var b strings.Builder
	m.Print(&b)
	fmt.Print(b.String())
	// Output:
	// MAP 0.5556
	// nDCG@10 0.7985
	// P@10 0.2000
	// Recall@100 0.6667
	// Recall@1000 0.6667
}
