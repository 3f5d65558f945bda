package riffle

import (
	"encoding/json"

	"github.com/riffle-search/riffle/internal/plan"
	"github.com/riffle-search/riffle/internal/shapes"
)

// withinShape matches the documents with a place in any shape: that of hook.WithinShape, for a package
// whose geometry is not riffle's.
type withinShape struct {
	field string
	of    shapes.Shape
	text  string // tells shapes apart
}

func (q withinShape) shape() (shapes.Shape, error) { return q.of, nil }

func (q withinShape) rewrite(rw *plan.Rewriter, boost float64) (plan.Clause, error) {
	return rewriteWithin(rw, "WithinShape", q.field, q, boost)
}

// Validate implements Query.
func (q withinShape) Validate() error { return q.validate(1) }

func (q withinShape) validate(float64) error { return validateWithin("WithinShape", q.field, q) }

func (withinShape) dependsOnK() bool { return false }

func (q withinShape) String() string { return queryText(q) }

// MarshalJSON describes the query. UnmarshalQuery does not read it.
func (q withinShape) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"within_shape": map[string]string{"field": q.field, "shape": q.text}})
}
