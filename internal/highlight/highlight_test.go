package highlight

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// marked makes a text whose marks stand in brackets; marks of the same letters are of one group.
func marked(text string) Text {
	var t Text
	groups := map[string]int{}
	var b strings.Builder
	for _, part := range regexp.MustCompile(`\[[^\]]*\]|[^\[]+`).FindAllString(text, -1) {
		if part[0] == '[' {
			part = part[1 : len(part)-1]
			if _, ok := groups[part]; !ok {
				groups[part] = len(groups)
			}
			t.Marks = append(t.Marks, Mark{b.Len(), b.Len() + len(part), groups[part]})
		}
		b.WriteString(part)
	}
	t.Text = b.String()
	return t
}

func fragments(texts []Text, o Options) (out []string) {
	for _, f := range Best(texts, o) {
		out = append(out, texts[f.Text].Text[f.Start:f.End])
	}
	return out
}

func TestFragments(t *testing.T) {
	for _, c := range []struct {
		name, text string
		o          Options
		want       []string
	}{
		{"nothing", "No word here.", Options{Fragments: 3, Size: 20}, nil},
		{"a sentence", "One two. A [whale] swims. Three four.", Options{Fragments: 3, Size: 16}, []string{"A whale swims."}},
		{"sentences that fit", "One two. A [whale] swims. Three four. Five.", Options{Fragments: 3, Size: 30}, []string{"A whale swims. Three four."}},
		{"before, at the end", "Zero. One two. A [whale] swims.", Options{Fragments: 3, Size: 26}, []string{"One two. A whale swims."}},
		{"two words before one twice", "The [whale] and the [whale]. Nothing at all is to be said here. The [whale] is [white].",
			Options{Fragments: 1, Size: 30}, []string{"The whale is white."}},
		{"words of neighboring sentences", "The [whale] and so on it went. A [whale] came. It was [white]. The end of it came soon.",
			Options{Fragments: 1, Size: 30}, []string{"A whale came. It was white."}},
		{"best first", "One [whale] here. Nothing at all was here. A [white] [whale] there.",
			Options{Fragments: 2, Size: 22}, []string{"A white whale there.", "One whale here."}},
		{"lines", "It\nwas a [whale]\nof course. Yes.\n\n  A heading\n\nMore.", Options{Fragments: 1, Size: 27}, []string{"It\nwas a whale\nof course."}},
		{"heading", "First. Next.\n\nOn [whales]\n\nMore of it.", Options{Fragments: 1, Size: 12}, []string{"On whales"}},
		{"titles", "So did Mr. W. [Whale] of St. Ives and e.g. others. Well.", Options{Fragments: 1, Size: 52},
			[]string{"So did Mr. W. Whale of St. Ives and e.g. others."}},
		{"quotes", `He said: "Oh, a [whale]!" (So it was.) Yes.`, Options{Fragments: 1, Size: 26}, []string{`He said: "Oh, a whale!"`}},
		{"japanese", "昨日は雨だった。[白鯨]を読んだ。明日は晴れ。", Options{Fragments: 1, Size: 8}, []string{"白鯨を読んだ。"}},
		{"long sentence", strings.Repeat("blah ", 40) + "the [white] whale " + strings.Repeat("blah ", 40) + ".",
			Options{Fragments: 1, Size: 40}, []string{"blah the white whale blah blah blah blah"}},
		{"long sentence that begins nearby", "So then the [white] whale " + strings.Repeat("blah ", 40) + ".",
			Options{Fragments: 1, Size: 40}, []string{"So then the white whale blah blah blah"}},
		{"by size", "one two three four five six [whale] seven eight nine ten. Eleven.", Options{Fragments: 1, Size: 25, BySize: true},
			[]string{"five six whale seven"}},
		{"by size at the end", "one two three four five six [whale].", Options{Fragments: 1, Size: 21, BySize: true},
			[]string{"four five six whale."}},
		{"by size, all", "one [whale]", Options{Fragments: 1, Size: 100, BySize: true}, []string{"one whale"}},
		{"by size, chinese", strings.Repeat("一", 9) + "[鯨]" + strings.Repeat("二", 9), Options{Fragments: 1, Size: 5, BySize: true}, []string{"一一鯨二二"}},
		{"a mark longer than the size", "some [very long match] here", Options{Fragments: 2, Size: 5}, []string{"very long match"}},
		{"whole", " One. [Two]. ", Options{Fragments: 2, Size: Whole}, []string{" One. Two. "}},
		{"combining", "xe\u0301e\u0301e\u0301[y]e\u0301", Options{Fragments: 1, Size: 4, BySize: true}, []string{"ye\u0301"}},
	} {
		if got := fragments([]Text{marked(c.text)}, c.o); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestSeveralTexts(t *testing.T) {
	texts := []Text{marked("A [whale]."), marked("Nothing."), marked("A [whale] is a [whale].")}
	texts[2].Marks[0].Group = 0
	got := Best(texts, Options{Fragments: 5, Size: 50})
	if len(got) != 2 || got[0].Text != 2 || got[1].Text != 0 || got[0].Score <= got[1].Score {
		t.Errorf("%+v", got)
	}
	lead, ok := Lead([]Text{{Text: " \n"}, {Text: "  One two. Three four. Five six."}}, Options{Size: 25})
	if !ok || lead.Text != 1 || lead.Start != 2 || lead.End != 22 {
		t.Errorf("lead %+v", lead)
	}
	if lead, ok := Lead([]Text{{Text: "  Onetwothree four."}}, Options{Size: 5}); !ok || lead.End != 7 {
		t.Errorf("lead %+v", lead)
	}
	if _, ok := Lead([]Text{{Text: " "}}, Options{Size: 25}); ok {
		t.Error("a lead of a blank text")
	}
}

// checkFragments checks what Best promises.
func checkFragments(t *testing.T, texts []Text, o Options) {
	got := Best(texts, o)
	if len(got) > o.Fragments {
		t.Fatalf("%d fragments, at most %d are wanted", len(got), o.Fragments)
	}
	left := map[int]bool{} // texts with marks that no fragment shows
	for i := range texts {
		left[i] = len(sound(texts[i].Text, texts[i].Marks)) > 0
	}
	for i, f := range got {
		text := texts[f.Text].Text
		if f.Start < 0 || f.End > len(text) || f.Start >= f.End {
			t.Fatalf("%q: fragment %+v", text, f)
		}
		if boundary(text, f.Start) != f.Start || boundary(text, f.End) != f.End {
			t.Fatalf("%q: fragment %+v cuts a character", text, f)
		}
		for _, g := range got[:i] {
			if g.Text == f.Text && g.Start < f.End && f.Start < g.End {
				t.Fatalf("%q: fragments %+v and %+v overlap", text, f, g)
			}
		}
		if i > 0 && got[i-1].Score < f.Score {
			t.Fatalf("%q: %+v comes before %+v", text, got[i-1], f)
		}
		longest, inside := 0, 0
		for _, m := range sound(text, texts[f.Text].Marks) {
			longest = max(longest, utf8.RuneCountInString(text[m.Start:m.End]))
			if m.Start < f.End && f.Start < m.End {
				inside++
				if m.Start < f.Start || m.End > f.End {
					t.Fatalf("%q: fragment %+v cuts mark %+v", text, f, m)
				}
			}
		}
		for _, m := range f.Marked {
			if m.Start < f.Start || m.End > f.End {
				t.Fatalf("%q: %+v is marked outside of %+v", text, m, f)
			}
		}
		overlapping := 2 * longest * len(texts[f.Text].Marks)
		if inside == 0 || o.Size != Whole && utf8.RuneCountInString(text[f.Start:f.End]) > max(o.Size, overlapping) {
			t.Fatalf("%q: fragment %+v with %d of %v, %+v", text, f, inside, texts[f.Text].Marks, o)
		}
		left[f.Text] = false
	}
	if len(got) < o.Fragments {
		for i, missing := range left {
			if missing {
				t.Fatalf("no fragment of text %d, %q", i, texts[i].Text)
			}
		}
	}
	lead, ok := Lead(texts, o)
	if blank := !slices.ContainsFunc(texts, func(t Text) bool { return strings.TrimSpace(t.Text) != "" }); ok == blank {
		t.Fatalf("lead %v, blank %v", ok, blank)
	}
	if ok && (lead.Start >= lead.End || boundary(texts[lead.Text].Text, lead.End) != lead.End) {
		t.Fatalf("%q: lead %+v", texts[lead.Text].Text, lead)
	}
}

// textOf makes a text of words and odd pieces, with marks anywhere.
func textOf(rng *rand.Rand) (t Text) {
	pieces := []string{"whale ", "white ", "a", "é", "日本", "。", ". ", "! ", "\n", "\n\n", " ", "    ", "\xff", "\x80\x80", "e\u0301", "Mr. ", `" `, ") ", "\u2029", "\U0001F433"}
	var b strings.Builder
	for range rng.IntN(60) {
		b.WriteString(pieces[rng.IntN(len(pieces))])
	}
	t.Text = b.String()
	for range rng.IntN(8) {
		start := rng.IntN(len(t.Text) + 1)
		t.Marks = append(t.Marks, Mark{start, start + rng.IntN(8), rng.IntN(3)})
	}
	return t
}

func rounds() int {
	if testing.Short() {
		return 4_000
	}
	return 40_000
}

func TestRandomTexts(t *testing.T) {
	for round := range rounds() {
		rng := rand.New(rand.NewPCG(1, uint64(round)))
		texts := []Text{textOf(rng), textOf(rng)}
		checkFragments(t, texts, Options{Fragments: 1 + rng.IntN(4), Size: []int{1, 5, 20, 80, Whole}[rng.IntN(5)], BySize: rng.IntN(2) == 0})
	}
}

// FuzzFragments: fragments of any text are within it, do not overlap, and cut no character and no mark.
func FuzzFragments(f *testing.F) {
	f.Add("A white whale. It swims.", 7, 4, 15, 20, false)
	f.Add("日本。語\xff\x80 x.", 1, 2, 3, 2, true)
	f.Add(strings.Repeat("\n ) . ", 20), 5, 1, 30, 3, false)
	f.Fuzz(func(t *testing.T, text string, first, length, second, size int, bySize bool) {
		if size < 1 || first > len(text) || second > len(text) || length > len(text) {
			t.Skip()
		}
		marks := []Mark{{first, first + length, 0}, {second, second + 2, 1}}
		checkFragments(t, []Text{{text, marks}}, Options{Fragments: 2, Size: size, BySize: bySize})
	})
}

// TestLinear counts the bytes read of texts of different lengths, among them such whose sentences are
// hard to find.
func TestLinear(t *testing.T) {
	for _, c := range []struct{ name, piece, mark string }{
		{"sentences", "A white whale swims here. It was seen. ", "whale"},
		{"no sentences", "a whale here and there ", "whale"},
		{"no spaces", "whalewhite", "whale"},
		{"only marks", "whale", "whale"},
		{"spaces", "whale" + strings.Repeat(" ", 1000), "whale"},
		{"closers", "whale" + strings.Repeat(")", 1000) + " ", "whale"},
		{"full stops", "whale.)\". ", "whale"},
		{"invalid", "whale\x80\x80\x80\x80", "whale"},
	} {
		for _, o := range []Options{{Fragments: 3, Size: 200}, {Fragments: 3, Size: 200, BySize: true}, {Fragments: 50, Size: 200}} {
			var before float64
			for _, n := range []int{1 << 16, 1 << 20} {
				text := Text{Text: strings.Repeat(c.piece, n/len(c.piece))}
				for at := 0; ; at += len(c.mark) {
					i := strings.Index(text.Text[at:], c.mark)
					if i < 0 {
						break
					}
					at += i
					text.Marks = append(text.Marks, Mark{at, at + len(c.mark), len(text.Marks) % 2})
				}
				f := newFragmenter([]Text{text}, o)
				if got := f.best(); len(got) != o.Fragments {
					t.Fatalf("%s: %d fragments", c.name, len(got))
				}
				work := float64(f.work) / float64(len(text.Text))
				if work > 20 || before > 0 && work > before*1.1 {
					t.Errorf("%s, %+v: %.1f bytes read of each in a text of %d, %.1f in one of a 16th", c.name, o, work, len(text.Text), before)
				}
				before = work
			}
		}
	}
}

// TestSentencesBothWays: from any place in a sentence, its start and end are the same.
func TestSentencesBothWays(t *testing.T) {
	for round := range rounds() {
		rng := rand.New(rand.NewPCG(2, uint64(round)))
		text := textOf(rng).Text
		s := scanner{text: text}
		var starts []int
		for at, r := range text {
			before, _ := utf8.DecodeLastRuneInString(text[:at])
			if !unicode.IsSpace(r) && s.begins(at) {
				if at > 0 && !mayBegin(before) {
					t.Fatalf("%q: begins at %d after %q", text, at, before)
				}
				starts = append(starts, at)
			}
		}
		for i, start := range starts {
			next := len(text)
			if i+1 < len(starts) {
				next = starts[i+1]
			}
			end := s.skipSpaceBack(next, start)
			for at := start; at < end; at++ {
				if boundary(text, at) != at {
					continue
				}
				got, _ := s.start(at, 0, 1000)
				gotEnd, _ := s.end(at, 1000)
				if got != start && !(i == 0 && strings.TrimSpace(text[got:start]) == "") || gotEnd != end {
					t.Fatalf("%q at %d: %d to %d, want %d to %d", text, at, got, gotEnd, start, end)
				}
			}
		}
	}
}

// BenchmarkBest cuts fragments out of texts of different lengths.
func BenchmarkBest(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 15, 1 << 20} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			text := Text{Text: strings.Repeat("It was a white whale. He saw it, and so did I. ", size/47)}
			for at := 0; at+47 <= len(text.Text); at += 47 {
				text.Marks = append(text.Marks, Mark{at + 9, at + 14, 0}, Mark{at + 15, at + 20, 1})
			}
			b.SetBytes(int64(len(text.Text)))
			for b.Loop() {
				Best([]Text{text}, Options{Fragments: 3, Size: 200})
			}
		})
	}
}
