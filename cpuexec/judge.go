package cpuexec

import (
	"github.com/riffle-search/riffle/proximity"
)

// judge leaves those candidates of a batch that match and can score need, with their frequencies.
func (t *together) judge(b *batch, need uint32) error {
	floor := uint16(0)
	if t.scores {
		if err := t.codesOf(b); err != nil {
			return err
		}
		if t.even && need > 0 {
			floor = t.floorOf(need)
		}
	}
	if err := t.judgePairs(b, floor); err != nil || b.n == 0 {
		return err
	}
	narrow, err := false, error(nil)
	switch {
	case len(t.plain) > 1:
		narrow, err = t.judgePlain(b, floor)
	case t.whole:
		narrow, err = t.judgeWhole(b, floor)
	}
	if narrow || err != nil {
		return err
	}
	b.n = 0
	for slot, doc := range b.docs {
		freq, err := t.freqOf(doc, b.codes[slot&127], floor)
		if err != nil {
			return err
		}
		b.live[b.n&127], b.freqs[slot&127] = uint8(slot), freq
		if freq > 0 {
			b.n++
		}
	}
	return nil
}

// judgePairs drops the candidates that lack a pair of the words, or that have one with an impact below floor.
func (t *together) judgePairs(b *batch, floor uint16) error {
	for _, l := range t.pairs {
		kept := 0
		for _, slot := range b.live[:b.n] {
			ok, err := l.has(b.docs[slot&127], t.table, b.codes[slot&127], floor)
			if err != nil {
				return err
			}
			if b.live[kept&127] = slot; ok {
				kept++
			}
		}
		b.n = kept
	}
	return nil
}

// codesOf looks up the length codes of a batch.
func (t *together) codesOf(b *batch) error {
	c := t.norms
	if c == nil || c.norms == nil {
		for i := range b.codes {
			b.codes[i] = 1
		}
		return nil
	}
	if !c.lazy.Complete() {
		if err := c.lazy.Need(b.docs); err != nil {
			return c.fail(err)
		}
	}
	for i, doc := range b.docs {
		b.codes[i&127] = c.norms[doc]
	}
	return nil
}

// judgePlain is judge for a plain phrase. It is not narrow if a position has too many bits. The rarest words
// come first; the others are looked up only where these stand as they must.
func (t *together) judgePlain(b *batch, floor uint16) (narrow bool, err error) {
	before := &t.plain[0]
	if narrow, err := before.list.gather(b, t.table, floor); !narrow || err != nil {
		return narrow, err
	}
	stand := before.list.places // of the word before, where all words so far stand as they must
	for i := range t.plain[1:] {
		part := &t.plain[i+1]
		if b.n == 0 {
			return true, nil
		}
		if narrow, err := part.list.gather(b, t.table, floor); !narrow || err != nil {
			return narrow, err
		}
		to := &t.stand[i%2]
		last := i+2 == len(t.plain)
		align(b, stand, part.list.places, int(part.offset)-int(before.offset), to, !last)
		before, stand = part, to
	}
	for _, slot := range b.live[:b.n] {
		b.freqs[slot&127] = proximity.One * uint64(stand.count[slot&127])
	}
	return true, nil
}

// judgeWhole is judge for a proximity of which each match needs all lists.
func (t *together) judgeWhole(b *batch, floor uint16) (narrow bool, err error) {
	shortest := t.all[len(t.all)-1]
	for i := len(t.all) - 1; i >= 0; i-- {
		if b.n == 0 {
			return true, nil
		}
		l := t.all[i]
		if narrow, err := l.gather(b, t.table, floor); !narrow || err != nil {
			return narrow, err
		}
		if d := &t.nearest[i]; d.is && l != shortest && !t.pair {
			b.keepWithin(shortest.places, l.places, d.lo, d.hi)
		}
	}
	kept := 0
	for _, slot := range b.live[:b.n] {
		freq := t.freqAt(slot)
		b.live[kept&127], b.freqs[slot&127] = slot, freq
		if freq > 0 {
			kept++
		}
	}
	b.n = kept
	return true, nil
}

// keepWithin drops the candidates in which no position of a word is at a distance of lo to hi from one of
// another.
func (b *batch) keepWithin(first, second *occurrences, lo, hi int) {
	kept := 0
	for _, slot := range b.live[:b.n] {
		b.live[kept&127] = slot
		if proximity.Within(first.of(slot), second.of(slot), lo, hi) {
			kept++
		}
	}
	b.n = kept
}

// freqAt returns the frequency of the proximity in a candidate in which all of its lists have been
// gathered.
func (t *together) freqAt(slot uint8) uint64 {
	if t.pair {
		a, b := t.lists[t.Expr.Parts[0].Terms[0]], t.lists[t.Expr.Parts[1].Terms[0]]
		return t.Expr.PairFreq(a.places.of(slot), b.places.of(slot))
	}
	if t.words {
		parts := t.parts[:0]
		for i := range t.Expr.Parts {
			parts = append(parts, t.lists[t.Expr.Parts[i].Terms[0]].places.of(slot))
		}
		t.parts = parts
		return t.Expr.WordsFreq(parts)
	}
	for i, l := range t.lists {
		t.places[i] = t.places[i][:0]
		for _, at := range l.places.of(slot) {
			t.places[i] = append(t.places[i], uint32(at))
		}
	}
	return t.matcher.Freq(t.places)
}
