package segment

import (
	"fmt"
	"slices"
	"strings"
)

// writeIDs writes the ids in their order, and notes the place of each document.
func (m *merger) writeIDs() error {
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
	m.places = make([]uint32, m.docs)
	p := idPager{m: m, twice: m.twice}
	for steps := 0; !w.done(); steps++ {
		if steps%1024 == 0 && m.ctx.Err() != nil {
			return m.ctx.Err()
		}
		input, it := w.top()
		if doc := m.maps[input][it.Doc()]; doc != NoDoc {
			if err := p.add(it.ID(), doc); err != nil {
				return err
			}
		}
		if err := w.next(); err != nil {
			return err
		}
	}
	return p.finish()
}

// An idPager writes ids in ascending order, page by page.
type idPager struct {
	m       *merger
	twice   bool // an id may occur twice, with ascending documents
	page    idWriter
	heads   [][]byte // first ids of the pages so far
	written uint32
}

func (p *idPager) add(id []byte, doc uint32) error {
	if len(id) > maxIDBytes {
		return fmt.Errorf("segment: an id of %d bytes, at most %d are allowed", len(id), maxIDBytes)
	}
	if p.written > 0 && !p.twice && slices.Equal(id, p.page.last) {
		return fmt.Errorf("segment: id %q belongs to two documents of a merge", id)
	}
	if p.page.n == idPageIDs {
		if err := p.flush(); err != nil {
			return err
		}
	}
	if p.page.n == 0 {
		p.heads = append(p.heads, slices.Clone(id))
	}
	p.page.addDoc(id, doc)
	p.m.places[doc] = p.written
	p.written++
	return nil
}

// flush writes the current page.
func (p *idPager) flush() error {
	return p.m.seal(numberKey(kindID, uint32(len(p.heads)-1)), p.page.appendTo)
}

// finish writes the last page and the heads.
func (p *idPager) finish() error {
	if p.written != p.m.docs {
		return fmt.Errorf("segment: %d of %d documents of a merge have an id", p.written, p.m.docs)
	}
	if p.page.n > 0 {
		if err := p.flush(); err != nil {
			return err
		}
	}
	n := uint32(0)
	for heads := range slices.Chunk(p.heads, idHeadPages) {
		var w idWriter
		for _, id := range heads {
			w.add(id)
		}
		if err := p.m.seal(numberKey(kindHead, n), w.appendTo); err != nil {
			return err
		}
		n++
	}
	return nil
}

// writePlaces writes the places of documents among the ids.
func (m *merger) writePlaces() error {
	n, kind := uint32(0), kindPlace
	if m.docs > placeChunkDocs {
		kind = kindPlainPlace
	}
	for places := range slices.Chunk(m.places, placeChunkDocs) {
		err := m.seal(numberKey(kind, n), func(dst []byte) []byte { return appendPlaces(dst, places) })
		if err != nil {
			return err
		}
		n++
	}
	return nil
}

// endField adds a field that has been written. documents yields its documents in ascending order.
func (m *merger) endField(info FieldInfo, norms *Norms, documents func(func(doc, tf uint32))) {
	var tiles tileMaker
	codes := normsEncoder{docs: m.docs}
	info.Docs = 0
	documents(func(doc, tf uint32) {
		info.Docs++
		code := norms.of(doc)
		tiles.add(doc, tf, code)
		if info.keepsNorms() {
			codes.add(doc, code)
		}
	})
	m.fields = append(m.fields, info)
	m.tiles = append(m.tiles, tiles.finish())
	m.sparse, m.whole = append(m.sparse, codes.finish()), append(m.whole, false)
	m.normSums = append(m.normSums, nil)
}

// writeColumns writes the per-document data: length codes, ranks, tiles and columns of values.
func (m *merger) writeColumns() error {
	for i, f := range m.fields {
		if !f.keepsNorms() {
			continue
		}
		if err := m.writeNorms(uint32(i), f.Name); err != nil {
			return err
		}
	}
	chunk := uint32(0)
	for ranks := range slices.Chunk(m.ranks, rankChunkDocs) {
		err := m.seal(numberKey(kindRank, chunk), func(dst []byte) []byte { return appendRanks(dst, ranks) })
		if err != nil {
			return err
		}
		chunk++
	}
	for i, tiles := range m.tiles {
		err := m.seal(tilesKey(Version, uint32(i)), func(dst []byte) []byte { return appendTiles(dst, tiles) })
		if err != nil {
			return err
		}
	}
	if err := m.values(); err != nil {
		return err
	}
	return m.writeNormSums()
}

// writeNorms writes the length codes of a field.
func (m *merger) writeNorms(field uint32, name string) error {
	for chunk, payload := range m.sparse[field] {
		err := m.seal(normsKey(Version, field, uint32(chunk)), func(dst []byte) []byte { return append(dst, payload...) })
		if err != nil {
			return err
		}
	}
	if m.sparse[field] != nil {
		return nil
	}
	norms, err := m.norms(name, uint64(m.docs)) // again: keeping all fields' columns could take much memory
	if err != nil {
		return err
	}
	chunk, size := uint32(0), normChunkDocs
	if m.whole[field] = isWhole(norms.Column()); m.whole[field] {
		size = len(norms.Column())
		m.normSums[field] = appendNormSums(nil, norms.Column())
	}
	for codes := range slices.Chunk(norms.Column(), size) {
		err := m.seal(normsKey(Version, field, chunk), func(dst []byte) []byte { return appendNorms(dst, codes) })
		if err != nil {
			return err
		}
		chunk++
	}
	return nil
}

// features returns the features of the segment, by name.
func (m *merger) features() []feature {
	var features []feature
	if m.lists > 0 {
		features = append(features, feature{name: pairsApart, required: true})
	}
	if m.hasNormSums() {
		features = append(features, feature{name: normSums, kinds: []Kind{kindNormSums}})
	}
	features = wholeFeature(features, m.whole)
	if m.docs > placeChunkDocs {
		features = append(features,
			feature{name: smallPlaces, required: true},
			feature{name: plainPlaces, required: true, kinds: []Kind{kindPlainPlace}})
	}
	features = m.versionFeature(m.columnFeature(features))
	features = pairFeature(m.pages.feature(features, m.fields), m.fields)
	if m.coded {
		features = append(features, feature{name: codedDocs, required: true, kinds: []Kind{kindCoded}})
	}
	slices.SortFunc(features, func(a, b feature) int { return strings.Compare(a.name, b.name) })
	return features
}

// writeMeta writes the meta value, which comes last.
func (m *merger) writeMeta() error {
	v := meta{writer: release, features: m.features(), docs: m.docs, ranks: m.ranks != nil, stored: m.stored, order: m.order, lists: m.lists, fields: m.fields}
	for _, payloads := range m.sparse {
		v.sparse = append(v.sparse, payloads != nil)
	}
	return m.seal([]byte{byte(kindMeta)}, v.appendTo)
}
