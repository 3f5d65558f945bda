package gpuexec

import (
	"fmt"
	"io/fs"

	"github.com/riffle-search/riffle/gpuexec/listcache"
)

// Options of New. Zero values stand for the defaults.
type Options struct {
	Algorithm Algorithm

	// Cache decides which lists are cached on the device. New sets its Region to all memory that is
	// not for batches. NoCache gives it none.
	Cache   listcache.Config
	NoCache bool

	// Leave leaves extents that are not resident to the CPU, instead of copying them for one batch.
	Leave bool

	// ColumnBytes is the memory for length codes, accepted documents and ranks: columns, which have a
	// value for each document of a segment. The default is a sixteenth of the device's memory. What does
	// not fit is copied with every batch: with Stream in parts, of which a batch needs those of the windows
	// that it works on, so that a segment may have any number of documents; otherwise whole, and plans are
	// refused if a column does not fit into half of BatchBytes either.
	ColumnBytes int64

	// FlatBytes is the memory for flat postings, the form that is scored fastest: 4 bytes a posting,
	// up to 5 of lists that also have bits for counts, and some for directories, in addition to the
	// blocks that they are made from. Other lists are decoded by every query that has them. The default
	// is a quarter of the device's memory; NoFlat makes it 0.
	FlatBytes int64
	NoFlat    bool

	// SmallDocs is the size of segments that are left to the CPU, if they are small beside the others
	// of a plan (small.go). 0 is none.
	SmallDocs uint32

	// BatchBytes is the memory of one batch, of which three are under way at a time. The default is
	// a sixteenth of the device's memory, at most 1 GiB. Each also pins half as much main memory, and
	// in addition columns of more than half of that, as they come: up to ColumnBytes; with Stream those
	// that HostBytes has no room for. What a batch has pinned for columns is kept for the next ones, as
	// long as it is about what they need (scratchPool).
	BatchBytes int64

	// Stream is for lists that exceed the memory of the device. They stay in main memory. Batches
	// process the documents window by window: what a window lacks is copied from main memory, and
	// all of it that can matter is scored as flat postings. FlatBytes is then ignored, and so is Cache,
	// but for its Policy, which chooses the lists that stay: VFB and Qtf by visits, QtfDf by visits for
	// the length.
	Stream bool

	// WindowBytes is the memory for what windows copy and make flat. The default is what is best for
	// the size of the index (DivideStream), at most 1,650 MiB. Until that is known it is at most a
	// quarter of the device's memory.
	WindowBytes int64

	// HostBytes is how much main memory Stream may pin for the lists of this executor: others pin
	// memory of their own, also for the same lists. Memory is pinned as lists are used, and takes
	// slightly more than on disk. What does not fit is copied with every batch. The default is 32 GiB.
	// Columns that come in parts are pinned in addition: length codes and ranks take up to an eighth of
	// it. Each batch also pins the columns it needs that are not kept.
	HostBytes int64

	// StaticLists restricts the lists that stay with Stream to those that Admit has chosen.
	StaticLists bool

	Shape Shape

	// Baselines has the kernels of Ranges, RangesWAND, RangesBMW and Rounds: baselines.Kernels.
	// Other algorithms need none.
	Baselines fs.FS

	// Timed makes Times measure how long kernels take, which costs some microseconds a batch.
	// Traced measures each kernel by itself, one after the other.
	Timed, Traced bool
}

// An Algorithm is a way to answer plans on a device. All give the same answer.
type Algorithm uint8

const (
	Auto       Algorithm = iota // MaxScore; for AND the shortest list or tiles, by the lengths of lists, or Exhaustive for short ones
	Exhaustive                  // tiles; every posting of every list is scored
	WAND                        // tiles, skipped by the bounds of lists
	BMW                         // tiles and blocks, skipped by the bounds of blocks
	MaxScore                    // the same, with lookups only in lists that are not essential
	Ranges                      // Huang 2017: a thread block a query, a range a thread; OR exhaustive
	RangesWAND                  // the same with WAND in each range
	RangesBMW                   // the same with block-max WAND
	Rounds                      // Wang 2017: AND in rounds along the shortest list, stopping early; OR as MaxScore
	algorithms                  // the number of algorithms
)

var algorithmNames = [algorithms]string{
	"auto", "exhaustive", "wand", "bmw", "maxscore", "ranges", "ranges-wand", "ranges-bmw", "rounds",
}

func (a Algorithm) String() string {
	if a < algorithms {
		return algorithmNames[a]
	}
	return fmt.Sprintf("Algorithm(%d)", uint8(a))
}

// byStrips reports whether tiles of flat lists are scored strip by strip.
func (a Algorithm) byStrips() bool { return a == Auto || a == Exhaustive || a == BMW || a == MaxScore }

// prunes reports whether bounds are used.
func (a Algorithm) prunes() bool { return a != Exhaustive && a != Ranges }

// byRanges reports whether each thread traverses a range of documents on its own.
func (a Algorithm) byRanges() bool { return a >= Ranges && a <= RangesBMW }

// isBaseline reports whether kernels of package baselines are needed.
func (a Algorithm) isBaseline() bool { return a >= Ranges }

// byLead reports whether and_lead follows the shortest lists of ANDs.
func (a Algorithm) byLead() bool { return a < Ranges && a != Exhaustive }

// bounds is which bounds are used.
func (a Algorithm) bounds() uint32 {
	switch a {
	case Exhaustive, Ranges:
		return noBounds
	case WAND, RangesWAND:
		return listBounds
	}
	return blockBounds
}

// ranges is what ranges.cu does for OR.
func (a Algorithm) ranges() uint32 {
	switch a {
	case RangesWAND:
		return rangeWAND
	case RangesBMW:
		return rangeBMW
	}
	return rangeOr
}

// A Shape describes how kernels are laid out on a device. Zero values stand for the defaults, which
// are for an H200. Tests take smaller ones, since they run on an emulator.
type Shape struct {
	// TileShift: a tile has 1<<TileShift documents. The default, 14 (16,384 documents), takes 64
	// KiB of shared memory. What is left to the CPU is rounded to tiles of blockmax.TileDocs, so
	// smaller tiles leave it more documents than they must.
	TileShift uint32

	// StripTiles: the queries of a batch over flat lists go strip by strip if they have at least this
	// many tiles in all for each multiprocessor; else block by block. The default is 96: on an H200,
	// where both are equally fast with 64 to 143. They go strip by strip in any case if a query has 512
	// tiles on average, or if not all blocks are resident. -1 lets all go by strips.
	StripTiles int

	// UnboundedPostings: ANDs that go block by block do without bounds if all of their blocks are
	// resident, there are several in a batch, and they have at most this many postings on average, 1.25
	// million each, and 40 million in all. The default is 300,000: on an H100 batches of 16 and 256 were 1.1 to 1.6 times as
	// fast without, with 1,470 to 149,000 postings. -1 is none.
	UnboundedPostings int

	// SharedDepth: the warps of a thread block share a block of the shortest list of an AND if its documents
	// fall into at least this many blocks of the other lists, and that is more work than a warp has on
	// average. The default is 8; -1 shares none. LeadThreads must be 64 or 128.
	SharedDepth int

	// AppendHits: queries over flat lists that go by strips and ask for at least this many hits append
	// what they find to lists without a lock. A batch with such a query goes by strips if its queries
	// have 100,000 postings on average. On an H200 they were 1.4 to 6 times as fast by strips as by
	// blocks, with 56,000 and 3.7 million postings and k = 100 and 1,000. The default is 64; -1 is none.
	AppendHits int

	// AppendRoom is how many keys such a list has room for, for each requested hit: 8.
	AppendRoom int

	// WholeStrips: a tile in which at least this many strips can win is scored as a whole instead of
	// strip by strip; 12.
	WholeStrips int

	TileThreads  int // threads of a block that works on a tile; 512
	LeadThreads  int // threads of a block that works on the shortest list of an AND; 128
	RangeThreads int // P of Huang's ranges, threads of a query; 64, the paper's best

	// StageLengths is how many blocks of postings a tile must have for the length codes of its
	// documents to be loaded into shared memory in advance; 0 for never. They take two bytes for
	// each document of a tile.
	StageLengths uint32

	// WindowTiles is how many tiles of a segment a window has, with Options.Stream. They must have
	// at least 4,096 documents in all. The default is 128, or what DivideStream chooses.
	WindowTiles int

	// WholeColumns is how many bytes of length codes, accepted documents and ranks a batch brings whole,
	// with Options.Stream; those that exceed it, and are not on the device, come in parts, one for each
	// window. The default is a sixteenth of Options.BatchBytes; -1 is none.
	WholeColumns int

	// StepWindows is how many windows a batch processes at a time if its lists are few enough, with
	// Options.Stream. The default is 3.
	StepWindows int

	// Tracks is how many batches run at a time, with Options.Stream, if a part of the memory of
	// windows is enough for each. The default is 2.
	Tracks int

	// Readers is the share of multiprocessors, in per cent, where a thread block reads the host's
	// memory, with Options.Stream. More concurrent reads arrive no sooner, and delay everything else
	// on the link, including the driver's commands. The default is 50.
	Readers int

	// Multiprocessors is the device's number of them. Persistent kernels have a multiple of it in
	// blocks.
	Multiprocessors int
}

func (s Shape) withDefaults() Shape {
	set := func(v *int, to int) {
		if *v == 0 {
			*v = to
		}
	}
	if s.TileShift == 0 {
		s.TileShift = 14
	}
	set(&s.StripTiles, 96)
	set(&s.UnboundedPostings, 300_000)
	set(&s.SharedDepth, 8)
	set(&s.AppendHits, 64)
	set(&s.AppendRoom, 8)
	set(&s.WholeStrips, 12)
	set(&s.TileThreads, 512)
	set(&s.LeadThreads, 128)
	set(&s.RangeThreads, 64)
	set(&s.WindowTiles, 128)
	set(&s.StepWindows, 3)
	set(&s.Readers, 50)
	set(&s.Tracks, 2)
	set(&s.Multiprocessors, 132)
	return s
}

// appends reports whether queries for k hits append what they find, if they can go strip by strip.
func (s Shape) appends(k int) bool { return s.AppendHits > 0 && k >= s.AppendHits }

// tiles is the number of tiles of a segment with docs documents.
func (s Shape) tiles(docs uint32) uint32 {
	return uint32((uint64(docs) + 1<<s.TileShift - 1) >> s.TileShift)
}

// stripThreads are the threads of a block that works by strips (kernels/strips.cu), each warp on
// its own.
const stripThreads = 128

// stripShared is the dynamic shared memory of such a block: for each warp 64 keys and as
// many candidates, and for each document of a strip a score and a mark.
func (s Shape) stripShared() int {
	return stripThreads / 32 * (64*(8+2) + 5*max(1<<s.TileShift/tileStrips, 16))
}

// probeThreads are the threads of a block that probes (kernels/probe.cu), each warp on its own.
// probeShared is the dynamic shared memory of such a block: for each warp 64 keys and 64 documents
// with their scores.
const (
	probeThreads = 128
	probeShared  = probeThreads / 32 * 64 * (8 + 8)
)

// flatAdders are the warps of a thread block that add the postings of flat lists, tile by tile
// (kernels/or_flat.cu). flatSlots are the chunks that each has in flight. One more warp is the
// scout.
const flatAdders, flatSlots = 7, 3

const flatThreads = 32 * (flatAdders + 1)

// flatShared is the dynamic shared memory of such a block: keys, jobs (tiles to come), unread
// words, candidates, and for each document of a tile a score and a bit.
func (s Shape) flatShared() int {
	job := 32 + 32*flatAdders + 16*maxStripTerms
	return 64*8 + (flatSlots+1)*job + 16 + 4*32 + 2*1024 + 4<<s.TileShift + 4*max(1, 1<<s.TileShift/32)
}

// roundedAdders are the warps of a thread block that add rounded sums (kernels/or_rounded.cu).
// roundedAhead are the chunks that each has in flight. Two more are the scout and the janitor.
const roundedAdders, roundedAhead = 7, 3

const roundedThreads = 32 * (roundedAdders + 2)

// roundedShared is the dynamic shared memory of such a block: keys, gates, portions of chunks,
// candidates, and for each document of two tiles half a word.
func (s Shape) roundedShared() int {
	return 64*8 + 8*26 + 8*(32+16*40) + 16 + 3*2*512 + 2*max(4, 2<<s.TileShift)
}

// rangeBlocks is how many thread blocks work on Huang's ranges of that many queries. Each thread
// has a heap of its own, so there are only as many as a device runs at once.
func (s Shape) rangeBlocks(queries int) int { return min(queries, 8*s.Multiprocessors) }

// tileShared is the dynamic shared memory of a thread block that works on a tile: the pool, the
// lists of two tiles, a score for each document, and two bit sets.
func (s Shape) tileShared(tileRoom, listRoom int) int {
	bytes := fixedBytes + 8*tileRoom + 2*tileListBytes*listRoom + 4<<s.TileShift + 2*4*max(1, 1<<s.TileShift/32)
	if s.StageLengths > 0 {
		bytes += 2 << s.TileShift
	}
	return bytes
}
