package riffle

import "github.com/riffle-search/riffle/internal/document"

// Limits of a document and a batch.
const (
	MaxIDBytes   = document.MaxIDBytes   // longest document id
	MaxNameBytes = document.MaxNameBytes // longest name of a field, with the dots, and of an analyzer
	MaxFields    = document.MaxFields    // most values of one document
	MaxTermBytes = document.MaxTermBytes // longest term, as in Lucene; a longer keyword is refused

	MaxPositionBytes = document.MaxPositionBytes // longest Batch.Position

	// MaxDocumentBytes bounds a document: the bytes of its strings and names, and 16 for each
	// value.
	MaxDocumentBytes = document.MaxDocumentBytes
)

// Default sizes and limits.
const (
	DefaultMemoryBytes     = 64 << 20
	DefaultLogBytes        = 64 << 20
	DefaultSegmentsPerTier = 5
	DefaultMaxSegmentBytes = 5 << 30
	DefaultMaxFields       = 10_000
	MaxMaxFields           = 1 << 16 // the maximum of Options.MaxFields

	MaxK = 10_000 // maximum of SearchOptions.K

	// MaxDocs bounds the documents of an index, including those deleted but not yet merged away.
	// Batches that are applied concurrently count together.
	MaxDocs = 4_000_000_000

	// MaxMemoryBytes bounds Options.MemoryBytes, so that a segment in memory cannot exceed the
	// documents that a segment may have.
	MaxMemoryBytes = 64 << 30
)

// NoTrigrams is the value of Options.TrigramBytes for no indexes of terms.
const NoTrigrams = -1

// DefaultAggregationBytes is the default of Options.AggregationBytes.
const DefaultAggregationBytes = 256 << 20

// DefaultCollapseBytes is the default of Options.CollapseBytes.
const DefaultCollapseBytes = 256 << 20

// DefaultMaxTerms is the default of Options.MaxTerms.
const DefaultMaxTerms = 1 << 20
