// Package postings keeps one posting list (the documents of a segment that hold a
// term, and how often) as blocks of bytes that a CPU and a GPU decode alike. It does
// no I/O and knows nothing of scores.
//
// A [Builder] takes postings in the order of documents and gives a [List] of what it
// has so far (View) or the stored form (Encode), which [Open] turns into a List again.
// A List is a directory in plain slices, for executors to search and to prune by, and a
// payload that is read block by block. A [Cursor] walks a List posting by posting.
// Merges read lists by a [Scan] and make the stored form by a [Writer], which takes blocks
// as they are where it can.
//
// # Blocks
//
// Documents are numbers below 1<<31, local to a segment, and rise strictly. A block is
// 128 postings, only the last one of a list may be shorter; an extent is 32 blocks. The
// payload is made of rows of 16 bytes: four 32-bit lanes, little endian. A block's
// documents come first, in one of three encodings, the smallest (there are two more, see
// Codecs):
//
//	packed   the gaps between documents, minus one, in as many bits as the widest takes.
//	         The first counts from the last document of the block before (from -1 in the
//	         first block).
//	bitset   one bit for each document from that one, plus one, to the block's last; the
//	         lowest bit of the first row is the first. Also taken where it ties with packed.
//	run      consecutive documents that end at the block's last: no rows at all.
//
// Then come the frequencies, minus one, packed; with 0 bits, so no rows, when all are 1.
//
// Packed values lie vertically: value i is in lane i mod 4, and the values of a lane
// follow one another from its lowest bit up, across rows. So n values of b bits take
// ceil(ceil(n/4)*b/32) rows, a full block exactly b, and one 128-bit register (or a warp
// for the block) unpacks four at a step. See Lemire and Boytsov, "Decoding billions of
// integers per second through vectorization" (2015), whose SIMD-BP128 this is.
//
// For example, documents 3, 4, 9 and 200 with frequencies 1, 1, 3 and 1 have gaps minus
// one of 3, 0, 4 and 190: 8 bits, of which each lane holds one value. A bitset over 201
// documents would take two rows. The frequencies minus one, 0, 0, 2 and 0, take 2 bits.
// The block is therefore packed/8 tf/2, two rows (the example goes on below):
//
//	03 00 00 00  00 00 00 00  04 00 00 00  be 00 00 00
//	00 00 00 00  00 00 00 00  02 00 00 00  00 00 00 00
//
// # Codecs
//
// Blocks in memory are as above with the codecs Packed and Interpolative, which differ in how
// chunks are stored (see Interpolative). A Builder whose Codec is PFor or Rice writes the gaps, or the frequencies, of a block of
// 128 postings in one of these where it takes fewer rows. Every block says for itself what
// it is, so readers need not know. As with packed, values are minus one. Both forms are made
// of parts that a warp decodes side by side, as in Ding, He, Yan and Suel, "Using graphics
// processors for high performance IR query processing" (2009), but each block for itself:
//
//	pfor     a header of 16 bits: b (5 bits), h (5 bits), number of exceptions minus one (6 bits)
//	         position of each exception among the values, one byte, rising
//	         a string of h bits for each exception: what it has above its low b bits, minus one
//	         zeros up to the end of a row
//	         b rows: the low b bits of all values, packed
//	rice     b rows: the low b bits of all values, packed
//	         a string of bits: for each value, as many zeros as it has above its low b bits, and a one
//	         zeros up to the end of a row but one byte, where b stands; these are 2 to 8 rows
//
// Strings begin at the lowest bit of a byte. An exception is a value of more than b bits; its
// high part is never 0, hence minus one. In rice, bit p of the string being the one of value
// i, the high parts up to that of i sum up to p - i: the same search for set bits that
// expands a bitset, and one subtraction, make documents of them.
//
// For example, the documents 1, 3, 5 and so on to 83, then 284, 286 and so on to 454, once
// each but the last, ten times. The gaps minus one are 1, but 200 for value 42. Packed, they
// take 8 rows; a bitset takes 4; pfor takes 2: header b=1, h=7, one exception; at 42 (2a); 99
// (63), as 200>>1 is 100; and the low bits, all ones but that of value 42:
//
//	e1 00 2a 63  00 00 00 00  00 00 00 00  00 00 00 00
//	ff ff ff ff  ff ff ff ff  ff fb ff ff  ff ff ff ff
//
// The frequencies have b=0, h=4 and one exception, at 127 (7f): 8, as 9 minus one; one row.
// Rice takes 3 rows for the documents, with b=1: the low bits as above; then 42 ones, 100
// zeros, a one for value 42, 85 ones; and 01 in the last byte:
//
//	ff ff ff ff  ff ff ff ff  ff fb ff ff  ff ff ff ff
//	ff ff ff ff  ff 03 00 00  00 00 00 00  00 00 00 00
//	00 c0 ff ff  ff ff ff ff  ff ff ff ff  0f 00 00 01
//
// # Impacts
//
// With every block, extent and list go its best pairs of frequency and length code (see
// [Impact]), not best scores: so bounds are exact whatever the similarity's parameters.
//
// # Stored form
//
// Numbers are unsigned varints (as in encoding/binary) unless a size is given. Best pairs
// are written in rising order (both rise): for each, (frequency - the one before - 1)<<1,
// plus 1 if another follows, and one byte, length code - the one before - 1; "before" the
// first are frequency 0 and code -1.
//
// A list of at most 128 postings (97 % of the terms of a real collection) is
// stored whole in its entry:
//
//	(postings - 1)<<1
//	last document<<1, plus 1 when all frequencies are 1
//	sum of the frequencies - postings - 1, unless all are 1
//	bit string: the other documents, then the other running sums of frequencies (see below)
//	best pairs; for a single posting, and when all frequencies are 1, just the length code, one byte
//	CRC-8 of all that, one byte
//
// This form is for storing only: Open makes a block of it. (Where frequencies sum up to
// 1<<31 more than there are postings, or to more than that, it says 1<<31 - 1 and the
// string has 32 bits for each frequency minus one.) The postings (3, once, code 10), (4, once,
// code 8) and (9, three times, code 12) make
//
//	04  12  01  1b  01 08 02 03  64
//
// three postings; 9, the last; frequencies that sum up to 3 + 2; the string; pairs (1, 8)
// and (3, 12); the checksum.
//
// The entry of a longer list is
//
//	(postings - 1)<<1 | 1
//	postings in a block - 1, one byte: 127, or less in a test; plus 128 for chunks by the codec interpolative
//	best pairs of the list
//	number of chunks
//	CRC-8, one byte
//
// and beside it lie the directory, in parts of 64 extents (the last has the rest), and the
// payload, in chunks. A directory part is a string of bits, lowest first, with zeros up to the
// end of a byte, and the CRC-32C of that, four bytes, low byte first:
//
//	k, 5 bits    of the average gap (the next number), how many it has
//	for each block
//	  number, k  last document - that of the block before - postings of the block
//	  byte       the low byte of the Encoding
//	  byte       the high byte
//	  for each best pair
//	    1 bit      1 if another follows
//	    number, 0  frequency - the one before - 1
//	    number, 6  length code - the one before - 1; (number, 1) from the second pair on
//
// A "number, k" is its k low bits; then, y being what is above them, plus 1, as many zeros as y
// has bits behind its highest, a one, and these bits (Elias' gamma code of y). A byte is the bit 1
// when it is that of the block before (0 in front of the first of a part); 010 when it is one
// more and 011 when one less, bits as they come; else 00 and 8 bits. What follows from all this is
// not stored: row offsets from the encodings, extents from their blocks. A chunk has whole
// extents. It takes extents until it has 32 KiB or more; so it is always below 64 KiB.
// Behind its rows is a guard of 16 bytes: 12 zeros and the CRC-32C of all before. The guard
// also lets wide loads read past the last row.
//
// The example, in blocks of 4: documents 3, 4, 9 and 200 as above, then 201 to 204 once
// each (a run, without rows), then 210 five times:
//
//	entry      11  03  01 08 03 03 02 07  01  7a
//	directory  a7 28 10 10 18 49 05 08        k = 7; block 0, to 200: 197, packed/8 tf/2, (1, 8) and (3, 12);
//	           20 00 2a 0b 33 80 51 01        block 1, to 204: 0, run tf/0, (1, 10); block 2, to 210: 5, run tf/3, (5, 20)
//	           0a fc 17 67
//	chunk      03 00 00 00  00 00 00 00  04 00 00 00  be 00 00 00
//	           00 00 00 00  00 00 00 00  02 00 00 00  00 00 00 00
//	           04 00 00 00  00 00 00 00  00 00 00 00  00 00 00 00
//	           00 00 00 00  00 00 00 00  00 00 00 00  68 58 e3 78
//
// # Interpolative
//
// A chunk by the codec Interpolative says the same in two thirds of the bytes; rows are made
// of it when it is loaded, the very ones that the packed codec has, so that searches are
// as fast and only the first read of a chunk takes longer. It is one string of bits,
// lowest bits first, zeros up to the end of a byte, and the CRC-32C of that. A
// block is two runs of numbers that rise strictly: its documents behind the last of the block
// before, and the running sums of its frequencies behind 0. Of each run the first and the
// last number are known, of the others the middle one comes first, then those in the middle
// of both halves, and so on (numbers 64; 32 and 96; 16, 48, 80 and 112 of a full block):
// number i between a, which is number j, and b, which is number k, is at least a + i - j and at
// most b - (k - i), and is written as what it is above the least, in as many bits as the
// most would take. So documents in a run and frequencies of 1 take no bits, and documents that
// crowd together few. This is the binary interpolative coding of Moffat and Stuiver,
// "Binary interpolative coding for effective index compression" (2000).
//
//	documents     the numbers between the last document of the block before (-1) and the block's last
//	frequencies   nothing when they take 0 bits by the encoding, else
//	              their sum - postings, in as many bits as postings * (1<<width - 1) takes
//	              the running sums between 0 and the sum
//	              (where the width is above 24: each minus one, in width bits)
//
// The example takes 4 bytes: in block 0, between -1 and 200, document 4 (of 1 to 198, in 8
// bits: 3), 3 (of 0 to 3: 3) and 9 (of 5 to 199: 4); frequencies of 2 bits, so their sum less 4, 2, in 4
// bits (12 = 4 * 3 at most), and of the sums 0, 1, 2, 5, 6 the one in the middle (of 2 to 4,
// in 2 bits: 0) and those beside it (of 1 to 1; of 3 to 5: 2). Block 1 takes no bits at
// all, block 2 only the sum, 5 less 1, in 3 bits. The entry has 83 instead of 03:
//
//	chunk      03 13 08 12  27 0b b8 dc
//
// testdata/format, which a test keeps true, has more. The form has no version of its own:
// the segment that stores it has one.
//
// # Variants
//
// Blocks are decoded, and sought in, by AVX-512 (as of Ice Lake and Zen 4), by AVX2, or by
// Go, whichever is the first that the processor has; see kernels.go. The build tag purego
// leaves Go only, GODEBUG=cpu.avx512f=off (and cpu.avx2=off) choose at run time, and tests
// run once for each through package internal/impl.
//
// # Damage
//
// Every stored value has a checksum, and what gets past it is still checked: decoding
// returns an error that matches corrupt.Err, or postings that rise, end where the
// directory says and have frequencies of at least 1. It never panics, and never makes room for more
// than a small multiple of the bytes it was given. Only calls that no caller may make
// (adding postings out of order, say) panic, with "BUG: ...".
package postings
