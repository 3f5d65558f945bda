package dictionary

import "unicode/utf8"

// A distance counts the edits between a word and terms, one column of the matrix of alignments at a
// time, as the bits of a machine word (Hyyrö, A bit-vector algorithm for computing Levenshtein and
// Damerau edit distances, 2003).
type distance struct {
	length int    // characters of the word
	runes  []rune // if there are more than 64
	ascii  [utf8.RuneSelf]uint64
	others []runeBits
}

// A runeBits has the places at which a word has a character.
type runeBits struct {
	r    rune
	bits uint64
}

func newDistance(word string) distance {
	var d distance
	d.length = utf8.RuneCountInString(word)
	if d.length > 64 {
		d.runes = []rune(word)
		return d
	}
	bit := uint64(1)
	for _, r := range word {
		d.set(r, bit)
		bit <<= 1
	}
	return d
}

func (d *distance) set(r rune, bit uint64) {
	if r < utf8.RuneSelf {
		d.ascii[r] |= bit
		return
	}
	for i := range d.others {
		if d.others[i].r == r {
			d.others[i].bits |= bit
			return
		}
	}
	d.others = append(d.others, runeBits{r, bit})
}

func (d *distance) places(r rune) uint64 {
	if r < utf8.RuneSelf {
		return d.ascii[r]
	}
	for i := range d.others {
		if d.others[i].r == r {
			return d.others[i].bits
		}
	}
	return 0
}

// to returns the number of edits between the word and a term.
func (d *distance) to(term []byte) int {
	switch {
	case d.length == 0:
		return utf8.RuneCount(term)
	case d.runes != nil:
		return d.matrix([]rune(string(term)))
	}
	// Bits of the column: where a value is one more or one less than that above it, and where it
	// equals the one up and to the left.
	more, less, equal := ^uint64(0), uint64(0), uint64(0)
	last := uint64(1) << (d.length - 1)
	edits := d.length
	before := uint64(0) // places of the character before
	for at := 0; at < len(term); {
		r, size := rune(term[at]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(term[at:])
		}
		at += size
		same := d.places(r)
		exchanged := (^equal & same) << 1 & before
		equal = ((same & more) + more ^ more) | same | less | exchanged
		right, left := less|^(equal|more), equal&more // of the value in the column before
		switch {
		case right&last != 0:
			edits++
		case left&last != 0:
			edits--
		}
		right, left = right<<1|1, left<<1
		more, less = left|^(equal|right), right&equal
		before = same
	}
	return edits
}

// matrix is to for words of more than 64 characters.
func (d *distance) matrix(term []rune) int {
	word := d.runes
	rows := [3][]int{make([]int, len(word)+1), make([]int, len(word)+1), make([]int, len(word)+1)}
	two, one, now := rows[0], rows[1], rows[2]
	for j := range one {
		one[j] = j
	}
	for i, c := range term {
		now[0] = i + 1
		for j, w := range word {
			replaced := one[j]
			if w != c {
				replaced++
			}
			now[j+1] = min(replaced, one[j+1]+1, now[j]+1)
			if i > 0 && j > 0 && c == word[j-1] && term[i-1] == w {
				now[j+1] = min(now[j+1], two[j-1]+1)
			}
		}
		two, one, now = one, now, two
	}
	return one[len(word)]
}
