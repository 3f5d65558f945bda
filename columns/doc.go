// Package columns encodes the values of one field by document: for ranges, sorting, aggregations and
// scores. A column is bytes in a few parts, which are read in place. The package does no I/O and
// knows nothing of segments or queries.
//
// The package is internal to riffle: it makes no compatibility promise. The stored format that this
// comment specifies is promised: what one version has written, later ones read.
//
// A [Builder] takes documents in ascending order and gives out parts. [Open] reads them as a
// [Column], which loads the parts that are touched. A [Mix] chooses the [Kind] of a column for a set
// of values. A [Value] is a value outside of its column.
//
// # Keys
//
// Each value is a key, a uint64, whose unsigned order is that of the values:
//
//	kind   key
//	-----  ------------------------------------------------------------------
//	int    int64 with the sign bit flipped
//	uint   the number
//	float  float64 bits: all flipped when negative, else the sign bit. -0 is 0;
//	       all NaNs are one, behind +Inf
//	time   nanoseconds since 1970 UTC as an int64, with the sign bit flipped
//	bool   0 or 1
//	terms  the ordinal of a term in the dictionary of the column
//	place  the Morton code of a point (see package geo)
//
// Kinds are numbered 1 to 7. A column has one kind, which holds all its values exactly. So a column
// of integers and fractions is float when each of its integers is a float64, and else terms.
//
// # Terms
//
// The bytewise order of terms is that of values. Strings are their own bytes, except that 00 ff
// precedes an empty string and one that begins with 00. Other values begin with 00 and a letter;
// numbers are big-endian:
//
//	00 'b'  0 or 1
//	00 'n'  the float key of the greatest float64 that is not above the number (8 bytes); when the
//	        number is above that, by how much (2 bytes)
//	00 'p'  the key of a point (8 bytes)
//	00 't'  seconds since 1970 UTC with the sign bit flipped (8 bytes), nanoseconds (4 bytes)
//
// All integers of 64 bits and all float64 thus have one order. For example, 1<<53 + 1 is not a
// float64 and lies 1 above one that is:
//
//	00 6e  c3 40 00 00 00 00 00 00  00 01
//
// # Tiles
//
// A tile is 4,096 documents, of a segment's last tile fewer. It has its least and its greatest key,
// and a divisor that all distances from the least key have in common. The quotient of a key is its
// distance from the least, divided by the divisor; that of the greatest is the top. Documents without
// a value have no key. The keys of a document ascend, and may be equal.
//
// Packed numbers of width bits lie one behind the other, the first in the lowest bits of the first
// byte. Widths are 0 to 57 bits, or 64; a number up to top takes as many bits as top, or 64 from 58
// on. The payload of a tile is the following parts, each of which begins with a byte:
//
//	presence  which documents have a value
//	ends      if some document has several values, but not all with a value have as many: a bit for
//	          each value, set for the last one of its document
//	whole     of form rising: quotients 0, 128, 256 and so on, packed at the width of top
//	          of form table: the distinct quotients, ascending, packed at the width of top
//	          of form linear: where lines begin, less the lowest of these, packed at the width of the
//	          greatest
//	values    a number for each value, packed
//
// A tile has one of five forms:
//
//	0 constant  all quotients are 0: no values
//	1 packed    values are quotients
//	2 rising    quotients do not fall from document to document, and each has one: values are the
//	            distances to the quotient before, less the least such distance; 0 for whole ones.
//	            A tile that falls has, instead of quotients, their distances from the top
//	3 table     values are places in the table, in as many bits as the last place takes
//	4 linear    each 128 quotients have a line, which begins at or below the first of them and goes
//	            on by the slope of the tile from one to the next; none lies below it. Values are
//	            the distances from the line. Lines are numbers modulo 1<<64. Each document with a
//	            value has one
//
// and one of four presences:
//
//	0  all documents have a value: no bytes
//	1  a bit for each document, in whole words of 64 bits
//	2  the documents that have a value, ascending, in 12 bits each
//	3  the documents that have none, likewise
//
// The form packed allows to compare without decoding: the bounds of a range become quotients, or
// places in the table.
//
// # Parts
//
// A column of several parts has, in this order, the dictionary (parts 0, 1, and so on), the payload
// (1<<31, and so on) and the directory (1<<32 - 1). So all of it can be written in ascending order in
// one pass. A part of the payload is whole tiles, and ends with the first that makes it 64 KB or
// more. 64 zeros follow, because vector instructions read behind values. The offsets of tiles are not
// stored: they follow from the directory. Payload of at most 1,024 bytes lies in the directory, and
// so does such a dictionary.
//
// Whoever stores parts must seal them with checksums. Readers check the rest: damage that readers
// could trip over is an error, at Open for the directory and at the first touch for a tile.
//
// # Directory
//
// Numbers are unsigned varints (as in encoding/binary), "zigzag" means signed ones.
//
//	version, one byte: 2
//	kind, one byte
//	documents of the segment
//	tiles that have a value
//	dictionary, of kind terms (see below)
//	parts of the payload, or 0 when it lies in the directory; for each, its tiles - 1, and its
//	  CRC-32C, four bytes, little endian
//	tiles: for each
//	  head, one byte: form, 1 for linear; plus 4 when the tile follows the one before (the first: is tile 0);
//	    plus 8 when no document has several values; plus 16 when the divisor is that of the tile
//	    before (of the first: 1); plus 32 when a rising one falls, or the form is linear; plus 64 times the
//	    presence
//	  unless it follows: tiles between - 1
//	  unless all documents have a value: documents that have one - 1
//	  if some have several: twice (values - documents - 1), plus 1 when all have as many
//	  least key - that of the tile before (of the first: 0), modulo 1<<64, zigzag
//	  unless constant: top - 1
//	  unless constant, or the same: divisor - 1
//	  if rising: width of values, one byte; least distance
//	  if table: entries - 2
//	  if linear: width of values, one byte, plus 64 when quotients never fall, or 128 when they never
//	    rise; slope, zigzag; lowest beginning of a line, zigzag; how far above it the highest is
//	payload without the zeros, if there are no parts of it
//
// A constant tile leaves the divisor as it is.
//
// For example, the numbers 3, 7 and 15 (of kind uint) of documents 0, 1 and 3 of 4 make one part. The
// divisor is 4, the top is 3, so the quotients 0, 1 and 3 take 2 bits. All documents but 2 have a
// value:
//
//	02 02 04 01  00  cd 02  06 02 03  02 00 34
//
// They are: version, kind, 4 documents, 1 tile; no parts; packed, the first, single, another divisor,
// presence 3; 3 documents; least 3; top 3; divisor 4; the missing document; the quotients.
//
// # Dictionary
//
// A term is written behind another as the number of first bytes that they share and the rest, which
// may be empty:
//
//	the number shared, in the upper four bits, and the length of the rest, one byte; 15 stands for 15
//	  and more
//	number shared - 15, if it is 15 or more
//	length - 15, if it is 15 or more
//	the rest
//
// A block is 16 terms, the last of a part may have fewer. The first term of a block follows the empty
// term. Behind it is a number: how many last bytes of it all terms of the block share. They are left
// out of the others, each of which follows the one before without them.
//
// A part is blocks up to the first that makes it 16 KB or more, and then the place of each block: two
// bytes, little endian, or four when the blocks have 64 KB or more. The directory has
//
//	terms
//	parts, or 0 when the only one lies in the directory: its size, and the part
//	for each part: terms - 1; size; its bound, written behind that of the part before
//
// The bound of a part is above all terms before it, and not above its own. It is the shortest such
// bytes.
//
// # Version 1
//
// Directories of version 1 are read as well. They have no checksums and no form linear, and their
// dictionaries no number behind the first term of a block. Instead of twice (values - documents - 1)
// they have that once, and there are ends whenever some document has several values.
package columns
