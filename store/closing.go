package store

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// closingFile is a file in the directory of a closed store. It says what a later Open must find.
//
// Pebble takes damage at the end of its WAL or of its MANIFEST for a last write that a crash cut
// short. It continues silently, and everything after the damage is lost. After a crash nothing else
// is possible. After a Close there was no crash, and the file says so: it has the checksum of the
// manifest, which vouches for everything but the log, and the number of the next log record. The
// file is removed before anything is written again.
const closingFile = "CLOSED"

// closingKey stands for a key in the seal of the file.
var closingKey = []byte(closingFile)

// closing writes the file of a store that is being closed.
func (s *Store) closing() error {
	if err := s.logError(s.wal.Close()); err != nil {
		return err
	}
	return s.writeClosing(s.dir, s.NextSeq())
}

// writeClosing writes the file into dir. The next Open must find everything that dir holds now.
func (s *Store) writeClosing(dir string, nextSeq uint64) error {
	payload := binary.AppendUvarint(nil, nextSeq)
	payload = binary.AppendUvarint(payload, uint64(s.manifestSum))
	data := make([]byte, len(payload)+sealBytes)
	sealInto(data, closingKey, payload)
	return wrap(writeDurably(s.fs, dir, closingFile, data), closingFile)
}

// checkClosing compares the store with the file, if there is one.
func (s *Store) checkClosing() error {
	f, err := s.fs.Open(s.fs.PathJoin(s.dir, closingFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return wrap(err, closingFile)
	}
	data, err := io.ReadAll(io.LimitReader(f, 64))
	if err := errors.Join(err, f.Close()); err != nil {
		return wrap(err, closingFile)
	}
	payload, _, err := unseal(closingKey, data)
	if err != nil {
		return corrupt.At(err, closingFile)
	}
	d := manifestDecoder{data: payload}
	nextSeq, sum := d.uint("log sequence", math.MaxUint64), d.uint("checksum", math.MaxUint32)
	switch {
	case d.err != nil:
		return corrupt.At(d.err, closingFile)
	case uint64(s.manifestSum) != sum:
		err = corrupt.New(-1, "out of date: checksum %08x, the store was closed with %08x", s.manifestSum, sum)
		return corrupt.At(err, KeyString(manifestKey))
	case s.nextSeq < nextSeq:
		err = corrupt.New(-1, "missing, the store was closed with it; the log ends before %d", s.nextSeq)
		return corrupt.At(err, KeyString(logKey(nextSeq-1)))
	}
	return nil
}

// removeClosing removes the file, durably.
func (s *Store) removeClosing() error {
	err := s.fs.Remove(s.fs.PathJoin(s.dir, closingFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return wrap(errors.Join(err, syncDir(s.fs, s.dir)), closingFile)
}
