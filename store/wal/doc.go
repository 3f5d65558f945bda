// Package wal is the log of documents that Apply acknowledged and no sealed segment
// contains yet. It survives a crash at any moment, and it tells a damaged record from one
// that a crash cut short.
//
// A record is bytes with a sequence number. Numbers ascend without gaps. The package does
// not know what records mean. It knows the manifest that covers them by a checksum only.
//
// # Files
//
// A log is a folder of files 00000001.log, 00000002.log, and so on. Only the last file is
// written, and only at its end. The next file begins when a seal begins (Roll), when the last
// one would outgrow Options.FileBytes, and when a Confirm covers all of its records. Files
// whose records are all covered are removed, so the oldest file has the first record that
// is needed. Names with .tmp are unfinished files, which the next Start removes.
//
// Integers are little-endian, but for varints. Checksums are CRC-32C. A file
// begins with a header, which is durable before the file has its name:
//
//	+------------------------------------+----------------------------+
//	| magic "rifflog" (7B), version (1B) | id of the log, random (8B) |
//	+------------------------------------+----------------------------+
//	| nonce of the file, random (8B)     | number of the file (8B)    |
//	+------------------------------------+----------------------------+
//	| next record (8B)                   | end of the file before (4B)|
//	+------------------------------------+----------------------------+
//	| vouch (9B)                         | zero (7B)                  |
//	+------------------------------------+----------------------------+
//	| checksum of the 60 bytes above (4B)                             |
//	+-----------------------------------------------------------------+
//
// A file of a later version is ErrFormat and no damage: every version keeps the magic, the
// version and the checksum where they are. A new kind of frame, or a new flag, takes a new version.
//
// "End of the file before" is the offset up to which the previous file is part of the log.
// It was durable that far when this file was made. A vouch is a byte of flags (1: a manifest
// is in force, 2: one is announced) and the checksums of the two (4B each).
//
// # Frames
//
// Frames follow the header without gaps:
//
//	+-------------+-----------+------------+------------------------+
//	| magic (2B)  | kind (1B) | flags (1B) | length of payload (4B) |
//	+-------------+-----------+------------+------------------------+
//	| next record (8B)                                              |
//	+--------------------------------------+------------------------+
//	| records that begin in the frame (4B) | durable (4B)           |
//	+--------------------------------------+------------------------+
//	| checksum of the payload (4B)         | checksum of the header |
//	+--------------------------------------+------------------------+
//	| payload                                                       |
//	+---------------------------------------------------------------+
//
// The checksum of the header starts with the checksum in the file's header and the offset of
// the frame, so bytes of another file, or bytes that have moved, fail it. "Durable" is the
// offset up to which the file was durable when the frame was written. There are four kinds:
//
//	'R'  records
//	'D'  no payload: only its field durable matters
//	'M'  a vouch, which replaces the previous one
//	'E'  no payload: the log continues in the file with the next number
//
// The payload of 'R' is pieces of records. A piece is a varint and its bytes. The varint is
// twice the piece's length, plus one when its record continues in the next frame. Flag 1 says
// that the payload is compressed as an S2 block, of at most 256 KiB when decompressed. Flag 2
// says that the next frame belongs to the same Append, whose records are all present or all
// absent.
//
// In this example two records "one" and "two" are synced, and a manifest bbbb is announced.
// The first file is then (testdata/format prints all of it):
//
//	  0  726966666c6f6701 1111111111111111   magic, version 1, id of the log
//	 16  2222222222222222 0100000000000000   nonce, file 1
//	 32  0100000000000000 00000000           next record 1, no file before
//	 44  02 00000000 aaaa0000                none in force, aaaa announced
//	 53  00000000000000 dcd94f53             zero, checksum
//	 64  f1a7 52 00 08000000                 'R', no flags, payload of 8 bytes
//	 72  0100000000000000 02000000 40000000  next record 1, 2 begin, durable up to 64
//	 88  37cdb2ab fe22637f                   checksums
//	 96  066f6e65 0674776f                   "one", "two"
//	104  f1a7 44 00 00000000                 'D'
//	112  0300000000000000 00000000 68000000  next record 3, durable up to 104
//	128  00000000 82858a4a                   checksums
//	136  f1a7 4d 00 09000000                 'M'
//	144  0300000000000000 00000000 68000000
//	160  ff3b4d66 2e23ae2a
//	168  02 00000000 bbbb0000                bbbb announced
//
// # Writing
//
// One goroutine writes. Callers compress their records (Pack), queue them, and wait. While the
// disk syncs, others queue, and the next sync serves all of them. No lock is held while
// the disk works, and every wait has a context. The queue is bounded.
//
// Zeroes may follow the frames of the last file. They are written ahead so that most syncs
// need not make a new file size durable: up to the end of the last block of 4 KiB, and, after a
// sync of less than 64 KiB, an eighth of the file, at most 1 MiB.
//
// After a sync the goroutine writes a frame 'D', and only then wakes the callers. Every
// record whose sync was acknowledged is thus followed by a frame that says it was durable.
// That frame need not be durable itself. When a process is killed, the kernel still writes
// it. After a power failure it may be missing, like any frame that was not synced.
//
// A failed write or sync ends the Log. Nothing more is written, and nothing is synced again,
// because a failed sync leaves pages that count as written but are not. The next Start copies
// the last file, unless it ends with a frame that says that all of it is durable. Copying
// brings its contents to the disk and cuts a torn tail off.
//
// # Damage and torn tails
//
// Scan reads the frames of every file that is needed. In a file that another one follows, all
// frames must pass their checksums, up to the end that the next header states. In the last
// file, an offset without a whole frame means one of three things. If all bytes from it on
// are zero, the log ends. If any later frame says that the file was durable beyond the offset,
// the file is damaged: corrupt.Err, with file, offset and record. Otherwise a crash tore the
// tail: its bytes were never acknowledged, and the log ends with the last whole Append.
//
// File numbers reveal a missing file. If it is the last one, the frame 'E' of the previous file
// reveals it. Sequence numbers reveal records that are missing at the front, and records that
// the manifest covers but the log lacks at its end. All of these are corrupt.Err.
//
// One kind of damage is not detected: damage that takes the last records of a killed process
// and every later frame, such as a file cut short. A crash leaves the same bytes. After a
// clean end the store detects it by its file CLOSED.
//
// # Vouching
//
// The store's manifest is in a database whose own log ends at the first record that fails its
// checksum, for whatever reason. Before a manifest is committed, Announce therefore makes its
// checksum durable here, together with every record it may cover. Confirm follows the
// commit. A store whose manifest is neither the one in force nor the one announced has lost a
// manifest.
package wal
