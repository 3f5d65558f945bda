// Package wal is the log of documents: what Apply acknowledged and no sealed
// segment holds yet. It survives a crash at any moment, and it tells a record
// that was damaged from one that a crash cut short.
//
// A record is bytes with a sequence number. Numbers ascend without gaps. The
// package knows nothing of what records mean, nor of the manifest that covers
// them, which goes by a checksum.
//
// # Files
//
// A log is a folder of files 00000001.log, 00000002.log, and so on. Only the last
// one is written, and only at its end. It ends and the next one begins when a
// seal begins (Roll), when it would outgrow Options.FileBytes, and when a Confirm
// covers all of its records. Files whose records are all covered are removed; so
// the oldest file has the first record that is needed. Names with .tmp are files
// that are being made; the next Start removes them.
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
// "End of the file before" is the offset up to which the file with the number
// before is part of the log; it was durable that far when this one was made. A
// vouch is a byte of flags (1: there is a manifest in force, 2: one is announced)
// and the checksums of the two (4B each).
//
// # Frames
//
// Frames follow, one behind the other:
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
// The checksum of the header begins with that in the file's header and the offset
// of the frame, so bytes of another file, or that have moved, never check.
// "Durable" is the offset up to which the file was durable when the frame was
// written. There are four kinds:
//
//	'R'  records
//	'D'  no payload: there for its field durable
//	'M'  a vouch, which replaces the one before
//	'E'  no payload: the log goes on in the file with the next number
//
// The payload of 'R' is pieces of records. A piece is a varint, twice its length
// and one more when its record goes on in the next frame, then its bytes. Flag 1
// says that the payload is compressed as an S2 block, of at most 256 KiB when
// decompressed. Flag 2 says that the next frame belongs to the same Append, whose
// records are all there or not at all.
//
// Two records "one" and "two" are synced, a manifest bbbb is announced, and the
// first file looks as follows (testdata/format prints it all):
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
// One goroutine writes. Those who append queue their records, compressed before
// (Pack), and wait; while the disk syncs others queue up, and the next sync is for
// all of them. Nobody holds a lock while the disk works, and everybody who waits
// has a context. What is queued is bounded.
//
// Behind the frames of the last file there may be zeroes, written ahead so that
// most syncs need not make a new size of the file durable: as far as the last
// block of 4 KiB goes, and an eighth of the file, up to 1 MiB.
//
// After a sync the goroutine writes a frame 'D', and only then are those who wait
// told: so every record whose sync was acknowledged is followed by a frame that
// says that it was durable. That frame need not be durable itself. A process that
// is killed leaves it to the kernel, and after a power failure it may be missing,
// as may any frame that was not synced.
//
// A write or a sync that fails is the end of the Log: nothing more is written,
// and nothing is synced again as if nothing had happened, for the pages that a
// failed sync leaves behind count as written and are not. The next Start copies
// the last file, unless it ends with a frame that says that all of it is durable,
// so that what is found in it gets to the disk, and a torn tail is cut off.
//
// # Damage and torn tails
//
// Scan reads the frames of every file that is needed. In a file that another one
// follows, all must check, up to the end that the next header states. In the last
// file a place without a whole frame is one of three things. Where all is zero to
// the end, the log ends. When any frame behind it says that the file was durable
// beyond that place, it is damage: corrupt.Err, with file, offset and record.
// Otherwise a crash tore the tail: what lies there was never acknowledged, and the
// log ends with the last whole Append.
//
// A missing file shows by the numbers; if it is the last one, by the frame 'E'
// of the file before. Records that are missing at the front, or that the manifest
// covers and the log ends before, show by their numbers. All of these are
// corrupt.Err.
//
// What does not show: damage that takes the last records of a killed process and
// every frame behind them, such as a file cut short. A crash leaves the same.
// After a clean end the store knows better; see its file CLOSED.
//
// # Vouching
//
// The store's manifest lies in a database whose own log ends at the first record
// that does not check, whatever the reason. So before a manifest is committed,
// Announce makes its checksum durable here, and with it every record it may
// cover; Confirm follows the commit. A store that has another manifest than the
// one in force or the one announced has lost one.
package wal
