package dictionary

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

// indexed makes the trigram indexes of all pages of a dictionary.
func indexed(t testing.TB, d *Dictionary) *Dictionary {
	d.MakeGrams()
	for _, p := range d.pages {
		if p.grams.Load() == nil {
			t.Fatal("an index is not kept")
		}
	}
	return d
}

// metBy reports whether a term meets the condition.
func (q *gramQuery) metBy(term string) bool {
	for _, gram := range q.grams {
		if !strings.Contains(term, string([]byte{byte(gram >> 16), byte(gram >> 8), byte(gram)})) {
			return false
		}
	}
	for _, of := range q.each {
		if !slices.ContainsFunc(of, func(one gramQuery) bool { return one.metBy(term) }) {
			return false
		}
	}
	return true
}

// randomPiece returns a part of a term, often of three letters or more.
func randomPiece(rng *rand.Rand, terms []string) string {
	letters := []rune(terms[rng.IntN(len(terms))])
	from := rng.IntN(len(letters) + 1)
	return string(letters[from:min(len(letters), from+rng.IntN(6))])
}

// randomExpr returns a regular expression of parts of terms.
func randomExpr(rng *rand.Rand, terms []string, depth int) string {
	if depth == 0 {
		return strings.NewReplacer("\x00", `\x00`, "\xff", ".", "\xfe", ".").Replace(randomPiece(rng, terms))
	}
	part := func() string { return randomExpr(rng, terms, depth-1) }
	switch rng.IntN(10) {
	case 0:
		return "(" + part() + "|" + part() + ")"
	case 1:
		return "(" + part() + ")?"
	case 2:
		return "(" + part() + ")+"
	case 3:
		return "(" + part() + ")*"
	case 4:
		return part() + "[a-dé]" + part()
	case 5:
		return "(?i:" + part() + ")"
	case 6:
		return part() + ".*" + part()
	case 7:
		return "(" + part() + "){2,3}"
	case 8:
		return "[a-c][ab]" + part()
	}
	return part() + part()
}

// TestGrams compares searches with trigram indexes to those without.
func TestGrams(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 11))
	for _, n := range []int{6_000, 80_000} { // the last has more than one page
		terms := randomTerms(rng, n)
		plain, fast := of(terms...), indexed(t, of(terms...))
		if n > 100_000 && len(fast.pages) < 2 {
			t.Fatalf("%d terms have one page", fast.Len())
		}
		for range 50 {
			pattern := "*"
			for range 1 + rng.IntN(3) {
				literal := strings.NewReplacer("*", `\*`, "?", `\?`, `\`, `\\`).Replace(randomPiece(rng, terms))
				pattern += literal + []string{"*", "?", "*?"}[rng.IntN(3)]
			}
			if rng.IntN(4) == 0 {
				pattern = pattern[1:]
			}
			w, err := ParseWildcard(pattern)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := found(fast, w.Find), found(plain, w.Find); !slices.Equal(got, want) {
				t.Fatalf("%q finds %q, want %q", pattern, got, want)
			}
		}
		for range 20 {
			expr := randomExpr(rng, terms, 1+rng.IntN(3))
			if rng.IntN(2) == 0 {
				expr = ".*" + expr
			}
			r, err := ParseRegexp(expr, nil)
			if err != nil {
				t.Fatalf("%q: %v", expr, err)
			}
			if got, want := found(fast, r.Find), found(plain, r.Find); !slices.Equal(got, want) {
				t.Fatalf("%q finds %q, want %q", expr, got, want)
			}
		}
	}
}

// TestGramsNarrow: the index leaves few terms to compare.
func TestGramsNarrow(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 12))
	terms := make([]string, 50_000)
	for i := range terms {
		terms[i] = fmt.Sprintf("%08x-%04x", rng.Uint32(), rng.Uint32N(1<<16))
	}
	d := indexed(t, of(terms...))
	for pattern, most := range map[string]int{
		"*%s*": 2_000, "%.2s*%s*": 2_000, "*%s?*": 2_000, "(.*)%s.*": 2_000, "[0-9a-f]+(%s|xyz).*": 2_000, ".*[0-9a-f]%s.*": 2_000,
		"*%.2s*": 50_000, ".*%.2s": 50_000, "(%s)?.*": 50_000,
	} {
		for range 20 {
			term := terms[rng.IntN(len(terms))]
			pattern := strings.Replace(pattern, "%s", term[2:7], 1)
			pattern = strings.Replace(pattern, "%.2s", term[2:4], 1)
			var q *gramQuery
			if r, err := ParseRegexp(pattern, nil); err == nil {
				q = r.grams
			} else if w, err := ParseWildcard(pattern); err == nil {
				q = w.grams()
			}
			n := 0
			d.spans(0, d.Len(), func(p *page, from, to int) bool {
				return d.narrowed(p, q, from, to, func(from, to int) bool { n += to - from; return true })
			})
			if n == 0 || n > most || most == 50_000 && n != d.Len() {
				t.Errorf("%q: %d terms of %d are left, at most %d are expected", pattern, n, d.Len(), most)
			}
		}
	}
}

// TestGramBudget: scans pay for indexes, a budget bounds them, and those of a dropped dictionary are
// given back.
func TestGramBudget(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 13))
	terms := make([]string, 3*pageTerms)
	for i := range terms {
		terms[i] = fmt.Sprintf("%012x", rng.Uint64N(1<<48))
	}
	w, err := ParseWildcard("*1f2a*")
	if err != nil {
		t.Fatal(err)
	}
	budget := new(GramBudget)
	d := of(terms...)
	want := found(d, w.Find)
	d.IndexGrams(budget)
	for range 2 * scansOfGrams {
		found(d, w.Find)
	}
	if budget.Used() != 0 || d.GramBytes() != 0 {
		t.Fatalf("%d bytes without a limit", budget.Used())
	}
	size := d.pages[0].gramIndex().size()
	budget.Limit(5 * size / 2) // of two pages
	var after []int
	for i := range 2 * scansOfGrams {
		if got := found(d, w.Find); !slices.Equal(got, want) {
			t.Errorf("found %d terms, want %d", len(got), len(want))
		}
		if len(after) < 2 && d.GramBytes() > 0 && (len(after) == 0 || d.GramBytes() > size*3/2) {
			after = append(after, i)
		}
	}
	if len(after) != 2 || after[0] < scansOfGrams/3-1 || after[1] < 2*scansOfGrams/3-1 {
		t.Errorf("indexes come after searches %v: too early, or too few", after)
	}
	if used := budget.Used(); used != d.GramBytes() || used < size || used > 5*size/2 {
		t.Errorf("%d bytes are used, %d by the dictionary; an index has %d", used, d.GramBytes(), size)
	}
	d.DropGrams()
	for range scansOfGrams {
		if got := found(d, w.Find); !slices.Equal(got, want) {
			t.Errorf("found %d terms, want %d", len(got), len(want))
		}
	}
	if budget.Used() != 0 || d.GramBytes() != 0 {
		t.Errorf("%d bytes are used after all", budget.Used())
	}
}

// TestGramsTogether: searches may make indexes at once, while others are dropped.
func TestGramsTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 15))
	terms := make([]string, 20_000)
	for i := range terms {
		terms[i] = fmt.Sprintf("%012x", rng.Uint64N(1<<48))
	}
	w, err := ParseWildcard("*1f2*")
	if err != nil {
		t.Fatal(err)
	}
	budget := new(GramBudget)
	budget.Limit(1 << 30)
	want := found(of(terms...), w.Find)
	for round := range 4 {
		d := of(terms...)
		d.IndexGrams(budget)
		var running sync.WaitGroup
		for range 4 {
			running.Go(func() {
				for i := range scansOfGrams {
					if round%2 == 1 && i == scansOfGrams/2 {
						d.DropGrams()
					}
					if got := found(d, w.Find); !slices.Equal(got, want) {
						t.Errorf("found %d terms, want %d", len(got), len(want))
					}
				}
			})
		}
		running.Wait()
		if round%2 == 0 && d.GramBytes() == 0 {
			t.Error("no index is made")
		}
		d.DropGrams()
		if budget.Used() != 0 {
			t.Errorf("%d bytes are used after all", budget.Used())
		}
	}
}

// TestGramSets compares lists of blocks, sparse and dense ones, to the terms of their page.
func TestGramSets(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 14))
	terms := make([]string, 10_000)
	for i := range terms { // from trigrams in each block to some in a few
		terms[i] = fmt.Sprintf("%05d-x%c", i, 'a'+rune(rng.ExpFloat64()))
	}
	d := indexed(t, of(terms...))
	p := d.pages[0]
	x := p.grams.Load()
	dense, sparse := 0, 0
	for i, gram := range x.grams {
		var want gramSet
		text := string([]byte{byte(gram >> 16), byte(gram >> 8), byte(gram)})
		for i := range p.ends {
			if strings.Contains(string(p.term(i)), text) {
				want[i>>x.shift/64] |= 1 << (i >> x.shift % 64)
			}
		}
		got := x.within(0, len(p.ends))
		if x.intersect(gram, &got); got != want {
			t.Fatalf("%q is in blocks %x, want %x", text, got, want)
		}
		if i > 0 && x.ends[i]-x.ends[i-1] == denseBytes {
			dense++
		} else {
			sparse++
		}
	}
	if dense == 0 || sparse == 0 {
		t.Errorf("%d dense lists and %d sparse ones", dense, sparse)
	}
	for range 100 {
		from := rng.IntN(len(p.ends))
		to := from + 1 + rng.IntN(len(p.ends)-from)
		got := x.within(from, to)
		for block := range gramBlocks {
			want := block >= from>>x.shift && block <= (to-1)>>x.shift
			if got[block/64]>>(block%64)&1 == 1 != want {
				t.Fatalf("terms %d to %d: block %d is in the set: %v", from, to, block, !want)
			}
		}
	}
}
