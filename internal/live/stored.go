package live

import (
	"slices"
	"sync"

	"github.com/riffle-search/riffle/internal/document"
)

// Stored returns the stored values of a document of the segment. It does not cache them: it is for
// walks over all documents.
func (s *Segment) Stored(doc uint32) (document.Stored, error) {
	data, err := s.reader.Stored(doc)
	if err != nil {
		return nil, s.At(err)
	}
	if data, err = s.withUpdates(doc, data); err != nil {
		return nil, s.At(err)
	}
	values, err := document.ParseValues(data)
	if err != nil {
		return nil, s.At(err)
	}
	return values, nil
}

// Fields returns the named stored fields of a document; "*" names all.
func (s *Segment) Fields(doc uint32, names []string) (map[string]any, error) {
	if s.home.disk != nil {
		buf := storedBuffers.Get().(*[]byte)
		defer storedBuffers.Put(buf)
		data, ok, err := s.home.disk.AppendLent((*buf)[:0], doc)
		if err != nil {
			return nil, s.At(err)
		}
		if ok {
			if *buf = data; cap(data) > keptBufferBytes {
				*buf = nil
			}
			return s.parseFields(doc, data, names) // it copies what it returns
		}
	}
	data, err := s.storedBytes(doc)
	if err != nil {
		return nil, s.At(err)
	}
	return s.parseFields(doc, data, names)
}

// parseFields returns the named fields of a document with its stored bytes and updates.
func (s *Segment) parseFields(doc uint32, data []byte, names []string) (map[string]any, error) {
	fields, err := document.ParseFields(data, names)
	if err != nil || s.updates == nil {
		return fields, s.At(err)
	}
	changes, err := s.updates.changesOf(doc, func(field string) bool {
		return s.stores(field) && (slices.Contains(names, field) || slices.Contains(names, "*"))
	})
	for _, c := range changes {
		document.SetField(fields, c)
	}
	return fields, s.At(err)
}

// withUpdates returns the stored bytes of a document with its updates.
func (s *Segment) withUpdates(doc uint32, data []byte) ([]byte, error) {
	if s.updates == nil {
		return data, nil
	}
	return (&segmentUpdates{of: s.updates, stores: s.stores}).Stored(doc, data)
}

// storedBuffers are *[]byte for documents that are decoded, of at most keptBufferBytes.
var storedBuffers = sync.Pool{New: func() any { return new([]byte) }}

const keptBufferBytes = 256 << 10

func (s *Segment) storedBytes(doc uint32) ([]byte, error) {
	if s.home.disk == nil {
		return s.reader.Stored(doc)
	}
	return s.home.stored.get(storedKey{s.home.number, doc}, func() ([]byte, error) { return s.reader.Stored(doc) })
}
