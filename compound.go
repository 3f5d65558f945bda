package riffle

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/riffle-search/riffle/internal/plan"
)

// DisMax matches the documents that at least one of its queries matches. A document's score is the
// best of those queries, plus Tie times the sum of the others. So a document that fits one query well
// comes before one that fits several a little.
//
// For one text in several fields, Match with CombineBest does the same.
type DisMax struct {
	Queries []Query
	Tie     float64 // 0 to 1; with 1 the score is the sum, as of Bool.Should
}

// Boosting matches the documents of Positive, and demotes those that Negative matches, too: their
// scores are multiplied by Factor. Unlike MustNot, it keeps them.
//
// Positive is evaluated twice, so the query takes up to twice its time, and its terms count twice
// against the limit of a query. A Boosting in Positive doubles both once more, so few levels fit in
// the limit. Where scores do not count, such as in a filter or in Negative, only Positive is evaluated,
// and once.
type Boosting struct {
	Positive Query
	Negative Query
	Factor   float64 // 0 to 1
}

func (q DisMax) rewrite(rw *plan.Rewriter, boost float64) (plan.Clause, error) {
	if err := plan.CheckDisMax(len(q.Queries), q.Tie); err != nil {
		return plan.Clause{}, err
	}
	var clauses []plan.Clause
	for _, sub := range q.Queries {
		c, err := rewrite(sub, rw, boost)
		if err != nil {
			return plan.Clause{}, err
		}
		clauses = append(clauses, c)
	}
	return plan.DisMax(clauses, q.Tie), nil
}

func (q Boosting) rewrite(rw *plan.Rewriter, boost float64) (plan.Clause, error) {
	if err := plan.CheckBoosting(q.Factor); err != nil {
		return plan.Clause{}, err
	}
	positive, err := rewrite(q.Positive, rw, boost)
	if err != nil {
		return plan.Clause{}, err
	}
	negative, err := rewriteUnscored(q.Negative, rw, 1)
	if err != nil {
		return plan.Clause{}, err
	}
	return rw.Boosting(positive, negative, q.Factor)
}

// Validate implements Query.
func (q DisMax) Validate() error { return q.validate(1) }

// Validate implements Query.
func (q Boosting) Validate() error { return q.validate(1) }

func (q DisMax) validate(boost float64) error {
	if err := plan.CheckDisMax(len(q.Queries), q.Tie); err != nil {
		return err
	}
	for _, sub := range q.Queries {
		if err := validate(sub, boost); err != nil {
			return err
		}
	}
	return nil
}

func (q Boosting) validate(boost float64) error {
	if err := plan.CheckBoosting(q.Factor); err != nil {
		return err
	}
	if err := validate(q.Positive, boost); err != nil {
		return err
	}
	return validate(q.Negative, 1)
}

func (q DisMax) dependsOnK() bool { return slices.ContainsFunc(q.Queries, dependsOnK) }

func (q Boosting) dependsOnK() bool { return dependsOnK(q.Positive) || dependsOnK(q.Negative) }

func (q DisMax) String() string   { return queryText(q) }
func (q Boosting) String() string { return queryText(q) }

// part is the type of the queries: Query when written, json.RawMessage when read.
type (
	disMaxJSON[part any] struct {
		Queries []part  `json:"queries"`
		Tie     float64 `json:"tie,omitempty"`
	}
	boostingJSON[part any] struct {
		Positive part    `json:"positive"`
		Negative part    `json:"negative"`
		Factor   float64 `json:"factor"`
	}
)

// MarshalJSON writes the query as {"dis_max": …}; see UnmarshalQuery.
func (q DisMax) MarshalJSON() ([]byte, error) {
	if q.Queries == nil {
		q.Queries = []Query{}
	}
	return json.Marshal(map[string]any{"dis_max": disMaxJSON[Query](q)})
}

// MarshalJSON writes the query as {"boosting": …}; see UnmarshalQuery.
func (q Boosting) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"boosting": boostingJSON[Query](q)})
}

func (j *disMaxJSON[part]) query(read func(part) (Query, error)) (Query, error) {
	q := DisMax{Tie: j.Tie}
	for i, raw := range j.Queries {
		sub, err := read(raw)
		if err != nil {
			return nil, fmt.Errorf("query %d: %w", i, err)
		}
		q.Queries = append(q.Queries, sub)
	}
	return q, nil
}

func (j *boostingJSON[part]) query(read func(part) (Query, error)) (Query, error) {
	positive, err := read(j.Positive)
	if err != nil {
		return nil, fmt.Errorf("positive: %w", err)
	}
	negative, err := read(j.Negative)
	if err != nil {
		return nil, fmt.Errorf("negative: %w", err)
	}
	return Boosting{positive, negative, j.Factor}, nil
}
