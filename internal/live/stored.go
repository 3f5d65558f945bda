package live

import "github.com/riffle-search/riffle/internal/document"

// Stored returns the stored values of a document of the segment. It does not cache them: it is for
// walks over all documents.
func (s *Segment) Stored(doc uint32) (document.Stored, error) {
	data, err := s.reader.Stored(doc)
	if err != nil {
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
	data, err := s.storedBytes(doc)
	if err != nil {
		return nil, s.At(err)
	}
	fields, err := document.ParseFields(data, names)
	return fields, s.At(err)
}

func (s *Segment) storedBytes(doc uint32) ([]byte, error) {
	if s.home.disk == nil {
		return s.reader.Stored(doc)
	}
	return s.home.stored.get(storedKey{s.home.number, doc}, func() ([]byte, error) { return s.reader.Stored(doc) })
}
