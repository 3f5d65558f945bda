// Package invert inverts partitions of the dictionary on a GPU, while an index is built: a Sorter is a segment.Sorter.
//
// What comes are records of many chunks (segment.Chunk.Group): for each chunk, field and partition of the dictionary
// the terms that it has there, each with the bytes of its postings. What goes are records again, one a term, in the
// order of terms. Between them lies what a dictionary does on the CPU, find each term among all, and what
// comes before writing, sort the terms and gather their postings. The device keeps nothing from one Sort to the next.
//
//	split    a thread for each piece: where its records begin, and what they are
//	sort     by cell, then term, seven bytes of it a round: a radix sort of eight bits a pass, stable, so that the
//	         records of a term stay in the order of their documents. A round goes on with the records whose
//	         term is longer and that are still like another; English is told apart in two or three
//	gather   a warp for each record: the head of a term's, its first posting fitted on to those before, the rest copied
//
// Everything is integers and bytes, so it is exact; the order of terms is that of their bytes.
//
// # The paper's way
//
// GPU indexers of Wei 2011 keep a B-tree for each prefix of three letters and insert one word of the text after the other, a
// warp each, comparing with 31 keys at a time. Options.Trees does so with records, that is, once for all postings
// that a term has in a chunk, and in place of sort. Nothing else changes. Sorting is the default: no thread waits for what
// another has inserted, and a frequent prefix is no more work for one warp than others.
//
// The division of labour is the paper's: popular partitions stay on the CPU (segment.Bulk.Offload), and postings are
// encoded there.
//
// # Memory
//
// A Sorter takes a device for itself. A byte of records takes up to 24 of its memory, 36 with trees: a record has at least six
// bytes, and takes a hundred on the device. So Room is a 24th of it. Some 8 MiB of pinned memory of the host carry bytes
// to and fro.
package invert
