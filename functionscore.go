package riffle

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/function"
	"github.com/riffle-search/riffle/internal/plan"
)

// FunctionScore changes the scores of a query by functions of what documents have in columns (Field.Column):
// how popular they are, how new, how near to a price. It matches what Query matches.
//
// Combine makes one value of those of the functions that apply to a document, and Mode says what that value
// does to the score. Values are never negative. A document to which no function applies keeps its score; under
// FunctionReplace it has 0.
//
// Scores are integers while a query runs (see Explanation), so values are fractions of a power of two: the
// least one that no value exceeds in the index that is searched, deleted documents included. A fraction has 32
// bits. A value of 1/1,000,000 of the greatest is thus exact to 0.03 %, and one below 1/1<<32 of it counts as 0.
// No step of a score is smaller than 1/1<<32, so raise values that are all below 1e-6 by a Factor.
// Random, Decay, Fixed, and FieldFactor with ModifierLog1p or ModifierReciprocal have 16 bits under
// FunctionAdd, as words have.
//
// Searches skip documents by the least and the greatest value of each 4,096 documents, and of each 64 where
// the function decides or has come before, whatever the mode. They skip most where documents with high values
// stand together: in a log, or by Options.Merge with OrderByField. The values of a function that comes again
// are cached, 4 bytes for each document, as filters are; so round an Origin that is the time of the search.
// A GPU runs FunctionAdd of the functions with 16 bits, where the FunctionScore is the whole query, apart from
// filters; all others run on the CPU.
type FunctionScore struct {
	Query     Query // nil stands for All
	Functions []ScoreFunction
	Combine   FunctionCombine // of the functions with each other
	Mode      FunctionMode    // with the score of Query
}

// A FunctionMode says what the value of the functions of a FunctionScore does to a score.
type FunctionMode uint8

const (
	FunctionAdd      FunctionMode = iota // "sum": score + value
	FunctionMultiply                     // "product": score × value
	FunctionMax                          // "max": the greater of the two
	FunctionReplace                      // "replace": the value instead of the score
)

// A FunctionCombine says how the values of several functions become one.
type FunctionCombine uint8

const (
	FunctionsSum     FunctionCombine = iota // "sum"
	FunctionsProduct                        // "product"
	FunctionsMax                            // "max"
	FunctionsMin                            // "min"
	FunctionsAverage                        // "average": Σ weight × value / Σ weight
)

var (
	functionModes    = names[FunctionMode]{"mode of a function", []string{"sum", "product", "max", "replace"}}
	functionCombines = names[FunctionCombine]{"combination of functions", []string{"sum", "product", "max", "min", "average"}}
	modifiers        = names[Modifier]{"modifier", []string{"none", "log1p", "sqrt", "reciprocal"}}
	decayShapes      = names[DecayShape]{"shape", []string{"gauss", "exp", "linear"}}
)

// A ScoreFunction is one of the functions of a FunctionScore: a FieldFactor, Decay, Random or Fixed.
//
// Each has a Weight, which multiplies its value, from 0 to MaxBoost; 0 stands for 1. Each has a Filter, which
// says to what documents it applies; nil stands for all.
type ScoreFunction interface {
	part(rw *plan.Rewriter) (plan.FunctionPart, error) // without a Rewriter the Filter is only validated
	filter() Query
	json() (name string, body any)
}

// FieldFactor is a function of a number: Modifier of Factor times the value. Of several values the least
// counts. Where Factor times the value is negative or not a number, 0 takes its place.
type FieldFactor struct {
	Field    string
	Modifier Modifier
	Factor   float64 // 0 to MaxBoost; 0 stands for 1
	Missing  float64 // 0 to MaxBoost: the value of documents that have none

	Weight float64
	Filter Query
}

// A Modifier is a function of a number x that is not negative.
type Modifier uint8

const (
	ModifierNone       Modifier = iota // "none": x
	ModifierLog1p                      // "log1p": ln(1 + x)
	ModifierSqrt                       // "sqrt": the square root of x
	ModifierReciprocal                 // "reciprocal": 1 / (1 + x)
)

// Decay scores how near a number, a time or a place is to Origin, as in Elasticsearch: 1 up to a distance of
// Offset, Decay at a distance of Offset + Scale, and less beyond. Of several values the nearest counts, and
// documents without a value have 1; exclude them by a Filter of Exists.
//
//	DecayGauss   exp(ln(Decay) × (d/Scale)²), where d is the distance less Offset, or 0
//	DecayExp     exp(ln(Decay) × d/Scale)
//	DecayLinear  1 - (1 - Decay) × d/Scale, or 0
type Decay struct {
	Field string

	// Origin is any integer or float type, a time.Time or a Point. A string is read as for Range: "now-1d/d" is
	// relative to SearchOptions.Now, and for a declared field of places "52.52,13.405" is a point. Nil stands
	// for now.
	Origin   any
	TimeZone string // of Origin as a text, as for Range

	// Scale and Offset are numbers, which for places are metres; or for times a time.Duration or a text such
	// as "36h", "7d" or "2w". Scale is above 0; an Offset of nil stands for 0.
	Scale, Offset any

	Decay float64 // between 0 and 1; 0 stands for 0.5
	Shape DecayShape

	Weight float64
	Filter Query
}

// A DecayShape is the curve of a Decay.
type DecayShape uint8

const (
	DecayGauss  DecayShape = iota // "gauss"
	DecayExp                      // "exp"
	DecayLinear                   // "linear"
)

// Random has a value from 0 to 1, without 1, of each document: always the same for the same Seed and id. With
// Field, the value of the document in a column, the least of several, takes the place of the id. That is faster,
// and documents with one value have one number; documents without a value have 0.
type Random struct {
	Seed  uint64
	Field string

	Weight float64
	Filter Query
}

// Fixed has the value 1, so that Weight is what it adds for the documents of Filter.
type Fixed struct {
	Weight float64
	Filter Query
}

// filtered completes a part by what all functions have.
func filtered(p plan.FunctionPart, rw *plan.Rewriter, weight float64, filter Query) (plan.FunctionPart, error) {
	if p.Weight = weight; weight == 0 {
		p.Weight = 1
	}
	switch {
	case filter == nil:
		return p, nil
	case rw == nil:
		return p, validate(filter, 1)
	}
	c, err := rewriteUnscored(filter, rw, 1)
	p.Filter = &c
	return p, err
}

func (f FieldFactor) part(rw *plan.Rewriter) (plan.FunctionPart, error) {
	p := plan.FunctionPart{Name: "FieldFactor", Field: f.Field}
	p.Kind, p.Modifier, p.Factor, p.Missing = function.Factor, function.Modifier(f.Modifier), f.Factor, f.Missing
	if f.Factor == 0 {
		p.Factor = 1
	}
	return filtered(p, rw, f.Weight, f.Filter)
}

func (f Decay) part(rw *plan.Rewriter) (plan.FunctionPart, error) {
	p := plan.FunctionPart{Name: "Decay", Field: f.Field, Origin: f.Origin, TimeZone: f.TimeZone, Scale: f.Scale, Offset: f.Offset}
	p.Kind, p.Shape, p.AtScale = function.Decay, function.Shape(f.Shape), f.Decay
	if f.Decay == 0 {
		p.AtScale = 0.5
	}
	return filtered(p, rw, f.Weight, f.Filter)
}

func (f Random) part(rw *plan.Rewriter) (plan.FunctionPart, error) {
	p := plan.FunctionPart{Name: "Random", Field: f.Field}
	p.Kind, p.Seed = function.Random, f.Seed
	return filtered(p, rw, f.Weight, f.Filter)
}

func (f Fixed) part(rw *plan.Rewriter) (plan.FunctionPart, error) {
	return filtered(plan.FunctionPart{Name: "Fixed"}, rw, f.Weight, f.Filter)
}

func (f FieldFactor) filter() Query { return f.Filter }
func (f Decay) filter() Query       { return f.Filter }
func (f Random) filter() Query      { return f.Filter }
func (f Fixed) filter() Query       { return f.Filter }

// function returns the function of the query.
func (q FunctionScore) function(rw *plan.Rewriter) (plan.FunctionScore, error) {
	f := plan.FunctionScore{Combine: function.Combine(q.Combine), Mode: blockmax.FunctionMode(q.Mode)}
	for i, of := range q.Functions {
		if of == nil {
			return f, plan.Errorf("FunctionScore.Functions", "function %d is nil", i)
		}
		p, err := of.part(rw)
		if err != nil {
			return f, err
		}
		f.Parts = append(f.Parts, p)
	}
	return f, nil
}

// inner is the query whose scores change.
func (q FunctionScore) inner() Query {
	if q.Query == nil {
		return All{}
	}
	return q.Query
}

func (q FunctionScore) rewrite(rw *plan.Rewriter, boost float64) (plan.Clause, error) {
	f, err := q.function(rw)
	if err != nil {
		return plan.Clause{}, err
	}
	c, err := rewrite(q.inner(), rw, boost)
	if err != nil {
		return plan.Clause{}, err
	}
	return rw.FunctionScore(f, c, boost)
}

// Validate implements Query.
func (q FunctionScore) Validate() error { return q.validate(1) }

func (q FunctionScore) validate(boost float64) error {
	f, err := q.function(nil)
	if err == nil {
		err = f.Validate()
	}
	if err != nil {
		return err
	}
	return validate(q.inner(), boost)
}

func (q FunctionScore) dependsOnK() bool {
	return dependsOnK(q.Query) || slices.ContainsFunc(q.Functions, func(f ScoreFunction) bool { return f != nil && dependsOnK(f.filter()) })
}

func (q FunctionScore) String() string { return queryText(q) }

// names are the names of the values of a type, from 0 on.
type names[T ~uint8] struct {
	of    string
	names []string
}

// name returns the name of a value; that of 0, which is the default, is "".
func (n names[T]) name(v T) (string, error) {
	switch {
	case int(v) >= len(n.names):
		return "", fmt.Errorf("there is no %s %d", n.of, v)
	case v == 0:
		return "", nil
	}
	return n.names[v], nil
}

// value is the inverse of name. It accepts the name of 0, too.
func (n names[T]) value(name string) (T, error) {
	if name == "" {
		return 0, nil
	}
	if i := slices.Index(n.names, name); i >= 0 {
		return T(i), nil
	}
	return 0, fmt.Errorf("unknown %s %q (want one of %q)", n.of, name, n.names)
}

type functionScoreJSON[part any] struct {
	Query     part              `json:"query,omitempty"`
	Functions []json.RawMessage `json:"functions"`
	Combine   string            `json:"combine,omitempty"`
	Mode      string            `json:"mode,omitempty"`
}

type fieldFactorJSON[part any] struct {
	Field    string  `json:"field"`
	Modifier string  `json:"modifier,omitempty"`
	Factor   float64 `json:"factor,omitempty"`
	Missing  float64 `json:"missing,omitempty"`
	Weight   float64 `json:"weight,omitempty"`
	Filter   part    `json:"filter,omitempty"`
}

type decayJSON[part any] struct {
	Field    string          `json:"field"`
	Origin   json.RawMessage `json:"origin,omitempty"` // a string or number, {"time": …} or {"place": …}
	TimeZone string          `json:"time_zone,omitempty"`
	Scale    json.RawMessage `json:"scale"` // a number, or a duration as a string
	Offset   json.RawMessage `json:"offset,omitempty"`
	Decay    float64         `json:"decay,omitempty"`
	Shape    string          `json:"shape,omitempty"`
	Weight   float64         `json:"weight,omitempty"`
	Filter   part            `json:"filter,omitempty"`
}

type randomJSON[part any] struct {
	Seed   uint64  `json:"seed"`
	Field  string  `json:"field,omitempty"`
	Weight float64 `json:"weight,omitempty"`
	Filter part    `json:"filter,omitempty"`
}

type fixedJSON[part any] struct {
	Weight float64 `json:"weight,omitempty"`
	Filter part    `json:"filter,omitempty"`
}

// MarshalJSON writes the query as {"function_score": …}; see UnmarshalQuery.
func (q FunctionScore) MarshalJSON() ([]byte, error) {
	j := functionScoreJSON[Query]{Query: q.Query, Functions: []json.RawMessage{}}
	var err error
	if j.Combine, err = functionCombines.name(q.Combine); err != nil {
		return nil, plan.Errorf("FunctionScore.Combine", "%w", err)
	}
	if j.Mode, err = functionModes.name(q.Mode); err != nil {
		return nil, plan.Errorf("FunctionScore.Mode", "%w", err)
	}
	for i, f := range q.Functions {
		if f == nil {
			return nil, plan.Errorf("FunctionScore.Functions", "function %d is nil", i)
		}
		name, body := f.json()
		if err, ok := body.(error); ok {
			return nil, err
		}
		text, err := json.Marshal(map[string]any{name: body})
		if err != nil {
			return nil, err
		}
		j.Functions = append(j.Functions, text)
	}
	return json.Marshal(map[string]any{"function_score": j})
}

// json returns the name and the JSON form of a function; or an error instead of the form.
func (f FieldFactor) json() (string, any) {
	j := fieldFactorJSON[Query]{Field: f.Field, Factor: f.Factor, Missing: f.Missing, Weight: f.Weight, Filter: f.Filter}
	var err error
	if j.Modifier, err = modifiers.name(f.Modifier); err != nil {
		return "", plan.Errorf("FieldFactor.Modifier", "%w", err)
	}
	return "field_factor", j
}

func (f Decay) json() (string, any) {
	j := decayJSON[Query]{Field: f.Field, TimeZone: f.TimeZone, Decay: f.Decay, Weight: f.Weight, Filter: f.Filter}
	var err error
	if j.Shape, err = decayShapes.name(f.Shape); err != nil {
		return "", plan.Errorf("Decay.Shape", "%w", err)
	}
	for _, v := range [...]struct {
		name  string
		value any
		to    *json.RawMessage
	}{{"Origin", f.Origin, &j.Origin}, {"Scale", f.Scale, &j.Scale}, {"Offset", f.Offset, &j.Offset}} {
		if d, ok := v.value.(time.Duration); ok && v.name != "Origin" {
			v.value = d.String()
		}
		if v.value == nil {
			continue
		}
		if *v.to, err = valueJSON(v.value); err != nil {
			return "", plan.Errorf("Decay."+v.name, "%w", err)
		}
	}
	if j.Scale == nil {
		return "", plan.Errorf("Decay.Scale", "is missing")
	}
	return "decay", j
}

func (f Random) json() (string, any) { return "random", randomJSON[Query](f) }

func (f Fixed) json() (string, any) { return "fixed", fixedJSON[Query](f) }

// query reads the queries by read.
func (j *functionScoreJSON[part]) query(read func(json.RawMessage) (Query, error)) (q FunctionScore, err error) {
	if q.Combine, err = functionCombines.value(j.Combine); err != nil {
		return q, fmt.Errorf("combine: %w", err)
	}
	if q.Mode, err = functionModes.value(j.Mode); err != nil {
		return q, fmt.Errorf("mode: %w", err)
	}
	for i, raw := range j.Functions {
		f, err := parseFunction(raw, read)
		if err != nil {
			return q, fmt.Errorf("functions %d: %w", i, err)
		}
		q.Functions = append(q.Functions, f)
	}
	return q, nil
}

// parseFunction reads a function from JSON.
func parseFunction(raw []byte, read func(json.RawMessage) (Query, error)) (ScoreFunction, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	if len(members) != 1 {
		return nil, fmt.Errorf(`a function has one member, such as "decay", not %d`, len(members))
	}
	for kind, body := range members {
		f, err := parseFunctionKind(kind, body, read)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		return f, nil
	}
	panic("BUG: a map of one member has none")
}

func parseFunctionKind(kind string, body []byte, read func(json.RawMessage) (Query, error)) (ScoreFunction, error) {
	filter := func(raw json.RawMessage) (Query, error) {
		if raw == nil {
			return nil, nil
		}
		return read(raw)
	}
	switch kind {
	case "field_factor":
		var j fieldFactorJSON[json.RawMessage]
		if err := document.DecodeObject(body, &j); err != nil {
			return nil, err
		}
		f := FieldFactor{Field: j.Field, Factor: j.Factor, Missing: j.Missing, Weight: j.Weight}
		var err error
		if f.Modifier, err = modifiers.value(j.Modifier); err == nil {
			f.Filter, err = filter(j.Filter)
		}
		return f, err
	case "decay":
		var j decayJSON[json.RawMessage]
		if err := document.DecodeObject(body, &j); err != nil {
			return nil, err
		}
		f := Decay{Field: j.Field, TimeZone: j.TimeZone, Decay: j.Decay, Weight: j.Weight}
		for _, v := range [...]struct {
			name string
			raw  json.RawMessage
			to   *any
		}{{"origin", j.Origin, &f.Origin}, {"scale", j.Scale, &f.Scale}, {"offset", j.Offset, &f.Offset}} {
			if v.raw == nil {
				continue
			}
			var err error
			if *v.to, err = parseValueJSON(v.raw); err != nil {
				return nil, fmt.Errorf("%s: %w", v.name, err)
			}
		}
		var err error
		if f.Shape, err = decayShapes.value(j.Shape); err == nil {
			f.Filter, err = filter(j.Filter)
		}
		return f, err
	case "random":
		var j randomJSON[json.RawMessage]
		err := document.DecodeObject(body, &j)
		f := Random{Seed: j.Seed, Field: j.Field, Weight: j.Weight}
		if err == nil {
			f.Filter, err = filter(j.Filter)
		}
		return f, err
	case "fixed":
		var j fixedJSON[json.RawMessage]
		err := document.DecodeObject(body, &j)
		f := Fixed{Weight: j.Weight}
		if err == nil {
			f.Filter, err = filter(j.Filter)
		}
		return f, err
	}
	return nil, fmt.Errorf("there is no such function")
}
