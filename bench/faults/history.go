package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/scatter/scattertest"
)

// An action is what an operation does.
type action string

const (
	put          action = "put"    // one document
	remove       action = "delete" // one document
	getLatest    action = "get-linearizable"
	getToken     action = "get-token"
	getAny       action = "get"
	searchToken  action = "search-token"
	searchAny    action = "search"
	searchRandom action = "search-random" // a random query, of which only errors are looked at
)

// An outcome is how an operation has ended.
type outcome string

const (
	done    outcome = "done"
	refused outcome = "refused" // of a write: it has not happened and never will
	unknown outcome = "unknown" // of a write: it may have happened, or may happen later
	failed  outcome = "failed"  // of a read: there is no answer
)

// An operation is a line of the history. A write of several documents is one operation for each.
type operation struct {
	Client  int
	Action  action
	ID      string `json:",omitempty"` // of the document
	Value   string `json:",omitempty"` // written or read; empty if there is no document
	Shard   int    // of the document; -1 if several
	Call    time.Duration
	Return  time.Duration // both since the run began, by the monotonic clock
	Outcome outcome
	Error   string `json:",omitempty"`

	Sequence uint64   `json:",omitempty"` // of the entry of a write
	AtLeast  []uint64 `json:",omitempty"` // of each shard: what the read must have seen, by its token
	Tag      string   `json:",omitempty"` // that a search looks for
	Found    []found  `json:",omitempty"` // by a search
	Partial  bool     `json:",omitempty"`
}

// A found is a hit.
type found struct {
	ID    string
	Value string
	Shard int
}

// A history is the operations of a run. Its methods are safe for concurrent use.
type history struct {
	began time.Time
	mu    sync.Mutex
	all   []operation
}

func (h *history) now() time.Duration { return time.Since(h.began) }

func (h *history) add(ops ...operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, ops...)
}

func (h *history) operations() []operation {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]operation(nil), h.all...)
}

// write writes a file with a line for each operation.
func writeHistory(dir string, ops []operation) error {
	f, err := os.Create(filepath.Join(dir, "history.jsonl"))
	if err != nil {
		return err
	}
	defer f.Close()
	e := json.NewEncoder(f)
	for i := range ops {
		if err := e.Encode(&ops[i]); err != nil {
			return err
		}
	}
	return f.Close()
}

// ids is how many documents there are.
const ids = 300

func idOf(n int) string { return fmt.Sprint("d", n) }

// valueField has the value of a document: which write it comes from.
const valueField = "value"

var schema = func() *riffle.Schema {
	fields := maps.Clone(scattertest.Schema.Fields)
	fields[valueField] = riffle.Field{Type: riffle.FieldKeyword}
	return &riffle.Schema{Fields: fields}
}()

// document returns the document with a value. Everything in it follows from the value.
func document(value string) map[string]any {
	h := fnv.New64a()
	h.Write([]byte(value))
	doc := scattertest.Document(rand.New(rand.NewPCG(h.Sum64(), 1)))
	doc[valueField] = value
	return doc
}

// hasTag reports whether the document with a value has a tag.
func hasTag(value, tag string) bool { return value != "" && document(value)["tag"] == tag }
