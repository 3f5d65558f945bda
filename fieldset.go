package riffle

import (
	"fmt"
	"sync"

	"github.com/riffle-search/riffle/segment"
)

// A fieldSet knows the indexed fields of a whole index, so that Options.MaxFields can hold: for each
// field the number of its holders. These are the live segments, the one in memory among them, and the
// chunks of batches under way, so that two batches at once cannot pass the limit together.
type fieldSet struct {
	limit int

	mu      sync.Mutex
	holders map[string]int
}

func newFieldSet(limit int) *fieldSet {
	return &fieldSet{limit: limit, holders: map[string]int{}}
}

// len is the number of fields.
func (s *fieldSet) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.holders)
}

// takeChunks holds the fields of chunks. When these are more than the limit allows it holds none, and
// names the first document at fault. Fields that the index has already are never refused.
func (s *fieldSet) takeChunks(chunks []*segment.Chunk) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, c := range chunks {
		if err := s.takeChunk(c, s.limit); err != nil {
			for _, c := range chunks[:i] {
				s.dropChunk(c)
			}
			return err
		}
	}
	return nil
}

// takeAcceptedChunks holds the fields of documents that were accepted before, however many.
func (s *fieldSet) takeAcceptedChunks(chunks []*segment.Chunk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range chunks {
		for name := range c.Fields() {
			s.holders[name]++
		}
	}
}

func (s *fieldSet) takeChunk(c *segment.Chunk, limit int) error {
	var field string
	var doc uint32
	for name, first := range c.Fields() {
		if n := s.holders[name]; n > 0 || len(s.holders) < limit {
			s.holders[name] = n + 1
		} else if field == "" || first < doc || first == doc && name < field {
			field, doc = name, first
		}
	}
	if field == "" { // no field has this name
		return nil
	}
	n := len(s.holders)
	s.dropChunk(c)
	return &DocumentError{ID: c.ID(doc), Field: field, Err: fmt.Errorf(
		"one indexed field too many: the index has %d with those of its batch, Options.MaxFields is %d; names that are data are better values of one field", n, limit)}
}

// dropChunks lets go of the fields of chunks that come to nothing.
func (s *fieldSet) dropChunks(chunks []*segment.Chunk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range chunks {
		s.dropChunk(c)
	}
}

// dropChunk lets go of the fields of a chunk that are held.
func (s *fieldSet) dropChunk(c *segment.Chunk) {
	for name := range c.Fields() {
		s.drop(name)
	}
}

func (s *fieldSet) drop(name string) {
	if n := s.holders[name]; n > 1 {
		s.holders[name] = n - 1
	} else {
		delete(s.holders, name)
	}
}

// enter passes the fields of a chunk on to the memory segment that it is about to be added to.
func (s *fieldSet) enter(c *segment.Chunk, m *segment.Memory) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range c.Fields() {
		if m.HasField(name) {
			s.drop(name)
		}
	}
}

// replace lets go of the fields of segments that are no longer live, and holds those of the one in
// their place, which may be nil.
func (s *fieldSet) replace(old []segment.Reader, live segment.Reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if live != nil {
		for _, f := range live.Fields() {
			s.holders[f.Name]++
		}
	}
	for _, r := range old {
		for _, f := range r.Fields() {
			s.drop(f.Name)
		}
	}
}
