package live

import "github.com/riffle-search/riffle/internal/document"

// Stored returns the stored values of a document of the segment.
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
	values, err := s.Stored(doc)
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[n] = true
	}
	if !wanted["*"] {
		kept := values[:0]
		for _, v := range values {
			if wanted[v.Name] {
				kept = append(kept, v)
			}
		}
		values = kept
	}
	return document.Unflatten(values), nil
}
