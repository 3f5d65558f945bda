package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/sstable/colblk"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Values of the plain tables of a segment can be lent: they are read where they lie, in the file,
// which is mapped into memory. A read through Pebble allocates a block and copies it twice, from the
// system's page cache to Pebble's cache and from there to the caller; fresh memory alone takes longer
// than what is then done with it. What is lent needs no cache of riffle's: the system's page cache
// keeps it, and gives it back when memory is short.
//
// A file is mapped when the first of its values is lent, and stays so as long as anything refers to
// the SegmentReader, even when the segment has been dropped or the store been closed. So what was
// lent is valid as long as its reader is reachable.
//
// A mapped page that cannot be read would end the process. So the pages of a value are read before
// it is lent (populate), and where the system cannot do that, nothing is lent. The block of the value
// must pass its checksum. Both happen once: a search that comes once lends a dozen values, mostly from
// pages and blocks that others were lent from, and the system call alone takes longer than finding the
// value. Whatever is strange about a file, Lend only says that it cannot lend: Get reads the value, or
// says what is wrong.

// A lender finds values in the mapped tables of one segment.
type lender struct {
	once   sync.Once
	tables []*mappedTable
}

// A mappedTable is a plain table of Pebble's format TableFormatPebblev6, with columnar blocks.
type mappedTable struct {
	s           *Store
	data        []byte // the whole file
	first, last []byte // keys
	index       []byte // the block of the index, the upper one if there are two levels
	levels      int
	parts       sync.Map // lower blocks of the index, by handle
	checked     bitmap   // by checkedBytes of the file: a block that begins there has passed its checksum
	read        bitmap   // by windowBytes: its pages have been read since they were last given back
}

// checkedBytes is the least size of a block that is noted as checked. So at most one begins in as many
// bytes of the file.
const checkedBytes = 1 << 10

// windowBytes is how much of a file is read at least. Linux reads and maps as much around a page anyway.
const windowBytes = 64 << 10

// A bitmap is a set of numbers that any goroutine may add to.
type bitmap []atomic.Uint64

// newBitmap returns an empty set of numbers below n.
func newBitmap(n int) bitmap { return make(bitmap, (n+63)/64) }

func (b bitmap) has(i int) bool { return b[i/64].Load()>>(i%64)&1 != 0 }
func (b bitmap) add(i int)      { b[i/64].Or(1 << (i % 64)) }

func (b bitmap) clear() {
	for i := range b {
		b[i].Store(0)
	}
}

// Lend returns the value of a key of a plain table, as it lies in the mapped file, with a capacity
// that ends with it. It must not be changed. It stays valid as long as the SegmentReader is
// reachable. ok is false when the value cannot be lent: ask Get.
func (r *SegmentReader) Lend(key []byte) (value []byte, ok bool) {
	if t, full := r.tableOf(key); t != nil {
		value, ok = t.find(full, (*mappedTable).block)
	}
	runtime.KeepAlive(r)
	return value, ok
}

// LendUnread is Lend for a large value whose parts carry checksums of their own. Neither its pages
// nor its checksum have been read. Before bytes [from, to) of it are used, read must have returned
// true for them; it returns false when the system cannot read them.
func (r *SegmentReader) LendUnread(key []byte) (value []byte, read func(from, to int) bool, ok bool) {
	t, full := r.tableOf(key)
	if t == nil {
		return nil, nil, false
	}
	value, ok = t.find(full, (*mappedTable).unreadBlock)
	if !ok || len(value) == 0 {
		return nil, nil, false
	}
	at := int(uintptr(unsafe.Pointer(&value[0])) - uintptr(unsafe.Pointer(&t.data[0])))
	n := len(value)
	read = func(from, to int) bool {
		return 0 <= from && from <= to && to <= n && t.populate(at+from, at+to)
	}
	return value, read, true
}

// tableOf returns the mapped table in which a key is, if anywhere, and the key in the store.
func (r *SegmentReader) tableOf(key []byte) (t *mappedTable, full []byte) {
	if len(key) == 0 || key[0] < firstPlainKind || r.s.gate.closed.Load() {
		return nil, nil
	}
	r.lender.once.Do(func() { r.lender.tables = r.s.mapTables(r.number) })
	if len(r.lender.tables) == 0 {
		return nil, nil
	}
	full = append(segmentPrefix(r.number), key...)
	tables := r.lender.tables
	n := sort.Search(len(tables), func(i int) bool { return bytes.Compare(full, tables[i].last) <= 0 })
	if n < len(tables) && bytes.Compare(full, tables[n].first) >= 0 {
		return tables[n], full
	}
	return nil, nil
}

// mapTables maps the plain tables of a segment, in the order of their keys.
func (s *Store) mapTables(segment uint64) []*mappedTable {
	if s.opts.FS != vfs.Default || s.lent.limit < 0 || s.gate.enter() != nil {
		return nil
	}
	defer s.gate.leave()
	lower := append(segmentPrefix(segment), firstPlainKind)
	levels, err := s.db.SSTables(pebble.WithKeyRangeFilter(lower, segmentEnd(segment)))
	if err != nil {
		return nil
	}
	var tables []*mappedTable
	for _, level := range levels {
		for _, info := range level {
			first := info.Smallest.UserKey
			if bytes.Compare(first, lower) < 0 || info.Virtual || info.BackingType != pebble.BackingTypeLocal {
				continue
			}
			path := s.fs.PathJoin(s.dir, fmt.Sprintf("%06d.sst", info.BackingSSTNum))
			if t := s.mapTable(path, int64(info.Size)); t != nil {
				t.first, t.last = bytes.Clone(first), bytes.Clone(info.Largest.UserKey)
				tables = append(tables, t)
			}
		}
	}
	slices.SortFunc(tables, func(a, b *mappedTable) int { return bytes.Compare(a.first, b.first) })
	return tables
}

// mapTable maps a table, or returns nil.
func (s *Store) mapTable(path string, size int64) *mappedTable {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || st.Size() != size {
		return nil
	}
	t := &mappedTable{s: s, checked: newBitmap(int(size/checkedBytes) + 1), read: newBitmap(int(size/windowBytes) + 1)}
	if t.data = mapFile(f, size, t); t.data == nil || !t.openIndex() {
		return nil
	}
	s.lent.add(t)
	return t
}

// A footer of any version ends with the version (4 bytes) and the magic. It begins with the kind of
// checksum, 1 for CRC-32C, and the handles of the metaindex and of the index.
const (
	footerBytes  = 1 + 40 + 4 + 4 + 8
	footerMagic  = "\xf0\x9f\xaa\xb3\xf0\x9f\xaa\xb3"
	footerFormat = 6 // TableFormatPebblev6
	sumCRC32C    = 1
	trailerBytes = 5 // after a block: its compression, 0 for none, and its checksum
)

// A handle is where a block lies, without its trailer.
type handle struct{ offset, length uint64 }

func cutHandle(b []byte) (h handle, rest []byte, ok bool) {
	offset, n := binary.Uvarint(b)
	if n <= 0 {
		return handle{}, nil, false
	}
	length, m := binary.Uvarint(b[n:])
	if m <= 0 {
		return handle{}, nil, false
	}
	return handle{offset, length}, b[n+m:], true
}

// openIndex reads the footer and the top of the index.
func (t *mappedTable) openIndex() bool {
	at := len(t.data) - footerBytes
	if at < 0 || !t.populate(at, len(t.data)) {
		return false
	}
	footer := t.data[at:]
	if footer[0] != sumCRC32C || string(footer[49:]) != footerMagic || binary.LittleEndian.Uint32(footer[45:]) != footerFormat {
		return false
	}
	_, rest, ok := cutHandle(footer[1:41])
	if !ok {
		return false
	}
	h, _, ok := cutHandle(rest)
	if !ok {
		return false
	}
	if t.index, ok = t.indexBlock(h); !ok {
		return false
	}
	// The first block of data begins the file.
	it := t.iterator(t.index)
	if !it.First() {
		return false
	}
	first, err := it.BlockHandleWithProperties()
	t.levels = 1
	if first.Offset != 0 {
		t.levels = 2
	}
	return err == nil
}

// iterator returns an iterator over a block of the index.
func (t *mappedTable) iterator(b []byte) *colblk.IndexIter {
	it := new(colblk.IndexIter)
	_ = it.Init(t.s.popt.Comparer, b, block.NoTransforms) // it never fails
	return it
}

// indexBlock returns a copy of a block of the index: Pebble wants it aligned.
func (t *mappedTable) indexBlock(h handle) ([]byte, bool) {
	b, ok := t.block(h)
	if !ok {
		return nil, false
	}
	return append(alignedBytes(len(b))[:0], b...), true
}

// alignedBytes allocates bytes that begin at a multiple of 8.
func alignedBytes(n int) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(make([]uint64, n/8+1)))), n)
}

// within returns where a block and its trailer lie in the file.
func (t *mappedTable) within(h handle) (from, end int, ok bool) {
	if h.length > uint64(len(t.data)) || h.offset > uint64(len(t.data))-h.length || uint64(len(t.data))-h.length-h.offset < trailerBytes {
		return 0, 0, false
	}
	return int(h.offset), int(h.offset + h.length), true
}

// headBytes are those at the beginning of a block that say where its values are, unless there are
// many.
const headBytes = 16 << 10

// unreadBlock returns a block that is not compressed. Only its first headBytes have been read, and
// its checksum has not been compared.
func (t *mappedTable) unreadBlock(h handle) ([]byte, bool) {
	from, end, ok := t.within(h)
	if !ok || !t.populate(from, min(from+headBytes, end)) || !t.populate(end, end+trailerBytes) || t.data[end] != 0 {
		return nil, false
	}
	b := t.data[from:end:end]
	head := min(headBytes, len(b))
	d, ok := openData(b)
	return b, ok && d.column(keyColumn+1) <= head && d.column(valueColumn)+8+4*(d.rows+1) <= head
}

// block returns a block that is not compressed, once it has passed its checksum.
func (t *mappedTable) block(h handle) ([]byte, bool) {
	from, end, ok := t.within(h)
	if !ok || !t.populate(from, end+trailerBytes) {
		return nil, false
	}
	b := t.data[from : end+trailerBytes]
	noted := end-from >= checkedBytes
	if noted && t.checked.has(from/checkedBytes) {
		return b[: end-from : end-from], true
	}
	end -= from
	if b[end] != 0 || blockSum(b[:end+1]) != binary.LittleEndian.Uint32(b[end+1:]) {
		return nil, false
	}
	if noted {
		t.checked.add(from / checkedBytes)
	}
	return b[:end:end], true
}

// populate reads the pages of bytes [from, to) of the file, and those around them, unless that has been
// done since pages were last given back. It returns false if it cannot.
func (t *mappedTable) populate(from, to int) bool {
	first, last := from/windowBytes, (to-1)/windowBytes
	for first <= last && t.read.has(first) {
		first++
	}
	if first > last {
		return true
	}
	if !t.readPages(first*windowBytes, min((last+1)*windowBytes, len(t.data))) {
		return t.readPages(from, to) // the fault may be beside
	}
	for ; first <= last; first++ {
		t.read.add(first)
	}
	return true
}

var castagnoliTable = crc32.MakeTable(crc32.Castagnoli)

// blockSum is the checksum of a block and the byte that says how it is compressed.
func blockSum(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoliTable)
	return (c>>15 | c<<17) + 0xa282ead8
}

// part returns a block below the top of the index. They are checked and copied once.
func (t *mappedTable) part(h handle) ([]byte, bool) {
	if b, ok := t.parts.Load(h); ok {
		return b.([]byte), true
	}
	b, ok := t.indexBlock(h)
	if ok {
		t.parts.Store(h, b)
	}
	return b, ok
}

// find returns the value of a key, given how to get its block.
func (t *mappedTable) find(key []byte, get func(*mappedTable, handle) ([]byte, bool)) ([]byte, bool) {
	index := t.index
	for level := 1; ; level++ {
		it := t.iterator(index)
		if !it.SeekGE(key) {
			return nil, false
		}
		at, err := it.BlockHandleWithProperties()
		h := handle{at.Offset, at.Length}
		if err != nil {
			return nil, false
		}
		if level == t.levels {
			b, ok := get(t, h)
			if !ok {
				return nil, false
			}
			return t.s.lent.find(b, key)
		}
		var ok bool
		if index, ok = t.part(h); !ok {
			return nil, false
		}
	}
}

// Where the columns of a block of data are: see package colblk.
const (
	keyColumn      = 0
	valueColumn    = 2 + 2 // after two for keys, their trailers, and a bitmap
	externalColumn = valueColumn + 1
	headerAt       = 4 // version (1 byte), columns (2), rows (4)
	columnsAt      = headerAt + 7
	columnBytes    = 5 // kind (1 byte) and offset (4)

	maxKeyBytes = 64 << 10 // of the columns of keys of a block
	maxRows     = 1 << 12
)

// A dataBlock is a block of data that has passed its checksum.
type dataBlock struct {
	b    []byte
	rows int
}

func openData(b []byte) (dataBlock, bool) {
	if len(b) < columnsAt+(externalColumn+1)*columnBytes {
		return dataBlock{}, false
	}
	rows := binary.LittleEndian.Uint32(b[headerAt+3:])
	return dataBlock{b, int(rows)}, 0 < rows && rows <= maxRows
}

// column returns where a column begins.
func (d dataBlock) column(i int) int {
	return int(binary.LittleEndian.Uint32(d.b[columnsAt+i*columnBytes+1:]))
}

// value returns the value of a row. The column of values has
//
//	width    1 byte    of an offset
//	zeros    up to a multiple of that
//	offsets            one more than rows
//	values
func (d dataBlock) value(row int) ([]byte, bool) {
	at, until := d.column(valueColumn), d.column(externalColumn)
	if at >= until || until > len(d.b) {
		return nil, false
	}
	width := int(d.b[at])
	at++
	if width == 0 { // all offsets are 0
		return nil, at == until
	}
	if width != 1 && width != 2 && width != 4 {
		return nil, false
	}
	at = (at + width - 1) &^ (width - 1)
	values := at + width*(d.rows+1)
	if values > until {
		return nil, false
	}
	offset := func(i int) int {
		var four [4]byte
		copy(four[:], d.b[at+i*width:][:width])
		return int(binary.LittleEndian.Uint32(four[:]))
	}
	from, to := offset(row), offset(row+1)
	if from > to || to > until-values {
		return nil, false
	}
	return d.b[values+from : values+to : values+to], true
}

// find returns the value of a key in a block of data. Pebble searches the keys, in a copy, because
// they must be aligned.
func (p *lentPages) find(b, key []byte) ([]byte, bool) {
	d, ok := openData(b)
	if !ok {
		return nil, false
	}
	from, to := d.column(keyColumn), d.column(keyColumn+1)
	if from >= to || to > len(b) || to > maxKeyBytes {
		return nil, false
	}
	copied, _ := p.copies.Get().(*[]byte)
	if copied == nil {
		room := alignedBytes(maxKeyBytes + 8)
		copied = &room
	}
	defer p.copies.Put(copied)
	copy(*copied, b[:to])
	keys, _ := colblk.DecodePrefixBytes((*copied)[:to+1], uint32(from), d.rows)
	row, found := keys.Search(key)
	if !found {
		return nil, false
	}
	return d.value(row)
}
