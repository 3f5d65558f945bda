package analysis

import "unicode/utf8"

func (NGrams) expands()     {}
func (EdgeNGrams) expands() {}

// Filter implements Filter.
func (g NGrams) Filter(batch []Token) []Token { return g.Text()(batch, true) }

// Text implements TextFilter.
func (g NGrams) Text() func(batch []Token, last bool) []Token {
	lo, hi := gramRange(g.Min, g.Max)
	var out tokenBuffer
	var starts []int
	return func(batch []Token, last bool) []Token {
		out.reset()
		for i := range batch {
			t := &batch[i]
			starts = runeStarts(starts[:0], t.Term)
			n := len(starts) - 1 // runes
			if n < lo && !g.DropShort {
				out.add(*t, t.Term)
			}
			for from := 0; from+lo <= n; from++ {
				for to := from + lo; to <= min(from+hi, n); to++ {
					out.add(*t, t.Term[starts[from]:starts[to]])
				}
			}
		}
		return out.result(last)
	}
}

// Filter implements Filter.
func (g EdgeNGrams) Filter(batch []Token) []Token { return g.Text()(batch, true) }

// Text implements TextFilter.
func (g EdgeNGrams) Text() func(batch []Token, last bool) []Token {
	lo, hi := gramRange(g.Min, g.Max)
	var out tokenBuffer
	var starts []int
	return func(batch []Token, last bool) []Token {
		out.reset()
		for i := range batch {
			t := &batch[i]
			starts = runeStarts(starts[:0], t.Term)
			n := len(starts) - 1
			if n < lo && !g.DropShort {
				out.add(*t, t.Term)
			}
			for size := lo; size <= min(hi, n); size++ {
				if g.Back {
					out.add(*t, t.Term[starts[n-size]:])
				} else {
					out.add(*t, t.Term[:starts[size]])
				}
			}
		}
		return out.result(last)
	}
}

// runeStarts appends where the runes of a term begin, and where it ends.
func runeStarts(starts []int, term []byte) []int {
	for i := 0; i < len(term); {
		starts = append(starts, i)
		_, size := utf8.DecodeRune(term[i:])
		i += size
	}
	return append(starts, len(term))
}
