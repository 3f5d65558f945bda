package trec

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadTopics(t *testing.T) {
	const file = "\ufeff1\twhat is flow\r\n\n  \nPLAIN-2\t a\tb \n3\t\n"
	got, err := ReadTopics("q.tsv", strings.NewReader(file))
	want := []Topic{{"1", "what is flow"}, {"PLAIN-2", "a\tb"}, {"3", ""}}
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("got %q, %v\nwant %q", got, err, want)
	}
}

func TestReadQrels(t *testing.T) {
	for _, file := range []string{
		"1\td1\t2\n1\td2\t0\n2\td1\t-1\n",
		"query-id\tcorpus-id\tscore\n1\td1\t2\n1\td2\t0\n2\td1\t-1",
		"# judged by hand\n1 0 d1 2\n1 0 d2 0\n\n2 Q0 d1 -1\n",
	} {
		got, err := ReadQrels("qrels", strings.NewReader(file))
		want := "map[1:map[d1:2 d2:0] 2:map[d1:-1]]"
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("%q\n got %v, %v\nwant %v", file, got, err, want)
		}
	}
}

func TestReadRunOrder(t *testing.T) {
	const file = `# the stated ranks lie: the score decides, then the id, descending
1 Q0 a 1 2.5 x
1 Q0 b 2 7e0 x
2	Q0	z	1	-1	x
1 Q0 c 3 2.50 x
`
	got, err := ReadRun("r.txt", strings.NewReader(file))
	want := "map[1:[{b 7} {c 2.5} {a 2.5}] 2:[{z -1}]]"
	if err != nil || fmt.Sprint(got) != want {
		t.Fatalf("got %v, %v\nwant %v", got, err, want)
	}
}

func TestBadLines(t *testing.T) {
	topics := func(r io.Reader) error { _, err := ReadTopics("f", r); return err }
	qrels := func(r io.Reader) error { _, err := ReadQrels("f", r); return err }
	run := func(r io.Reader) error { _, err := ReadRun("f", r); return err }
	for _, c := range []struct {
		read func(io.Reader) error
		file string
		want string
	}{
		{topics, "1\ta\nno tab here\n", `f:2: no tab between query id and text`},
		{topics, "\n\ta\n", `f:2: empty query id`},
		{topics, "1 2\ta\n", `f:1: white space in query id "1 2"`},
		{topics, "1\ta\n2\tb\n1\tc\n", `f:3: query "1" is already on line 1`},
		{topics, "1\t" + strings.Repeat("x", maxLine), `f:1: longer than 1048576 bytes`},
		{qrels, "1\td\n", `f:1: 2 fields, want 3 (query, document, grade) or 4 (query, 0, document, grade)`},
		{qrels, "1 d 1\n1 0 e 1\n", `f:2: 4 fields where earlier lines have 3`},
		{qrels, "1 d yes\n", `f:1: grade "yes", want an integer from -127 to 127`},
		{qrels, "1 d 128\n", `f:1: grade "128", want an integer from -127 to 127`},
		{qrels, "1 d 1\n2 d 1\n\n1 d 1\n", `f:4: document "d" of query "1" is judged twice`},
		{run, "1 Q0 d 1 2.0\n", `f:1: 5 fields, want 6 (query, Q0, document, rank, score, tag)`},
		{run, "1 Q0 d 1 NaN x\n", `f:1: score "NaN" is not a number`},
		{run, "1 Q0 d 1 high x\n", `f:1: score "high" is not a number`},
		{run, "1 Q0 d 1 5 x\n1 Q0 e 1 4 x\n1 Q0 d 3 3 x\n", `f:3: document "d" is already retrieved for query "1" on line 1`},
	} {
		err := c.read(strings.NewReader(c.file))
		var at *LineError
		if !errors.As(err, &at) || err.Error() != c.want {
			t.Errorf("%.60q\n got %v\nwant %s", c.file, err, c.want)
		}
	}
}

func TestReadErrorNamesLine(t *testing.T) {
	r := io.MultiReader(strings.NewReader("1\ta\n2\tb\n"), iotest.ErrReader(errors.New("disk on fire")))
	_, err := ReadTopics("q.tsv", r)
	if err == nil || err.Error() != "q.tsv:3: disk on fire" {
		t.Fatalf("got %v", err)
	}
}

func TestRunWriter(t *testing.T) {
	var b strings.Builder
	w, err := NewRunWriter(&b, "riffle")
	if err != nil {
		t.Fatal(err)
	}
	// Ties keep their order, although d2 sorts after d1; close scores after them are pushed down.
	if err := w.Write("1", []Hit{{"d1", 12.5}, {"d2", 12.5}, {"d3", 12.4999999}, {"d4", 1}, {"d5", 0}, {"d6", 0}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Write("2", []Hit{{"d1", 3}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	const want = `1 Q0 d1 1 12.5 riffle
1 Q0 d2 2 12.499999 riffle
1 Q0 d3 3 12.499998 riffle
1 Q0 d4 4 1 riffle
1 Q0 d5 5 0 riffle
1 Q0 d6 6 -0.0000001 riffle
2 Q0 d1 1 3 riffle
`
	if b.String() != want {
		t.Fatalf("got\n%swant\n%s", b.String(), want)
	}
}

func TestRunWriterRefuses(t *testing.T) {
	for _, c := range []struct {
		query string
		hits  []Hit
		want  string
	}{
		{"1", []Hit{{"a", 1}, {"b", 2}}, "query 1, rank 2: score 2 is above the one before it"},
		{"1", []Hit{{"a b", 1}}, `query 1, rank 1: white space in document id "a b"`},
		{"1", []Hit{{"a", math.NaN()}}, "query 1, rank 1: score NaN cannot be written"},
		{"1", []Hit{{"a", math.Inf(1)}}, "query 1, rank 1: score +Inf cannot be written"},
		{"", nil, "empty query id"},
		{"#1", nil, `query id "#1" would read as a comment`},
	} {
		var b strings.Builder
		w, _ := NewRunWriter(&b, "riffle")
		err := w.Write(c.query, c.hits)
		if err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
		if w.Flush(); b.Len() > 0 {
			t.Errorf("%s: wrote %q", c.want, b.String())
		}
	}
	if _, err := NewRunWriter(io.Discard, "a b"); err == nil {
		t.Error("a tag with a space was accepted")
	}
}

// TestOrderSurvives writes rankings full of ties and reads them back, as they are
// and through the float32 of older versions of trec_eval.
func TestOrderSurvives(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		scale := math.Pow(10, float64(rng.IntN(12)-6))
		hits := make([]Hit, 1+rng.IntN(300))
		for i := range hits {
			hits[i] = Hit{Doc: fmt.Sprint("d", rng.Uint32(), "-", i), Score: float64(rng.IntN(20)-2) * scale}
		}
		slices.SortStableFunc(hits, func(a, b Hit) int { return compareHits(Hit{Score: a.Score}, Hit{Score: b.Score}) })
		var b strings.Builder
		w, _ := NewRunWriter(&b, "t")
		if err := w.Write("q", hits); err != nil {
			t.Fatal(err)
		}
		w.Flush()
		run, err := ReadRun("run", strings.NewReader(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		got := run["q"]
		for _, round := range []bool{false, true} {
			if round {
				for i := range got {
					got[i].Score = float64(float32(got[i].Score))
				}
				slices.SortFunc(got, compareHits)
			}
			if !slices.EqualFunc(got, hits, func(a, b Hit) bool { return a.Doc == b.Doc }) {
				t.Fatalf("scale %g, rounded %v: order changed:\n%s", scale, round, b.String())
			}
		}
	}
}
