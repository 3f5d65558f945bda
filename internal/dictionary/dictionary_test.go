package dictionary

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// of makes a dictionary of terms in any order.
func of(terms ...string) *Dictionary {
	terms = slices.Compact(slices.Sorted(slices.Values(terms)))
	var b Builder
	for _, t := range terms {
		b.Add([]byte(t))
	}
	return b.Dictionary()
}

// randomTerms returns n words of few letters, some of them long, some of several bytes a letter.
func randomTerms(rng *rand.Rand, n int) []string {
	letters := []rune("aaabbcde éß語\x00")
	terms := make([]string, n)
	for i := range terms {
		length := rng.IntN(9)
		if rng.IntN(50) == 0 {
			length = 55 + rng.IntN(20)
		}
		var w []rune
		for range length {
			w = append(w, letters[rng.IntN(len(letters))])
		}
		terms[i] = string(w)
	}
	return append(terms, "\xff\xfe", "a\xffb", "") // bytes that are not UTF-8
}

func TestNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, 5, 300, 70_000} { // the last has two pages
		terms := make([]string, n)
		for i := range terms {
			terms[i] = fmt.Sprintf("%x", rng.Uint64()>>(8*rng.UintN(7)))
		}
		terms = slices.Compact(slices.Sorted(slices.Values(terms)))
		d := of(terms...)
		if d.Len() != len(terms) {
			t.Fatalf("Len = %d, want %d", d.Len(), len(terms))
		}
		for i, w := range terms {
			if got := d.Term(i); string(got) != w {
				t.Fatalf("Term(%d) = %q, want %q", i, got, w)
			}
		}
		for range 200 {
			w := fmt.Sprintf("%x", rng.Uint64()>>(8*rng.UintN(8)))
			want, _ := slices.BinarySearch(terms, w)
			if got := d.Search([]byte(w)); got != want {
				t.Fatalf("Search(%q) = %d, want %d", w, got, want)
			}
		}
	}
}

func TestPrefix(t *testing.T) {
	d := of("", "a", "ab", "ab\xff", "ab\xff\xff", "abc", "b", "\xff", "\xff\xff", "\xff\xffa")
	for _, prefix := range []string{"", "a", "ab", "ab\xff", "ab\xff\xff", "c", "\xff", "\xff\xff", "\xff\xff\xff"} {
		from, to := d.Prefix([]byte(prefix))
		for i := range d.Len() {
			if in := from <= i && i < to; in != bytes.HasPrefix(d.Term(i), []byte(prefix)) {
				t.Errorf("Prefix(%q) = %d, %d, wrong for %q", prefix, from, to, d.Term(i))
			}
		}
	}
}

// found collects what a pattern finds.
func found(d *Dictionary, find func(*Dictionary, func(int) bool)) []string {
	var got []string
	find(d, func(i int) bool {
		got = append(got, string(d.Term(i)))
		return true
	})
	return got
}

// matching returns the terms that a predicate accepts.
func matching(d *Dictionary, match func(term string) bool) []string {
	var want []string
	for i := range d.Len() {
		if w := string(d.Term(i)); match(w) {
			want = append(want, w)
		}
	}
	return want
}

// wildcardRegexp is a wildcard as a regular expression.
func wildcardRegexp(pattern string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for rest := pattern; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		switch {
		case r == '*':
			b.WriteString(".*")
		case r == '?':
			b.WriteString(".")
		case r == '\\':
			rest = rest[1:]
			r, size = utf8.DecodeRuneInString(rest)
			fallthrough
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
		rest = rest[size:]
	}
	return regexp.MustCompile(b.String() + `\z`)
}

func TestWildcard(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for round := range 300 {
		d := of(randomTerms(rng, 200)...)
		pieces := []string{"*", "*", "?", "a", "b", "ab", "é", "語", "\\*", "c", "aab"}
		var pattern string
		for range 1 + rng.IntN(6) {
			pattern += pieces[rng.IntN(len(pieces))]
		}
		w, err := ParseWildcard(pattern)
		if err != nil {
			t.Fatal(err)
		}
		want := matching(d, wildcardRegexp(pattern).MatchString)
		if got := found(d, w.Find); !slices.Equal(got, want) {
			t.Fatalf("round %d: %q finds %q, want %q", round, pattern, got, want)
		}
		if got := matching(d, func(term string) bool { return w.Match([]byte(term)) }); !slices.Equal(got, want) {
			t.Fatalf("round %d: %q matches %q, want %q", round, pattern, got, want)
		}
	}
	if _, err := ParseWildcard(`ab\`); err != ErrTrailingBackslash {
		t.Errorf("error %v", err)
	}
}

func TestRegexp(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	exprs := []string{
		"", "a", "ab*", "a.*b", ".*", "..", "(ab|ba)+c?", "[^a]*", "(?i)AB.", "é+", "[é語]", "a{2,3}b", "^a.*b$", `\Aa\z`,
		"(^a|b$)", "a|$", "(a|^)b", "a$b", "b^a", "[a-c]{3}", `\pL+`, "a*?b", ".*語.*", "(?s).", "\\x{0}+", "x{0}", "(a*)*", "[[:alpha:]]+", "\uFFFD+", "\uFFFD.*",
	}
	for range 20 {
		d := of(randomTerms(rng, 300)...)
		for _, expr := range exprs {
			r, err := ParseRegexp(expr, nil)
			if err != nil {
				t.Fatalf("%q: %v", expr, err)
			}
			oracle := regexp.MustCompile(`(?s)\A(?:` + expr + `)\z`)
			want := matching(d, oracle.MatchString)
			if got := found(d, r.Find); !slices.Equal(got, want) {
				t.Fatalf("%q finds %q, want %q", expr, got, want)
			}
			if got := matching(d, func(term string) bool { return r.Match([]byte(term)) }); !slices.Equal(got, want) {
				t.Fatalf("%q matches %q, want %q", expr, got, want)
			}
			for _, term := range want {
				if !strings.HasPrefix(term, string(r.Prefix())) {
					t.Errorf("%q matches %q, but has prefix %q", expr, term, r.Prefix())
				}
			}
		}
	}
}

func TestRegexpErrors(t *testing.T) {
	for _, expr := range []string{"(", "a**", `\bword`, `a\B`, "(?=a)", `(a)\1`, "a{1001}", "((a{100}){100}){100}"} {
		if _, err := ParseRegexp(expr, nil); err == nil {
			t.Errorf("%q is accepted", expr)
		}
	}
}

// An automaton that would have 2^20 states is begun anew and stays right.
func TestRegexpManyStates(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	terms := make([]string, 3_000)
	for i := range terms {
		w := make([]byte, 40)
		for j := range w {
			w[j] = 'a' + byte(rng.UintN(2))
		}
		terms[i] = string(w)
	}
	d := of(terms...)
	const expr = "[ab]*a[ab]{20}"
	r, err := ParseRegexp(expr, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := matching(d, func(w string) bool { return w[len(w)-21] == 'a' })
	if got := found(d, r.Find); !slices.Equal(got, want) {
		t.Fatalf("found %d terms, want %d", len(got), len(want))
	}
	if a := r.automaton(); len(a.states) > maxStates+40 {
		t.Errorf("%d states are kept", len(a.states))
	}
}

// edits is the textbook's matrix.
func edits(a, b []rune) int {
	m := make([][]int, len(a)+1)
	for i := range m {
		m[i] = make([]int, len(b)+1)
		for j := range m[i] {
			switch {
			case i == 0:
				m[i][j] = j
			case j == 0:
				m[i][j] = i
			default:
				m[i][j] = min(m[i-1][j]+1, m[i][j-1]+1)
				if a[i-1] == b[j-1] {
					m[i][j] = min(m[i][j], m[i-1][j-1])
				} else {
					m[i][j] = min(m[i][j], m[i-1][j-1]+1)
				}
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					m[i][j] = min(m[i][j], m[i-2][j-2]+1)
				}
			}
		}
	}
	return m[len(a)][len(b)]
}

func TestDistance(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	words := randomTerms(rng, 400)
	for _, a := range words {
		d := newDistance(a)
		for range 60 {
			b := words[rng.IntN(len(words))]
			if got, want := d.to([]byte(b)), edits([]rune(a), []rune(b)); got != want {
				t.Fatalf("distance of %q and %q: %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestFuzzy(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for range 60 {
		terms := randomTerms(rng, 600)
		d := of(terms...)
		word, most, prefix := terms[rng.IntN(len(terms))], rng.IntN(3), rng.IntN(4)
		if rng.IntN(2) == 0 {
			prefix = 0
		}
		f, err := NewFuzzy(word, most, prefix)
		if err != nil {
			t.Fatal(err)
		}
		runes := []rune(word)
		want := map[string]int{}
		for i := range d.Len() {
			w := string(d.Term(i))
			other := []rune(w)
			n := edits(runes, other)
			if n <= most && (n == 0 || n < min(len(runes), len(other))) && strings.HasPrefix(w, string(runes[:min(prefix, len(runes))])) {
				want[w] = n
			}
		}
		got := map[string]int{}
		f.Find(d, func(i, edits int) bool {
			got[string(d.Term(i))] = edits
			return true
		})
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%q, %d edits, prefix %d: %v, want %v", word, most, prefix, got, want)
		}
	}
	if _, err := NewFuzzy("a", 3, 0); err == nil {
		t.Error("three edits are accepted")
	}
	if _, err := NewFuzzy("a", 1, -1); err == nil {
		t.Error("a negative prefix is accepted")
	}
}

// Signatures of terms within n edits differ in at most 2n bits.
func TestSignature(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	words := randomTerms(rng, 500)
	for _, a := range words {
		for _, b := range words {
			n := edits([]rune(a), []rune(b))
			if n > 3 {
				continue
			}
			diff := 0
			for x := signature([]byte(a)) ^ signature([]byte(b)); x != 0; x &= x - 1 {
				diff++
			}
			if diff > 2*n {
				t.Fatalf("%q and %q: %d edits, %d bits", a, b, n, diff)
			}
		}
	}
}

// TestFuzzyCompares: signatures and lengths leave few terms to compare with a word.
func TestFuzzyCompares(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	terms := make([]string, 5_000)
	for i := range terms {
		var w []byte
		for range 4 + rng.IntN(8) {
			w = append(w, 'a'+byte(rng.IntN(26)))
		}
		terms[i] = string(w)
	}
	d := of(terms...)
	for edits, most := range []int{1, 20, 500} {
		sum := 0
		for _, word := range terms[:50] {
			f, err := NewFuzzy(word, edits, 0)
			if err != nil {
				t.Fatal(err)
			}
			sum += f.Compared(d)
		}
		if sum < 50 || sum > 50*most {
			t.Errorf("%d edits: a word is compared with %d of %d terms, at most %d are expected", edits, sum/50, d.Len(), most)
		}
	}
}

// A search stops when yield returns false.
func TestStop(t *testing.T) {
	var terms []string
	for i := range 1_000 {
		terms = append(terms, fmt.Sprintf("word%03d", i))
	}
	d := of(terms...)
	once := func(n *int) func(int) bool { return func(int) bool { *n++; return false } }
	for _, pattern := range []string{"word*", "*ord*", "*d1?0"} {
		w, _ := ParseWildcard(pattern)
		n := 0
		if w.Find(d, once(&n)); n != 1 {
			t.Errorf("%q goes on: %d", pattern, n)
		}
	}
	r, _ := ParseRegexp("word.*", nil)
	n := 0
	if r.Find(d, once(&n)); n != 1 {
		t.Errorf("the expression goes on: %d", n)
	}
	f, _ := NewFuzzy("word100", 2, 0)
	n = 0
	if f.Find(d, func(int, int) bool { n++; return false }); n != 1 {
		t.Errorf("the fuzzy word goes on: %d", n)
	}
}

func FuzzWildcard(f *testing.F) {
	f.Add("a*b?c", "axxbyc")
	f.Add(`\**`, "*語")
	f.Fuzz(func(t *testing.T, pattern, term string) {
		w, err := ParseWildcard(pattern)
		if err != nil || !utf8.ValidString(pattern) || !utf8.ValidString(term) {
			return
		}
		want := wildcardRegexp(pattern).MatchString(term)
		if got := w.Match([]byte(term)); got != want {
			t.Fatalf("Match = %v, want %v", got, want)
		}
		if got := len(found(of(term), w.Find)) == 1; got != want {
			t.Fatalf("Find = %v, want %v", got, want)
		}
		if want && !w.grams().metBy(term) {
			t.Fatalf("the term lacks trigrams: %+v", w.grams())
		}
	})
}

func FuzzRegexp(f *testing.F) {
	f.Add("a(b|c)*[^d]", "abcbe")
	f.Add("^a$|(?i)É", "é")
	f.Fuzz(func(t *testing.T, expr, term string) {
		r, err := ParseRegexp(expr, nil)
		if err != nil || strings.Contains(expr, "(?") { // flags can change what \A(?: means
			return
		}
		oracle, err := regexp.Compile(`(?s)\A(?:` + expr + `)\z`)
		if err != nil {
			return
		}
		want := oracle.MatchString(term)
		if got := r.Match([]byte(term)); got != want {
			t.Fatalf("Match = %v, want %v", got, want)
		}
		if got := len(found(of(term, term+"a", "a"+term), r.Find)) > 0; want && !got {
			t.Fatal("Find does not find the term")
		}
		if want && !r.grams.metBy(term) {
			t.Fatalf("the term lacks trigrams: %+v", r.grams)
		}
	})
}

func FuzzDistance(f *testing.F) {
	f.Add("kitten", "sitting")
	f.Add("語é", "é語")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a) > 300 || len(b) > 300 {
			return
		}
		d := newDistance(a)
		if got, want := d.to([]byte(b)), edits([]rune(a), []rune(b)); got != want {
			t.Fatalf("distance %d, want %d", got, want)
		}
	})
}
