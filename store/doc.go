// Package store keeps an index on disk: the log of documents, the manifest, the
// keys of immutable segments, deletions. It is the only importer of Pebble, and
// it knows nothing of what the bytes mean that segments and callers give it.
//
// The log is files of its own, in the folder "log"; package wal says what is in
// them, and how they survive crashes and damage. Everything else is in Pebble.
//
// # Keys
//
// The first byte of a key names its space. Numbers are 8 bytes, big endian, so
// that keys sort by them.
//
//	'D' segment      deletions of a live segment (a bitmap), sealed
//	'F'              the manifest, sealed
//	'L' sequence     one record of the log, sealed; in format 1 only
//	'M' name         a named text: "format" is ours, others are the caller's; sealed
//	'S' segment key  a key of a segment, with a value that is the segment's affair
//
// All keys of a segment are one range. DESIGN.md gives kinds of keys (terms,
// lists, norms) a space each, and the segment number after it; with the number
// first, a segment is two tables, of neighbouring ranges, that overlap with no
// table of any other segment: one for what is worth compressing (kinds of key
// below 0x80), one for what is not. Or more: Pebble compresses where keys are
// set, so a writer may cut one kind of key into tables that goroutines write side
// by side (SegmentWriter.Table). To drop a segment is to strike a few files off a list;
// to find what a crash left over is one seek a segment.
//
// # Sealed values
//
//	+-------------+---------+------------------------------------+
//	| version (1) | payload | CRC-32C of key, version, payload   |
//	+-------------+---------+------------------------------------+
//	      1 byte                       4 bytes, little-endian
//
// A value found under a key that it was not written to fails its checksum too.
// A seal of a later version is ErrFormat and no damage: later versions keep the first
// byte and the checksum where they are. Segments seal their own values.
//
// The payload of the manifest, all numbers varints, byte strings with their
// length before them:
//
//	next segment number, last log record covered, info,
//	number of segments, then for each: number, info
//	number of sums, then for each: key, checksum in the seal of its value
//
// The sums are of all values in 'D' and 'M' but the format: the manifest vouches
// for them, so that one which is missing, or older than it should be, is noticed.
// The payload of "format" is the version (a varint) and, from version 2 on, the id
// of the log (8 bytes, little-endian). Versions 1 and 2 are read, a later one is
// ErrFormat (format.Store). It covers all that this package lays down, and the form
// of the deletions: a change that older builds would misread takes a new version. What
// the caller's values mean has versions of its own.
//
// After three documents ("one", "two", "three") were logged and the first two
// sealed into segment 1, with deletions "bitmap", the text "schema" and two keys,
// Pebble holds (testdata/format prints it):
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
// NewSegment gives it a number that no segment has had. Its tables are
// written in the folder "building", outside Pebble, and Finish syncs them. Commit
// ingests them: Pebble links the files in and lists them, and still nobody knows
// of the segment. Then one atomic, synced write makes it live: the new manifest
// and deletions. A crash before that write leaves an orphan, and Open removes
// orphans. The log hears of the manifest twice. Before the write it announces the
// checksum, durably, and with it all records that the manifest may cover. After the
// write it confirms the checksum, and files whose records are all covered go.
//
// A dropped segment leaves the manifest in such a write too. Its tables are then
// cut out of Pebble's list (an excise), and the space is free as soon as no
// iterator holds them. Range deletions would leave tombstones in the segments'
// part of the key range, and compactions that remove these rewrite what lies
// around. As it is, nothing but ingestion and excision ever touches that part:
// segments go to Pebble's lowest level and stay there as they are.
//
// So Pebble's memtables, its WAL and its compactions have only manifests,
// deletions and named values to do with: kilobytes.
//
// # Locks
//
// One writer, or any number of readers, may have a directory open. The lock is a
// flock of the directory itself. It belongs to the open directory, not to a name
// or a process. So it survives when the process reads or copies any file of the
// directory; it follows a directory that is renamed; it stops a second Open in
// the same process. A reader needs only the right to list the directory, so it
// notices a writer even where it may write nothing.
//
// Earlier versions of riffle locked the file LOCK, as Pebble does. A writer still
// takes that lock, to keep them out, and a reader shares it, to notice them; if
// it is lost, nothing else happens. LOCK is the only lock on file systems without
// flock, and the only one that other machines see on NFS. It is lost when the
// process that holds it opens and closes LOCK: copy a directory on NFS with
// Checkpoint while it is open.
//
// Windows has no flock. There LOCK is opened with a share mode: readers share it,
// a writer does not.
//
// # Crashes, damage, failures
//
// A crash loses nothing that was acknowledged and leaves nothing half-made; the
// tests stop a store before every single write of its life, and of its recovery,
// with none, all or a random half of the unsynced bytes kept.
//
// Damage is found by checksums, Pebble's of its blocks or ours, and reported as
// corrupt.Err with the file and offset, or the key. The end of a log needs more
// than that. When the last records of Pebble's WAL or MANIFEST do not check, Pebble
// takes that for a write that a crash cut short, and goes on without them. So the
// log of documents vouches for the manifest: Pebble must have the last one that
// was confirmed, or the one announced after it. The log itself tells damage from
// a torn tail.
//
// After a clean end nothing may be missing at all. Close leaves the file CLOSED
// behind, sealed like a value, with the number of the next log record and the
// checksum of the manifest. To salvage a store in spite of that, remove the file.
//
// A store of format 1 is read as it is. The first StartWriting makes it one of
// format 2, which older programs refuse; a crash at any point leaves one or the
// other, whole (see upgrade.go).
//
// Open has two phases. Load checks and changes nothing: Pebble is opened read-only,
// over a file system that refuses every change (fence), and format, manifest, the
// values that it vouches for, the end that CLOSED promises and every log record
// are read. StartWriting opens Pebble again, for writing. So an Open that fails
// over what it finds leaves the directory as it was, and a file that was lost or
// damaged can still be put back.
//
// A directory is a new store only when it is empty, but for files that operating
// systems leave in any directory, or when it has the mark of a creation that was
// cut short. The mark is the file UNFINISHED, which comes before all others and
// goes after them. Checkpoint marks its copy in the same way until the copy is
// complete. Where files of an index lack what every index has, that is damage. Where
// there are other files and no index, Open returns ErrFormat. Open removes only
// files of the names that riffle and Pebble give.
//
// A write to Pebble's own lists that fails cannot be taken back, and a write that
// waits for a flush that fails again and again would wait for ever. The Store is
// then failed: calls return ErrFailed, at once if they would have hung, and reads
// go on. Close cuts the failed Pebble off from the disk, waits for the changes
// under way, and unlocks the directory. What was acknowledged is there at the next
// Open, in the same process, too. On a full disk Open returns an error rather than wait.
//
// # What it is not for
//
// Values are copied on Get; a caller that wants speed caches what it decodes.
// There are no snapshots, because segments do not change: who keeps a segment
// from being dropped has one.
package store
