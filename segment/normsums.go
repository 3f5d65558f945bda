package segment

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"sync/atomic"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/corrupt"
)

// normSums is the feature of a segment that has a value of kindNormSums for each column of wholeNorms:
//
//	for each tile of 4,096 documents   4 bytes, little-endian   CRC-32C of its length codes
//
// A source that lends values part by part (PartLender) thus need not read the whole column before the
// first search: each tile is checked when one of its codes is first used. A segment without the
// feature only takes longer, so older builds may ignore it.
const normSums = "checksums of length codes by 4,096 documents"

const normSumBytes = 4

// appendNormSums appends the checksums of a column.
func appendNormSums(dst, column []uint8) []byte {
	for tile := range slices.Chunk(column, blockmax.TileDocs) {
		dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(tile, castagnoli))
	}
	return dst
}

func (m *merger) hasNormSums() bool {
	return slices.ContainsFunc(m.normSums, func(sums []byte) bool { return sums != nil })
}

// writeNormSums writes the checksums of all columns that are one value.
func (m *merger) writeNormSums() error {
	for field, sums := range m.normSums {
		if sums == nil {
			continue
		}
		err := m.seal(normSumsKey(Version, uint32(field)), func(dst []byte) []byte { return append(dst, sums...) })
		if err != nil {
			return err
		}
	}
	return nil
}

// readNormSums reads the checksums of a column of wholeNorms.
func (d *Disk) readNormSums(field uint32) ([]byte, error) {
	key := normSumsKey(d.meta.version, field)
	sums, _, err := d.sealedOrLent(key)
	if want := normSumBytes * blockmax.Tiles(d.meta.docs); err == nil && len(sums) != want {
		err = d.at(corrupt.New(1, "%d bytes of checksums, want %d", len(sums), want), key)
	}
	return sums, err
}

// readWindow is how many tiles are read at once. The system maps so many pages at a time anyway.
const readWindow = 16

// lazyColumn returns the norms of a field whose tiles are checked when they are first needed. ok is
// false if the segment or its source cannot do that.
func (d *Disk) lazyColumn(field uint32) (n Norms, ok bool, err error) {
	docs := d.meta.docs
	if d.parts == nil || !d.meta.sums || !d.meta.whole[field] || isSparse(d.meta.fields[field].Docs, docs) {
		return Norms{}, false, nil
	}
	key := normsKey(d.meta.version, field, 0)
	value, read, ok := d.parts.LendUnread(key)
	if !ok || len(value) != int(docs)+sealBytes || !read(0, 1) || value[0] != d.meta.version {
		return Norms{}, false, nil
	}
	sums, err := d.readNormSums(field)
	if err != nil {
		return Norms{}, false, err
	}
	column := value[1 : 1+docs : 1+docs]
	windows := make([]atomic.Bool, (blockmax.Tiles(docs)+readWindow-1)/readWindow)
	check := func(tile uint32) error {
		from := int(tile) * blockmax.TileDocs
		to := min(from+blockmax.TileDocs, len(column))
		if w := &windows[tile/readWindow]; !w.Load() {
			begin := int(tile) / readWindow * readWindow * blockmax.TileDocs
			if !read(1+begin, 1+min(begin+readWindow*blockmax.TileDocs, len(column))) {
				if _, err := d.need(key); err != nil {
					return err
				}
				return d.at(errors.New("segment: mapped length codes cannot be read"), key)
			}
			w.Store(true)
		}
		sum, want := crc32.Checksum(column[from:to], castagnoli), binary.LittleEndian.Uint32(sums[normSumBytes*tile:])
		if sum != want {
			return d.at(corrupt.New(1+from, "checksum of the length codes of tile %d is %08x, want %08x", tile, sum, want), key)
		}
		return nil
	}
	return Norms{docs: docs, column: column, lent: true, lazy: blockmax.NewLazyNorms(docs, check)}, true, nil
}

// checkNormSums compares the checksums of a column, if it has some, with its codes.
func (d *Disk) checkNormSums(field uint32, n *Norms) error {
	if !d.meta.sums || !d.meta.whole[field] {
		return nil
	}
	sums, err := d.readNormSums(field)
	if err == nil && n.column != nil && !slices.Equal(sums, appendNormSums(nil, n.column)) {
		err = d.at(corrupt.New(-1, "the checksums are not those of the length codes"), normSumsKey(d.meta.version, field))
	}
	return err
}
