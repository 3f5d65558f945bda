package riffle

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/plan"
	"github.com/riffle-search/riffle/proximity"
)

// An Interval is a rule that finds intervals of positions in a field: IntervalText, IntervalAll,
// IntervalAny, IntervalWhere or IntervalFirst. Only minimal intervals count, those that contain no other
// interval of the same rule.
type Interval interface{ isInterval() }

// MaxGaps of an IntervalText or IntervalAll.
const (
	AnyGaps = 0  // any number
	NoGaps  = -1 // none
)

// IntervalText finds intervals that contain all words of a text. A word that the text repeats must
// occur as often.
type IntervalText struct {
	Text    string
	Ordered bool // in their order, without overlap; with NoGaps as a phrase, in which dropped words leave their places
	MaxGaps int  // the most positions in the interval with none of the words; or AnyGaps, NoGaps
}

// IntervalAll finds intervals that contain an interval of each rule.
type IntervalAll struct {
	Of      []Interval
	Ordered bool // in their order, without overlap
	MaxGaps int  // the most positions in the interval outside of those of the rules; or AnyGaps, NoGaps
}

// IntervalAny finds the intervals of all rules.
type IntervalAny struct{ Of []Interval }

// IntervalWhere finds the intervals of a rule that stand in some relation to those of another one.
type IntervalWhere struct {
	Rule Interval
	Is   Relation
	Of   Interval
}

// A Relation is one of intervals.
type Relation uint8

const (
	Containing    Relation = iota // contains one
	ContainedBy                   // is contained by one
	NotContaining                 // contains none
	relations
)

var relationNames = [relations]string{"containing", "contained_by", "not_containing"}

// IntervalFirst finds the intervals of a rule within the first positions of a field.
type IntervalFirst struct {
	Rule      Interval
	Positions int
}

func (IntervalText) isInterval()  {}
func (IntervalAll) isInterval()   {}
func (IntervalAny) isInterval()   {}
func (IntervalWhere) isInterval() {}
func (IntervalFirst) isInterval() {}

// maxGaps returns the gaps that a rule allows.
func maxGaps(n int) (int, error) {
	switch {
	case n == AnyGaps:
		return proximity.NoLimit, nil
	case n == NoGaps:
		return 0, nil
	case n < 0 || n > plan.MaxSlop:
		return 0, plan.Errorf("Intervals.MaxGaps", "must lie in 1 to %d, or be AnyGaps or NoGaps, not %d", plan.MaxSlop, n)
	}
	return n, nil
}

// ruleOf returns the planner's form of a rule, or what is wrong with it.
func ruleOf(rule Interval, depth int) (r plan.Interval, err error) {
	if depth >= maxQueryDepth {
		return r, plan.Errorf("Intervals.Rule", "more than %d levels of rules", maxQueryDepth)
	}
	rules := func(of ...Interval) error {
		for _, sub := range of {
			s, err := ruleOf(sub, depth+1)
			if err != nil {
				return err
			}
			r.Rules = append(r.Rules, s)
		}
		if len(of) == 0 {
			return plan.Errorf("Intervals.Rule", "%T has no rules", rule)
		}
		return nil
	}
	ordered := func(yes bool, gaps int) error {
		r.Op = proximity.Unordered
		if yes {
			r.Op = proximity.Ordered
		}
		r.Max, err = maxGaps(gaps)
		return err
	}
	switch q := rule.(type) {
	case IntervalText:
		r.Text = q.Text
		err := ordered(q.Ordered, q.MaxGaps)
		if q.Ordered && q.MaxGaps == NoGaps {
			r.Op = proximity.Phrase
		}
		return r, err
	case IntervalAll:
		if err := ordered(q.Ordered, q.MaxGaps); err != nil {
			return r, err
		}
		return r, rules(q.Of...)
	case IntervalAny:
		r.Op = proximity.Any
		return r, rules(q.Of...)
	case IntervalWhere:
		if q.Is >= relations {
			return r, plan.Errorf("Intervals.Is", "there is no %d", q.Is)
		}
		r.Op = proximity.Containing + proximity.Op(q.Is)
		return r, rules(q.Rule, q.Of)
	case IntervalFirst:
		if r.Op, r.Max = proximity.First, q.Positions; q.Positions < 1 || q.Positions > plan.MaxSlop {
			return r, plan.Errorf("Intervals.Positions", "must lie in 1 to %d, not %d", plan.MaxSlop, q.Positions)
		}
		return r, rules(q.Rule)
	}
	return r, plan.Errorf("Intervals.Rule", "is %v", reflect.TypeOf(rule))
}

type intervalTextJSON struct {
	Text    string `json:"text"`
	Ordered bool   `json:"ordered,omitempty"`
	MaxGaps *int   `json:"max_gaps,omitempty"`
}

type intervalAllJSON struct {
	Of      []json.RawMessage `json:"of"`
	Ordered bool              `json:"ordered,omitempty"`
	MaxGaps *int              `json:"max_gaps,omitempty"`
}

type intervalAnyJSON struct {
	Of []json.RawMessage `json:"of"`
}

type intervalWhereJSON struct {
	Rule json.RawMessage `json:"rule"`
	Of   json.RawMessage `json:"of"`
}

type intervalFirstJSON struct {
	Rule      json.RawMessage `json:"rule"`
	Positions int             `json:"positions"`
}

// gapsJSON is the member "max_gaps": absent for any number.
func gapsJSON(n int) *int {
	if n == AnyGaps {
		return nil
	}
	n = max(0, n)
	return &n
}

func gapsOf(n *int) (int, error) {
	switch {
	case n == nil:
		return AnyGaps, nil
	case *n < 0:
		return 0, fmt.Errorf("max_gaps is %d", *n)
	case *n == 0:
		return NoGaps, nil
	}
	return *n, nil
}

// marshalRule writes a rule as an object with one member, whose name says the type.
func marshalRule(rule Interval) (json.RawMessage, error) {
	name, j := "", any(nil)
	all := func(of []Interval) (raw []json.RawMessage, err error) {
		for _, sub := range of {
			r, err := marshalRule(sub)
			if err != nil {
				return nil, err
			}
			raw = append(raw, r)
		}
		return raw, nil
	}
	switch q := rule.(type) {
	case IntervalText:
		name, j = "match", intervalTextJSON{q.Text, q.Ordered, gapsJSON(q.MaxGaps)}
	case IntervalAll:
		of, err := all(q.Of)
		if err != nil {
			return nil, err
		}
		name, j = "all", intervalAllJSON{of, q.Ordered, gapsJSON(q.MaxGaps)}
	case IntervalAny:
		of, err := all(q.Of)
		if err != nil {
			return nil, err
		}
		name, j = "any", intervalAnyJSON{of}
	case IntervalWhere:
		of, err := all([]Interval{q.Rule, q.Of})
		if err != nil {
			return nil, err
		}
		if q.Is >= relations {
			return nil, plan.Errorf("Intervals.Is", "there is no %d", q.Is)
		}
		name, j = relationNames[q.Is], intervalWhereJSON{of[0], of[1]}
	case IntervalFirst:
		of, err := all([]Interval{q.Rule})
		if err != nil {
			return nil, err
		}
		name, j = "first", intervalFirstJSON{of[0], q.Positions}
	default:
		return nil, plan.Errorf("Intervals.Rule", "is %v", reflect.TypeOf(rule))
	}
	return json.Marshal(map[string]any{name: j})
}

// unmarshalRule is the inverse of marshalRule.
func unmarshalRule(data []byte, depth int) (Interval, error) {
	if depth >= maxQueryDepth {
		return nil, fmt.Errorf("more than %d levels of rules", maxQueryDepth)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, err
	}
	if len(members) != 1 {
		return nil, fmt.Errorf(`a rule has one member, such as "match" or "all", not %d`, len(members))
	}
	for kind, body := range members {
		rule, err := unmarshalRuleKind(kind, body, depth)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		return rule, nil
	}
	panic("BUG: a map of one member has none")
}

func unmarshalRuleKind(kind string, body []byte, depth int) (Interval, error) {
	rules := func(raw ...json.RawMessage) (of []Interval, err error) {
		for _, data := range raw {
			sub, err := unmarshalRule(data, depth+1)
			if err != nil {
				return nil, err
			}
			of = append(of, sub)
		}
		return of, nil
	}
	switch kind {
	case "match":
		var j intervalTextJSON
		if err := document.DecodeObject(body, &j); err != nil {
			return nil, err
		}
		gaps, err := gapsOf(j.MaxGaps)
		return IntervalText{j.Text, j.Ordered, gaps}, err
	case "all":
		var j intervalAllJSON
		if err := document.DecodeObject(body, &j); err != nil {
			return nil, err
		}
		of, err := rules(j.Of...)
		if err != nil {
			return nil, err
		}
		gaps, err := gapsOf(j.MaxGaps)
		return IntervalAll{of, j.Ordered, gaps}, err
	case "any":
		var j intervalAnyJSON
		if err := document.DecodeObject(body, &j); err != nil {
			return nil, err
		}
		of, err := rules(j.Of...)
		return IntervalAny{of}, err
	case "containing", "contained_by", "not_containing":
		var j intervalWhereJSON
		if err := document.DecodeObject(body, &j); err != nil {
			return nil, err
		}
		of, err := rules(j.Rule, j.Of)
		if err != nil {
			return nil, err
		}
		q := IntervalWhere{Rule: of[0], Of: of[1]}
		for q.Is < relations-1 && relationNames[q.Is] != kind {
			q.Is++
		}
		return q, nil
	case "first":
		var j intervalFirstJSON
		if err := document.DecodeObject(body, &j); err != nil {
			return nil, err
		}
		of, err := rules(j.Rule)
		if err != nil {
			return nil, err
		}
		return IntervalFirst{of[0], j.Positions}, nil
	}
	return nil, errors.New("there is no such rule")
}
