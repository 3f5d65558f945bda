// Package partition lets several devices hold one index, when it is too large for one (document
// partitioning; Huang 2017 gives each thread a range of documents, here each device has one).
//
//	set := partition.New(devices, partition.Options{TileDocs: devices[0].TileDocs()})
//	partials, err := set.Partials(ctx, plans) // as gpuexec.Executor.Partials
//
// A Set is one device to its caller. Every plan goes to all its devices. Each answers for its range
// of documents, with its part of every list, and the Set merges the best k of all of them.
//
// # Ranges
//
// Each segment is cut into one range for each device, of about as many words (cut.go). So the ranges
// of a segment stay as they are while the index grows, and what devices have cached of its lists
// remains of use. A segment of few documents goes to one device as a whole.
//
// # Parts of lists
//
// A range begins at a tile, but in the middle of some block of nearly every list. The part of a list
// (postings.Part) has a directory of its own, with documents counted from one tile before the range,
// and a first block that is written anew: strays in that tile fill it up. Kernels do not visit this
// tile (blockmax.Segment.Skip). All other blocks but the last are the list's own, so main memory
// holds the payload once; the directories take 12 bytes a block. A device caches, flattens and
// streams parts like any list, under the list's key.
//
// # Exactness
//
// A document is in one range, so the best k of all documents are among the best k of the ranges.
// Devices know a score that k documents of the whole index reach (blockmax.Plan.Least), but not what
// the others have found. Boolean trees and counts go to all devices as they are. A plan of mode AndOr
// runs as And first, a tree without its Else. Those that find fewer than k documents in all ranges
// together run once more, as Or or as their Else.
//
// What devices leave open is open in the merged answer, and the CPU completes it once, from the
// k-th best score of all. So does a range whose device has failed. There is no second turn after a
// first one that has left documents open: the CPU searches these, and then all documents if it finds
// too few.
package partition
