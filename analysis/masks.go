package analysis

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
	"unsafe"
)

// # Words by masks
//
// Where there is AVX2, text is classified 64 characters at a time, and runs of word characters
// are found by counting zeros in masks: no loop ends after the length of a word, which
// a processor cannot foresee. Nearly all runs of English are words as they are (plain);
// for the others the scan asks whoever knows the rules where to go on. So this is never right where
// the rules are wrong, and tests hold both ways to the same tokens.

// textMasks are the classes of 64 characters, a bit each, the first lowest.
type textMasks struct {
	word uint64 // may be in a word
	odd  uint64 // of these: not without asking
	join uint64 // may join two runs of word characters
}

// charClasses are the same as tables: bit h of byte l is set if the ASCII character 16h+l
// is of the class. Bytes of longer runes are of all three.
type charClasses struct{ word, odd, join [16]byte }

func newCharClasses(word, odd, join func(c byte) bool) *charClasses {
	t := new(charClasses)
	for c := range byte(utf8.RuneSelf) {
		bit := byte(1) << (c >> 4)
		if word(c) {
			t.word[c&15] |= bit
		}
		if odd(c) {
			t.odd[c&15] |= bit
		}
		if join(c) {
			t.join[c&15] |= bit
		}
	}
	return t
}

// maskBlocks is how many times 64 characters are classified at once: the masks stay in the first-level cache.
const maskBlocks = 64

// A maskScan finds the words of a text by masks.
type maskScan struct {
	wordScan
	classes *charClasses
	odd     func(s *wordScan, i int) int // see words

	// lower has bits that a plain word's letters get when they are lower-cased and its other
	// characters have already.
	lower uint64

	plain   int    // the most bytes of a word that is taken as it is
	start   int    // of the run at hand, or behind all that has been handled
	inRun   uint64 // 1 when the character in front of the block at hand is in a run
	lastOdd int    // the last character seen that makes its run odd
	masks   [maskBlocks + 1]textMasks
}

func (s *maskScan) begin(w wordScan, classes *charClasses, lower uint64) {
	s.wordScan, s.classes, s.lower = w, classes, lower
	s.start, s.inRun, s.lastOdd = 0, 0, -1
	s.plain = min(maxPlain, s.maxBytes)
}

// words handles the whole text. odd handles what begins at text[i], a word character, and returns
// where to go on, which is behind i.
func (s *maskScan) words(odd func(s *wordScan, i int) int) {
	s.odd = odd
	whole := len(s.text) / 64
	for at := 0; at < whole; at += maskBlocks {
		n := min(maskBlocks, whole-at)
		s.classify(s.text[64*at:], n)
		s.masks[n].word = 0
		if 64*(at+n) < len(s.text) && s.isWord(s.text[64*(at+n)]) {
			s.masks[n].word = 1
		}
		s.blocks(64*at, n)
	}
	// The last characters, and blanks that end the last run.
	var tail [64]byte
	for i := copy(tail[:], s.text[64*whole:]); i < len(tail); i++ {
		tail[i] = ' '
	}
	s.classify(tail[:], 1)
	s.masks[1].word = 0
	s.blocks(64*whole, 1)
	s.wordScan = wordScan{} // the batch is kept, the text is not
}

func (s *maskScan) classify(text []byte, blocks int) {
	masksAVX2(&s.masks[0].word, unsafe.SliceData(text), blocks, &s.classes.word[0])
}

func (s *maskScan) isWord(c byte) bool {
	return c >= utf8.RuneSelf || s.classes.word[c&15]>>(c>>4)&1 != 0
}

// blocks handles n blocks of 64 characters that begin at text[at]. Of masks[n] the first bit is there.
func (s *maskScan) blocks(at, n int) {
	b, inRun, start, lastOdd := s.b, s.inRun, s.start, s.lastOdd
	shorts := -1 // where a short word may begin at most
	if b.terms && s.plain >= 8 {
		shorts = len(s.text) - 8
	}
	for i := range n {
		m := &s.masks[i]
		before, behind := m.word<<1|inRun, m.word>>1|s.masks[i+1].word<<63
		odd := m.odd&m.word | m.join&^m.word&before&behind
		inRun = m.word >> 63
		// Where runs begin and end, by turns.
		for turns := m.word ^ before; turns != 0; turns &= turns - 1 {
			bit := bits.TrailingZeros64(turns)
			if m.word>>bit&1 != 0 {
				start = max(start, at+bit)
				continue
			}
			if o := odd & (2<<bit - 1); o != 0 {
				lastOdd = at + 63 - bits.LeadingZeros64(o)
			}
			n := at + bit - start
			if uint(n-1) < 7 && lastOdd < start && start <= shorts && b.n < MaxBatch {
				// What run would do, for three words of four.
				word := binary.LittleEndian.Uint64(s.text[start:]) | s.lower
				b.keys[b.n] = word&(1<<(8*n&63)-1) | uint64(n)<<56
				b.n++
				start = at + bit
				continue
			}
			start = s.run(start, at+bit, lastOdd)
		}
		if odd != 0 {
			lastOdd = at + 63 - bits.LeadingZeros64(odd)
		}
		at += 64
	}
	s.inRun, s.start, s.lastOdd = inRun, start, lastOdd
}

// run handles the run of word characters text[start:end], or what is left of it: start may be behind end.
// It returns where to go on. lastOdd is the last character up to end that makes its run odd.
func (s *maskScan) run(start, end, lastOdd int) int {
	if lastOdd >= start {
		for start < end {
			start = s.odd(&s.wordScan, start)
		}
	}
	switch n := end - start; {
	case n <= 0: // it was odd, or handled with the run before
		return start
	case n > s.plain || len(s.text)-start < 8:
		s.add(start, end)
		return end
	case s.b.terms:
		s.b.addPlain(s.text, start, end, s.lower)
	case n < 8:
		s.b.addShort(binary.LittleEndian.Uint64(s.text[start:])|s.lower, n, start, s.position)
	default:
		s.b.Add(s.text, start, end, s.position)
	}
	s.position++
	return end
}
