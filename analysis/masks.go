package analysis

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
	"unsafe"
)

// # Words by masks
//
// With AVX2, text is classified 64 characters at a time. Runs of word characters are found by
// counting zeros in masks. So no loop ends after the length of a word, which a processor cannot
// predict. Nearly all runs of English text are whole words (plain). For the others the scan calls a
// function that knows the rules and returns where to continue. So the masks never decide a case on
// which the rules might differ, and tests compare the tokens of both methods.

// textMasks are the classes of 64 characters, one bit each, the first character lowest.
type textMasks struct {
	word uint64 // may be part of a word
	odd  uint64 // word characters that need the rules
	join uint64 // may join two runs of word characters
}

// charClasses are the same classes as tables: bit h of byte l is set if the ASCII character 16h+l
// is in the class. Bytes of longer runes are in all three.
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

// maskBlocks is how many blocks of 64 characters are classified at once. Their masks stay in the
// first-level cache.
const maskBlocks = 64

// A maskScan finds the words of a text by masks.
type maskScan struct {
	wordScan
	classes *charClasses
	odd     func(s *wordScan, i int) int // see words

	// lower has the bits to set in each byte of a plain word. They lower-case its letters, and its
	// other characters have them already.
	lower uint64

	plain   int    // the longest plain word, in bytes
	start   int    // of the current run, or the end of the text handled so far
	inRun   uint64 // 1 when the last character before the current block is in a run
	lastOdd int    // the last character seen that makes its run odd
	masks   [maskBlocks + 1]textMasks
}

func (s *maskScan) begin(w wordScan, classes *charClasses, lower uint64) {
	s.wordScan, s.classes, s.lower = w, classes, lower
	s.start, s.inRun, s.lastOdd = 0, 0, -1
	s.plain = min(maxPlain, s.maxBytes)
}

// words handles the whole text. odd handles the word that begins with the word character text[i],
// and returns where to continue, which is after i.
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
	// The last characters, followed by blanks that end the last run.
	var tail [64]byte
	for i := copy(tail[:], s.text[64*whole:]); i < len(tail); i++ {
		tail[i] = ' '
	}
	s.classify(tail[:], 1)
	s.masks[1].word = 0
	s.blocks(64*whole, 1)
	s.wordScan = wordScan{} // keep the batch but not the text
}

func (s *maskScan) classify(text []byte, blocks int) {
	masksAVX2(&s.masks[0].word, unsafe.SliceData(text), blocks, &s.classes.word[0])
}

func (s *maskScan) isWord(c byte) bool {
	return c >= utf8.RuneSelf || s.classes.word[c&15]>>(c>>4)&1 != 0
}

// blocks handles n blocks of 64 characters that begin at text[at]. masks[n] must hold the first bit
// of the next block.
func (s *maskScan) blocks(at, n int) {
	b, inRun, start, lastOdd := s.b, s.inRun, s.start, s.lastOdd
	shorts := -1 // the last place where a short word may begin
	if b.terms && s.plain >= 8 {
		shorts = len(s.text) - 8
	}
	for i := range n {
		m := &s.masks[i]
		before, behind := m.word<<1|inRun, m.word>>1|s.masks[i+1].word<<63
		odd := m.odd&m.word | m.join&^m.word&before&behind
		inRun = m.word >> 63
		// Alternately where runs begin and end.
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
				// The work of run, inlined for three words of four.
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

// run handles the run of word characters text[start:end], or what remains of it; start may be after
// end. It returns where to continue. lastOdd is the last character up to end that makes its run
// odd.
func (s *maskScan) run(start, end, lastOdd int) int {
	if lastOdd >= start {
		for start < end {
			start = s.odd(&s.wordScan, start)
		}
	}
	switch n := end - start; {
	case n <= 0: // it was odd, or handled with the previous run
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
