package blockmax

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// BM25 holds the parameters of the similarity (Robertson and Zaragoza, The
// Probabilistic Relevance Framework, 2009). They belong to a query, not to an
// index.
type BM25 struct {
	K1  float64 // how slowly repeated terms saturate, 0 to 1000; 0 ignores frequency
	B   float64 // how much long fields are penalized, 0 (not at all) to 1
	IDF IDF     // formula that turns rarity into weight
}

// Zero stands for 0 as K1 or B of a BM25 in options, where 0 means the default. It is so small that
// no score shows the difference.
const Zero = math.SmallestNonzeroFloat64

// OrDefault replaces zeros in options by the defaults.
func (m BM25) OrDefault() BM25 {
	for _, p := range []struct {
		param    *float64
		standard float64
	}{{&m.K1, DefaultBM25.K1}, {&m.B, DefaultBM25.B}} {
		switch *p.param {
		case 0:
			*p.param = p.standard
		case Zero:
			*p.param = 0
		}
	}
	return m
}

// DefaultBM25 has the parameters of Lucene.
var DefaultBM25 = BM25{K1: 1.2, B: 0.75}

// Validate reports every parameter that is out of range.
func (m BM25) Validate() error {
	var errs []error
	if !(m.K1 >= 0 && m.K1 <= 1000) {
		errs = append(errs, fmt.Errorf("k1 is %v, want 0 to 1000", m.K1))
	}
	if !(m.B >= 0 && m.B <= 1) {
		errs = append(errs, fmt.Errorf("b is %v, want 0 to 1", m.B))
	}
	if m.IDF > Robertson {
		errs = append(errs, fmt.Errorf("idf is %d, want %d (%v) or %d (%v)", m.IDF, Lucene, Lucene, Robertson, Robertson))
	}
	return errors.Join(errs...)
}

// An IDF is a formula for the inverse document frequency.
type IDF uint8

const (
	// Lucene is ln(1 + (N-n+0.5)/(n+0.5)), above zero for every term.
	Lucene IDF = iota
	// Robertson is ln((N-n+0.5)/(n+0.5)), as in the papers, but zero where that is negative (terms
	// in more than half of all documents).
	Robertson
)

func (f IDF) String() string {
	switch f {
	case Lucene:
		return "lucene"
	case Robertson:
		return "robertson"
	}
	return fmt.Sprintf("IDF(%d)", uint8(f))
}

// Weight returns the idf of a term in docFreq of docs documents, both counted over the whole
// snapshot. A docFreq above docs counts as docs.
//
// It rounds the result to 24 bits, so that a platform's last bit of the logarithm does not affect
// the integer weights.
func (f IDF) Weight(docs, docFreq uint64) float64 {
	docFreq = min(docFreq, docs)
	odds := (float64(docs-docFreq) + 0.5) / (float64(docFreq) + 0.5)
	if f == Lucene {
		odds++
	}
	return float64(float32(max(0, math.Log(odds))))
}

// RoundAvg rounds an average field length to four significant digits. Tables and bounds use the
// rounded length, so they survive most additions.
func RoundAvg(avg float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(avg, 'e', 3, 64), 64)
	if err != nil {
		panic("BUG: blockmax: average length " + err.Error())
	}
	return r
}
