package document

import (
	"fmt"
	"sync"

	"github.com/riffle-search/riffle/segment"
)

// Fields counts the holders of each indexed field of an index, to enforce Options.MaxFields.
// Holders are the live segments, including the one in memory, and the chunks of batches being
// applied, so that two concurrent batches cannot pass the limit together.
type Fields struct {
	Limit int // must not change once chunks are taken

	mu      sync.Mutex
	holders map[string]int
}

// NewFields returns an empty set with a limit.
func NewFields(limit int) *Fields {
	return &Fields{Limit: limit, holders: map[string]int{}}
}

// Len is the number of fields.
func (s *Fields) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.holders)
}

// TakeChunks holds the fields of chunks. If they exceed the limit it holds none, and names the
// first document at fault. Fields that the index already has are never refused.
func (s *Fields) TakeChunks(chunks []*segment.Chunk) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, c := range chunks {
		if err := s.takeChunk(c, s.Limit); err != nil {
			for _, c := range chunks[:i] {
				s.dropChunk(c)
			}
			return err
		}
	}
	return nil
}

// TakeAcceptedChunks holds the fields of documents that were accepted earlier, however many.
func (s *Fields) TakeAcceptedChunks(chunks []*segment.Chunk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range chunks {
		for name := range c.Fields() {
			s.holders[name]++
		}
	}
}

func (s *Fields) takeChunk(c *segment.Chunk, limit int) error {
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
	return &Error{ID: c.ID(doc), Field: field, Err: fmt.Errorf(
		"one indexed field too many: the index has %d with those of its batch, Options.MaxFields is %d; names that are data are better values of one field", n, limit)}
}

// DropChunks releases the fields of chunks that are discarded.
func (s *Fields) DropChunks(chunks []*segment.Chunk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range chunks {
		s.dropChunk(c)
	}
}

// dropChunk releases the held fields of a chunk.
func (s *Fields) dropChunk(c *segment.Chunk) {
	for name := range c.Fields() {
		s.drop(name)
	}
}

func (s *Fields) drop(name string) {
	if n := s.holders[name]; n > 1 {
		s.holders[name] = n - 1
	} else {
		delete(s.holders, name)
	}
}

// Enter passes the fields of a chunk on to the memory segment that is about to receive it.
func (s *Fields) Enter(c *segment.Chunk, m *segment.Memory) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range c.Fields() {
		if m.HasField(name) {
			s.drop(name)
		}
	}
}

// Replace releases the fields of segments that are no longer live, and holds those of their
// replacement, which may be nil.
func (s *Fields) Replace(old []segment.Reader, live segment.Reader) {
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
