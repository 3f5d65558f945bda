package segment

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// writeLookups writes the way from ids to documents, in the order of ids.
func (m *merger) writeLookups() error {
	w := walk[IDIterator]{key: IDIterator.ID}
	defer w.close()
	for i, in := range m.inputs {
		it, err := in.Reader.IDs("")
		if err == nil {
			err = w.add(i, it)
		}
		if err != nil {
			return err
		}
	}
	var key, last []byte
	var value [binary.MaxVarintLen32]byte
	written := uint32(0)
	for steps := 0; !w.done(); steps++ {
		if steps%1024 == 0 && m.ctx.Err() != nil {
			return m.ctx.Err()
		}
		input, it := w.top()
		if doc := m.maps[input][it.Doc()]; doc != NoDoc {
			if written > 0 && slices.Equal(it.ID(), last) {
				return fmt.Errorf("segment: id %q belongs to two documents of a merge", last)
			}
			last = append(last[:0], it.ID()...)
			key = appendLookupKey(key[:0], last)
			if err := m.sink.Set(key, binary.AppendUvarint(value[:0], uint64(doc))); err != nil {
				return err
			}
			written++
		}
		if err := w.next(); err != nil {
			return err
		}
	}
	if written != m.docs {
		return fmt.Errorf("segment: %d of %d documents of a merge have an id", written, m.docs)
	}
	return nil
}

// writeIDs writes the id column.
func (m *merger) writeIDs() error {
	var w idChunkWriter
	for doc, o := range m.from {
		id, err := m.inputs[o.input].Reader.ID(o.doc)
		if err != nil {
			return err
		}
		w.add([]byte(id))
		if w.n < idChunkDocs && doc != len(m.from)-1 {
			continue
		}
		if err := m.ctx.Err(); err != nil {
			return err
		}
		if err := m.seal(numberKey(KindID, uint32(doc/idChunkDocs)), w.appendTo); err != nil {
			return err
		}
	}
	return nil
}

// writeStored writes the stored documents, or nothing when all are empty.
func (m *merger) writeStored() error {
	var w storedWriter
	flush := func(last int) error {
		if err := m.ctx.Err(); err != nil {
			return err
		}
		return m.seal(numberKey(KindStored, uint32(last)), w.appendTo)
	}
	return m.eachStored(func(doc int, data []byte) error {
		if len(data) > 0 && !m.stored {
			m.stored = true
			if err := m.writeEmpty(doc); err != nil {
				return err
			}
			w.lengths = make([]int, doc%storedBlockDocs)
		}
		if !m.stored {
			return nil
		}
		w.add(data)
		if w.full() || doc == len(m.from)-1 {
			return flush(doc)
		}
		return nil
	})
}

// writeEmpty writes the blocks of the first n documents, none of which has stored
// bytes, but for those that do not fill a block.
func (m *merger) writeEmpty(n int) error {
	for last := storedBlockDocs - 1; last < n; last += storedBlockDocs {
		w := storedWriter{lengths: make([]int, storedBlockDocs)}
		if err := m.seal(numberKey(KindStored, uint32(last)), w.appendTo); err != nil {
			return err
		}
	}
	return nil
}

// writeColumns writes what is kept by document: length codes, ranks and tiles.
func (m *merger) writeColumns() error {
	for i, f := range m.fields {
		if !f.Norms {
			continue
		}
		norms, err := m.norms(f.Name) // again: all fields' columns at once could be large
		if err != nil {
			return err
		}
		chunk := uint32(0)
		for codes := range slices.Chunk(norms, normChunkDocs) {
			err := m.seal(normsKey(uint16(i), chunk), func(dst []byte) []byte { return appendNorms(dst, codes) })
			if err != nil {
				return err
			}
			chunk++
		}
	}
	chunk := uint32(0)
	for ranks := range slices.Chunk(m.ranks, rankChunkDocs) {
		err := m.seal(numberKey(KindRank, chunk), func(dst []byte) []byte { return appendRanks(dst, ranks) })
		if err != nil {
			return err
		}
		chunk++
	}
	for i, tiles := range m.tiles {
		err := m.seal(tilesKey(uint16(i)), func(dst []byte) []byte { return appendTiles(dst, tiles) })
		if err != nil {
			return err
		}
	}
	return nil
}

// writeMeta writes the meta value, the last of all.
func (m *merger) writeMeta() error {
	v := meta{docs: m.docs, ranks: m.ranks != nil, stored: m.stored, order: m.order, lists: m.lists, fields: m.fields}
	return m.seal([]byte{byte(KindMeta)}, v.appendTo)
}
