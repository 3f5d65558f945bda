// Package accelerator declares what an Engine expects of GPUs: an Accelerator that answers some of
// its searches, and a Sorter that inverts documents while an index is built. Package internal/gpu
// implements both; only programs built with the tag cuda have it. Without an Accelerator, every
// search runs on the CPU and uses none of this.
//
// The package knows plans, keys of posting lists, and the names of the options that users set. It
// must not know how a device is driven or how its answers come about, nor what a document, a query
// or a view of the index is.
package accelerator

import (
	"context"
	"time"

	"github.com/riffle-search/riffle/internal/dispatch"
	"github.com/riffle-search/riffle/segment"
)

// An Accelerator answers searches instead of the CPU, or together with it. Answers are the same, to
// the last bit. Its methods are safe for concurrent use.
type Accelerator interface {
	// Name identifies what runs a search, such as "gpu/maxscore".
	Name() string

	// Start begins to take searches, of an index with so many postings and documents. They may choose
	// the layout, and how memory is divided. Nothing but Drop and Close is called before.
	Start(postings, docs uint64)

	// Appetite is the number of concurrent searches that keeps the accelerator busy.
	Appetite() int

	// Submit begins a search, here or on the CPU: wherever it is estimated to end first, unless the
	// query demands one of them. Callers must call Ticket.Wait, which returns the answer.
	Submit(Query) (Ticket, error)

	// Warm fills the accelerator's memory with what a log of n queries needs most. query returns
	// the i-th query, and a function that releases its plan.
	Warm(ctx context.Context, n int, query func(i int) (q Query, done func(), err error)) error

	// Drop forgets the lists whose keys gone reports.
	Drop(gone func(key uint64) bool)

	// Stats returns current figures.
	Stats() Stats

	// Lists returns the n lists that queries want most of those in each device's cache, parallel to
	// Stats.Devices.
	Lists(n int) [][]CachedList

	// Model is the cost model, which keeps learning.
	Model() *Model

	// Close lets the CPU answer waiting searches, and releases the devices. Stats and Model can
	// still be called.
	Close() error
}

// A Query is a plan, what answers it on the CPU, and where it may run.
type Query = dispatch.Query

// A Ticket is a query that has been submitted.
type Ticket = dispatch.Ticket

// A Decision says where a query went and why.
type Decision = dispatch.Decision

// A Side is where a query may run, or where an answer comes from.
type Side = dispatch.Side

const (
	Anywhere = dispatch.Any
	OnCPU    = dispatch.OnCPU
	OnGPU    = dispatch.OnGPU
	OnBoth   = dispatch.OnBoth
)

// Stats are figures about an Accelerator.
type Stats struct {
	Devices  []DeviceStats
	Layout   Layout // of the devices: Copies or Ranges
	Searches Searches
}

// DeviceStats are figures about one device.
type DeviceStats struct {
	Info  Info
	Lost  error // why it can no longer be used
	Cache CacheStats
	Host  time.Duration // to make batches, on cores

	// From the first kernel of each batch to its last; with Options.Timed.
	Kernels time.Duration
}

// An Opener opens an Accelerator. Its error is ErrNoDevice when there is nothing to open.
type Opener func(Options) (Accelerator, error)

// A Sorter inverts documents while an index is built.
type Sorter interface {
	segment.Sorter
	Close() error
}

// SorterOptions say which device a Sorter gets, and how much of it.
type SorterOptions struct {
	Device      int
	MemoryBytes int64 // of the device; 0 takes all that is available
	Records     int64 // the most bytes to sort at a time
	Trees       bool  // find terms by B-trees, as in Wei 2011
}

// A SorterFinder looks for a device that can sort. It returns at once, with the number of bytes
// that fit on the device and the function that opens it, which takes a good part of a second.
type SorterFinder func(SorterOptions) (room int, open func() (Sorter, error), err error)
