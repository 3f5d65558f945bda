package segment

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// pairChunk inverts documents first to end-1 of random words, with the pairs of some of them, or with none.
func pairChunk(seed uint64, first, end int, words ...string) *Chunk {
	c := new(Chunk)
	of := JoinPairWords(words)
	for i := first; i < end; i++ {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		text := make([]string, 1+rng.IntN(40))
		for j := range text {
			text[j] = []string{"a", "the", "of", "whale", "c"}[rng.IntN(5)]
		}
		c.Begin(fmt.Sprintf("d%06d", i))
		c.Field("text", true)
		c.Pairs(of)
		for at, w := range text {
			c.AddAt([]byte(w), uint32(at))
		}
		c.EndField(true, uint32(len(text)))
		begun := false
		for at := range len(text) - 1 {
			if slices.Contains(words, text[at]) && slices.Contains(words, text[at+1]) {
				if !begun {
					c.Field(PairField("text"), false)
					begun = true
				}
				c.Add(PairTerm(nil, text[at], text[at+1]))
			}
		}
		if begun {
			c.EndField(true, uint32(len(text)))
		}
		c.End(0, nil)
	}
	return c
}

func pairMemory(chunks ...*Chunk) *MemoryView {
	m := NewMemory()
	for _, c := range chunks {
		c.Group(OnePartition())
		m.AddChunk(c)
	}
	return m.View()
}

func mergedPairs(t *testing.T, inputs ...Reader) (*mapStore, *Disk) {
	t.Helper()
	s := newMapStore(t)
	var in []Input
	for _, r := range inputs {
		in = append(in, Input{Reader: r})
	}
	if _, err := Merge(context.Background(), s, in, MergeOptions{}); err != nil {
		t.Fatal(err)
	}
	Check(context.Background(), s, func(err error) { t.Error(err) })
	d, err := Open(s)
	if err != nil {
		t.Fatal(err)
	}
	return s, d
}

// TestPairsMove seals, loads in bulk and merges documents with pairs of words: the bytes are the same on
// all ways, no list of fields has the pairs, and segments that differ in their words lose them.
func TestPairsMove(t *testing.T) {
	words := []string{"the", "a", "of"}
	want, d := mergedPairs(t, pairMemory(pairChunk(1, 0, 5000, words...)))
	info, _ := d.Field("text")
	if fmt.Sprint(info.PairWords()) != "[a of the]" || len(d.Fields()) != 1 {
		t.Fatalf("the segment has %+v", d.Fields())
	}
	if _, ok := want.values[string(normsKey(Version, 1, 0))]; ok {
		t.Error("the field of pairs has length codes of its own")
	}
	norms, err := d.Norms(PairField("text"))
	own, err2 := d.Norms("text")
	if err != nil || err2 != nil || !slices.Equal(norms.Column(), own.Column()) || len(own.Column()) != 5000 {
		t.Errorf("length codes of pairs: %v, %v", err, err2)
	}

	first, second := pairChunk(1, 0, 1700, words...), pairChunk(1, 1700, 5000, words...)
	parts := first.Sample()
	b := NewBulk(parts, 2)
	for _, c := range []*Chunk{first, second} {
		c.Group(parts)
		b.Add(c)
	}
	s := newMapStore(t)
	if _, err := b.Write(context.Background(), s, BulkOptions{}); err != nil {
		t.Fatal(err)
	}
	sameBytes(t, s, want)

	_, one := mergedPairs(t, pairMemory(pairChunk(1, 0, 1700, words...)))
	_, two := mergedPairs(t, pairMemory(pairChunk(1, 1700, 1701, words...), pairChunk(1, 1701, 5000, words...)))
	s, _ = mergedPairs(t, one, two)
	sameBytes(t, s, want)

	plain, _ := mergedPairs(t, pairMemory(pairChunk(1, 0, 5000)))
	_, other := mergedPairs(t, pairMemory(pairChunk(1, 1700, 5000, "a", "c")))
	for _, with := range []Reader{other, pairMemory(pairChunk(1, 1700, 5000)), pairMemory(pairChunk(1, 1700, 3000), pairChunk(1, 3000, 5000, words...))} {
		s, _ = mergedPairs(t, one, with)
		sameBytes(t, s, plain)
	}
}

// TestPairsDamage changes bytes of the lists of pairs. Check finds each, and a term that is no pair.
func TestPairsDamage(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	s, d := mergedPairs(t, pairMemory(pairChunk(2, 0, 700, "the", "a")))
	field, _ := findField(d.meta.fields, PairField("text"))
	lists := 0
	for _, key := range slices.Clone(s.keys) {
		kind, of, _, _ := cutKey([]byte(key), Version)
		if kind != kindTerm && kind != kindTiles || int(of) != field {
			continue
		}
		lists++
		value := s.values[key]
		damaged := slices.Clone(value)
		damaged[rng.IntN(len(damaged))] ^= 1 << rng.IntN(8)
		s.values[key] = damaged
		var found []error
		Check(t.Context(), s, func(err error) { found = append(found, err) })
		if len(found) == 0 || !errors.Is(found[0], corrupt.Err) {
			t.Errorf("%s: found %v", KeyString([]byte(key)), found)
		}
		s.values[key] = value
	}
	if lists != 5 {
		t.Errorf("%d lists and tiles, want those of 4 pairs", lists)
	}
	if got, want := fmt.Sprint(isPair([]byte("a\x00c"), []string{"a", "the"}), isPair([]byte("a\x00the"), []string{"a", "the"})), "false true"; got != want {
		t.Errorf("isPair: %s", got)
	}
}
