// Package segment builds, reads, merges and checks segments: the immutable pieces
// that an index is made of.
//
// The package is internal to riffle: it makes no compatibility promise. The stored format that
// this comment specifies is promised: what one version has written, later ones read.
//
// Documents enter a Memory, which is searched through views while it grows. Merge turns one or
// several segments into a sealed one, written as sorted keys and values into a Sink; Open reads it
// back from a Source. Both are sorted maps of bytes, which package store keeps. Memory views and
// sealed segments are Readers, so queries and merges do not care which they have.
//
// A bulk load works differently. A Chunk is a run of documents that one of many goroutines inverts.
// A Bulk gathers chunks in memory, where they cannot be searched, and writes what Merge would
// write.
//
// # Format
//
// A key is a kind (1 byte) and the rest. Numbers in keys are big-endian, so that they sort;
// everywhere else they are varints or little-endian.
//
//	kind  rest of the key            value
//	----  -------------------------  ---------------------------------------------
//	01    field, term                posting entry; after a long list's, its number
//	02    page u32                   256 ids and their documents   (sealed)
//	03    chunk u32                  first ids of 1,024 pages      (sealed)
//	04    last document u32          stored bytes of some 16 KB    (sealed)
//	05    chunk u32                  places of 4,096 documents     (sealed)
//	7f                               meta: counts, fields, order   (sealed)
//	80    list u32, part u32         directory part of a long list
//	80    list u32, 1<<31 + chunk    payload chunk of a long list
//	81    field, chunk u32           length codes (sealed)
//	82    chunk u32                  ranks of 32,768 documents     (sealed)
//	83    field                      best pairs of each tile       (sealed)
//	85    column, part u32           part of a column of values    (sealed)
//	87    field                      checksums of length codes     (sealed)
//	88    chunk u32                  places, instead of 05         (sealed)
//	e0    list u32, part u32         directory part of positions
//	e0    list u32, 1<<31 + chunk    chunk of positions of a long list
//	e1    page u32                   positions of short lists      (sealed)
//	f0    run u32                    codes of stored documents, instead of 04 (sealed)
//	f0    80000000                   documents of each run         (sealed)
//	f0    80000001                   table of symbols of the codes (sealed)
//
// A field is a u16. From 65,535 on it is ffff and a u32. So is a column, which has a number of its own.
//
// Kinds below 80 are compressed, kinds from 80 on are dense, and those from e0 on are rarely read.
// Each of the three runs is written in ascending order. Fields are numbered within the segment, by
// name. A merge renumbers them, so no registry is needed. Lists are numbered in the order of their
// terms.
//
// The length codes of a field are those of all documents, by document, where at least half of
// the documents have the field or that form is shorter: in one value, or in one for each 65,536
// documents (see wholeNorms). Otherwise they are sparse: the documents that have the field, and
// their codes, for 65,536 of these in a value. Tiles in which no document has the field
// are left out. The size of a field thus follows its number of documents.
//
// A sealed value begins with the format version (1 byte) and ends with the CRC-32C of all
// bytes before. This build reads versions 4 to 7 and writes 7. A segment has one version as a
// whole, and a merge writes the newest. Posting entries, directory parts and chunks carry the
// checksums that package postings gives them.
//
// Ids are stored in their own order, so that they share prefixes and can be searched. The place of
// a document is the position of its id in this order.
//
// The layouts of values are specified beside the code that reads them: idPage, appendPlaces,
// storedBlock, codedRun, appendCodedLengths, appendNorms, appendSparseNorms, normSums, appendRanks, appendTiles, meta, splitEntry,
// and in package postings.
//
// # Features
//
// Version 6 grows by features. The meta value begins with the release of riffle that wrote the
// segment and with the features that the segment has beyond its version: for each a name in
// words, whether it is required, the kinds of its keys, and its own data (type feature). A
// build that lacks a required feature refuses the segment with ErrFormat, which names the
// feature and the release. It ignores an optional feature and its keys, and merges drop it.
// All later versions begin in the same way.
//
// Segments with long lists have the required feature pairsApart. Segments of more than 4,096
// documents have the required features smallPlaces and plainPlaces, and those of more than 65,536
// mostly wholeNorms, and with it the optional feature normSums.
//
// Merges of at least 16 MB of stored documents give them codes (codedDocs, required), unless blocks
// are clearly smaller.
// Segments with positions have the required feature positionsFeature, which says where they lie, and those
// with lists of pairs of words the required feature pairsFeature.
//
// Segments with columns of values have the required feature columnsFeature, which says of which fields.
// Package columns specifies their parts. One of them may be VersionColumn; then the segment has the
// required feature versionsFeature. If any value is a place, it has the required feature geoFeature.
//
// A codec, a block encoding, an order or a flag that older builds lack gets a required
// feature. Keys that older builds can ignore get an optional one.
//
// # Example
//
// Two documents, "a" with body "go go" (length 2) and stored bytes "x", and "b"
// with body "go" (length 1) and none:
//
//	010000676f      020200010101000038                        field 0, term "go": postings 0 (twice) and 1
//	0200000000      07020100016162000087d76776                two ids: "a", then "b", which are documents 0 and 1
//	0300000000      0701016165e92974                          one page, which begins with "a"
//	0400000001      07020100784cc5630c                        two documents: 1 byte and none
//	0500000000      070100645f3607                            places: a run of 2, from 0 on
//	7f              0703302e3100020200000104626f64790102010203258e6622
//	                                                          written by riffle "0.1", no features; 2 documents,
//	                                                          stored; 1 field: "body" with norms, 2 documents,
//	                                                          1 term, 2 postings, 3 tokens
//	81000000000000  070201fe74bac1                            length codes 2 and 1
//	830000          07000201010102fad5645c                    tile 0: best pairs (1, code 1), (2, code 2)
//
// # Order of documents
//
// A merge may renumber documents (Order). In order of best possible score, the bounds of
// tiles fall steeply, and executors stop by Tail, which bounds "everything from this tile on".
// In graph order, documents with common terms are neighbors, so gaps are small and blocks
// alike. Every order has tiles. An order changes an answer only in which of several equal
// scores comes first.
package segment
