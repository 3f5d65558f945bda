package riffle

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/internal/datemath"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/language"
)

// A compiler makes a query of what package language has read.
type compiler struct {
	o        ParseOptions
	fields   []language.Field // of what names none
	schema   *document.Schema // nil if unknown
	analyzer func(name string) (analysis.Analyzer, error)
	text     string
	clauses  int            // those of the text, and of its JSON so far
	zone     *time.Location // of dates without an offset; nil for UTC
}

// A place is where in the query a node stands.
type place struct {
	fields []language.Field // of the groups around it, or the default
	depth  int              // queries around it
	boost  float64          // product of the boosts around it
}

func (p place) inside(levels int) place { p.depth += levels; return p }

// fail returns an error or, if the compiler is lenient, reports it and returns nil.
func (c *compiler) fail(offset int, reason, hint string) error {
	e := &ParseError{Offset: offset, Reason: reason, Hint: hint}
	if !c.o.Lenient {
		return e
	}
	c.note(e)
	return nil
}

func (c *compiler) note(e *ParseError) {
	if c.o.Note != nil {
		c.o.Note(e)
	}
}

// refuse is fail for a node, and returns what a lenient compiler makes of it: the words of its text.
func (c *compiler) refuse(n *language.Node, offset int, reason, hint string) (Query, bool, error) {
	if err := c.fail(offset, reason, hint); err != nil {
		return nil, false, err
	}
	if len(c.fields) == 0 {
		return IDs{}, true, nil
	}
	text := c.text[n.Start:n.End]
	return c.match(c.fields, text, 1), c.hasWords(c.fields, text), nil
}

// refuseErr is refuse with the error of a query's Validate.
func (c *compiler) refuseErr(n *language.Node, offset int, err error) (Query, bool, error) {
	var qe *QueryError
	if errors.As(err, &qe) {
		err = fmt.Errorf("%s %w", qe.Part, qe.Err)
	}
	return c.refuse(n, offset, err.Error(), "")
}

func (c *compiler) tooDeep(n *language.Node) (Query, bool, error) {
	return c.refuse(n, n.Start, fmt.Sprintf("there are more than %d queries in each other", c.o.MaxDepth), "")
}

// query returns the whole query.
func (c *compiler) query(root *language.Node) (Query, error) {
	at := place{fields: c.fields, boost: 1}
	if len(root.Clauses) == 1 && root.Clauses[0].Occur == language.Plain {
		q, has, err := c.node(root.Clauses[0].Node, at)
		if q == nil && !has {
			q = IDs{}
		}
		return q, err
	}
	q, has, err := c.group(root, at)
	switch b, ok := q.(Bool); {
	case err != nil:
		return nil, err
	case !has:
		return IDs{}, nil // nothing
	case ok && len(b.Should) == 1 && len(b.Must)+len(b.Filter)+len(b.MustNot)+b.MinShould == 0:
		return b.Should[0], nil
	}
	return q, nil
}

// node returns the query of a node, and whether it has words.
func (c *compiler) node(n *language.Node, at place) (q Query, has bool, err error) {
	inner := at.inside(len(n.Factors))
	if inner.depth >= c.o.MaxDepth {
		return c.tooDeep(n)
	}
	for i := len(n.Factors) - 1; i >= 0; i-- {
		f := n.Factors[i]
		if by := inner.boost * f.By; !(f.By >= 0 && by <= MaxBoost) {
			return c.refuse(n, f.Start, fmt.Sprintf("a boost must lie in 0 to %v, with the boosts around it, not %v", MaxBoost, f.By), "")
		} else if inner.boost = by; f.Constant {
			inner.boost = 1
		}
	}
	if len(n.Fields) == 1 && n.Fields[0].Name == "" {
		inner.fields = c.fields // as in bleve
	} else if n.Fields != nil {
		inner.fields = n.Fields
		for _, f := range n.Fields {
			if n.Kind == language.All {
				break
			}
			if reason, hint := c.excluded(f.Name); reason != "" {
				return c.refuse(n, f.Start, reason, hint)
			}
			if by := inner.boost * f.Boost; f.Boosted && !(f.Boost >= 0 && by <= MaxBoost) {
				return c.refuse(n, f.Start, fmt.Sprintf("a boost must lie in 0 to %v, with the boosts around it, not %v", MaxBoost, f.Boost), "")
			}
		}
	}
	if len(inner.fields) == 0 && n.Kind != language.Group && n.Kind != language.All && n.Kind != language.JSON {
		if c.o.Fields != nil {
			return IDs{}, true, nil
		}
		return c.refuse(n, n.Start, "there is no field to search", "write field:word")
	}
	q, has, err = c.unit(n, inner)
	if err != nil || !has {
		return q, has, err
	}
	for _, f := range n.Factors {
		if f.Constant {
			q = ConstantScore{q, f.By}
		} else {
			q = Boost{q, f.By}
		}
	}
	return q, true, nil
}

// unit returns the query of a node without its factors.
func (c *compiler) unit(n *language.Node, at place) (Query, bool, error) {
	switch n.Kind {
	case language.Group:
		if at.depth+1 >= c.o.MaxDepth {
			return c.tooDeep(n)
		}
		return c.group(n, at)
	case language.All:
		return All{}, true, nil
	case language.JSON:
		q, err := unmarshalQuery([]byte(n.Text), at.depth+maxQueryDepth-c.o.MaxDepth)
		if err == nil {
			err = q.validate(at.boost)
		}
		if err != nil {
			return c.refuseErr(n, n.Start, err)
		}
		if c.clauses += clausesOf(q) - 1; c.clauses > c.o.MaxClauses {
			return c.refuse(n, n.Start, language.TooMany(c.o.MaxClauses), "")
		}
		return q, true, nil
	case language.Word:
		if !c.hasWords(at.fields, n.Text) {
			return nil, false, nil
		}
		if len(at.fields) == 1 {
			if _, err := c.valueOf(at.fields[0].Name, n.Text); err != nil {
				return c.refuse(n, n.Start, err.Error(), "")
			}
		}
		return c.match(at.fields, n.Text, at.boost), true, nil
	case language.Phrase, language.Near:
		if !c.hasWords(at.fields, n.Text+" "+strings.Join(n.Phrases, " ")) {
			return nil, false, nil
		}
	}
	return c.eachField(n, at)
}

// clausesOf counts the queries in a query, and those that it stands for: of each field, and of each rule.
func clausesOf(q Query) (n int) {
	sum := func(queries ...Query) (n int) {
		for _, q := range queries {
			n += clausesOf(q)
		}
		return n
	}
	switch q := q.(type) {
	case Bool:
		return 1 + sum(q.Must...) + sum(q.Should...) + sum(q.Filter...) + sum(q.MustNot...)
	case DisMax:
		return 1 + sum(q.Queries...)
	case Boosting:
		return 1 + sum(q.Positive, q.Negative)
	case FunctionScore:
		n := 1 + sum(q.inner())
		for _, f := range q.Functions {
			n++
			if filter := f.filter(); filter != nil {
				n += sum(filter)
			}
		}
		return n
	case Boost:
		return 1 + sum(q.Query)
	case ConstantScore:
		return 1 + sum(q.Query)
	case Match:
		return max(1, len(q.Fields))
	case MoreLikeThis:
		return max(1, len(q.Fields))
	case Near:
		return 1 + len(q.Phrases)
	case Intervals:
		return 1 + rulesOf(q.Rule)
	}
	return 1
}

// rulesOf counts the rules in a rule.
func rulesOf(rule Interval) (n int) {
	var of []Interval
	switch r := rule.(type) {
	case IntervalAll:
		of = r.Of
	case IntervalAny:
		of = r.Of
	case IntervalFirst:
		of = []Interval{r.Rule}
	case IntervalWhere:
		of = []Interval{r.Rule, r.Of}
	}
	for _, r := range of {
		n += rulesOf(r)
	}
	return n + 1
}

// match returns the query for a text in some fields.
func (c *compiler) match(fields []language.Field, text string, boost float64) Query {
	m := Match{Text: text}
	for _, f := range fields {
		m.Fields = append(m.Fields, f.Name)
		if f.Boosted {
			if m.Boosts == nil {
				m.Boosts = map[string]float64{}
			}
			m.Boosts[f.Name] = f.Boost
		}
	}
	if len(fields) == 1 {
		m.Field, m.Fields = fields[0].Name, nil
	}
	return m
}

// eachField returns the query of a node in one of the fields, or for any of them.
func (c *compiler) eachField(n *language.Node, at place) (Query, bool, error) {
	if at.depth+2 >= c.o.MaxDepth && (len(at.fields) > 1 || n.Kind == language.Fuzzy) {
		return c.tooDeep(n) // a Boost for each field inside a Bool
	}
	var any []Query
	for _, f := range at.fields {
		q, offset, err := c.leaf(n, f.Name)
		if err == nil && q != nil {
			err = q.Validate()
		}
		if err != nil {
			var pe *ParseError
			if errors.As(err, &pe) {
				return c.refuse(n, pe.Offset, pe.Reason, pe.Hint)
			}
			return c.refuseErr(n, offset, err)
		}
		if q == nil {
			continue
		}
		if f.Boosted {
			q = Boost{q, f.Boost}
		}
		any = append(any, q)
	}
	switch len(any) {
	case 0:
		return nil, false, nil
	case 1:
		return any[0], true, nil
	}
	return Bool{Should: any}, true, nil
}

// group returns the query of a group.
func (c *compiler) group(n *language.Node, at place) (Query, bool, error) {
	var b Bool
	dropped := 0
	for _, cl := range n.Clauses {
		q, has, err := c.node(cl.Node, at.inside(1))
		switch {
		case err != nil:
			return nil, false, err
		case !has:
			dropped++
		case cl.Occur == language.Should, cl.Occur == language.Plain && (c.o.Mode == ModeOr || n.Least > 0):
			b.Should = append(b.Should, q)
		case cl.Occur == language.Filter:
			b.Filter = append(b.Filter, q)
		case cl.Occur == language.MustNot:
			b.MustNot = append(b.MustNot, q)
		default:
			b.Must = append(b.Must, q)
		}
	}
	if dropped == len(n.Clauses) {
		return nil, false, nil
	}
	if b.MinShould = n.Least; b.MinShould > len(b.Should) {
		if dropped == 0 {
			return c.refuse(n, n.Start, fmt.Sprintf("%d clauses are required, but %d have no sign", n.Least, len(b.Should)), "")
		}
		b.MinShould = len(b.Should)
	}
	return b, true, nil
}

// leaf returns the query of a node in one field, or nil if it has no words. For its errors, it returns
// the offset.
func (c *compiler) leaf(n *language.Node, field string) (q Query, offset int, err error) {
	t, known := c.typeOf(field)
	texts := !known || t == FieldText || t == FieldKeyword
	switch n.Kind {
	case language.Pattern, language.Regexp, language.Fuzzy:
		if !texts {
			err = &ParseError{Offset: n.Start, Reason: fmt.Sprintf("field %q has values of type %s, which have no words", field, t)}
			return nil, n.Start, err
		}
	}
	switch n.Kind {
	case language.Pattern:
		if literal, ok := prefixOf(n.Text); ok {
			return Prefix{field, literal, c.o.Raw}, n.Start, nil
		}
		return Wildcard{field, n.Text, c.o.Raw}, n.Start, nil
	case language.Regexp:
		return Regexp{field, n.Text, c.o.Raw}, n.Start, nil
	case language.Fuzzy:
		return c.fuzzy(n, field), n.Start, nil
	case language.Phrase:
		v, err := c.valueOf(field, n.Text)
		if err != nil {
			return nil, n.Start, err
		}
		if p, ok := v.(Point); ok {
			return WithinDistance{Field: field, Point: p, Metres: float64(n.Slop)}, n.Start, nil
		}
		return Phrase{Field: field, Text: n.Text, Slop: n.Slop}, n.Start, nil
	case language.PhrasePrefix:
		return PhrasePrefix{Field: field, Text: n.Text, Slop: n.Slop}, n.Start, nil
	case language.Exists:
		return Exists{field}, n.Start, nil
	case language.Near:
		return Near{Field: field, Phrases: n.Phrases, Distance: n.Distance}, n.Start, nil
	case language.ExactValue:
		v, err := any(n.Text), error(nil)
		if known {
			v, err = c.valueOf(field, n.Text)
		} else if !n.Quoted {
			v = guessValue(n.Text)
		}
		return Term{field, v}, n.Start, err
	case language.Range:
		return c.between(n.Bounds, field)
	}
	panic(fmt.Sprintf("BUG: a leaf of kind %d", n.Kind))
}

// prefixOf returns the text before the star of a pattern that has nothing else.
func prefixOf(pattern string) (literal string, ok bool) {
	var b []byte
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '\\':
			i++
			b = append(b, pattern[i])
		case '?':
			return "", false
		case '*':
			return string(b), i == len(pattern)-1 && i > 0
		default:
			b = append(b, c)
		}
	}
	return "", false
}

// fuzzy returns the query of a fuzzy word. As in bleve, the word is analysed.
func (c *compiler) fuzzy(n *language.Node, field string) Query {
	edits := n.Edits
	if edits == language.AutoEdits {
		edits = AutoEdits
	}
	t, known := c.typeOf(field)
	if c.analyzer == nil || known && t != FieldText {
		return Fuzzy{Field: field, Term: n.Text, Edits: edits}
	}
	a, err := c.analyzer(c.schema.Fields[field].Analyzer)
	if err != nil {
		return Fuzzy{Field: field, Term: n.Text, Edits: edits} // the search reports the analyzer
	}
	var b Bool
	for _, term := range analysis.Terms(a, n.Text) {
		b.Should = append(b.Should, Fuzzy{Field: field, Term: term, Edits: edits, Raw: true})
	}
	switch len(b.Should) {
	case 0:
		return nil
	case 1:
		return b.Should[0]
	}
	return b
}

// valueOf returns a text as a value of a field, as far as its type is known.
func (c *compiler) valueOf(field, text string) (any, error) {
	t, known := c.typeOf(field)
	if !known {
		return text, nil
	}
	switch t {
	case FieldNumber:
		if v, ok := numberOf(text); ok {
			return v, nil
		}
		return nil, fmt.Errorf("field %q has numbers, and %q is none", field, text)
	case FieldDate:
		if v, ok := c.timeOf(text); ok {
			return v, nil
		}
		return nil, fmt.Errorf("field %q has dates such as 2024-01-05 or 2024-01-05T10:00:00Z, and %q is none", field, text)
	case FieldBool:
		if v, err := strconv.ParseBool(text); err == nil {
			return v, nil
		}
		return nil, fmt.Errorf("field %q is true or false, not %q", field, text)
	case FieldPlace:
		p, err := ParsePoint(text)
		if err != nil {
			return nil, fmt.Errorf("field %q has places: %w", field, err)
		}
		return p, nil
	}
	return text, nil
}

// guessValue returns the number, date or boolean that a text spells, or the text.
func guessValue(text string) any {
	if v, ok := numberOf(text); ok {
		return v
	}
	if v, ok := timeOf(text); ok {
		return v
	}
	if text == "true" || text == "false" {
		return text == "true"
	}
	return text
}

// numberOf returns the number that a text spells, as int64, uint64 or float64.
func numberOf(text string) (any, bool) {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i, true
	}
	if u, err := strconv.ParseUint(text, 10, 64); err == nil {
		return u, true
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
}

// timeOf returns the time that a text spells. The forms are those of bleve, in UTC if they say nothing
// else.
func timeOf(text string) (any, bool) {
	for _, layout := range [...]string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04:05 -0700", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), true
		}
	}
	return nil, false
}

// timeOf is timeOf in the time zone of the options.
func (c *compiler) timeOf(text string) (any, bool) {
	if c.zone != nil && len(text) >= len(time.DateOnly) {
		if t, err := datemath.ParseDate(text, c.zone); err == nil {
			return t.UTC(), true
		}
	}
	return timeOf(text)
}

// isRelative reports whether a text is a date that is relative to now, or one with steps behind it.
func isRelative(text string) bool {
	if !datemath.Is(text) {
		return false
	}
	_, err := datemath.Parse(text, time.Unix(0, 0), time.UTC, false)
	return err == nil
}

// relative returns the error of a text that begins as a relative date in a field, if that may have dates
// and the options admit them; is says whether the text is to be taken for one.
func (c *compiler) relative(field, text string) (is bool, err error) {
	t, known := c.typeOf(field)
	if !datemath.Is(text) || c.o.Without&SyntaxRanges != 0 || known && t != FieldDate {
		return false, nil
	}
	_, err = datemath.Parse(text, time.Unix(0, 0), time.UTC, false)
	return known || err == nil, err
}

// between returns the query of a range in a field, or the offset of the bound that is wrong.
func (c *compiler) between(b language.Bounds, field string) (Query, int, error) {
	t, known := c.typeOf(field)
	if known && t == FieldPlace {
		return c.box(b, field)
	}
	bounds := [2]language.Bound{b.From, b.To}
	var values [2]any
	texts, zone := false, ""
	for i, end := range bounds {
		if end.Open {
			continue
		}
		if is, err := c.relative(field, end.Text); is && (known || !end.Quoted || b.OneSided) {
			if err != nil {
				return nil, end.Start, err
			}
			values[i], zone = end.Text, c.o.TimeZone
			continue
		}
		switch {
		case known && t == FieldBool:
			return nil, end.Start, fmt.Errorf("field %q is true or false, which have no order", field)
		case known:
			v, err := c.valueOf(field, end.Text)
			if err != nil {
				return nil, end.Start, err
			}
			values[i] = v
		case end.Quoted && !b.OneSided:
			values[i] = end.Text
		case end.Quoted:
			if v, ok := c.timeOf(end.Text); ok {
				values[i] = v
			} else if c.o.Without&SyntaxRanges != 0 {
				return nil, end.Start, fmt.Errorf("%q is not a date", end.Text)
			} else {
				values[i] = end.Text
			}
		default:
			if v, ok := guessValue(end.Text).(bool); ok {
				values[i] = fmt.Sprint(v)
			} else {
				values[i] = guessValue(end.Text)
			}
		}
		if _, ok := values[i].(string); ok {
			texts = true
		}
	}
	if !texts && (values[0] != nil || values[1] != nil) {
		return Range{field, values[0], values[1], b.ExcludeFrom, b.IncludeTo, zone}, bounds[0].Start, nil
	}
	if values[1] != nil && b.To.Text == "" {
		return nil, b.To.Start, errors.New("the end of the range is empty")
	}
	q := TermRange{Field: field, ExcludeFrom: b.ExcludeFrom, IncludeTo: b.IncludeTo, Raw: c.o.Raw}
	if values[0] != nil {
		q.From = b.From.Text
	}
	if values[1] != nil {
		q.To = b.To.Text
	}
	return q, bounds[0].Start, nil
}

// box returns the query of a range in a field of places: from the corner in the south-west to that in the
// north-east.
func (c *compiler) box(b language.Bounds, field string) (Query, int, error) {
	var corners [2]Point
	for i, end := range [2]language.Bound{b.From, b.To} {
		if end.Open || b.ExcludeFrom || !b.IncludeTo {
			return nil, b.From.Start, fmt.Errorf("field %q has places: a box is [52.3,13 TO 52.7,13.8], from its south-western corner to the north-eastern one", field)
		}
		v, err := c.valueOf(field, end.Text)
		if err != nil {
			return nil, end.Start, err
		}
		corners[i] = v.(Point)
	}
	return WithinBox{field, corners[0].Lat, corners[0].Lon, corners[1].Lat, corners[1].Lon}, b.From.Start, nil
}
