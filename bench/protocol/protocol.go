// Package protocol is how the harness talks to an engine under test.
//
// Each engine is a process of its own: a library in another language could not
// be anything else, and a Go library gets neither the heap nor the garbage of
// its neighbours. The harness writes one JSON object a line to its standard
// input and reads one a line from its standard output. What the process writes
// to standard error is passed on.
//
//	→ {"op":"build","docs":"/tmp/x/docs.txt","dir":"/tmp/x/bleve","options":{}}
//	← {"docs":400000}
//	→ {"op":"open","dir":"/tmp/x/bleve","options":{}}
//	← {"version":"bleve 2.5.7","docs":400000,"terms":532908,"segments":1}
//	→ {"op":"df","terms":["whale","zenith"]}
//	← {"df":[1801,322]}
//	→ {"op":"run","mode":"or","want":"top","k":10,"queries":["white whale"],"warm":2,"reps":10,"budget":20,"hits":true}
//	← {"ns":[41250],"reps":10,"hits":[[{"id":81234,"score":14.25}]]}
//
// "reopen" opens the index anew before each query. "puts" are documents: the i-th is
// added before query i, and their ids follow on those of the index. Neither is timed
// with the query.
//
// A reply with "error" says that the request could not be carried out.
//
// # Documents and queries
//
// The documents are a text file: line n (from 0) is document n, its tokens
// separated by single spaces. Queries look the same. The harness has done the
// analysis, so every engine splits at spaces and does nothing else; then all
// dictionaries are equal, which a test holds them to.
//
// # What is timed
//
// A run first goes through the queries, over and over, for "warm" seconds. Then
// it goes through them "reps" times, but after the first begins no round once
// "budget" seconds are spent. "ns" is each query's best time. Without "reps"
// there is nothing but the warm-up.
//
// The clock runs from the query's text to its answer: splitting at spaces,
// building the engine's query object, searching, and putting the ids and scores
// of the hits into an array. Ids are document numbers; they come from wherever the engine
// keeps the ids that its user gave (an id column, doc values, a fast field).
//
// "clock" is "wall", or "cpu" for the CPU time of the searching thread, which tells
// more on a machine with other work. Go programs take that of the whole process, with
// its garbage collection.
//
// "mode" is "or", "and" or "nested": the first half of the words (the greater one)
// must all be there, or any of the others, whose scores count twice. Of an index with the build option
// "positions" it may be "phrase"; "slop", a phrase with a slop of 3; or "near", the words in any order,
// with at most 8 others between them, a word as often as the query has it. For queries of one word
// there are "prefix"; "infix", any term that contains the word; "regexp", any that the expression matches
// as a whole; "fuzzy1" and "fuzzy2", with so many edits, scored where the engine scores them. Two more
// search several fields, where the build option "fields" has split documents (see Fields), with their
// boosts: "best" takes the best field's score of all words, "cross" the sum over the
// words of each one's best field. A "filter" is the
// name of a tag: only documents that have it match. Documents get tags by their numbers
// when the build option "tags" is there; see Tags.
//
// Rows, documents with columns, have modes of their own; see Column.
//
// "want" is "top" (the k best, nothing else), "topcount" (the k best, and how many
// match, exactly) or "count" (how many match). "counts" is absent for "top".
package protocol

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Request is one line to an engine. Which fields matter depends on Op.
type Request struct {
	Op      string            `json:"op"` // build, open, df or run
	Dir     string            `json:"dir,omitempty"`
	Docs    string            `json:"docs,omitempty"`    // file of documents
	Options map[string]string `json:"options,omitempty"` // of the engine's own

	Terms []string `json:"terms,omitempty"`

	Mode    string   `json:"mode,omitempty"`   // see above
	Filter  string   `json:"filter,omitempty"` // a tag; "" for none
	Want    string   `json:"want,omitempty"`   // top, topcount, count
	K       int      `json:"k,omitempty"`
	Queries []string `json:"queries,omitempty"`
	Warm    float64  `json:"warm,omitempty"`   // seconds
	Reps    int      `json:"reps,omitempty"`   // at most
	Budget  float64  `json:"budget,omitempty"` // seconds
	Hits    bool     `json:"hits,omitempty"`   // send the hits back
	Clock   string   `json:"clock,omitempty"`  // wall, cpu
	Reopen  bool     `json:"reopen,omitempty"` // open the index before each query
	Puts    []string `json:"puts,omitempty"`   // documents, each added before its query
}

// A Reply is one line from an engine.
type Reply struct {
	Error string `json:"error,omitempty"`

	Version  string `json:"version,omitempty"`
	Docs     int    `json:"docs,omitempty"`
	Terms    int    `json:"terms,omitempty"` // distinct terms
	Segments int    `json:"segments,omitempty"`

	ColumnBytes int64 `json:"columnBytes,omitempty"` // of the columns alone, where there are rows

	DF []int `json:"df,omitempty"` // documents that have each term

	NS     []int64 `json:"ns,omitempty"`     // best time of each query
	Before []int64 `json:"before,omitempty"` // least time of what went before each query: reopening, adding
	Reps   int     `json:"reps,omitempty"`
	Counts []int   `json:"counts,omitempty"`
	Hits   [][]Hit `json:"hits,omitempty"`
}

// A Hit is a document by its line number.
type Hit struct {
	ID    int     `json:"id"`
	Score float64 `json:"score"`
}

// An Engine is what a Go engine implements; Serve does the rest.
type Engine interface {
	// Build indexes the lines of a file into a new folder and returns how many
	// there were. When it returns, nothing goes on in the background.
	Build(docs, dir string, options map[string]string) (int, error)

	// Open makes a built index ready for queries.
	Open(dir string, options map[string]string) (Reply, error)

	// DF returns in how many documents a term occurs.
	DF(term string) (int, error)

	// Top appends the k best hits to dst[:0]. When count is set it also returns
	// exactly how many documents match.
	Top(query string, and bool, k int, count bool, dst []Hit) ([]Hit, int, error)

	// Count returns exactly how many documents match.
	Count(query string, and bool) (int, error)
}

// A Searcher is an Engine that also answers queries that are not flat.
type Searcher interface {
	// Search appends the k best hits to dst[:0].
	Search(q Query, k int, dst []Hit) ([]Hit, error)

	// Matches returns exactly how many documents match.
	Matches(q Query) (int, error)
}

// A Putter is an Engine that takes documents between searches.
type Putter interface {
	// Put adds a document. When it returns, searches find it.
	Put(id int, text string) error
}

// Slop and NearGaps are how far the words of the modes "slop" and "near" may be apart.
const (
	Slop     = 3
	NearGaps = 8
)

// A Query is a request's words with their mode and filter.
type Query struct {
	Text, Mode, Filter string
}

// Halves splits a nested query: all words of the first half, or any of the second, which is empty
// when there is one word.
func (q Query) Halves() (first, second string) {
	words := strings.Split(q.Text, " ")
	half := (len(words) + 1) / 2
	return strings.Join(words[:half], " "), strings.Join(words[half:], " ")
}

// FieldNames are the fields that the build option "fields" splits a document into, and Boosts what
// their scores count. The last one also is the field of a document that is not split.
var (
	FieldNames = []string{"title", "lead", "text"}
	Boosts     = []float64{3, 1.5, 1}
)

// fieldWords are the most words of all fields but the last.
var fieldWords = []int{6, 24}

// Fields splits a document: its first words are the title, the next ones the lead, the rest is the
// text. Fields at the end may be empty.
func Fields(line string) []string {
	fields := make([]string, 0, len(FieldNames))
	for _, most := range fieldWords {
		end := 0
		for n := 0; n < most && end < len(line); n++ {
			if n > 0 {
				end++ // the space
			}
			if next := strings.IndexByte(line[end:], ' '); next >= 0 {
				end += next
			} else {
				end = len(line)
			}
		}
		fields = append(fields, line[:end])
		line = strings.TrimPrefix(line[end:], " ")
	}
	return append(fields, line)
}

// TagNames are the tags that documents may have, by the share of the documents that have them.
var TagNames = []string{"0.1%", "1%", "10%", "50%"}

// tagShares are of the 2^32 hashes.
var tagShares = []uint32{4_294_967, 42_949_673, 429_496_730, 2_147_483_648}

// Tags returns the tags of a document: those whose share the hash of its number is below. The hash
// is murmur3's finalizer, so that every language has it in five lines.
func Tags(id int) []string {
	h := uint32(id) + 0x9e3779b9
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	h ^= h >> 16
	for i, share := range tagShares {
		if h < share {
			return TagNames[i:]
		}
	}
	return nil
}

// Deleted says whether a document is one of the 20 % that the build option "delete" takes out: one
// of any five that follow each other, at changing places.
func Deleted(id int) bool { return id%5 == id/5%5 }

// BatchDocs returns how many documents the build option "batches" adds at a time: 0 when it is not
// there, for everything in bulk.
func BatchDocs(options map[string]string) (int, error) {
	text, ok := options["batches"]
	if !ok {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("batches %q: not a number of documents", text)
	}
	return n, nil
}

// Serve answers requests on standard input until it ends.
func Serve(e Engine) {
	s := &server{engine: e}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return
		}
		var req Request
		var reply Reply
		if err == nil || err == io.EOF {
			err = json.Unmarshal(line, &req)
		}
		if err == nil {
			reply, err = s.answer(&req)
		}
		if err != nil {
			reply = Reply{Error: err.Error()}
		}
		if err := out.Encode(&reply); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// A server is an engine, and what it opened.
type server struct {
	engine Engine
	opened Request
	next   int // id of the next document that is put
}

func (s *server) answer(req *Request) (Reply, error) {
	e := s.engine
	switch req.Op {
	case "build":
		n, err := e.Build(req.Docs, req.Dir, req.Options)
		return Reply{Docs: n}, err
	case "open":
		reply, err := e.Open(req.Dir, req.Options)
		s.opened, s.next = *req, reply.Docs
		return reply, err
	case "df":
		df := make([]int, len(req.Terms))
		for i, term := range req.Terms {
			n, err := e.DF(term)
			if err != nil {
				return Reply{}, err
			}
			df[i] = n
		}
		return Reply{DF: df}, nil
	case "run":
		return s.run(req)
	}
	return Reply{}, fmt.Errorf("unknown op %q", req.Op)
}

// before does what a request wants to be done before its i-th query.
func (s *server) before(req *Request, i int) error {
	if req.Reopen {
		if _, err := s.engine.Open(s.opened.Dir, s.opened.Options); err != nil {
			return err
		}
	}
	if i < len(req.Puts) {
		p, ok := s.engine.(Putter)
		if !ok {
			return errors.New("this engine takes no documents between searches")
		}
		s.next++
		return p.Put(s.next-1, req.Puts[i])
	}
	return nil
}

// query carries out the i-th query of a request. Hits replace those in dst.
func (s *server) query(req *Request, i int, dst []Hit) (hits []Hit, count int, err error) {
	e, text, and := s.engine, req.Queries[i], req.Mode == "and"
	switch {
	case req.Mode != "or" && req.Mode != "and" || req.Filter != "":
		tree, ok := e.(Searcher)
		if !ok || req.Want == "topcount" {
			return dst, 0, fmt.Errorf("this engine answers no %q for queries that are not flat", req.Want)
		}
		q := Query{Text: text, Mode: req.Mode, Filter: req.Filter}
		if req.Want == "count" {
			count, err = tree.Matches(q)
			return dst, count, err
		}
		hits, err = tree.Search(q, req.K, dst[:0])
		return hits, 0, err
	case req.Want == "count":
		count, err = e.Count(text, and)
		return dst, count, err
	}
	return e.Top(text, and, req.K, req.Want == "topcount", dst[:0])
}

// run times one cell of the table.
func (s *server) run(req *Request) (Reply, error) {
	n := len(req.Queries)
	if n == 0 {
		return Reply{}, errors.New("no queries")
	}
	hits := make([]Hit, 0, req.K)
	var err error
	now := wallTime
	if req.Clock == "cpu" {
		now = CPUTime
	}
	for i, began := 0, now(); (now() - began).Seconds() < req.Warm; i = (i + 1) % n {
		if hits, _, err = s.query(req, i, hits); err != nil {
			return Reply{}, err
		}
	}
	if req.Reps == 0 {
		return Reply{}, nil
	}

	reply := Reply{NS: slices.Repeat([]int64{math.MaxInt64}, n)}
	if req.Reopen || len(req.Puts) > 0 {
		reply.Before = slices.Clone(reply.NS)
	}
	if req.Want != "top" {
		reply.Counts = make([]int, n)
	}
	if req.Hits {
		reply.Hits = make([][]Hit, n)
	}
	began := time.Now()
	for reply.Reps == 0 || reply.Reps < req.Reps && time.Since(began).Seconds() < req.Budget {
		for i := range n {
			if reply.Before != nil {
				start := now()
				if err := s.before(req, i); err != nil {
					return Reply{}, fmt.Errorf("before query %q: %w", req.Queries[i], err)
				}
				reply.Before[i] = min(reply.Before[i], (now() - start).Nanoseconds())
			}
			var count int
			start := now()
			hits, count, err = s.query(req, i, hits)
			reply.NS[i] = min(reply.NS[i], (now() - start).Nanoseconds())
			if err != nil {
				return Reply{}, fmt.Errorf("query %q: %w", req.Queries[i], err)
			}
			if reply.Counts != nil {
				reply.Counts[i] = count
			}
			if reply.Hits != nil && reply.Reps == 0 {
				reply.Hits[i] = append([]Hit{}, hits...)
			}
		}
		reply.Reps++
	}
	return reply, nil
}

var started = time.Now()

func wallTime() time.Duration { return time.Since(started) }

// ReadLines calls fn with each line of a file, without its end. The bytes are valid
// only during the call.
func ReadLines(path string, fn func(n int, line []byte) error) (int, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 1<<20), 1<<30)
	n := 0
	for ; lines.Scan(); n++ {
		if err := fn(n, lines.Bytes()); err != nil {
			return n, err
		}
	}
	return n, lines.Err()
}
