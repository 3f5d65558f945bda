package blockmax

import (
	"math"
	"strings"
	"testing"
)

func TestIDF(t *testing.T) {
	for _, c := range []struct {
		f       IDF
		n, docs uint64
		want    float64
	}{
		{Lucene, 1, 1, math.Log(1 + 0.5/1.5)},
		{Lucene, 10, 1000, math.Log(1 + 990.5/10.5)},
		{Lucene, 0, 1000, math.Log(1 + 1000.5/0.5)},
		{Lucene, 12, 10, math.Log(1 + 0.5/10.5)}, // docFreq above docs
		{Robertson, 10, 1000, math.Log(990.5 / 10.5)},
		{Robertson, 501, 1000, 0},
		{Robertson, 1000, 1000, 0},
	} {
		if got := c.f.Weight(c.docs, c.n); math.Abs(got-c.want) > 1e-6*c.want {
			t.Errorf("%v: %d of %d documents weigh %v, want %v", c.f, c.n, c.docs, got, c.want)
		}
	}
}

func TestValidateReportsAllFields(t *testing.T) {
	if err := DefaultBM25.Validate(); err != nil {
		t.Error(err)
	}
	err := BM25{K1: math.NaN(), B: -1, IDF: 9}.Validate()
	for _, word := range []string{"k1", "b is -1", "idf"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("Validate says %v, which leaves out %s", err, word)
		}
	}
}

func TestRoundAvg(t *testing.T) {
	for _, c := range [][2]float64{{0, 0}, {1, 1}, {12.3456, 12.35}, {99995, 100000}, {123456, 123500}, {0.00012344, 0.0001234}} {
		if got := RoundAvg(c[0]); got != c[1] {
			t.Errorf("RoundAvg(%v) = %v, want %v", c[0], got, c[1])
		}
	}
}
