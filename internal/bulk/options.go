package bulk

import (
	"time"

	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/internal/live"
)

// Options configure a build. All of them are set.
type Options struct {
	Index       *live.Options // with Building, and background merges disabled
	Workers     int
	MemoryBytes int64  // of inverted documents before they are written as a segment
	BlockBytes  int    // of input that a worker takes at once
	OneSegment  bool   // merge the segments into one at the end
	Position    string // of the index
	GPU         *GPU   // nil for none

	Bad      func(error) error // decides whether a document that cannot be indexed ends the build
	Progress func(Progress)
}

// A GPU says how a build uses a GPU.
type GPU struct {
	Device      int
	Required    bool    // the build fails when the GPU cannot be used
	MemoryBytes int64   // of the GPU; 0 for what the build can need
	Share       float64 // of the work of indexing, in (0, 1]
	Trees       bool    // find terms by B-trees
	Find        accelerator.SorterFinder
	Failed      func(error) // called when the GPU is given up
}

// Progress says how far a build has come.
type Progress struct {
	Docs       int   // documents taken
	Bad        int   // documents left out
	TextBytes  int64 // of their strings that are indexed or stored
	InputBytes int64 // read, in the compressed size; 0 where a source cannot tell
	Segments   int   // written
}

// A Result says what a build has made.
type Result struct {
	Progress
	Replaced     int    // documents replaced by a later one with the same id
	WrittenBytes uint64 // to disk
	Times        Times
	GPU          bool   // a GPU was opened
	NoGPU        string // why it was not, or was given up later
}

// Times say where a build spent its time, by the clock of the goroutine that takes documents in
// order.
type Times struct {
	Wait  time.Duration // for documents to be analysed
	Index time.Duration // adding them to the dictionary, by all indexers
	GPU   time.Duration // waiting for the GPU
	Write time.Duration // sorting terms, encoding, tables and commits
}
