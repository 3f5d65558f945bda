package segment

import (
	"encoding/binary"
	"math"
	"runtime"
	"sort"
	"sync/atomic"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/onpair"
)

// codedDocs is the feature of a segment whose stored documents are coded one by one, by a table of the
// segment (package onpair). So a document is decoded alone, from where it lies in a mapped file.
// Without it, stored documents are in blocks that the store compresses (storedBlock), and a document
// takes the time of its block.
//
// Consecutive documents are a run. The keys of runs are their numbers, from 0, and two values follow
// them: the lengths of runs, and the table.
const codedDocs = "stored documents in codes"

// Numbers after those of runs.
const (
	codedLengths = 1 << 31
	codedTable   = codedLengths + 1
)

// A codedRun is the codes of consecutive documents:
//
//	width   1 byte           of an end: 2 or 4
//	ends    width, for each document, little-endian: where it ends in the codes
//	codes
type codedRun struct {
	number uint32
	width  int
	ends   []byte
	codes  []byte
}

// appendCodedRun appends the payload of a run.
func appendCodedRun(dst []byte, ends []int, codes []byte) []byte {
	wide := len(codes) > math.MaxUint16
	if wide {
		dst = append(dst, 4)
	} else {
		dst = append(dst, 2)
	}
	for _, end := range ends {
		if wide {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(end))
		} else {
			dst = binary.LittleEndian.AppendUint16(dst, uint16(end))
		}
	}
	return append(dst, codes...)
}

// openCodedRun opens a run of some documents, which aliases payload. The ends are checked when they
// are used.
func openCodedRun(payload []byte, number uint32, docs int) (*codedRun, error) {
	d := newDecoder(payload)
	r := &codedRun{number: number, width: int(d.byte("width of an end"))}
	if r.width != 2 && r.width != 4 {
		d.fail("an end has %d bytes, want 2 or 4", r.width)
	}
	r.ends = d.bytes("ends of documents", r.width*docs)
	r.codes = d.bytes("codes", d.left())
	if d.err == nil && r.end(docs-1) != len(r.codes) {
		d.fail("documents end at %d of %d bytes", r.end(docs-1), len(r.codes))
	}
	return r, d.err
}

// end returns where document i of the run ends.
func (r *codedRun) end(i int) int {
	if r.width == 2 {
		return int(binary.LittleEndian.Uint16(r.ends[2*i:]))
	}
	return int(binary.LittleEndian.Uint32(r.ends[4*i:]))
}

// appendDoc appends document i of the run. Offsets in the error count from the start of the value.
func (r *codedRun) appendDoc(dst []byte, table *onpair.Table, i int) ([]byte, error) {
	from, to := 0, r.end(i)
	if i > 0 {
		from = r.end(i - 1)
	}
	if from > to || to > len(r.codes) {
		return dst, corrupt.New(2+i*r.width, "document %d of the run lies from %d to %d of %d", i, from, to, len(r.codes))
	}
	dst, err := table.AppendDecoded(dst, r.codes[from:to])
	return dst, corrupt.After(err, 2+len(r.ends)+from)
}

// coded is what a Disk holds of stored documents in codes.
type coded struct {
	first []uint32 // the first document of each run; then the number of documents
	table *onpair.Table
	runs  []atomic.Pointer[codedRun] // those that the source has lent
	last  atomic.Pointer[codedRun]   // the last of the others that was read
}

// isCoded reports whether stored documents are coded.
func (m *meta) isCoded() bool {
	for _, f := range m.features {
		if f.name == codedDocs {
			return true
		}
	}
	return false
}

// coded returns the table and where runs begin.
func (d *Disk) coded() (*coded, error) {
	return d.codes.get(&d.heldBytes, func() (*coded, int64, error) {
		key := numberKey(kindCoded, codedLengths)
		payload, err := d.needSealed(key)
		if err != nil {
			return nil, 0, err
		}
		c := new(coded)
		if c.first, err = decodeCodedLengths(payload, d.meta.docs); err != nil {
			return nil, 0, d.at(err, key)
		}
		c.runs = make([]atomic.Pointer[codedRun], len(c.first)-1)
		key = numberKey(kindCoded, codedTable)
		if payload, err = d.needSealed(key); err != nil {
			return nil, 0, err
		}
		if c.table, err = onpair.Open(payload); err != nil {
			return nil, 0, d.at(corrupt.After(err, 1), key)
		}
		return c, c.table.Memory() + int64(12*len(c.first)), nil
	})
}

// appendCodedLengths appends the number of documents of each run.
func appendCodedLengths(dst []byte, lengths []uint32) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(lengths)))
	for _, n := range lengths {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	return dst
}

// decodeCodedLengths returns the first document of each run, and the number of documents.
func decodeCodedLengths(payload []byte, docs uint32) (first []uint32, err error) {
	d := newDecoder(payload)
	runs := d.uint("number of runs", uint64(len(payload)))
	first = append(make([]uint32, 0, runs+1), 0)
	next := uint64(0)
	for range runs {
		n := d.uint("documents of a run", storedBlockDocs)
		if next += n; n == 0 || next > uint64(docs) {
			d.fail("%d documents in a run, up to document %d of %d", n, next, docs)
		}
		first = append(first, uint32(next))
	}
	if next != uint64(docs) {
		d.fail("runs have %d of %d documents", next, docs)
	}
	return first, d.end()
}

// runOf returns the run of a document.
func (c *coded) runOf(doc uint32) uint32 {
	return uint32(sort.Search(len(c.first), func(i int) bool { return c.first[i] > doc })) - 1
}

// appendCoded appends a document. Unless it may read, it gives up, and ok is false, when the source
// does not lend the run.
func (d *Disk) appendCoded(dst []byte, doc uint32, read bool) (data []byte, ok bool, err error) {
	c, err := d.coded()
	if err != nil {
		return dst, false, err
	}
	n := c.runOf(doc)
	r := c.runs[n].Load()
	if r == nil {
		if r, err = d.openCoded(c, n, read); r == nil || err != nil {
			return dst, false, err
		}
	}
	data, err = r.appendDoc(dst, c.table, int(doc-c.first[n]))
	runtime.KeepAlive(d.src) // which may have lent the run
	if err != nil {
		return dst, false, d.at(err, numberKey(kindCoded, n))
	}
	return data, true, nil
}

// openCoded opens a run that is not held. It returns nil if the run is not lent and may not be read.
func (d *Disk) openCoded(c *coded, n uint32, read bool) (*codedRun, error) {
	if r := c.last.Load(); r != nil && r.number == n {
		return r, nil
	}
	key := numberKey(kindCoded, n)
	payload, lent := d.lendSealed(key)
	if !lent {
		if !read {
			return nil, nil
		}
		var err error
		if payload, err = d.needSealed(key); err != nil {
			return nil, err
		}
	}
	r, err := openCodedRun(payload, n, int(c.first[n+1]-c.first[n]))
	switch {
	case err != nil:
		return nil, d.at(err, key)
	case lent:
		if c.runs[n].CompareAndSwap(nil, r) {
			d.heldBytes.Add(codedRunBytes)
		}
	case len(payload) <= keptBlockBytes:
		c.last.Store(r)
	}
	return r, nil
}

// codedRunBytes is the size of a codedRun.
const codedRunBytes = 64
