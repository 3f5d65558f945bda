package live

import "github.com/riffle-search/riffle/segment"

// A Document is a live document with its id.
type Document struct {
	ID      string
	Segment *Segment
	Number  uint32 // in the segment
}

// IDs returns the first n live documents with ids >= from, by merging the
// id orders of all segments.
func (v *View) IDs(from string, n int) (page []Document, err error) {
	var heads []idHead
	defer func() {
		for _, h := range heads {
			if cerr := h.it.Close(); err == nil {
				err = h.s.home.at(cerr)
			}
		}
	}()
	for i := range v.segs {
		s := &v.segs[i]
		it, err := s.reader.IDs(from)
		if err != nil {
			return nil, s.home.at(err)
		}
		heads = append(heads, idHead{s: s, it: it})
		if err := heads[len(heads)-1].next(); err != nil {
			return nil, err
		}
	}
	for len(page) < n {
		var least *idHead
		for i := range heads {
			if h := &heads[i]; h.ok && (least == nil || h.id < least.id) {
				least = h
			}
		}
		if least == nil {
			break
		}
		page = append(page, Document{least.id, least.s, least.doc})
		if err := least.next(); err != nil {
			return nil, err
		}
	}
	return page, nil
}

// An idHead is the next live document of one segment in the order of ids.
type idHead struct {
	s   *Segment
	it  segment.IDIterator
	ok  bool
	id  string
	doc uint32
}

func (h *idHead) next() error {
	for h.ok = h.it.Next(); h.ok; h.ok = h.it.Next() {
		if doc := h.it.Doc(); !h.s.deleted.contains(doc) {
			h.id, h.doc = string(h.it.ID()), doc
			return nil
		}
	}
	return h.s.home.at(h.it.Err())
}
