package server

import (
	"context"
	"errors"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/client"
)

// A Cluster has indexes whose documents are divided over machines. A Server with Options.Cluster serves them; this
// package knows nothing of how they are divided. Methods are called concurrently. An error that matches one of the
// errors of this package, or is one of the engine's, is answered as such, and all others as failures of the server.
type Cluster interface {
	// Names returns the names of all indexes, in order.
	Names(ctx context.Context) ([]string, error)

	// Indexes describes all indexes, by name.
	Indexes(ctx context.Context) ([]client.Index, error)

	// Index returns an index. The error matches ErrNoIndex if there is none of the name.
	Index(ctx context.Context, name string) (Index, error)

	// Create makes an index. The error matches ErrExists if there is one of the name.
	Create(ctx context.Context, name string, o *client.NewIndex) error

	// Drop removes an index with all its documents. The error matches ErrNoIndex if there is none of the name.
	Drop(ctx context.Context, name string) error

	// Status says how the cluster is doing.
	Status(ctx context.Context) (*client.ClusterStatus, error)
}

// A Reader is an index as requests read it: an engine of this process, or an index of a Cluster.
type Reader interface {
	// Schema returns the schema in force.
	Schema() *riffle.Schema

	// Analyzer returns an analyzer by its name in the schema.
	Analyzer(name string) (analysis.Analyzer, error)

	// ParseQuery reads a text of the query language. Without ParseOptions.Fields it searches all texts.
	ParseQuery(ctx context.Context, text string, o *riffle.ParseOptions, r Reading) (riffle.Query, error)

	// Document returns a document. The error matches riffle.ErrNotFound if there is none with the id.
	Document(ctx context.Context, id string, r Reading) (riffle.Document, error)

	// Search ranks the documents that match a query.
	Search(ctx context.Context, q riffle.Query, o *SearchOptions) (*Found, error)

	// Count returns exactly how many documents match a query.
	Count(ctx context.Context, q riffle.Query, r Reading) (int, error)

	// Explain derives the score of a document.
	Explain(ctx context.Context, q riffle.Query, id string, r Reading) (*riffle.Explanation, error)
}

// An Index is an index of a Cluster.
type Index interface {
	Reader

	// Write carries out the changes of a batch, each for itself. The error is that of a batch of which nothing is
	// carried out. The token that it returns stands for the changes and for all that token stands for.
	Write(ctx context.Context, b *riffle.Batch, token string) (*Written, error)
}

// A Reading says what a read must see.
type Reading struct {
	Token        string // the changes that it stands for; see Written. Several tokens are joined by commas
	Linearizable bool   // all changes of the document that were acknowledged before
}

// SearchOptions configure a search. SearchOptions.After of riffle is not set.
type SearchOptions struct {
	riffle.SearchOptions
	After        client.Cursor
	AllowMissing bool // answer without the shards that nobody answers for
	Reading
}

// Found is the answer to a search.
type Found struct {
	*riffle.Result

	Missing []client.MissingShard // with SearchOptions.AllowMissing

	// Cursor returns the cursor of a hit. Where it is nil hits have their own.
	Cursor func(hit int) (client.Cursor, error)
}

// cursor returns the cursor of a hit.
func (f *Found) cursor(hit int) (client.Cursor, error) {
	if f.Cursor != nil {
		return f.Cursor(hit)
	}
	text, err := f.Hits[hit].Cursor.MarshalText()
	return client.Cursor(text), err
}

// Written says what has become of a batch.
type Written struct {
	Token    string  // stands for the changes that took effect
	Outcomes []error // of each change: nil, ErrUnknown, or why it did not take effect
}

// Errors of a Cluster.
var (
	ErrNoIndex     = errors.New("there is no such index")
	ErrExists      = errors.New("there is an index of this name")
	ErrUnsupported = errors.New("an index of a cluster does not have this")
	ErrRequest     = errors.New("the request cannot be carried out by this cluster") // such as a token of another index
	ErrTooLarge    = errors.New("the document is too large for the log")
	ErrBusy        = errors.New("the cluster is busy")
	ErrUnknown     = errors.New("it is not known whether the change takes effect")
	ErrUnavailable = errors.New("the cluster does not answer")
)

// clusterKinds are the problems that errors of a Cluster are answered with.
var clusterKinds = []struct {
	err  error
	kind kind
}{
	{ErrNoIndex, kindNoIndex}, {ErrExists, kindExists}, {ErrUnsupported, kindUnsupported}, {ErrRequest, kindRequest}, {ErrTooLarge, kindTooLarge},
	{ErrBusy, kindBusy}, {ErrUnknown, kindUnknown}, {ErrUnavailable, kindUnavailable},
}

// clusterFault returns the problem of an error of a Cluster, or nil.
func clusterFault(err error) *fault {
	for _, k := range clusterKinds {
		if errors.Is(err, k.err) {
			return k.kind.caused(err)
		}
	}
	return nil
}
