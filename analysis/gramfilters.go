package analysis

import "unicode/utf8"

func (NGrams) expands()     {}
func (EdgeNGrams) expands() {}

// Filter implements Filter.
func (g NGrams) Filter(batch []Token) []Token { return g.Text()(batch, true) }

// Text implements TextFilter.
func (g NGrams) Text() func(batch []Token, last bool) []Token {
	lo, hi := gramRange(g.Min, g.Max)
	return gramsOf(lo, g.DropShort, func(out *tokenBuffer, t *Token, starts []int) {
		n := len(starts) - 1 // runes
		for from := 0; from+lo <= n; from++ {
			for to := from + lo; to <= min(from+hi, n); to++ {
				out.add(*t, t.Term[starts[from]:starts[to]])
			}
		}
	})
}

// Filter implements Filter.
func (g EdgeNGrams) Filter(batch []Token) []Token { return g.Text()(batch, true) }

// Text implements TextFilter.
func (g EdgeNGrams) Text() func(batch []Token, last bool) []Token {
	lo, hi := gramRange(g.Min, g.Max)
	return gramsOf(lo, g.DropShort, func(out *tokenBuffer, t *Token, starts []int) {
		n := len(starts) - 1
		for size := lo; size <= min(hi, n); size++ {
			if g.Back {
				out.add(*t, t.Term[starts[n-size]:])
			} else {
				out.add(*t, t.Term[:starts[size]])
			}
		}
	})
}

// gramsOf returns the function of a text that adds the grams of each token. A token of fewer than lo
// runes is a gram itself, unless those are dropped. starts are where the runes of the term begin, and
// where it ends.
func gramsOf(lo int, dropShort bool, add func(out *tokenBuffer, t *Token, starts []int)) func(batch []Token, last bool) []Token {
	var out tokenBuffer
	var starts []int
	return func(batch []Token, last bool) []Token {
		out.reset()
		for i := range batch {
			t := &batch[i]
			starts = runeStarts(starts[:0], t.Term)
			if len(starts) > lo {
				add(&out, t, starts)
			} else if !dropShort {
				out.add(*t, t.Term)
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
