package aggregate

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/cpuexec"
)

// A document of the oracle has values by field.
type document struct {
	number uint32
	values map[string][]columns.Value // ascending
	sets   []bool
	score  uint32
}

// oracle computes an aggregation of documents, one document after another.
func oracle(s *Spec, docs []document) *Result {
	r := &Result{}
	switch k := s.Of.(type) {
	case Terms:
		groups, missing := groupBy(s, docs, func(v columns.Value) (any, bool) { return string(v.AppendTerm(nil)), true })
		r.Missing, r.Distinct = missing, len(groups)
		type bucket struct {
			Bucket
			term   string
			metric float64
			has    bool
		}
		var all []bucket
		for term, in := range groups {
			v, err := columns.ParseTerm([]byte(term.(string)))
			if err != nil {
				panic(err)
			}
			b := bucket{Bucket{v.Any(), len(in), subs(s, in)}, term.(string), 0, false}
			if k.Order.By == ByMetric {
				b.metric, b.has = metricOf(b.Sub[k.Order.Sub], s.Sub[k.Order.Sub], k.Order.Metric)
			}
			r.Other += len(in)
			if len(in) >= k.MinCount {
				all = append(all, b)
			}
		}
		slices.SortFunc(all, func(a, b bucket) int {
			c := 0
			switch k.Order.By {
			case ByCount:
				c = cmp.Compare(a.Count, b.Count)
			case ByKey:
				c = cmp.Compare(a.term, b.term)
			case ByMetric:
				if a.has != b.has {
					if a.has {
						return -1
					}
					return 1
				}
				c = cmp.Compare(a.metric, b.metric)
			}
			if k.Order.Desc {
				c = -c
			}
			return cmp.Or(c, cmp.Compare(a.term, b.term))
		})
		for _, b := range all[:min(len(all), k.Size)] {
			r.Buckets = append(r.Buckets, b.Bucket)
			r.Other -= b.Count
		}
	case Histogram:
		groups, missing := groupBy(s, docs, func(v columns.Value) (any, bool) {
			x, ok := numberOf(v)
			if !ok {
				return nil, false
			}
			i := int64(math.Floor((x-k.Offset)/k.Interval)) + 2
			for k.Offset+float64(float64(i)*k.Interval) > x {
				i--
			}
			return i, true
		})
		r.Missing = missing
		fillOracle(s, r, groups, k.Fill, func(i int64) any { return k.Offset + float64(float64(i)*k.Interval) }, func(i int64) int64 { return i + 1 })
	case Calendar:
		groups, missing := groupBy(s, docs, func(v columns.Value) (any, bool) {
			t, ok := v.Any().(time.Time)
			if !ok {
				return nil, false
			}
			return calendarOracle(k, t), true
		})
		r.Missing = missing
		fillOracle(s, r, groups, k.Fill, k.key, k.next)
	case Ranges:
		r.Missing = missingOf(s, docs)
		for i, g := range k {
			var in []document
			for _, d := range docs {
				if slices.ContainsFunc(d.values[s.Field], func(v columns.Value) bool { return inRange(v, g) }) {
					in = append(in, d)
				}
			}
			r.Buckets = append(r.Buckets, Bucket{i, len(in), subs(s, in)})
		}
	case Filters:
		for i, set := range k {
			var in []document
			for _, d := range docs {
				if d.sets[set] {
					in = append(in, d)
				}
			}
			r.Buckets = append(r.Buckets, Bucket{i, len(in), subs(s, in)})
		}
	case Missing:
		var in []document
		for _, d := range docs {
			if len(d.values[s.Field]) == 0 {
				in = append(in, d)
			}
		}
		r.Buckets = []Bucket{{0, len(in), subs(s, in)}}
	case Cardinality:
		groups, missing := groupBy(s, docs, func(v columns.Value) (any, bool) { return string(v.AppendTerm(nil)), true })
		r.Distinct, r.Missing = len(groups), missing
	case Stats:
		r.Stats = statsOracle(measuredValues(s.Field, docs))
	case Percentiles:
		values := measuredValues(s.Field, docs)
		for _, p := range k {
			if len(values) == 0 {
				r.Percentiles = append(r.Percentiles, nil)
				continue
			}
			// The least value such that p percent are not above it.
			at := 0
			for float64(at+1)*100 < p*float64(len(values))*(1-1e-12) {
				at++
			}
			r.Percentiles = append(r.Percentiles, plainOracle(values[at]))
		}
	case TopHits:
		sorted := slices.Clone(docs)
		if k.Order == nil {
			slices.SortStableFunc(sorted, func(a, b document) int { return cmp.Compare(b.score, a.score) })
			for _, d := range sorted[:min(len(sorted), k.Size)] {
				r.Hits = append(r.Hits, Hit{d.number, d.score, nil})
			}
			break
		}
		slices.SortStableFunc(sorted, func(a, b document) int { return compareBy(k.Order, &a, &b) })
		for _, d := range sorted[:min(len(sorted), k.Size)] {
			h := Hit{Doc: d.number}
			for i := range k.Order.Keys {
				v := keyOf(k.Order, i, &d)
				if k.Order.Keys[i].By == cpuexec.ByScore {
					h.Score = d.score
				}
				h.Keys = append(h.Keys, v)
			}
			r.Hits = append(r.Hits, h)
		}
	}
	return r
}

// orderFields are the fields of the keys of an order, empty for those that sort by score or id.
var orderFields = map[*cpuexec.Order][]string{}

// keyOf returns what a document has for a key.
func keyOf(o *cpuexec.Order, i int, d *document) (v cpuexec.KeyValue) {
	k := &o.Keys[i]
	switch k.By {
	case cpuexec.ByScore:
		v.Value = columns.OfUint(uint64(d.score))
	case cpuexec.ByID:
		v.Value = columns.OfString(idOf(d.number))
	default:
		values := d.values[orderFields[o][i]]
		if len(values) == 0 {
			v.Missing = true
			return v
		}
		v.Value = values[map[cpuexec.SortMode]int{cpuexec.GreatestValue: len(values) - 1, cpuexec.MedianValue: (len(values) - 1) / 2}[k.Mode]]
	}
	return v
}

// idOf is the id of a document: in another order than that of the numbers.
func idOf(doc uint32) string { return fmt.Sprintf("%08x", bits.Reverse32(doc)) }

func compareBy(o *cpuexec.Order, a, b *document) int {
	for i := range o.Keys {
		k := &o.Keys[i]
		x, y := keyOf(o, i, a), keyOf(o, i, b)
		c := 0
		switch {
		case x.Missing && y.Missing:
		case x.Missing || y.Missing:
			if c = 1; x.Missing == k.MissingFirst {
				c = -1
			}
		default:
			if c = columns.Compare(x.Value, y.Value); k.Desc {
				c = -c
			}
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(a.number, b.number)
}

func subs(s *Spec, docs []document) (rs []*Result) {
	for _, sub := range s.Sub {
		rs = append(rs, oracle(sub, docs))
	}
	return rs
}

func missingOf(s *Spec, docs []document) (n int) {
	for _, d := range docs {
		if len(d.values[s.Field]) == 0 {
			n++
		}
	}
	return n
}

// groupBy puts documents into groups by values. A document is once in a group.
func groupBy(s *Spec, docs []document, key func(columns.Value) (any, bool)) (groups map[any][]document, missing int) {
	groups = map[any][]document{}
	for _, d := range docs {
		seen := map[any]bool{}
		for _, v := range d.values[s.Field] {
			if k, ok := key(v); ok && !seen[k] {
				seen[k] = true
				groups[k] = append(groups[k], d)
			}
		}
		if len(seen) == 0 {
			missing++
		}
	}
	return groups, missing
}

func fillOracle(s *Spec, r *Result, groups map[any][]document, fill Fill, key func(int64) any, next func(int64) int64) {
	var steps []int64
	for k := range groups {
		steps = append(steps, k.(int64))
	}
	slices.Sort(steps)
	if fill.MinCount == 0 && (len(steps) > 0 || fill.Bounded) {
		from, to := fill.From, fill.To
		if len(steps) > 0 {
			first, last := steps[0], steps[len(steps)-1]
			if !fill.Bounded {
				from, to = first, last
			}
			from, to = min(from, first), max(to, last)
		}
		steps = nil
		for i := from; i <= to; i = next(i) {
			steps = append(steps, i)
		}
	}
	for _, i := range steps {
		if in := groups[i]; len(in) >= fill.MinCount {
			r.Buckets = append(r.Buckets, Bucket{key(i), len(in), subs(s, in)})
		}
	}
}

// calendarOracle finds the step of a time from its date and clock alone. It is right where a clock
// is changed by whole units, and not around midnight.
func calendarOracle(c Calendar, t time.Time) int64 {
	if c.Unit == Fixed {
		ns := new(big.Int).Mul(big.NewInt(t.Unix()), big.NewInt(1e9))
		ns.Add(ns, big.NewInt(int64(t.Nanosecond())-int64(c.Offset)))
		q, m := new(big.Int).QuoRem(ns, big.NewInt(int64(c.Every)), new(big.Int))
		if m.Sign() < 0 {
			q.Sub(q, big.NewInt(1))
		}
		return q.Int64()
	}
	t = t.Add(-c.Offset).In(c.Zone)
	y, m, d := t.Date()
	days := int64(math.Floor(float64(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix()) / 86400))
	switch c.Unit {
	case Second:
		return t.Unix()
	case Minute:
		return t.Unix() - int64(t.Second())
	case Hour:
		return t.Unix() - int64(t.Second()) - 60*int64(t.Minute())
	case Day:
		return days
	case Week:
		monday := days - int64(t.Weekday()+6)%7
		return (monday + 3) / 7
	case Month:
		return int64(y-1970)*12 + int64(m-1)
	case Quarter:
		return int64(y-1970)*4 + int64(m-1)/3
	}
	return int64(y - 1970)
}

func inRange(v columns.Value, r Range) bool {
	// An open end extends over values like the other end.
	if r.From.Open && !r.To.Open && classOf(v) != classOf(r.To.Value) || r.To.Open && !r.From.Open && classOf(v) != classOf(r.From.Value) {
		return false
	}
	if !r.From.Open {
		if c := columns.Compare(v, r.From.Value); c < 0 || c == 0 && r.From.Exclusive {
			return false
		}
	}
	if !r.To.Open {
		if c := columns.Compare(v, r.To.Value); c > 0 || c == 0 && r.To.Exclusive {
			return false
		}
	}
	return true
}

func classOf(v columns.Value) string {
	switch v.Any().(type) {
	case int64, uint64, float64:
		return "number"
	case time.Time:
		return "time"
	case bool:
		return "bool"
	}
	return "string"
}

func numberOf(v columns.Value) (float64, bool) {
	switch x := v.Any().(type) {
	case int64:
		return float64(x), true
	case uint64:
		return float64(x), true
	case float64:
		return x, true
	}
	return 0, false
}

// plainOracle makes an integer of a number that is one.
func plainOracle(v columns.Value) any {
	parsed, err := columns.ParseTerm(v.AppendTerm(nil))
	if err != nil {
		panic(err)
	}
	return parsed.Any()
}

// fieldClass has the class of each field that is measured; tests set it.
var fieldClass map[string]string

// measuredValues returns all values of the field's class, ascending.
func measuredValues(field string, docs []document) (values []columns.Value) {
	for _, d := range docs {
		for _, v := range d.values[field] {
			if classOf(v) == fieldClass[field] {
				values = append(values, v)
			}
		}
	}
	slices.SortFunc(values, columns.Compare)
	return values
}

func statsOracle(values []columns.Value) *StatsResult {
	s := &StatsResult{Count: len(values)}
	if len(values) == 0 {
		return s
	}
	s.Min, s.Max = plainOracle(values[0]), plainOracle(values[len(values)-1])
	var all []*big.Rat
	sum := new(big.Rat)
	for _, v := range values {
		x := new(big.Rat)
		switch v := v.Any().(type) {
		case int64:
			x.SetInt64(v)
		case uint64:
			x.SetUint64(v)
		case float64:
			x.SetFloat64(v)
		case bool:
			if v {
				x.SetInt64(1)
			}
		case time.Time:
			x.SetFrac64(int64(v.Nanosecond()), 1e9)
			x.Add(x, new(big.Rat).SetInt64(v.Unix()))
		}
		all = append(all, x)
		sum.Add(sum, x)
	}
	n := new(big.Rat).SetInt64(int64(len(values)))
	mean := new(big.Rat).Quo(sum, n)
	squares := new(big.Rat)
	for _, x := range all {
		d := new(big.Rat).Sub(x, mean)
		squares.Add(squares, d.Mul(d, d))
	}
	s.Sum, _ = sum.Float64()
	s.Mean, _ = mean.Float64()
	s.Variance, _ = squares.Quo(squares, n).Float64()
	return s
}

func metricOf(r *Result, s *Spec, m Metric) (float64, bool) {
	switch s.Of.(type) {
	case Cardinality:
		return float64(r.Distinct), true
	case Percentiles:
		p := slices.Index(s.Of.(Percentiles), m.Percent)
		if r.Percentiles[p] == nil {
			return 0, false
		}
		return number(r.Percentiles[p]), true
	}
	if m.Name == "count" {
		return float64(r.Stats.Count), true
	}
	if r.Stats.Count == 0 {
		return 0, false
	}
	switch m.Name {
	case "min":
		return number(r.Stats.Min), true
	case "max":
		return number(r.Stats.Max), true
	case "sum":
		return r.Stats.Sum, true
	case "mean":
		return r.Stats.Mean, true
	}
	return r.Stats.Variance, true
}

// text writes a result so that two can be compared by eyes and machines.
func text(r *Result, indent string) string {
	var b strings.Builder
	writeText(&b, r, indent)
	return b.String()
}

func writeText(b *strings.Builder, r *Result, indent string) {
	fmt.Fprintf(b, "%sother %d missing %d distinct %d", indent, r.Other, r.Missing, r.Distinct)
	if r.Stats != nil {
		fmt.Fprintf(b, " stats %+v", *r.Stats)
	}
	for _, p := range r.Percentiles {
		fmt.Fprintf(b, " %T %v", p, p)
	}
	for _, h := range r.Hits {
		fmt.Fprintf(b, " hit %d %d", h.Doc, h.Score)
		for _, k := range h.Keys {
			fmt.Fprintf(b, " %v %q", k.Missing, k.Value.AppendTerm(nil))
		}
	}
	b.WriteByte('\n')
	for _, bucket := range r.Buckets {
		fmt.Fprintf(b, "%s[%T %v] %d\n", indent, bucket.Key, bucket.Key, bucket.Count)
		for _, sub := range bucket.Sub {
			writeText(b, sub, indent+"  ")
		}
	}
}
