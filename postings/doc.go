// Package postings encodes a posting list: the documents of a segment that contain a term,
// and how often. A list is blocks of bytes that a CPU and a GPU decode alike. The package
// does no I/O and knows nothing of scores.
//
// The package is internal to riffle: it makes no compatibility promise. The stored format that
// this comment specifies is promised: what one version has written, later ones read.
//
// A [Builder] takes postings in document order. It returns a [List] of the postings so far (View)
// or the stored form (Encode), which [Open] turns into a List. A List is a directory in plain
// slices, which executors use for searching and pruning, and a payload that is decoded block by
// block. A [Cursor] walks a List posting by posting. Merges read lists with a [Scan] and write the
// stored form with a [Writer], which copies blocks verbatim where it can.
//
// # Blocks
//
// Documents are numbers below 1<<31, local to a segment, and rise strictly. A block has
// 128 postings; only the last block of a list may be shorter. An extent is 32 blocks. The
// payload consists of rows of 16 bytes: four 32-bit lanes, little endian. A block's
// documents come first, in the smallest of three encodings (Codecs adds two):
//
//	packed   the gaps between documents, minus one, each in as many bits as the widest.
//	         The first gap counts from the last document of the previous block (from -1
//	         in the first block).
//	bitset   one bit for each document, from the one after the previous block's last to
//	         this block's last; the lowest bit of the first row is the first. A tie with
//	         packed goes to bitset.
//	run      consecutive documents that end at the block's last: no rows.
//
// The frequencies minus one follow, packed. When all frequencies are 1 they take 0 bits and
// no rows.
//
// Packed values lie vertically: value i is in lane i mod 4, and the values of a lane follow
// one another from its lowest bit up, across rows. Thus n values of b bits take
// ceil(ceil(n/4)*b/32) rows, and a full block takes b. One 128-bit register unpacks four
// values at a time; a warp unpacks a block. This is SIMD-BP128 of Lemire and Boytsov,
// "Decoding billions of integers per second through vectorization" (2015).
//
// For example, documents 3, 4, 9 and 200 with frequencies 1, 1, 3 and 1 have gaps minus
// one of 3, 0, 4 and 190. They take 8 bits each, one value in each lane. A bitset over 201
// documents would take two rows. The frequencies minus one, 0, 0, 2 and 0, take 2 bits.
// The block is therefore packed/8 tf/2, two rows (continued below):
//
//	03 00 00 00  00 00 00 00  04 00 00 00  be 00 00 00
//	00 00 00 00  00 00 00 00  02 00 00 00  00 00 00 00
//
// # Codecs
//
// With the codecs Packed and Interpolative, blocks in memory are as above; the two differ in how
// chunks are stored (see Interpolative). With PFor or Rice a Builder writes the gaps, or the
// frequencies, of a block of 128 postings in one of the forms below where that takes fewer
// rows. Every block names its own encoding, so readers need not know the codec. As with packed,
// values are minus one. A warp decodes the parts of both forms in parallel, as in Ding, He, Yan
// and Suel, "Using graphics processors for high performance IR query processing" (2009), but
// here each block stands alone:
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
// Strings begin at the lowest bit of a byte. An exception is a value of more than b bits. Its
// high part is never 0 and is stored minus one. In rice, if bit p of the string is the one of
// value i, the high parts up to value i sum up to p - i. The search for set bits that expands
// a bitset, and one subtraction, therefore yield documents.
//
// For example, take documents 1, 3, 5 and so on to 83, then 284, 286 and so on to 454. Each
// occurs once, the last ten times. The gaps minus one are 1, except 200 for value 42. Packed
// takes 8 rows, a bitset 4, and pfor 2: header b=1, h=7, one exception; at 42 (2a); 99 (63),
// since 200>>1 is 100; and the low bits, all ones except that of value 42:
//
//	e1 00 2a 63  00 00 00 00  00 00 00 00  00 00 00 00
//	ff ff ff ff  ff ff ff ff  ff fb ff ff  ff ff ff ff
//
// The frequencies have b=0, h=4 and one exception, at 127 (7f): 8, which is 9 minus one. They
// take one row. Rice takes 3 rows for the documents, with b=1: the low bits as above; then 42
// ones, 100 zeros, a one for value 42, 85 ones; and 01 in the last byte:
//
//	ff ff ff ff  ff ff ff ff  ff fb ff ff  ff ff ff ff
//	ff ff ff ff  ff 03 00 00  00 00 00 00  00 00 00 00
//	00 c0 ff ff  ff ff ff ff  ff ff ff ff  0f 00 00 01
//
// # Positions
//
// A list may have positions: for each posting as many as its frequency, counted from 0 within the
// field of the document. They never fall; several may be equal. They are a stream of their own, in
// the same blocks, which nobody reads who does not ask for them ([Positions]).
//
// A block is written as deltas: for each posting its first position, then the distances between its
// positions. With k low bits, a delta is its low bits and as many zeros as the rest says:
//
//	5 bits         k, that of the shortest code of three near the logarithm of the mean delta
//	for each delta as many zeros as delta>>k, and a one
//	for each delta its k low bits
//	zeros up to the end of a byte
//
// This is Rice's code ("Some practical universal noiseless coding techniques", 1979), with the unary
// parts before the binary ones. A block counts from nothing before it, so a merge copies its bytes.
//
// For example, let the postings of three documents have the positions 2 and 9, 0, and 5, 6 and 30.
// The deltas are 2 and 7; 0; 5, 1 and 24. With k = 2 the code is 2 (5 bits); then 1, 01, 1, 01, 1
// and 0000001 for the quotients 0, 1, 0, 1, 0 and 6; and the low bits 2, 3, 0, 1, 1 and 0:
//
//	a2 0d 74 0a
//
// Memory keeps, of blocks that are needed twice, the positions themselves, one after the other in as
// many bits as the highest takes (positionRows). That takes a quarter more, and a sixth of the time.
//
// # Impacts
//
// Every block, extent and list has its best pairs of frequency and length code (see
// [Impact]). They are not scores, so bounds are exact for any parameters of the similarity.
//
// # Stored form
//
// Numbers are unsigned varints (as in encoding/binary) unless a size is given. Best pairs
// are written in rising order; frequency and length code both rise. Each pair is
// (frequency - the previous one - 1)<<1, plus 1 if another pair follows, and one byte, length
// code - the previous one - 1. The first pair follows frequency 0 and code -1.
//
// A list of at most 128 postings (97 % of the terms of a real collection) is stored whole in
// its entry:
//
//	(postings - 1)<<1
//	last document<<1, plus 1 when all frequencies are 1
//	sum of the frequencies - postings - 1, unless all are 1
//	bit string: the other documents, then the other running sums of frequencies (see below)
//	best pairs; for a single posting, and when all frequencies are 1, just the length code, one byte
//	CRC-8 of all that, one byte
//
// This form exists on disk only: Open makes a block of it. (Where the frequencies sum up to
// 1<<31 more than the number of postings, or to more than that, the sum is written as 1<<31 - 1
// and the string has 32 bits for each frequency minus one.) The postings (3, once, code 10),
// (4, once, code 8) and (9, three times, code 12) make
//
//	04  12  01  1b  01 08 02 03  64
//
// They are: three postings; 9, the last; frequencies that sum up to 3 + 2; the string; pairs
// (1, 8) and (3, 12); the checksum.
//
// With positions, a number that points to them comes before the checksum. The owner of the list
// stores their code, and says what the number means: [PointTo].
//
// The entry of a longer list is
//
//	(postings - 1)<<1 | 1
//	postings in a block - 1, one byte: 127, or less in a test; plus 128 for chunks by the codec interpolative
//	best pairs of the list
//	0, 0 (one 0, or none, where the directory has an earlier form: see below)
//	number of chunks
//	number of chunks of positions, if the list has some
//	CRC-8, one byte
//
// The directory, in parts of 64 extents (the last part has the rest), and the payload, in
// chunks, are stored apart from the entry. A directory part has the blocks of its extents, each
// extent a string of bits, lowest first, with zeros up to the end of a byte. The CRC-32C of that
// follows, four bytes, low byte first. An extent is
//
//	k, 5 bits    the number of bits of the average gap (of the next number)
//	for each block
//	  number, k  last document - that of the previous block - postings of the block
//	  byte       the low byte of the Encoding
//	  byte       the high byte
//	  with the codec interpolative, the bits that the block takes in its chunk:
//	    number, 9  for the first block of the extent
//	    number, 5  for others: the difference to the previous block, 0, -1, 1, -2, ... as 0, 1, 2, 3, ...
//	for each block
//	  for each best pair
//	    1 bit      1 if another follows
//	    number, 0  frequency - the previous one - 1
//	    number, 6  length code - the previous one - 1; (number, 1) from the second pair on
//
// A "number, k" is its k low bits and Elias' gamma code of y, where y is the rest, plus 1: as many
// zeros as y has bits after its highest, a one, and these bits. A byte is the bit 1 when it
// equals that of the previous block (0 before the first block of an extent); the bits 010, in
// this order, when it is one more; 011 when it is one less; else 00 and 8 bits. Row offsets
// follow from the encodings.
//
// If the list has more than one extent, the first part begins with a summary of all of them, so
// that a reader finds the blocks of one without reading the others. It is a string of bits, too:
//
//	k, 5 bits      four times: the number of bits of the average of each number below
//	for each extent
//	  number, k    last document - that of the previous extent - postings of the extent
//	  number, k    rows of its payload
//	  number, k    bits of its code, only with the codec interpolative
//	  number, k    bytes of its blocks in the directory
//	  best pairs   as above
//
// So a reader that looks for documents need not read the pairs. In an earlier form, with one 0 in the
// entry, the pairs of a block follow its other numbers. An old directory, of segments up to version 6,
// has them there, too, but no summary: a part is a single string in the form of an extent, and the bits
// of blocks are not stored.
//
// A chunk has whole extents. It takes extents until it has 32 KiB or more, so it is always below
// 64 KiB. A guard of 16 bytes follows its rows: 12 zeros and the CRC-32C of all bytes before. The
// guard also lets wide loads read past the last row.
//
// Positions have a directory and chunks, too, stored apart from the others. A chunk has codes of whole
// blocks, 4 zeros and a CRC-32C. It takes blocks until it has 32 KiB or more. A part of the directory is
// of 64 extents. Its first block begins a chunk. It is a string of bits as above, with a CRC-32C behind
// it, and says how many bytes each code has:
//
//	number, 0    the chunk in which the first block is
//	k, 5 bits
//	number, 9    bytes of the code of the first block
//	number, k    for others: the difference to the previous block, 0, -1, 1, -2, ... as 0, 1, 2, 3, ...
//
// The example, in blocks of 4, has documents 3, 4, 9 and 200 as above, then 201 to 204 once
// each (a run, without rows), then 210 five times:
//
//	entry      11  03  01 08 03 03 02 07  00 00 01  e5
//	directory  a7 28 10 10 00 04 10 80        k = 7; block 0, to 200: 197, packed/8 tf/2; block 1, to 204: 0, run tf/0;
//	           c2 0c 8c a4 52 89 51 01        block 2, to 210: 5, run tf/3; (1, 8) and (3, 12); (1, 10); (5, 20)
//	           c9 1b cb 1b
//	chunk      03 00 00 00  00 00 00 00  04 00 00 00  be 00 00 00
//	           00 00 00 00  00 00 00 00  02 00 00 00  00 00 00 00
//	           04 00 00 00  00 00 00 00  00 00 00 00  00 00 00 00
//	           00 00 00 00  00 00 00 00  00 00 00 00  68 58 e3 78
//
// # Interpolative
//
// The codec Interpolative stores a chunk in two thirds of the bytes. The second use of a block makes
// the rows of the packed codec, which stay in memory, so later searches are as fast. A chunk is one
// string of bits, lowest bits first, zeros up to the end of a byte, and the CRC-32C of that. A
// block is two strictly rising sequences: its documents, after the last
// one of the previous block, and the running sums of its frequencies, after 0. The first and
// the last number of each sequence are known. The middle one of the others is written first, then
// the middles of both halves, and so on (numbers 64; 32 and 96; 16, 48, 80 and 112 of a full
// block). Number i between a, which is number j, and b, which is number k, is at least
// a + i - j and at most b - (k - i). It is written as its distance from the least, in as many
// bits as the most would take. Documents in a run and frequencies of 1 thus take no bits, and
// clustered documents take few. This is the binary interpolative coding of Moffat and
// Stuiver, "Binary interpolative coding for effective index compression" (2000).
//
//	documents     the numbers between the last document of the previous block (-1) and this block's last
//	frequencies   nothing when they take 0 bits by the encoding, else
//	              their sum - postings, in as many bits as postings * (1<<width - 1) takes
//	              the running sums between 0 and the sum
//	              (where the width is above 24: each minus one, in width bits)
//
// The example takes 4 bytes and a checksum. Block 0, between -1 and 200, has document 4 (of 1 to
// 198, in 8 bits: 3), 3 (of 0 to 3: 3) and 9 (of 5 to 199: 4). Its frequencies have 2 bits, so
// their sum less 4, which is 2, takes 4 bits (12 = 4 * 3 at most). Of the sums 0, 1, 2, 5, 6 the
// middle one (of 2 to 4, in 2 bits: 0) and its neighbors (of 1 to 1; of 3 to 5: 2) follow. Block 1
// takes no bits. Block 2 takes only the sum, 5 less 1, in 3 bits. The entry has 83 instead of 03,
// and the directory has the bits of the blocks: 26, then 0 and 3.
//
//	directory  a7 28 10 10  d0 10 10 40  00 a6 0a 33  60 8e a4 52  89 51 01 d4  81 0e 2a
//	chunk      03 13 08 12  27 0b b8 dc
//
// testdata/format has more examples, which a test checks. The form has no version of its own;
// the segment that stores it has one.
//
// # Variants
//
// Decoding and seeking use AVX-512 (Ice Lake, Zen 4 and later), AVX2, or plain Go, the first
// that the CPU supports; see kernels.go. The build tag purego leaves only Go.
// GODEBUG=cpu.avx512f=off and cpu.avx2=off choose at run time. Package internal/impl runs tests
// once for each variant.
//
// # Damage
//
// Every stored value has a checksum, and values that pass it are checked again. Decoding
// returns an error that matches corrupt.Err, or postings that rise, end where the directory
// says, and have frequencies of at least 1. It never panics, and never allocates more than a
// small multiple of its input. Only misuse by a caller, such as adding postings out of order,
// panics, with "BUG: ...".
package postings
