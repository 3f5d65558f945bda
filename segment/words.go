package segment

import "slices"

// wordBatch is how many words of a field are looked up together.
const wordBatch = 1024

// wordLookup is scratch space of AddWords.
type wordLookup struct {
	found  [wordBatch]uint32 // slots
	missed [wordBatch]uint64 // keys

	foundAt, missedAt, longAt [wordBatch]uint16 // where they were among the words: see sortPlaced
}

// addWords counts at most wordBatch words and returns the remaining long terms.
//
// Three of four words that have occurred earlier are in their first slot, one in five is long, and
// every third found word has occurred in this document. None of that is predictable, so no branch
// depends on it: the words are sorted into found, missed and long ones, and each group is counted
// in turn. (So terms come in another order than in the text, which does not matter until Group.)
func (c *Chunk) addWords(keys []uint64, long [][]byte) [][]byte {
	f, w := c.cur, &c.wordLookup
	if len(f.table.slots) == 0 {
		f.table.grow()
	}
	found, missed := w.sort(&f.table, keys)
	f.countAll(w.found[:found])
	for _, key := range w.missed[:missed] {
		f.count(f.table.keyed(key, nil))
	}
	longs := len(keys) - found - missed
	for _, term := range long[:longs] {
		f.count(f.table.keyed(longKey(term), term))
	}
	return long[longs:]
}

// sort looks at the first slot of each word and returns how many are found and how many missed.
// (Looking at the second one, too, takes longer than it saves.)
func (w *wordLookup) sort(t *termTable, keys []uint64) (found, missed int) {
	slots, shift, odd := t.slots, t.shift&63, hashOdd
	for _, key := range keys {
		at := key * odd >> shift & uint64(len(slots)-1)
		w.found[found&(wordBatch-1)] = uint32(at)
		w.missed[missed&(wordBatch-1)] = key
		other := slots[at].key ^ key | (key-1)>>63 // not zero if different, long, or empty like a free slot
		is := int((other|-other)>>63 ^ 1)
		found += is
		missed += 1 - (is | int(key>>63))
	}
	return found, missed
}

// countAll is count for the terms of many slots.
func (f *chunkField) countAll(found []uint32) {
	n := len(f.postings)
	f.postings = slices.Grow(f.postings, len(found))
	postings, slots, begin := f.postings[:n+len(found)], f.table.slots, f.begin
	for _, at := range found {
		s := &slots[at]
		last := int(s.last)
		has := (begin - 1 - last) >> 63 // all ones when the document already has it
		i := n ^ (n^(last-1))&has
		p := &postings[i]
		*p = chunkPosting{s.number - 1, p.tf&uint32(has) + 1} // the memory of a new one may hold old data
		s.last = uint32(i + 1)
		n += 1 + has
	}
	f.postings = postings[:n]
}
