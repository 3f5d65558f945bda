package segment

import (
	"encoding/binary"
	"slices"
)

// placing is scratch space for the positions of a field, while they are put in the order of terms.
type placing struct {
	ends    []uint32 // of each term, in byPlace
	byPlace []uint32 // positions by term, in order of documents
	encoded []byte   // of one term
}

// placeWords is addWords for a field with positions: words are at consecutive ones from position on.
func (c *Chunk) placeWords(keys []uint64, long [][]byte, position uint32) [][]byte {
	f, w := c.cur, &c.wordLookup
	if len(f.table.slots) == 0 {
		f.table.grow()
	}
	n := len(f.places)
	f.places = slices.Grow(f.places, len(keys))[:n+len(keys)]
	places := f.places[n:]
	for i := range places {
		places[i].at = position + uint32(i)
	}
	found, missed := w.sortPlaced(&f.table, keys)
	slots := f.table.slots
	for i, at := range w.found[:found] {
		places[w.foundAt[i]].term = slots[at].number - 1
	}
	f.countAll(w.found[:found])
	for i, key := range w.missed[:missed] {
		s := f.table.keyed(key, nil)
		places[w.missedAt[i]].term = s.number - 1
		f.count(s)
	}
	longs := len(keys) - found - missed
	for i, term := range long[:longs] {
		s := f.table.keyed(longKey(term), term)
		places[w.longAt[i]].term = s.number - 1
		f.count(s)
	}
	return long[longs:]
}

// sortPlaced is sort, and notes where the words were.
func (w *wordLookup) sortPlaced(t *termTable, keys []uint64) (found, missed int) {
	slots, shift, odd := t.slots, t.shift&63, hashOdd
	longs := 0
	for i, key := range keys {
		at := key * odd >> shift & uint64(len(slots)-1)
		w.found[found&(wordBatch-1)] = uint32(at)
		w.foundAt[found&(wordBatch-1)] = uint16(i)
		w.missed[missed&(wordBatch-1)] = key
		w.missedAt[missed&(wordBatch-1)] = uint16(i)
		w.longAt[longs&(wordBatch-1)] = uint16(i)
		other := slots[at].key ^ key | (key-1)>>63
		is := int((other|-other)>>63 ^ 1)
		isLong := int(key >> 63)
		found += is
		missed += 1 - (is | isLong)
		longs += isLong
	}
	return found, missed
}

// place puts the positions of a field in the order of terms.
func (c *Chunk) place(f *chunkField) {
	if !f.placed {
		return
	}
	p := &c.placing
	p.ends = slices.Grow(p.ends[:0], f.table.len())[:f.table.len()]
	clear(p.ends)
	for _, d := range f.docs {
		for _, posting := range f.postings[d.start:d.end] {
			p.ends[posting.term] += posting.tf
		}
		c.pace.add(int(d.end-d.start) / countsPerPosting)
	}
	at := uint32(0)
	for t, n := range p.ends {
		p.ends[t] = at
		at += n
	}
	p.byPlace = slices.Grow(p.byPlace[:0], int(at))[:at]
	for _, d := range f.docs {
		for _, x := range f.places[d.from:d.to] {
			p.byPlace[p.ends[x.term]] = x.at
			p.ends[x.term]++
		}
		c.pace.add(int(d.to-d.from) / countsPerPosting)
	}
}

// appendPlaces appends the positions of the postings of a term, after their length.
func (c *Chunk) appendPlaces(dst []byte, term uint32, list []docTF) []byte {
	p := &c.placing
	begin := uint32(0)
	if term > 0 {
		begin = p.ends[term-1]
	}
	places := p.byPlace[begin:p.ends[term]]
	p.encoded = slices.Grow(p.encoded[:0], binary.MaxVarintLen32*len(places)+4)
	n, room := 0, p.encoded[:cap(p.encoded)]
	for _, posting := range list {
		of := places[:posting.tf]
		places = places[posting.tf:]
		if !slices.IsSorted(of) { // words after exact terms of the same bytes
			slices.Sort(of)
		}
		prev := uint32(0)
		for _, x := range of {
			v := x - prev
			prev = x
			if v >= 1<<14 {
				n += binary.PutUvarint(room[n:], uint64(v))
				continue
			}
			more := (0x7f - v) >> 31 // 1 when v takes two bytes
			binary.LittleEndian.PutUint32(room[n:], v&0x7f|more<<7|v>>7<<8)
			n += int(1 + more)
		}
	}
	c.pace.add(int(p.ends[term]-begin) / countsPerPosting)
	dst = binary.AppendUvarint(dst, uint64(n))
	return append(dst, room[:n]...)
}
