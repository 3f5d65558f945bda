package analysis

// CompoundOptions are options of Compounds. All are in runes, and 0 stands for the default.
type CompoundOptions struct {
	MinWord int // shorter words are left alone; the default is 5
	MinPart int // the shortest part; the default is 2
	MaxPart int // the longest part; the default is 15, and at most 64

	// Longest adds only the longest of the parts that begin at the same letter.
	Longest bool
}

// Bounds of CompoundOptions.
const (
	defaultMinWord = 5
	defaultMinPart = 2
	defaultMaxPart = 15
	maxPart        = 64
)

// Compounds adds to each word those of a list that it contains, for languages that write compounds as
// one word: with "donau", "dampf" and "schiff", "Donaudampfschiff" in lower case is found as each of
// them too. It is Lucene's DictionaryCompoundWordTokenFilter and bleve's dict_compound. Parts may
// overlap.
//
// Parts have the position of their word, and their place in it; or the place of the word, if another
// filter has changed its length. Words are compared byte by byte, so lower-case
// terms first.
func Compounds(words []string, o CompoundOptions) Filter {
	c := &compounds{CompoundOptions: o, words: make(map[string]struct{}, len(words))}
	for _, w := range words {
		c.words[w] = struct{}{}
	}
	c.MinWord, c.MinPart = orDefault(o.MinWord, defaultMinWord), orDefault(o.MinPart, defaultMinPart)
	c.MaxPart = min(orDefault(o.MaxPart, defaultMaxPart), maxPart)
	return c
}

func orDefault(n, standard int) int {
	if n <= 0 {
		return standard
	}
	return n
}

// compounds is the filter that Compounds makes.
type compounds struct {
	CompoundOptions
	words map[string]struct{}
}

func (*compounds) expands() {}

// Filter implements Filter: the batch is a whole text.
func (c *compounds) Filter(batch []Token) []Token { return c.Text()(batch, true) }

// Text implements TextFilter.
func (c *compounds) Text() func(batch []Token, last bool) []Token {
	var out tokenBuffer
	var starts []int
	return func(batch []Token, last bool) []Token {
		out.reset()
		for i := range batch {
			t := &batch[i]
			if starts = runeStarts(starts[:0], t.Term); len(starts) <= c.MinWord {
				out.add(*t, t.Term)
				continue
			}
			// Tokens are in the order of their places: beginnings of the word come first.
			c.addParts(&out, t, starts, 0)
			out.add(*t, t.Term)
			for from := 1; from+c.MinPart < len(starts); from++ {
				c.addParts(&out, t, starts, from)
			}
		}
		return out.result(last)
	}
}

// addParts adds the parts that begin with a rune of a word; the runes begin at starts, where its end is
// the last.
func (c *compounds) addParts(out *tokenBuffer, t *Token, starts []int, from int) {
	add := func(to int) {
		part := *t
		if len(t.Term) == t.End-t.Start {
			part.Start, part.End = t.Start+starts[from], t.Start+starts[to]
		}
		out.add(part, t.Term[starts[from]:starts[to]])
	}
	longest := 0
	for to := from + c.MinPart; to <= min(from+c.MaxPart, len(starts)-1); to++ {
		if _, ok := c.words[string(t.Term[starts[from]:starts[to]])]; !ok {
			continue
		}
		if longest = to; !c.Longest {
			add(to)
		}
	}
	if c.Longest && longest > 0 {
		add(longest)
	}
}
