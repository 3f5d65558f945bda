// Package invert inverts partitions of the dictionary on a GPU, while an index is built: a Sorter
// is a segment.Sorter.
//
// The input is records of many chunks (segment.Chunk.Group): for each chunk, field and partition of
// the dictionary its terms, each with the bytes of its postings and, in fields with positions, of
// these. The output is records too, one for each term, in the order of terms. The GPU thus does the
// work of a dictionary on the CPU: it finds each term among all. It also prepares writing: it sorts
// the terms and gathers their postings. The device keeps nothing from one Sort to the next.
//
//	split    a thread for each piece: finds and reads its records
//	sort     by cell, then term, seven bytes of it a round: a radix sort of eight bits a pass,
//	         stable, so that the records of a term stay in the order of their documents. The
//	         next round takes the records whose term is longer and still equals another; English
//	         needs two or three rounds
//	gather   a warp for each record: writes the head of a term, joins its first posting to the
//	         previous ones, and copies the rest, and its positions behind those of earlier records
//
// All data is integers and bytes, so the result is exact. Terms are ordered by their bytes. Within a
// record, a chunk has sorted positions by document and place. Since records of a term keep the order
// of their documents, their positions only have to stand one behind the other.
//
// # The paper's method
//
// GPU indexers of Wei 2011 keep a B-tree for each prefix of three letters. A warp inserts the words
// of the text one by one and compares each with 31 keys at a time. With Options.Trees the package
// does so with records instead of sorting them, so it inserts a term once for all its postings in a
// chunk. Sorting is the default: no thread waits for the insertion of another, and a frequent
// prefix does not burden a single warp. It takes 0.4 of the time of trees.
//
// The division of labor is the paper's: popular partitions stay on the CPU (segment.Bulk.Offload),
// and the CPU encodes postings.
//
// # Memory
//
// A Sorter takes a device for itself. A byte of records needs up to 24 bytes of its memory, 36 with
// trees: a record has at least six bytes, eight with positions, and takes a hundred on the device
// besides its bytes, which are there twice. Room is therefore a 24th of the memory. Some 8 MiB of
// pinned host memory carry the copies.
package invert
