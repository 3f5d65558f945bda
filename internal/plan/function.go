package plan

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/cache"
	"github.com/riffle-search/riffle/internal/datemath"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/function"
	"github.com/riffle-search/riffle/internal/geo"
)

// Functions of columns change scores (riffle.FunctionScore). A clauseFunction has its query in must. The
// greatest value that a function can have in the index, rounded up to a power of two, is what its numbers
// are fractions of; so it belongs to the statistics of a query. The weights below a product are multiplied by
// that power, and so is the weight of a function that adds.
//
// The outermost function of a query changes the plan (blockmax.Plan.Outer), so that its query keeps the
// algorithm that it has without. Others change nodes of its tree.

// A FunctionPart is a part of a FunctionScore. Part has what needs no index.
type FunctionPart struct {
	function.Part
	Name   string  // of the type, for errors: "FieldFactor"
	Field  string  // of a Factor and a Decay; of Random perhaps
	Filter *Clause // documents to which it applies; nil for all

	// Of a Decay: how a caller gave them.
	Origin        any // nil: the time of the search
	TimeZone      string
	Scale, Offset any // a number, a time.Duration, or its text
}

// FunctionScore is riffle.FunctionScore.
type FunctionScore struct {
	Parts   []FunctionPart
	Combine function.Combine
	Mode    blockmax.FunctionMode
}

// Validate reports what is wrong with a function on any index.
func (q *FunctionScore) Validate() error {
	switch {
	case len(q.Parts) == 0:
		return Errorf("FunctionScore.Functions", "is empty")
	case q.Combine > function.Average:
		return Errorf("FunctionScore.Combine", "there is no %d", q.Combine)
	case q.Mode > blockmax.FunctionReplace:
		return Errorf("FunctionScore.Mode", "there is no %d", q.Mode)
	}
	for i := range q.Parts {
		if err := q.Parts[i].validate(); err != nil {
			return err
		}
	}
	return nil
}

func (p *FunctionPart) validate() error {
	number := func(name string, x float64) error {
		if x >= 0 && x <= MaxBoost {
			return nil
		}
		return Errorf(p.Name+"."+name, "must lie in 0 to %v, not %v", MaxBoost, x)
	}
	if err := number("Weight", p.Weight); err != nil {
		return err
	}
	switch p.Kind {
	case function.Factor:
		switch {
		case p.Field == "":
			return Errorf(p.Name+".Field", "is empty")
		case p.Modifier > function.Reciprocal:
			return Errorf(p.Name+".Modifier", "there is no %d", p.Modifier)
		}
		if err := number("Factor", p.Factor); err != nil {
			return err
		}
		return number("Missing", p.Missing)
	case function.Decay:
		return p.validateDecay()
	}
	return nil
}

func (p *FunctionPart) validateDecay() error {
	switch {
	case p.Field == "":
		return Errorf(p.Name+".Field", "is empty")
	case p.Shape > function.Linear:
		return Errorf(p.Name+".Shape", "there is no %d", p.Shape)
	case !(p.AtScale > 0 && p.AtScale < 1):
		return Errorf(p.Name+".Decay", "must lie between 0 and 1, not %v", p.AtScale)
	case p.Scale == nil:
		return Errorf(p.Name+".Scale", "is missing")
	}
	if _, err := datemath.Zone(p.TimeZone); err != nil {
		return Errorf(p.Name+".TimeZone", "%w", err)
	}
	scale, times, err := distanceOf(p.Scale)
	if err != nil || !(scale > 0) {
		return orElse(err, p.Name+".Scale", "must be above 0, not %v", p.Scale)
	}
	offset, ofTimes, err := distanceOf(p.Offset)
	if err != nil || !(offset >= 0) {
		return orElse(err, p.Name+".Offset", "must not be below 0, as %v is", p.Offset)
	}
	if times != ofTimes && p.Offset != nil {
		return Errorf(p.Name+".Offset", "is %v, and Scale %v: both must be durations, or numbers", p.Offset, p.Scale)
	}
	if p.Origin == nil {
		return nil
	}
	if at, ok := p.Origin.(geo.Point); ok {
		if err := at.Check(); err != nil {
			return Errorf(p.Name+".Origin", "%w", err)
		}
	}
	v, err := valueOf(p.Field, p.Origin)
	switch {
	case err != nil:
		return Errorf(p.Name+".Origin", "%v is not a value", p.Origin)
	case v.Kind == document.KindText:
		return nil // the schema says what it means
	case v.Type() == document.BoolField:
		return Errorf(p.Name+".Origin", "%v is no number, no time and no place", p.Origin)
	case v.Type() == document.PlaceField && times:
		return Errorf(p.Name+".Scale", "must be a number of metres if Origin is a place, not %v", p.Scale)
	case (v.Type() == document.DateField) != times:
		return Errorf(p.Name+".Scale", "must be a duration if Origin is a time, and else a number, not %v", p.Scale)
	case v.Type() == document.NumberField && !finite(columnNumber(v)):
		return Errorf(p.Name+".Origin", "must be finite, not %v", p.Origin)
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// columnNumber returns a number of a query as a float64.
func columnNumber(v document.Value) float64 {
	switch x := v.Column().Any().(type) {
	case int64:
		return float64(x)
	case uint64:
		return float64(x)
	case float64:
		return x
	}
	return math.NaN()
}

// orElse returns an error of a part: err, or else that of the format.
func orElse(err error, part, format string, args ...any) error {
	if err != nil {
		return Errorf(part, "%w", err)
	}
	return Errorf(part, format, args...)
}

// distanceOf reads a distance: a number; or a duration, in nanoseconds, as a time.Duration or a text such as
// "36h" or "7d". Nil is 0.
func distanceOf(x any) (d float64, times bool, err error) {
	switch x := x.(type) {
	case nil:
		return 0, false, nil
	case time.Duration:
		return float64(x), true, nil
	case string:
		d, err := parseDuration(x)
		return float64(d), true, err
	}
	v, err := valueOf("distance", x)
	if err != nil || v.Type() != document.NumberField || !finite(columnNumber(v)) {
		return 0, false, fmt.Errorf("%v is no number and no duration", x)
	}
	return columnNumber(v), false, nil
}

// parseDuration is time.ParseDuration, with whole days (d) and weeks (w), too.
func parseDuration(text string) (time.Duration, error) {
	for unit, of := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		number, ok := strings.CutSuffix(text, unit)
		if !ok {
			continue
		}
		hours, err := time.ParseDuration(number + "h")
		if err != nil || strings.ContainsAny(number, "hmsuµn") {
			return 0, fmt.Errorf("%q is no duration", text)
		}
		if n := float64(hours) * float64(of/time.Hour); math.Abs(n) < math.MaxInt64 {
			return hours * (of / time.Hour), nil
		}
		return 0, fmt.Errorf("%q is longer than 292 years", text)
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration", text)
	}
	return d, nil
}

// A functionScore is a FunctionScore on an index.
type functionScore struct {
	function.Function
	mode    blockmax.FunctionMode
	fields  []string  // of the parts; "" for one without a field
	filters []*Clause // of the parts
	texts   []string  // describe the parts
}

// FunctionScore returns the clause of a query whose scores a function changes.
func (rw *Rewriter) FunctionScore(q FunctionScore, c Clause, boost float64) (Clause, error) {
	if err := q.Validate(); err != nil {
		return Clause{}, err
	}
	f := &functionScore{mode: q.Mode, Function: function.Function{Combine: q.Combine, Coarse: q.Mode == blockmax.FunctionAdd}}
	if q.Mode == blockmax.FunctionMultiply {
		f.Neutral = 1
	}
	for i := range q.Parts {
		p := &q.Parts[i]
		if rw.n++; rw.n > MaxClauses {
			return Clause{}, errTooManyTerms()
		}
		if err := rw.resolve(p); err != nil {
			return Clause{}, err
		}
		f.Parts = append(f.Parts, p.Part)
		f.fields, f.filters = append(f.fields, p.Field), append(f.filters, p.Filter)
		f.texts = append(f.texts, p.describe())
		// The sums of others may differ so much that 16 bits are too few.
		f.Coarse = f.Coarse && (p.Kind != function.Factor || p.Modifier == function.Log1p || p.Modifier == function.Reciprocal)
	}
	return Clause{kind: clauseFunction, boost: boost, function: f, must: []Clause{c}}, nil
}

// resolve checks the field of a part, and reads an origin and distances as the field's type says.
func (rw *Rewriter) resolve(p *FunctionPart) error {
	if p.Field == "" {
		return nil
	}
	part := p.Name + ".Field"
	if err := rw.CheckColumn(part, p.Field); err != nil {
		return err
	}
	types, err := rw.columnTypes(p.Field)
	if err != nil {
		return err
	}
	switch {
	case p.Kind == function.Random:
		return nil
	case p.Kind == function.Factor && types.only(columns.Place):
		return Errorf(part, "field %q has places, not numbers; Decay scores them", p.Field)
	case p.Kind == function.Factor && types.only(columns.Time):
		return Errorf(part, "field %q has times, not numbers; Decay scores them", p.Field)
	case types.only(columns.Terms) && !types.numbers && (p.Kind == function.Factor || !types.times && !types.places):
		return Errorf(part, "field %q has keywords, not numbers", p.Field)
	case p.Kind == function.Factor:
		return nil
	}
	origin := p.Origin
	if origin == nil {
		if p.Origin = "now"; !types.times {
			return Errorf(p.Name+".Origin", "is missing, and field %q has no times for which it is now", p.Field)
		}
		origin = "now"
	}
	given, err := rw.boundValue(p.Name+".Origin", p.Field, origin, p.TimeZone, false)
	if err != nil {
		return err
	}
	v := given.Column()
	if p.Part.Origin = v; v.Kind == columns.Place {
		p.Place = geo.From(given.Point())
	}
	scale, times, _ := distanceOf(p.Scale)
	offset, _, _ := distanceOf(p.Offset)
	switch isTime, isPlace := v.Kind == columns.Time, v.Kind == columns.Place; {
	case v.Kind == columns.Terms || v.Kind == columns.Bool:
		return Errorf(p.Name+".Origin", "%v is no number, no place, and no time of the years 1678 to 2262", origin)
	case isPlace && times:
		return Errorf(p.Name+".Scale", "must be a number of metres for the places of field %q, not %v", p.Field, p.Scale)
	case isTime && !times:
		return Errorf(p.Name+".Scale", "must be a duration for the times of field %q, not %v", p.Field, p.Scale)
	case !isTime && times:
		return Errorf(p.Name+".Scale", "must be a number for the numbers of field %q, not %v", p.Field, p.Scale)
	case types.any && (isTime && !types.times || isPlace && !types.places),
		!isTime && types.only(columns.Time), !isPlace && types.only(columns.Place):
		return Errorf(p.Name+".Origin", "%v is no value of the type that field %q has", origin, p.Field)
	}
	p.Part.Scale, p.Part.Offset = scale, offset
	return nil
}

// columnTypes are the types of the values in the columns of a field.
type columnTypes struct {
	kinds                       []columns.Kind
	any, times, numbers, places bool
}

// only reports whether there are values, and all columns have one kind.
func (t *columnTypes) only(kind columns.Kind) bool {
	return t.any && !slices.ContainsFunc(t.kinds, func(k columns.Kind) bool { return k != kind })
}

// columnTypes looks at the kinds of columns, and for those of mixed types at their dictionaries.
func (rw *Rewriter) columnTypes(field string) (t columnTypes, err error) {
	f, declared := rw.iv.Schema.Fields[field]
	if declared {
		t.times, t.numbers, t.places = f.Type == document.DateField, f.Type == document.NumberField, f.Type == document.PlaceField
	}
	found, err := rw.traitsOf(field, aspectColumn)
	if err != nil {
		return t, err
	}
	t.any = found&hasColumn != 0
	t.places = t.places || found&mixedPlaces != 0
	t.times = t.times || found&mixedTimes != 0
	t.numbers = t.numbers || found&mixedNumbers != 0
	for kind := columns.Int; kind <= columns.Place; kind++ {
		if found&(firstKind<<kind) == 0 {
			continue
		}
		t.kinds = append(t.kinds, kind)
		switch kind {
		case columns.Place:
			t.places = true
		case columns.Time:
			t.times = true
		case columns.Terms:
		default:
			t.numbers = true
		}
	}
	return t, nil
}

// mixedIn returns which types the values of a column of mixed types have.
func mixedIn(c *columns.Column) (t FieldTraits, err error) {
	for _, of := range [...]struct {
		from, to columns.Value
		trait    FieldTraits
	}{
		{columns.OfFloat(math.Inf(-1)), columns.OfFloat(math.NaN()), mixedNumbers},
		{columns.Value{Kind: columns.Time}, columns.Value{Kind: columns.Time, Key: math.MaxUint64}, mixedTimes},
		{columns.Value{Kind: columns.Place}, columns.Value{Kind: columns.Place, Key: math.MaxUint64}, mixedPlaces},
	} {
		_, _, some, err := c.Keys(columns.Bound{Value: of.from}, columns.Bound{Value: of.to})
		if err != nil {
			return t, err
		}
		if some {
			t |= of.trait
		}
	}
	return t, nil
}

var modifierNames = [...]string{function.None: "", function.Log1p: "log1p", function.Sqrt: "sqrt", function.Reciprocal: "reciprocal"}
var shapeNames = [...]string{function.Gauss: "gauss", function.Exp: "exp", function.Linear: "linear"}
var combineNames = [...]string{function.Sum: "sum", function.Product: "product", function.Max: "max", function.Min: "min", function.Average: "average"}
var functionModeNames = [...]string{
	blockmax.FunctionAdd: "the query's score + the function", blockmax.FunctionMultiply: "the query's score × the function",
	blockmax.FunctionMax: "the greater of the query's score and the function", blockmax.FunctionReplace: "the function instead of the query's score",
}

// describe describes a resolved part, for explanations and for caches.
func (p *FunctionPart) describe() string {
	text := ""
	switch p.Kind {
	case function.Fixed:
		text = "1"
	case function.Factor:
		text = fmt.Sprintf("%s(%g × %s), missing %g", modifierNames[p.Modifier], p.Factor, p.Field, p.Missing)
	case function.Decay:
		origin := p.Part.Origin.Any()
		if p.Part.Origin.Kind == columns.Place {
			origin = p.Place.Point
		}
		text = fmt.Sprintf("%s(%s from %v, scale %v, offset %v, decay %g)", shapeNames[p.Shape], p.Field, origin, p.Scale, orZero(p.Offset), p.AtScale)
	case function.Random:
		text = fmt.Sprintf("random(%d", p.Seed)
		if p.Field != "" {
			text += ", " + p.Field
		}
		text += ")"
	}
	if p.Weight != 1 {
		text = fmt.Sprintf("%g × %s", p.Weight, text)
	}
	return text
}

func orZero(x any) any {
	if x == nil {
		return 0
	}
	return x
}

// A planFunction is a function of a plan.
type planFunction struct {
	*functionScore
	segments []*function.Segment
	greatest float64 // no value is above
	exponent int     // numbers are fractions of 1<<exponent
}

// unit is what the numbers are fractions of.
func (f *planFunction) unit() float64 { return math.Ldexp(1, f.exponent) }

// An appliedFunction is a node, or the whole plan, with a function.
type appliedFunction struct {
	function int
	weight   float64 // 0 of a product
	repeats  bool    // see scale
}

// makeFunctions finds the functions of a shape that score, opens their columns, and finds what their
// numbers are fractions of: by the index, or as statistics from outside or of a cursor say.
func (b *planner) makeFunctions(s *shape, o *Settings) error {
	if s.outer != nil {
		if err := b.addFunction(s.outer.function, o); err != nil {
			return err
		}
	}
	if s.tree != nil {
		if err := b.findFunctions(s.tree, o); err != nil {
			return err
		}
	}
	for i := range b.functions {
		f := &b.functions[i]
		switch {
		case b.frozen != "":
			n, size := binary.Varint([]byte(b.frozen))
			if size <= 0 || n < -1000 || n > 1000 {
				return errFrozen
			}
			f.exponent, b.frozen = int(n), b.frozen[size:]
		case b.outside != nil && i >= len(b.outside.Functions):
			return Errorf("SearchOptions.Statistics", "lack the greatest value of function %d; they must be of the same query", i)
		case b.outside != nil:
			f.exponent = function.Exponent(b.outside.Functions[i])
		default:
			f.exponent = function.Exponent(f.greatest)
		}
		b.shareNumbers(f)
	}
	return nil
}

// shareNumbers says what the numbers of a function are fractions of. Searches that have the same function share
// numbers by the index's cache, once it has come again.
func (b *planner) shareNumbers(f *planFunction) {
	text := "numbers\x00" + f.setText()
	for i, s := range f.segments {
		table, ok := b.index.Filter(i, text).Numbers().(*function.Table)
		if !ok {
			table = function.NewTable(b.index.Segment(i).Reader().Docs())
			b.index.KeepFilter(i, text, cache.NewNumbers(table))
		}
		s.Scale(f.exponent, table)
	}
}

// findFunctions adds those of a clause.
func (b *planner) findFunctions(c *Clause, o *Settings) error {
	if c.kind == clauseFunction {
		if err := b.addFunction(c.function, o); err != nil {
			return err
		}
	}
	if c.kind == clauseConstant {
		return nil
	}
	for _, part := range [...][]Clause{c.must, c.should} {
		for i := range part {
			if err := b.findFunctions(&part[i], o); err != nil {
				return err
			}
		}
	}
	return nil
}

// addFunction adds a function, unless another part of the query has it, too.
func (b *planner) addFunction(fs *functionScore, o *Settings) error {
	if slices.ContainsFunc(b.functions, func(f planFunction) bool { return f.functionScore == fs }) {
		return nil
	}
	f := planFunction{functionScore: fs}
	for i := range b.index.Segments() {
		seg := b.index.Segment(i)
		var sources []function.Source
		for j := range fs.Parts {
			src, err := b.source(fs, j, i, o)
			if err != nil {
				return err
			}
			sources = append(sources, src)
		}
		numbers, err := function.New(&fs.Function, sources, seg.Reader().Docs())
		if err != nil {
			return seg.At(err)
		}
		f.segments = append(f.segments, numbers)
		f.greatest = max(f.greatest, numbers.Greatest())
	}
	b.functions = append(b.functions, f)
	return nil
}

// source returns what a part of a function reads in a segment.
func (b *planner) source(f *functionScore, part, segment int, o *Settings) (src function.Source, err error) {
	if f.fields[part] != "" {
		src.Column, err = b.index.Column(segment, f.fields[part])
	} else if f.Parts[part].Kind == function.Random {
		src.ID = b.index.Segment(segment).Reader().AppendID
	}
	if err == nil && f.filters[part] != nil {
		src.Accept, err = FilterSet(b.ctx, b.index, *f.filters[part], o, segment)
		src.None = src.Accept == nil
	}
	return src, err
}

// collectFunction numbers a function and what is below it.
func (b *planner) collectFunction(c *Clause, scores bool) {
	c.index = -1
	if !scores {
		b.collect(&c.must[0], false)
		return
	}
	outer := b.factor
	b.enterFunction(c)
	b.collect(&c.must[0], true)
	b.factor = outer
}

// enterFunction numbers a function. Weights that are collected then stand below it.
func (b *planner) enterFunction(c *Clause) {
	at := slices.IndexFunc(b.functions, func(f planFunction) bool { return f.functionScore == c.function })
	f, a := &b.functions[at], appliedFunction{function: at, repeats: b.repeats}
	if f.mode == blockmax.FunctionMultiply {
		b.factor *= f.unit()
	} else {
		a.weight = c.boost * f.unit() * b.factor
	}
	// Another version of the query may have it, and so may another copy that a Boosting inside a Boosting has
	// made. A document scores by one copy alone, as Plan.Check knows, so the scale has room for all.
	if c.index = slices.Index(b.applied, a); c.index < 0 {
		c.index = len(b.applied)
		b.applied = append(b.applied, a)
	}
}

// functionOf returns the function of a clause with its weight. Weights of functions come behind those of
// combined words.
func (b *planner) functionOf(c *Clause) *blockmax.Function {
	a := &b.applied[c.index]
	f := &blockmax.Function{Number: a.function, Mode: b.functions[a.function].mode}
	if f.Mode != blockmax.FunctionMultiply {
		f.Weight = b.ints[len(b.terms)+len(b.constants)+len(b.proximities)+len(b.combined)+c.index]
	}
	return f
}

// functionsIn returns the numbers of the plan's functions in a segment.
func (b *planner) functionsIn(segment int) (all []blockmax.Numbers) {
	for i := range b.functions {
		all = append(all, b.functions[i].segments[segment])
	}
	return all
}

// changeScores gives the plan its outermost function.
func (b *planner) changeScores(q *Compiled, outer *Clause, o *Settings) error {
	f := b.functionOf(outer)
	if o.Device && f.Mode == blockmax.FunctionAdd && b.functions[f.Number].Coarse {
		if found, err := b.makeRanks(&q.Plan, &b.functions[f.Number], o); err != nil {
			return err
		} else if found {
			q.Plan.RankWeight, q.outer = f.Weight, f
			return nil
		}
	}
	q.Plan.Outer = f
	return nil
}

// makeRanks gives the segments of a plan the numbers of a function as static ranks, which devices take. The
// index caches them as it does filters. It makes them for functions that come again, or if a device must
// answer.
func (b *planner) makeRanks(p *Plan, f *planFunction, o *Settings) (made bool, err error) {
	text := f.setText()
	again := true
	for i := range p.Segments {
		again = b.index.UseFilter(i, text) && again
	}
	if !again && !o.Forced {
		return false, nil
	}
	for i := range p.Segments {
		known := b.index.Filter(i, text)
		if known == nil {
			ranks, tiles, err := f.segments[i].Ranks()
			if err != nil {
				return false, b.index.Segment(i).At(err)
			}
			known = cache.NewRanks(ranks, tiles)
			b.index.KeepFilter(i, text, known)
		}
		p.Segments[i].Rank, p.Segments[i].RankTile = known.Ranks()
	}
	return true, nil
}

// setText describes a function and its numbers, for the index's cache.
func (f *planFunction) setText() string {
	to := binary.AppendVarint(appendText(nil, "function"), int64(f.exponent))
	to = append(to, byte(f.Combine), byte(f.mode))
	for i, text := range f.texts {
		to = appendText(to, text)
		if filter := f.filters[i]; filter != nil {
			to = filter.appendSet(to)
		}
	}
	return string(to)
}

// inside makes public scores those inside a function, until the caller calls what it returns.
func (x *explainer) inside(f *blockmax.Function) (leave func()) {
	before := x.factor
	if f != nil && f.Mode == blockmax.FunctionMultiply {
		x.factor *= x.c.functions[f.Number].unit()
	}
	return func() { x.factor = before }
}

// function explains a node with a function.
func (x *explainer) function(f *blockmax.Function, inner *Explanation, score uint32) (*Explanation, uint32, error) {
	of := &x.c.functions[f.Number]
	s := of.segments[x.segment]
	value, err := s.Value(x.doc)
	if err != nil {
		return nil, 0, err
	}
	number := s.Of(x.doc)
	if err := s.Err(); err != nil {
		return nil, 0, err
	}
	values := &Explanation{Matches: true, Score: value, Text: fmt.Sprintf("function: %s of the values, in 2^%d steps up to %g", combineNames[of.Combine], x.bits(of), of.unit())}
	for i, text := range of.texts {
		v, applies, err := s.PartValue(i, x.doc)
		if err != nil {
			return nil, 0, err
		}
		if applies {
			values.Parts = append(values.Parts, &Explanation{Matches: true, Score: v, Text: text})
		}
	}
	if len(values.Parts) == 0 {
		values.Text = "no function applies"
	}
	score = f.Apply(score, number)
	return &Explanation{Matches: true, Text: functionModeNames[f.Mode], Parts: []*Explanation{inner, values}}, score, nil
}

// bits is how many bits of a function's fractions count.
func (x *explainer) bits(f *planFunction) int {
	if f.Coarse {
		return 16
	}
	return 32
}

var errFrozen = Errorf("SearchOptions.After", "the cursor is of other terms: an analyzer has changed")
