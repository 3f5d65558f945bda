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
// there is nothing but the warm-up. The clock runs
// from the query's text to its answer: splitting at spaces, building the
// engine's query object, searching, and putting the ids and scores of the hits
// into an array. Ids are document numbers; they come from wherever the engine
// keeps the ids that its user gave (an id column, doc values, a fast field).
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
	"time"
)

// A Request is one line to an engine. Which fields matter depends on Op.
type Request struct {
	Op      string            `json:"op"` // build, open, df or run
	Dir     string            `json:"dir,omitempty"`
	Docs    string            `json:"docs,omitempty"`    // file of documents
	Options map[string]string `json:"options,omitempty"` // of the engine's own

	Terms []string `json:"terms,omitempty"`

	Mode    string   `json:"mode,omitempty"` // or, and
	Want    string   `json:"want,omitempty"` // top, topcount, count
	K       int      `json:"k,omitempty"`
	Queries []string `json:"queries,omitempty"`
	Warm    float64  `json:"warm,omitempty"`   // seconds
	Reps    int      `json:"reps,omitempty"`   // at most
	Budget  float64  `json:"budget,omitempty"` // seconds
	Hits    bool     `json:"hits,omitempty"`   // send the hits back
}

// A Reply is one line from an engine.
type Reply struct {
	Error string `json:"error,omitempty"`

	Version  string `json:"version,omitempty"`
	Docs     int    `json:"docs,omitempty"`
	Terms    int    `json:"terms,omitempty"` // distinct terms
	Segments int    `json:"segments,omitempty"`

	DF []int `json:"df,omitempty"` // documents that have each term

	NS     []int64 `json:"ns,omitempty"` // best time of each query
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

// Serve answers requests on standard input until it ends.
func Serve(e Engine) {
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
			reply, err = answer(e, &req)
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

func answer(e Engine, req *Request) (Reply, error) {
	switch req.Op {
	case "build":
		n, err := e.Build(req.Docs, req.Dir, req.Options)
		return Reply{Docs: n}, err
	case "open":
		return e.Open(req.Dir, req.Options)
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
		return run(e, req)
	}
	return Reply{}, fmt.Errorf("unknown op %q", req.Op)
}

// run times one cell of the table.
func run(e Engine, req *Request) (Reply, error) {
	n := len(req.Queries)
	if n == 0 {
		return Reply{}, errors.New("no queries")
	}
	hits := make([]Hit, 0, req.K)
	once := func(i int) (count int, ns int64, err error) {
		began := time.Now()
		if req.Want == "count" {
			count, err = e.Count(req.Queries[i], req.Mode == "and")
		} else {
			hits, count, err = e.Top(req.Queries[i], req.Mode == "and", req.K, req.Want == "topcount", hits[:0])
		}
		return count, time.Since(began).Nanoseconds(), err
	}

	began := time.Now()
	for i := 0; time.Since(began).Seconds() < req.Warm; i = (i + 1) % n {
		if _, _, err := once(i); err != nil {
			return Reply{}, err
		}
	}
	if req.Reps == 0 {
		return Reply{}, nil
	}

	reply := Reply{NS: slices.Repeat([]int64{math.MaxInt64}, n)}
	if req.Want != "top" {
		reply.Counts = make([]int, n)
	}
	if req.Hits {
		reply.Hits = make([][]Hit, n)
	}
	began = time.Now()
	for reply.Reps == 0 || reply.Reps < req.Reps && time.Since(began).Seconds() < req.Budget {
		for i := range n {
			count, ns, err := once(i)
			if err != nil {
				return Reply{}, fmt.Errorf("query %q: %w", req.Queries[i], err)
			}
			reply.NS[i] = min(reply.NS[i], ns)
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
