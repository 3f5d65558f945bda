package plan

import (
	"encoding/binary"
	"math"
)

// AppendStatistics appends the statistics that the query's weights come from, for Settings.Frozen: for each
// term, where its field is not that of the term before, the number of documents that have the field (uvarint)
// and their average length (IEEE 754, little endian); then how many documents have the term (uvarint).
func (c *Compiled) AppendStatistics(dst []byte) []byte {
	for i := range c.terms {
		t := &c.terms[i]
		if i == 0 || t.field != c.terms[i-1].field {
			dst = binary.AppendUvarint(dst, t.docs)
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(t.table.Key().Avg))
		}
		dst = binary.AppendUvarint(dst, t.docFreq)
	}
	return dst
}

// thaw weighs the terms by what AppendStatistics wrote for the same query.
func (b *planner) thaw(frozen string) error {
	data, ok := []byte(frozen), true
	uvarint := func() uint64 {
		n, size := binary.Uvarint(data)
		if size <= 0 {
			ok = false
			return 0
		}
		data = data[size:]
		return n
	}
	average := 0.0
	for i := range b.terms {
		t := &b.terms[i]
		if i > 0 && t.field == b.terms[i-1].field {
			t.docs, t.table = b.terms[i-1].docs, b.terms[i-1].table
		} else {
			t.docs = uvarint()
			if len(data) < 8 {
				ok = false
				break
			}
			average, data = math.Float64frombits(binary.LittleEndian.Uint64(data)), data[8:]
			if !(average >= 0 && average <= math.MaxUint64) {
				ok = false
				break
			}
			t.table = b.index.Table(t.field, b.sim, average)
		}
		t.docFreq = uvarint()
		t.weigh(b.sim)
	}
	if !ok || len(data) > 0 {
		return Errorf("SearchOptions.After", "the cursor is of other terms: an analyzer has changed")
	}
	return nil
}
