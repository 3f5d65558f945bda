package function

import "math"

// A Combine says how the values of several parts become one.
type Combine uint8

const (
	Sum Combine = iota
	Product
	Max
	Min
	Average // Σ weight × value / Σ weight
)

// A Function is the combined value of the parts that apply to a document.
type Function struct {
	Parts   []Part
	Combine Combine
	Neutral float64 // of a document to which no part applies
	Coarse  bool    // only 16 bits of a fraction count
}

// limit bounds the combined value, so that a product of many parts stays finite.
const limit = 1e60

// A combination takes the values of parts one by one.
type combination struct {
	f       *Function
	value   float64
	weights float64
	any     bool
}

// add adds the value of a part, without its weight.
func (c *combination) add(p *Part, value float64) {
	v := p.Weight * value
	c.weights += p.Weight
	switch {
	case !c.any:
		c.value = v
	case c.f.Combine == Product:
		c.value *= v
	case c.f.Combine == Max:
		c.value = max(c.value, v)
	case c.f.Combine == Min:
		c.value = min(c.value, v)
	default:
		c.value += v
	}
	c.value, c.any = min(c.value, limit), true
}

// result returns the combined value.
func (c *combination) result() float64 {
	switch {
	case !c.any:
		return c.f.Neutral
	case c.f.Combine == Average && c.weights > 0:
		return c.value / c.weights
	}
	return c.value
}

// bound bounds the combined value of documents for which the values of the parts are at most most, without
// weights. Parts that are not always applied need not be.
func (f *Function) bound(most []float64, always func(part int) bool) float64 {
	sum, product, highest, least, average, some := 0.0, 1.0, 0.0, math.Inf(1), 0.0, false
	for i := range f.Parts {
		v := f.Parts[i].Weight * most[i]
		sum, highest, average = sum+v, max(highest, v), max(average, most[i])
		if always(i) {
			some = true
			product *= v
			least = min(least, v)
		} else {
			product *= max(v, 1)
		}
		product = min(product, limit)
	}
	bound := sum
	switch f.Combine {
	case Product:
		bound = product
		if !some { // one part alone may be applied, which is less than 1
			bound = max(product, highest)
		}
	case Max:
		bound = highest
	case Min:
		if bound = least; !some {
			bound = highest
		}
	case Average:
		bound = average
	}
	if !some {
		bound = max(bound, f.Neutral)
	}
	return min(bound, limit)
}

// Exponent returns the power of two that bounds all values, and so what the fractions are of: the least e
// such that none of some bounds is above 1<<e.
func Exponent(bounds ...float64) int {
	e := math.MinInt
	for _, b := range bounds {
		if b <= 0 {
			continue
		}
		fraction, exp := math.Frexp(b)
		if fraction == 0.5 {
			exp--
		}
		e = max(e, exp)
	}
	if e == math.MinInt {
		return 0
	}
	return max(e, -1000) // scales stay finite
}
