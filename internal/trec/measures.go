package trec

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
)

// Measures are the figures of one query, or their means over Queries queries.
// All lie in [0, 1].
type Measures struct {
	Queries    int
	MAP        float64 // of one query: average precision
	NDCG10     float64
	P10        float64
	Recall100  float64
	Recall1000 float64
}

// Evaluate scores a run against judgements. The definitions, and which queries count, are in the
// package comment. It fails if the run and the judgements have no query in common, because they
// then belong to different collections.
func Evaluate(qrels Qrels, run Run) (Measures, error) {
	var mean Measures
	answered := 0
	// In the order of the ids, so that the sums are the same on every call.
	for _, query := range slices.Sorted(maps.Keys(qrels)) {
		hits, ok := run[query]
		if ok {
			answered++
		}
		m := evaluateQuery(qrels[query], hits)
		mean.Queries++
		mean.MAP += m.MAP
		mean.NDCG10 += m.NDCG10
		mean.P10 += m.P10
		mean.Recall100 += m.Recall100
		mean.Recall1000 += m.Recall1000
	}
	if answered == 0 {
		return Measures{}, errors.New("no query of the run has judgements")
	}
	n := float64(mean.Queries)
	mean.MAP /= n
	mean.NDCG10 /= n
	mean.P10 /= n
	mean.Recall100 /= n
	mean.Recall1000 /= n
	return mean, nil
}

// evaluateQuery scores the hits of one query, best first.
func evaluateQuery(judged map[string]int, hits []Hit) Measures {
	relevant := 0
	for _, grade := range judged {
		if grade >= 1 {
			relevant++
		}
	}
	m := Measures{Queries: 1}
	if relevant == 0 {
		return m
	}
	grades := make([]int, len(hits)) // of the documents retrieved, best first
	for i, h := range hits {
		grades[i] = judged[h.Doc]
	}
	m.MAP = precisionSum(grades) / float64(relevant)
	m.NDCG10 = dcg(grades, 10) / dcg(idealGrades(judged), 10)
	m.P10 = float64(countRelevant(grades, 10)) / 10
	m.Recall100 = float64(countRelevant(grades, 100)) / float64(relevant)
	m.Recall1000 = float64(countRelevant(grades, 1000)) / float64(relevant)
	return m
}

// precisionSum adds up the precision at the rank of every relevant document.
func precisionSum(grades []int) float64 {
	found, sum := 0, 0.0
	for i, grade := range grades {
		if grade >= 1 {
			found++
			sum += float64(found) / float64(i+1)
		}
	}
	return sum
}

// dcg is the discounted cumulative gain of the first n.
func dcg(grades []int, n int) float64 {
	sum := 0.0
	for i, grade := range grades[:min(n, len(grades))] {
		if grade >= 1 {
			sum += float64(grade) / math.Log2(float64(i+2)) // the document at i has rank i+1
		}
	}
	return sum
}

// idealGrades returns the grades of a perfect ranking.
func idealGrades(judged map[string]int) []int {
	grades := slices.Sorted(maps.Values(judged))
	slices.Reverse(grades)
	return grades
}

// countRelevant counts the relevant documents among the first n.
func countRelevant(grades []int, n int) int {
	count := 0
	for _, grade := range grades[:min(n, len(grades))] {
		if grade >= 1 {
			count++
		}
	}
	return count
}

// Print writes the five measures, one `name value` a line, with the digits that
// trec_eval prints.
func (m Measures) Print(w io.Writer) error {
	_, err := fmt.Fprintf(w, "MAP %.4f\nnDCG@10 %.4f\nP@10 %.4f\nRecall@100 %.4f\nRecall@1000 %.4f\n",
		m.MAP, m.NDCG10, m.P10, m.Recall100, m.Recall1000)
	return err
}
