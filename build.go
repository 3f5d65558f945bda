package riffle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/internal/bulk"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/gpu/link"
	"github.com/riffle-search/riffle/internal/live"
)

// BuildOptions configure Build. Nil is valid, and a field left at its zero value takes the default
// that its comment names.
type BuildOptions struct {
	// Index are the options of the index, as for Open. Schema, analyzers and rank apply while
	// documents are read, and Merge when segments are merged into one. Durability and GPU have no
	// effect.
	Index Options

	// Workers is the number of goroutines that analyse documents, index them and write. The default
	// is GOMAXPROCS. The index does not depend on it.
	Workers int

	// MemoryBytes is the memory of documents on their way: a quarter at most for those that are
	// analysed, the rest for those that wait, inverted, to be written as a segment. With many
	// workers and 256 MiB or more, analysis takes 18 MB a worker nevertheless. Add the window of a
	// Zstandard file (up to 128 MB), and garbage not yet collected. More memory makes fewer
	// segments, and below 256 MiB also saves time. The default is 256 MiB, the minimum 1 MiB.
	MemoryBytes int64

	// GPU lets a GPU invert part of the dictionary. The default, nil, uses none: a GPU saves at
	// most a tenth of the time (docs/GPU.md).
	GPU *BuildGPUOptions

	// OneSegment merges all segments into one at the end, which takes 24 bytes of memory for each
	// document. An order of documents other than OrderByArrival (Index.Merge.Order) implies it.
	OneSegment bool

	// Position becomes the position of the index, as if one batch with this Batch.Position had put
	// all documents.
	Position []byte

	// Bad is called for each document that cannot be indexed, in the order of the input, with an
	// *InputError or a *DocumentError. If it returns nil the document is left out; otherwise the
	// returned error ends the build. By default the first such document ends it.
	Bad func(err error) error

	// Progress is called repeatedly, by one goroutine, and should return quickly.
	Progress func(BuildProgress)

	private privateBuild // knobs for tests
}

type privateBuild struct {
	blockBytes int
	runBytes   int64                    // MemoryBytes, below its minimum
	sorter     accelerator.SorterFinder // instead of a GPU
	trees      bool                     // have a GPU find terms by B-trees
}

// BuildProgress says how far a build has come.
type BuildProgress struct {
	Docs       int   // documents taken
	Bad        int   // documents left out
	TextBytes  int64 // of their strings that are indexed or stored
	InputBytes int64 // read, in the compressed size; 0 where a source cannot tell
	Segments   int   // written
}

// BuildResult says what a build has made.
type BuildResult struct {
	BuildProgress
	Replaced     int    // documents replaced by a later one with the same id
	WrittenBytes uint64 // to disk; divided by the size of the index this is the write amplification
	Times        BuildTimes
	GPU          bool   // BuildOptions.GPU was set, and the GPU could be opened
	NoGPU        string // why it could not, or was given up later; the index is complete all the same
}

// DefaultBuildMemory is the default of BuildOptions.MemoryBytes.
const DefaultBuildMemory = 256 << 20

func (o *BuildOptions) withDefaults() (BuildOptions, error) {
	var d BuildOptions
	if o != nil {
		d = *o
	}
	if d.Workers == 0 {
		d.Workers = runtime.GOMAXPROCS(0)
	}
	if d.MemoryBytes == 0 {
		d.MemoryBytes = DefaultBuildMemory
	}
	if d.private.blockBytes == 0 {
		d.private.blockBytes = bulk.BlockBytesFor(d.MemoryBytes)
	}
	if d.private.runBytes == 0 {
		d.private.runBytes = bulk.RunBytes(d.MemoryBytes, d.Workers)
	}
	if d.Bad == nil {
		d.Bad = func(err error) error { return err }
	}
	if d.Progress == nil {
		d.Progress = func(BuildProgress) {}
	}
	switch {
	case d.Workers < 1:
		return d, fmt.Errorf("riffle: BuildOptions.Workers: must be at least 1, not %d", d.Workers)
	case d.MemoryBytes < 1<<20:
		return d, fmt.Errorf("riffle: BuildOptions.MemoryBytes: must be at least 1 MiB, not %d", d.MemoryBytes)
	case d.Index.ReadOnly:
		return d, errors.New("riffle: BuildOptions.Index.ReadOnly: an index cannot be built read-only")
	}
	if err := document.CheckPosition(string(d.Position)); err != nil {
		return d, err
	}
	if d.GPU != nil {
		if err := d.GPU.validate(); err != nil {
			return d, err
		}
	}
	return d, d.Index.Validate()
}

// Build makes a new index in dir of all documents of a source. It is several times as fast as Apply
// because it logs nothing: an interrupted build simply starts over. Until it has succeeded the
// directory is no index: Open returns ErrUnfinished, and only another Build can use it. When Build
// returns nil, the index is complete, synced and closed.
//
// Of several documents with one id the last remains, as with Apply. Documents are numbered in the
// order of the source, whatever the number of workers: the same source gives the same index.
//
// Build returns the errors of Open and of the source, what BuildOptions.Bad returned, ctx.Err(),
// and fs.ErrExist if the directory holds an index that has documents. Before the first document it
// creates nothing. More indexed fields than BuildOptions.Index.MaxFields end the build with a
// *DocumentError, without a call of BuildOptions.Bad.
//
// Package internal/bulk explains how. With BuildOptions.GPU a GPU takes the place of indexers.
func Build(ctx context.Context, dir string, source Source, opts *BuildOptions) (*BuildResult, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if lines, ok := source.(JSONLines); ok && lines.Readers < 0 {
		return nil, fmt.Errorf("riffle: JSONLines.Readers: must not be negative, not %d", lines.Readers)
	}
	r, err := bulk.Build(ctx, dir, bulkSource(ctx, source), o.bulk())
	if err != nil {
		return nil, err
	}
	return newBuildResult(r), nil
}

func newBuildResult(r *bulk.Result) *BuildResult {
	return &BuildResult{
		BuildProgress: BuildProgress(r.Progress), Replaced: r.Replaced, WrittenBytes: r.WrittenBytes, Times: BuildTimes(r.Times), GPU: r.GPU, NoGPU: r.NoGPU,
	}
}

// bulk returns the options as package bulk takes them. It expects options with their defaults set.
func (o *BuildOptions) bulk() bulk.Options {
	index := o.Index.withDefaults()
	text := index.live().Text
	index.Merge.Disabled, index.private.building = true, true
	if o.Index.Merge.Workers == 0 {
		index.Merge.Workers = o.Workers
	}
	b := bulk.Options{
		Index: index.live(), Workers: o.Workers, MemoryBytes: o.private.runBytes, BlockBytes: o.private.blockBytes, OneSegment: o.OneSegment, Position: string(o.Position),
		Bad: o.Bad, Progress: func(p bulk.Progress) { o.Progress(BuildProgress(p)) },
	}
	b.Index.Text = text
	if g := o.GPU; g != nil {
		b.GPU = &bulk.GPU{Device: g.Device, Required: g.Required, MemoryBytes: g.MemoryBytes, Share: g.Share, Trees: o.private.trees, Find: o.private.sorter}
		if g.Share == 0 {
			b.GPU.Share = 1
		}
		if b.GPU.Find == nil {
			b.GPU.Find = link.FindSorter
		}
		b.GPU.Failed = func(err error) {
			o.Index.Listener.gpuFailed(GPUEvent{Device: g.Device, Lost: true, Err: err})
		}
	}
	return b
}

// BuildGPUOptions say how Build uses a GPU. Programs built without the tag cuda support none; see
// docs/GPU.md.
//
// A GPU inverts partitions of the dictionary, as in Wei 2011: those with most terms for their
// postings. It finds the terms, sorts them and gathers their postings and positions; the CPU does
// the rest. A segment of the same documents is identical, byte for byte. But inverted documents take
// other memory while they wait, so a build may cut segments elsewhere.
type BuildGPUOptions struct {
	// Device is the number of the GPU.
	Device int

	// Required makes Build fail with ErrNoDevice when the GPU cannot be used, and at once when
	// there is no such GPU. By default the CPU then does everything, and BuildResult.NoGPU says
	// why. When a GPU is lost later, the CPU always takes over.
	Required bool

	// MemoryBytes is how much of the GPU's memory to take. The default is also the maximum: what
	// BuildOptions.MemoryBytes can need, twelve times as much; or seven eighths of what is free.
	// With less, the GPU works in rounds.
	MemoryBytes int64

	// Share, in (0, 1], is the GPU's share of the indexing work, estimated from the sample that
	// determines the partitions. The default is 1, all of it.
	Share float64
}

func (g *BuildGPUOptions) validate() error {
	switch {
	case g.Device < 0:
		return fmt.Errorf("riffle: BuildOptions.GPU.Device: must not be negative, not %d", g.Device)
	case g.MemoryBytes < 0:
		return fmt.Errorf("riffle: BuildOptions.GPU.MemoryBytes: must not be negative, not %d", g.MemoryBytes)
	case g.Share < 0 || g.Share > 1 || math.IsNaN(g.Share):
		return fmt.Errorf("riffle: BuildOptions.GPU.Share: must lie in (0, 1], not %v", g.Share)
	}
	return nil
}

// BuildTimes say where a build spent its time, by the clock of the goroutine that takes documents
// in order. Meanwhile other goroutines read, decompress and analyse.
type BuildTimes struct {
	Wait  time.Duration // for documents to be analysed
	Index time.Duration // adding them to the dictionary, by all indexers
	GPU   time.Duration // waiting for the GPU: until it is opened, and for its results, copies included
	Write time.Duration // sorting terms, encoding, tables and commits, by all workers; waiting for room in tables of stored documents
}

// A Source supplies Build with documents: Documents, JSONLines, or a type of your own.
type Source interface {
	// Documents yields all documents, always in the same order. A document must not be changed
	// after it has been yielded. An error comes without a document. It ends the build, unless it is
	// an *InputError or a *DocumentError: these concern one document, and BuildOptions.Bad decides.
	// The iterator ends early when ctx does.
	Documents(ctx context.Context) iter.Seq2[Document, error]
}

// Documents are a Source of Go values:
//
//	riffle.Build(ctx, dir, riffle.Documents(snapshot.Documents("")), nil)
type Documents iter.Seq2[Document, error]

// Documents implements Source.
func (d Documents) Documents(context.Context) iter.Seq2[Document, error] {
	return iter.Seq2[Document, error](d)
}

// JSONLines are files with one JSON object a line, plain or compressed (gzip and zstd, recognized
// by content). The member "id" of an object is the document's id, a string or an integer; every
// other member is a field:
//
//	{"id": "m1", "title": "Moby Dick", "text": "Call me Ishmael.", "year": 1851}
//
// Strings, numbers, booleans and arrays of these are values. Members of nested objects get dotted
// names (a.b). A null is no field.
type JSONLines struct {
	Files []string  // "-" is Stdin
	Stdin io.Reader // nil when no file is "-"

	// IDPrefix is put before every id, to keep the ids of several sources apart.
	IDPrefix string

	// Readers is how many files are read and decompressed at a time. With more than one, documents
	// come from these files in turns of some hundreds, and the index keeps that order. The default
	// is 1: file after file.
	Readers int
}

// An InputError locates input that is no document, or a document that cannot be indexed.
//
//	type InputError struct {
//		File   string
//		Line   int   // counted from 1
//		Column int   // in bytes, counted from 1; 0 for the line as a whole
//		Err    error // a *DocumentError if the line is well-formed; Unwrap returns it
//	}
//
// Its Error reads FILE:LINE:COLUMN: reason.
type InputError = bulk.InputError

// Documents implements Source. Build does not call it: it parses lines on all cores.
func (s JSONLines) Documents(ctx context.Context) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		for d, err := range bulk.JSONLines(s).Documents(ctx) {
			fields, _ := d.Doc.(map[string]any) // nil with an error
			if !yield(Document{ID: d.ID, Fields: fields}, err) {
				return
			}
		}
	}
}

// bulkSource returns a source as package bulk takes it.
func bulkSource(ctx context.Context, s Source) bulk.Source {
	if lines, ok := s.(JSONLines); ok {
		return bulk.JSONLines(lines)
	}
	return bulk.Documents(func(yield func(bulk.Document, error) bool) {
		for d, err := range s.Documents(ctx) {
			value := d.Value
			if value == nil {
				value = d.Fields
			}
			if !yield(bulk.Document{ID: d.ID, Doc: value}, err) {
				return
			}
		}
	})
}

// Reindex builds an index in dir from the stored documents of a snapshot, under other options:
// another schema, other analyzers, another static rank. It serves for changes to the indexing of
// fields that Options.AlterSchema cannot make. A number that becomes a keyword is its digits, and a
// text that becomes a number is the number that it spells.
//
// With a nil schema the new index takes that of the snapshot, with the newest rules of words.
// Documents are in the order of their
// ids. The position is that of the snapshot, unless BuildOptions.Position gives another. The index
// of the snapshot stays as it is and in service; the new index lacks its later changes.
//
// A field that is not stored would be lost, so Reindex refuses an index whose schema has one, and
// names it. Single values that a struct tag excludes from storing are lost. Errors are those of
// Build.
func Reindex(ctx context.Context, from *Snapshot, dir string, opts *BuildOptions) (*BuildResult, error) {
	schema := from.e.Schema()
	if err := restorable("Reindex", schema); err != nil {
		return nil, err
	}
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if o.Index.Schema == nil {
		schema.Words = analysis.AnyWords
		o.Index.Schema = schema
	}
	if len(o.Position) == 0 {
		if o.Position, err = from.Position(); err != nil {
			return nil, err
		}
	}
	r, err := bulk.Build(ctx, dir, bulk.Documents(from.stored(o.Index.Schema.internal())), o.bulk())
	if err != nil {
		return nil, err
	}
	return newBuildResult(r), nil
}

// restorable returns an error of a call if the schema has fields that are not stored.
func restorable(call string, s *Schema) error {
	if s.NoStore || s.Dynamic == DynamicIgnore {
		return fmt.Errorf("riffle: %s: the schema of the index does not store all fields (Schema.NoStore or Dynamic), so its documents cannot be indexed again", call)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Fields)) {
		if f := s.Fields[name]; f.NoStore && len(f.CopyFrom) == 0 {
			return fmt.Errorf("riffle: %s: field %q is not stored, so documents cannot be indexed again", call, name)
		}
	}
	return nil
}

// stored iterates over the stored documents, with the rules of their values and the types of a
// schema.
func (s *Snapshot) stored(as *document.Schema) iter.Seq2[bulk.Document, error] {
	return func(yield func(bulk.Document, error) bool) {
		fail := func(err error) { yield(bulk.Document{}, err) }
		s.walk("", func(v view, d live.Document) bool {
			values, err := v.storedValues(d)
			if err != nil {
				fail(err)
				return false
			}
			return yield(bulk.Document{ID: d.ID, Doc: values.As(as)}, nil)
		}, fail)
	}
}

// storedValues reads a document in a call of its own.
func (v view) storedValues(d live.Document) (document.Stored, error) {
	if err := v.e.index.Begin(); err != nil {
		return nil, err
	}
	defer v.e.index.End()
	return d.Segment.Stored(d.Number)
}
