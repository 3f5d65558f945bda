// Package store keeps an index on disk: the log of documents, the manifest, the keys of
// immutable segments, and deletions. It is the only importer of Pebble. It does not know
// what the bytes of segments and callers mean.
//
// The log has files of its own, in the folder "log". Package wal describes them and how
// they survive crashes and damage. Everything else is in Pebble.
//
// # Keys
//
// The first byte of a key names its space. Numbers are 8 bytes, big endian, so
// that keys sort by them.
//
//	'C' segment name updates of a column of a live segment, by the name of its field; sealed
//	'D' segment      deletions of a live segment (a bitmap), sealed
//	'F'              the manifest, sealed
//	'L' sequence     one record of the log, sealed; in format 1 only
//	'M' name         a named text: "format" is ours, others are the caller's; sealed
//	'S' segment key  a key of a segment, with a value that the segment seals
//
// The segment number comes before the kind of key, so all keys of a segment are one
// range. A segment is two tables of adjacent ranges, one compressed (kinds below 0x80) and
// one not, and perhaps a third, not compressed either, of kinds from 0xe0 on, which few searches
// read. They overlap with no table of another segment. A writer may cut one kind of key
// into more tables, which goroutines write in parallel, since Pebble compresses where keys
// are set (SegmentWriter.Table). Dropping a segment removes a few files from a list, and
// finding what a crash left over takes one seek a segment.
//
// # Sealed values
//
//	+-------------+---------+------------------------------------+
//	| version (1) | payload | CRC-32C of key, version, payload   |
//	+-------------+---------+------------------------------------+
//	      1 byte                       4 bytes, little-endian
//
// The checksum covers the key, so a value under the wrong key fails. A seal of a later version
// is ErrFormat, not damage: later versions keep the first byte and the checksum in place.
// Segments seal their own values.
//
// In the payload of the manifest all numbers are varints, and a byte string follows its
// length:
//
//	next segment number, last log record covered, info,
//	number of segments, then for each: number, info
//	number of sums, then for each: key, checksum in the seal of its value
//
// The sums cover all values in 'C', 'D' and 'M' except the format. By them the manifest reveals a
// value that is missing or too old. The payload of "format" is the version (a varint) and,
// from version 2 on, the id of the log (8 bytes, little-endian). This build reads versions
// 1 and 2; a later one is ErrFormat (format.Store). The version covers everything that this
// package writes and the form of the deletions. Callers that write updates must make builds that
// ignore 'C' refuse the store: package live does so by the version of the manifest's info. A change that older builds would misread needs
// a new version. The caller's values have versions of their own.
//
// In this example three documents ("one", "two", "three") were logged and the first two
// sealed into segment 1, with deletions "bitmap", the text "schema" and two keys. Pebble
// holds (testdata/format prints it):
//
//	44 0000000000000001            01 6269746d6170 c1c2ac55    deletions of segment 1
//	46                             01 02 02 00                 next 2, log 2, no info
//	                                  01 01 00                 one segment, 1, no info
//	                                  02 09 440000000000000001 c185b3ad05
//	                                     07 4d736368656d61     b49fb0a506
//	                                  0345395d
//	4d 666f726d6174                01 02 1111111111111111      meta "format": version 2,
//	                                  464546dc                 log 1111111111111111
//	4d 736368656d61                01 74657874 b40fac64        meta "schema"
//	53 0000000000000001 01676f     7465726d                    segment 1, compressed table
//	53 0000000000000001 8001       6c697374                    segment 1, plain table
//
// # Life of a segment
//
// NewSegment gives it a number that no segment has had. Its tables are written in the
// folder "building", outside Pebble, and Finish syncs them. Commit ingests them: Pebble links
// the files in and lists them, but no manifest names the segment yet. One atomic, synced
// write of the new manifest and deletions then makes it live. A crash before that write
// leaves an orphan, which Open removes. The log learns of the manifest twice. Before the
// write it announces the checksum, durably, together with all records that the manifest may
// cover. After the write it confirms the checksum and removes files whose records are all
// covered.
//
// Such a write also takes a dropped segment out of the manifest. An excise then cuts its
// tables out of Pebble's list, and the space is free once no iterator holds them. Range
// deletions would leave tombstones in the segments' part of the key range, and compactions
// that remove them would rewrite their neighbors. Only ingestion and excision touch that
// part, so segments go to Pebble's lowest level and stay there unchanged.
//
// Pebble's memtables, its WAL and its compactions thus handle only manifests, deletions, updates and
// named values. All but updates are kilobytes; those take some bytes for each updated document, and are
// written anew, for a column of a segment, with each seal after which it has new ones.
//
// # Locks
//
// One writer, or any number of readers, may have a directory open. The lock is a flock of
// the directory itself. It belongs to the open directory, not to a name or a process. It
// survives when the process reads or copies a file of the directory, follows a directory that
// is renamed, and stops a second Open in the same process. A reader needs only the right to
// list the directory, so it notices a writer even where it may write nothing.
//
// A writer also locks the file LOCK, as Pebble and stores of format 1 do, and a reader shares
// that lock. Losing it has no other effect. LOCK is the only lock on file systems without
// flock, and the only one that other machines see on NFS. A process loses it by opening and
// closing LOCK, so copy an open directory on NFS with Checkpoint.
//
// Windows has no flock. There LOCK is opened with a share mode: readers share it, a writer
// does not.
//
// # Crashes, damage, failures
//
// A crash loses nothing that was acknowledged and leaves nothing half-made. Tests stop a
// store before every single write of its life and of its recovery, and keep none, all or a
// random half of the unsynced bytes.
//
// Checksums find damage, Pebble's in its blocks and ours elsewhere. It is reported as
// corrupt.Err with the file and offset, or the key. The end of a log needs more. When the
// last records of Pebble's WAL or MANIFEST fail their checksum, Pebble assumes that a crash
// cut a write short, and drops them. The log of documents therefore vouches for the manifest:
// Pebble must have the last one that was confirmed, or the one announced after it. The log
// itself tells damage from a torn tail.
//
// After a clean end nothing may be missing. Close writes the file CLOSED, sealed like a value,
// with the number of the next log record and the checksum of the manifest. To salvage a
// store that this check refuses, remove the file.
//
// A store of format 1 can be read. The first StartWriting upgrades it to format 2, which older
// programs refuse. A crash at any point leaves one or the other, whole (see upgrade.go).
//
// Open has two phases. Load checks and changes nothing: it opens Pebble read-only, over a
// file system that refuses every change (fence), and reads format, manifest, the values that
// the manifest covers, the end that CLOSED promises, and every log record. StartWriting opens
// Pebble again, for writing. An Open that fails on what it finds therefore leaves the directory
// as it was, and a lost or damaged file can still be restored.
//
// A directory is a new store only if it is empty, except for files that operating systems put
// in any directory, or if it has the mark of an unfinished creation. The mark is the file
// UNFINISHED, which is created before all other files and removed after them. Checkpoint
// marks its copy in the same way until the copy is complete. An index that lacks a file which
// every index has is damaged. A directory of other files without an index is ErrFormat. Open
// removes only files with names that riffle and Pebble give.
//
// A failed write to Pebble's own lists cannot be undone, and a write that waits for a flush
// which keeps failing would wait forever. The Store is then failed: calls return ErrFailed,
// at once if they would hang, and reads continue. Close cuts the failed Pebble off from the
// disk, waits for running changes, and unlocks the directory. The next Open, in the same
// process or another, finds everything that was acknowledged. On a full disk Open returns an
// error instead of waiting.
//
// # What it is not for
//
// Get copies values; a caller that needs speed caches what it decodes, or takes what Lend gives. There are no
// snapshots, because segments do not change: a caller that keeps a segment from being dropped
// has a snapshot of it.
package store
