package client

import (
	"maps"
	"slices"
	"sync"
)

// tokenHeader has the token of changes of an index of a cluster.
const tokenHeader = "Riffle-Token"

// Session returns a client whose reads of an index of a cluster see what it has changed there before: it keeps the
// tokens of answers to changes and sends them with later requests, which wait until the replicas that answer have these
// changes. Requests that are under way at the same time see nothing of each other. On one machine every client has this.
func (c *Client) Session() *Client {
	own := *c
	own.session = &session{tokens: map[string]map[string]bool{}}
	return &own
}

// A session has the tokens of changes by index. One token of an answer stands for those that the request had, too, so
// that there are few.
type session struct {
	mu     sync.Mutex
	tokens map[string]map[string]bool
}

// indexOf returns the index that a request is about, or "".
func indexOf(r *call) string {
	if len(r.path) < 3 || r.path[1] != "indexes" {
		return ""
	}
	return r.path[2]
}

// of returns the tokens of an index, in order.
func (s *session) of(index string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.tokens[index]))
}

// wrote keeps the token of an answer in place of those that were sent.
func (s *session) wrote(index string, sent []string, token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tokens[index] == nil {
		s.tokens[index] = map[string]bool{}
	}
	for _, t := range sent {
		delete(s.tokens[index], t)
	}
	s.tokens[index][token] = true
}

// forget drops the tokens of an index that is made or dropped.
func (s *session) forget(index string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tokens, index)
}
