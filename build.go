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

	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/internal/bulk"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/gpu/link"
	"github.com/riffle-search/riffle/internal/live"
)

// BuildOptions configure Build. Nil is valid, and a field left at its zero value takes
// the default its comment names.
type BuildOptions struct {
	// Index are the options of the index, as for Open. Schema, analyzers and rank count while
	// documents are read, Merge where segments become one; Durability and GPU do not matter.
	Index Options

	// Workers is how many goroutines analyse documents, index them and write. The default
	// is GOMAXPROCS. The index does not depend on it.
	Workers int

	// MemoryBytes is how much memory the inverted documents may take before they are written
	// as a segment. On top come about 25 MB a worker, the window of a Zstandard file (up to
	// 128 MB), and what Go's collector leaves lying. More memory makes fewer segments.
	// The default is 256 MiB, the least 1 MiB.
	MemoryBytes int64

	// GPU makes a GPU invert part of the dictionary. The default, nil, uses none: a GPU saves at
	// most a tenth of the time (docs/GPU.md).
	GPU *BuildGPUOptions

	// OneSegment merges the segments into one at the end, if there are several. An order of
	// documents other than OrderByArrival (Index.Merge.Order) does so too.
	OneSegment bool

	// Position becomes that of the index, as if a batch with it had brought all documents: see Batch.Position.
	Position []byte

	// Bad is told of each document that cannot be indexed, in the order of the input: an
	// *InputError or a *DocumentError. If it returns nil the document is left out, otherwise
	// that error ends the build. The default is to end with the first.
	Bad func(err error) error

	// Progress is called again and again, by one goroutine, and should be quick.
	Progress func(BuildProgress)

	private privateBuild // knobs for tests
}

type privateBuild struct {
	blockBytes int
	runBytes   int64                    // MemoryBytes, below its least
	sorter     accelerator.SorterFinder // instead of a GPU
	trees      bool                     // have a GPU find terms by B-trees
}

// BuildProgress says how far a build is.
type BuildProgress struct {
	Docs       int   // documents taken so far
	Bad        int   // documents left out
	TextBytes  int64 // of strings in them that are indexed or stored
	InputBytes int64 // read so far, as compressed as it came; 0 where a source cannot tell
	Segments   int   // written so far
}

// BuildResult says what a build has made.
type BuildResult struct {
	BuildProgress
	Replaced     int    // documents whose id came again later: they are gone
	WrittenBytes uint64 // to disk; over the size of the index this is the write amplification
	Times        BuildTimes
	GPU          bool   // a GPU was there, as BuildOptions.GPU has asked
	NoGPU        string // why it was not, or was given up; nothing is lost by that
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
		d.private.blockBytes = bulk.BlockBytes
	}
	if d.private.runBytes == 0 {
		d.private.runBytes = d.MemoryBytes
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

// Build makes a new index in dir of all documents of a source, several times as fast as
// Apply would: nothing is logged, for a build that was interrupted is simply started
// over. Until it has ended well the directory is no index: Open returns ErrUnfinished,
// and only another Build makes something of it. When Build returns nil, the index is
// complete, synced and closed.
//
// Of several documents with one id the last stays, as with Apply. Documents lie in the
// order of the source, whatever the number of workers: the same source gives the
// same index.
//
// Errors are those of Open, those of the source, what BuildOptions.Bad returned, ctx.Err(), and
// fs.ErrExist if the directory holds an index that has documents. Before the first
// document nothing is made. More indexed fields than BuildOptions.Index.MaxFields allows end the build
// with a *DocumentError, which BuildOptions.Bad is not asked about.
//
// Package internal/bulk says how. With BuildOptions.GPU a GPU takes the place of indexers.
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

// bulk returns the options as package bulk wants them. It is for options with their defaults.
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

// BuildGPUOptions say how Build uses a GPU. Programs built without the tag cuda have none; see docs/GPU.md.
//
// A GPU inverts partitions of the dictionary, as in Wei 2011: those with most terms for their postings. It finds
// the terms, sorts them and gathers their postings; the CPU does the rest. A segment of the same documents is the
// same to the byte. But inverted documents take less memory then, so that fewer segments may come of them.
type BuildGPUOptions struct {
	// Device is the number of the GPU.
	Device int

	// Required makes Build fail when the GPU cannot be used, with ErrNoDevice and at once when there is no such GPU. By
	// default the CPU does everything then, and BuildResult.NoGPU says why; as always when a GPU is lost later.
	Required bool

	// MemoryBytes is how much memory of the GPU to take. The default, which is also the most that is taken, is
	// what BuildOptions.MemoryBytes can need, twelve times as much; or seven eighths of what is free. With less, the
	// GPU works in rounds.
	MemoryBytes int64

	// Share, in (0, 1], is how much of the work of indexing the GPU gets, by the sample that partitions are drawn
	// from. The default is 1, all.
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

// BuildTimes say where a build has spent its time, by the clock of the goroutine that takes documents in order. While it
// waits, and while it does anything else, others read, decompress and analyse.
type BuildTimes struct {
	Wait  time.Duration // for documents to be analysed
	Index time.Duration // adding them to the dictionary, by all indexers
	GPU   time.Duration // waiting for the GPU: until it is opened, and for its results, copies included
	Write time.Duration // sorting terms, encoding, tables and commits, by all workers; waiting for room in tables of stored documents
}

// A Source is where Build gets documents from: Documents, JSONLines, or a type of your own.
type Source interface {
	// Documents yields all documents, in an order that is always the same. A document must
	// not be changed after it has been yielded. An error comes with no document. It ends the
	// build, unless it is an *InputError or a *DocumentError: then it is about one document,
	// and BuildOptions.Bad decides. The iterator ends early when ctx does.
	Documents(ctx context.Context) iter.Seq2[Document, error]
}

// Documents are a Source of documents that are Go values:
//
//	riffle.Build(ctx, dir, riffle.Documents(snapshot.Documents("")), nil)
type Documents iter.Seq2[Document, error]

// Documents implements Source.
func (d Documents) Documents(context.Context) iter.Seq2[Document, error] {
	return iter.Seq2[Document, error](d)
}

// JSONLines are files with one JSON object a line, plain or compressed (gzip and zstd,
// told by their content). The member "id" of an object is the document's id, a string
// or an integer; every other member is a field:
//
//	{"id": "m1", "title": "Moby Dick", "text": "Call me Ishmael.", "year": 1851}
//
// Strings, numbers, booleans and arrays of these are values, members of objects get
// dotted names (a.b), null is no field.
type JSONLines struct {
	Files []string  // "-" is Stdin
	Stdin io.Reader // nil when no file is "-"

	// IDPrefix is put before every id, where those of several sources clash.
	IDPrefix string

	// Readers is how many files are read and decompressed at a time. With more than one,
	// documents come from these files by turns, some hundreds each, and lie so in the
	// index. The default is 1: file after file.
	Readers int
}

// An InputError says where in the input something stands that is no document, or one that
// cannot be indexed.
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
			fields, _ := d.Doc.(map[string]any) // none with an error
			if !yield(Document{ID: d.ID, Fields: fields}, err) {
				return
			}
		}
	}
}

// bulkSource returns a source as package bulk wants it.
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

// Reindex builds an index in dir from the stored documents of a snapshot, under other options: another
// schema, other analyzers, another static rank. It is how an index changes what documents are indexed by,
// which Options.AlterSchema cannot do. A number that becomes a keyword is its digits, and a text that becomes a
// number what it spells. A nil schema is that of the snapshot's index. Documents lie in the order of
// their ids. The position is that of the snapshot, unless BuildOptions.Position is another. The index that
// the snapshot belongs to stays as it is, and may go on being used; what it takes meanwhile is not in the
// new one.
//
// A field that is not stored would be lost, so Reindex refuses an index whose schema has one, and names it.
// Values that are not stored because the tag of a struct says so are lost. Errors are those of Build.
func Reindex(ctx context.Context, from *Snapshot, dir string, opts *BuildOptions) (*BuildResult, error) {
	schema := from.e.Schema()
	if err := reindexable(schema); err != nil {
		return nil, err
	}
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if o.Index.Schema == nil {
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

// reindexable reports the fields that documents have and snapshots lack.
func reindexable(s *Schema) error {
	if s.NoStore || s.Dynamic == DynamicIgnore {
		return errors.New("riffle: Reindex: the schema of the index does not store all fields (Schema.NoStore or Dynamic), so its documents cannot be indexed again")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Fields)) {
		if f := s.Fields[name]; f.NoStore && len(f.CopyFrom) == 0 {
			return fmt.Errorf("riffle: Reindex: field %q is not stored, so documents cannot be indexed again", name)
		}
	}
	return nil
}

// stored iterates over the documents as they are stored, with the rules of their values and the types of a schema.
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
