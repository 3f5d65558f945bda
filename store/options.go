package store

import (
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/riffle-search/riffle/store/wal"
)

// Options configure one Open. The zero value and nil are good choices. Nothing here is stored.
type Options struct {
	// ReadOnly opens an existing store and never writes to it. Several readers share a directory.
	// While a writer has it open, Open returns ErrLocked.
	ReadOnly bool

	// CacheBytes bounds Pebble's cache of table blocks. Without cgo it is on the Go heap, where it
	// costs the garbage collector; riffle's own caches hold decoded lists and norms, so this one
	// need only hold dictionaries. The default is 16 MiB.
	CacheBytes int64

	// LentBytes bounds, about, what the process holds of mapped files: see SegmentReader.Lend. The
	// default is 64 MiB; with a negative number nothing is lent.
	LentBytes int64

	// MemTableBytes is the size of one of Pebble's memtables, which hold
	// manifests, deletions and named values until they are flushed; there may be
	// two. The default is 256 KiB.
	MemTableBytes int

	// LogFileBytes is where a file of the log ends and the next one begins. The default is that of
	// package wal.
	LogFileBytes int64

	// NewMeta are named values of the caller for a new store. The write that creates the store sets
	// them, so that no crash leaves a store without them. An existing store keeps its values.
	NewMeta map[string][]byte

	// FS is the file system, for tests that crash it. The default is the
	// operating system's.
	FS vfs.FS

	// Log receives Pebble's background errors that no call can return: failed flushes and
	// compactions, which it retries, and damaged files. One line a call, from any goroutine. nil
	// drops them.
	Log func(line string)

	// Failed is called when flushes or compactions keep failing: at the sixth failure in a row, and
	// then each time their number has doubled. It runs on a goroutine of its own, and may still do
	// so after Close. nil drops them.
	Failed func(error)

	logID uint64 // of the log of a new store, for tests; 0 stands for a random one
}

const (
	defaultCacheBytes    = 16 << 20
	defaultLentBytes     = 64 << 20
	defaultMemTableBytes = 256 << 10
)

// withDefaults returns a copy with every field set.
func (o *Options) withDefaults() Options {
	var c Options
	if o != nil {
		c = *o
	}
	if c.CacheBytes <= 0 {
		c.CacheBytes = defaultCacheBytes
	}
	if c.LentBytes == 0 {
		c.LentBytes = defaultLentBytes
	}
	if c.MemTableBytes <= 0 {
		c.MemTableBytes = defaultMemTableBytes
	}
	if c.FS == nil {
		c.FS = vfs.Default
	}
	if c.logID == 0 {
		c.logID = wal.NewID()
	}
	if c.Log == nil {
		c.Log = func(string) {}
	}
	if c.Failed == nil {
		c.Failed = func(error) {}
	}
	return c
}

// Block sizes. A block is the unit of compression and of the index, which favors large ones. Chunks of
// postings are 16 to 64 KiB each and get blocks of their own at any size. Large
// index blocks keep a table's index at one level up to some ten thousand data blocks.
const (
	dataBlockBytes  = 32 << 10
	indexBlockBytes = 256 << 10
)

// compressedBlockBytes is the block size of compressed tables: of terms, ids and places of documents.
// They are read a key at a time, and a block is the unit of decompression. An index of 256 MB takes
// 0.2 % more than with 32 KB.
const compressedBlockBytes = 8 << 10

// plainBlockBytes is the block size of the other tables, of which single values are read where they lie
// (Lend). A block is checked as a whole, so small values must not share it with many.
const plainBlockBytes = 8 << 10

// runBlockBytes is the block size of a run's tables (SegmentWriter.Table). Their values are large
// already, and are read one at a time, by Ceil and not by their keys: each gets a block of its own
// and there is no filter.
const runBlockBytes = 8 << 10

// filterBitsPerKey gives a false positive rate of 1 %.
const filterBitsPerKey = 10

// pebbleFormat is the format of the Pebble files, pinned so that a newer Pebble does not silently
// write what an older riffle cannot read. It provides what riffle relies on: excises
// (FormatVirtualSSTables), a WAL that tells most torn tails from damage (FormatWALSyncChunks;
// package wal tells the rest), checksums in table footers (FormatTableFormatV6).
const pebbleFormat = pebble.FormatTableFormatV6

// pebbleOptions are the options of the database, defaults filled in.
//
// EnsureDefaults copies the settings of level 0 to the levels below it. Without that call Pebble
// silently ignores for the other levels what only Levels[0] sets.
func (o *Options) pebbleOptions(fsys vfs.FS, l *logger) *pebble.Options {
	p := &pebble.Options{
		FS:                 fsys,
		CacheSize:          o.CacheBytes,
		MemTableSize:       uint64(o.MemTableBytes),
		FormatMajorVersion: pebbleFormat,
		Logger:             l,
		EventListener:      l.events(),

		// Statistics about tables steer compactions towards tombstones. Riffle has few, and the job
		// that collects them retries a damaged table again and again, without a pause.
		DisableTableStats: true,
	}
	p.Levels[0].BlockSize = dataBlockBytes
	p.Levels[0].IndexBlockSize = indexBlockBytes
	p.Levels[0].FilterPolicy = bloom.FilterPolicy(filterBitsPerKey)
	p.Levels[0].Compression = func() *sstable.CompressionProfile { return sstable.FastestCompression }
	// Compactions triggered by reads pay where several levels hold versions of a key. Segment keys
	// have one version each.
	p.Experimental.ReadSamplingMultiplier = -1
	p.EnsureDefaults()
	return p
}

// tableOptions are those of a segment's tables, before ingestion.
func tableOptions(p *pebble.Options, format sstable.TableFormat, compressed bool) sstable.WriterOptions {
	const bottom = len(p.Levels) - 1 // the level of an ingested table of fresh keys
	w := p.MakeWriterOptions(bottom, format)
	if compressed {
		w.Compression = sstable.BalancedCompression
		w.BlockSize = compressedBlockBytes
		return w
	}
	// Postings, norms and ranks are dense already, and are only read by existing keys: a filter
	// would never reject one.
	w.Compression = sstable.NoCompression
	w.BlockSize = plainBlockBytes
	w.FilterPolicy = pebble.NoFilterPolicy
	return w
}
