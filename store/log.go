package store

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/store/wal"
)

// logDir is the folder of the log of documents; see package wal.
const logDir = "log"

func (s *Store) logPath() string { return s.fs.PathJoin(s.dir, logDir) }

// A LogBatch holds records prepared for the log.
type LogBatch = wal.Batch

// PackLog prepares records for Append: it compresses them, outside every lock. The caller may
// change them as soon as it returns.
func PackLog(records [][]byte) (*LogBatch, error) { return wal.Pack(records) }

// logOptions are the options of a log that is written.
func (s *Store) logOptions() *wal.Options {
	return &wal.Options{
		FileBytes: s.opts.LogFileBytes,
		Failed:    func(err error) { s.log.log(s.log.failed(err).Error()) },
		Warn:      func(err error) { s.log.log(err.Error()) },
	}
}

// NextSeq returns the number of the next log record: the first is 1, and none is
// used twice.
func (s *Store) NextSeq() uint64 {
	if s.wal != nil {
		return s.wal.NextSeq()
	}
	return s.nextSeq
}

// Append adds records to the log, the first of them with the number first, which must be NextSeq.
// After a crash all of them survive, or the log ends before them; never some of one Append. Append
// does no I/O and does not wait.
//
// With sync, the records are durable once wait has returned nil; concurrent waits share one fsync.
// Without, wait returns at once, unless the disk is far behind. It need not be called, and returns
// when its context ends.
//
// After an error of either kind the records may or may not survive the next Open.
func (s *Store) Append(first uint64, records *LogBatch, sync bool) (wait func(context.Context) error, err error) {
	if err := s.writable(); err != nil {
		return nil, err
	}
	defer s.gate.leave()
	w, err := s.wal.Append(first, records, sync)
	if err != nil {
		return nil, s.logError(err)
	}
	return func(ctx context.Context) error { return s.logError(w(ctx)) }, nil
}

// Sync makes every record appended so far durable.
func (s *Store) Sync(ctx context.Context) error {
	if err := s.writable(); err != nil {
		return err
	}
	defer s.gate.leave()
	return s.logError(s.wal.Sync(ctx))
}

// RollLog starts a new file for later records, so that the earlier ones can be removed as soon as a
// Commit covers them. It does not wait.
func (s *Store) RollLog() {
	if s.writable() == nil {
		defer s.gate.leave()
		s.wal.Roll()
	}
}

// LogBytes returns the size of the log: of records that no manifest covers yet, including those
// queued for the disk. It takes no time.
func (s *Store) LogBytes() int64 {
	switch {
	case s.wal != nil:
		return s.wal.Bytes()
	case s.found != nil:
		return s.found.Bytes()
	}
	return 0
}

// Replay calls fn for each log record with a number of at least from, in order. The record is lent
// until fn returns. An error of fn ends the replay and is returned. A missing record between from
// and the end of the log is corruption.
func (s *Store) Replay(from uint64, fn func(seq uint64, record []byte) error) error {
	if err := s.gate.enter(); err != nil {
		return err
	}
	defer s.gate.leave()
	switch {
	case s.wal != nil:
		var stop error // of fn
		err := s.wal.Replay(from, func(seq uint64, record []byte) error {
			stop = fn(seq, record)
			return stop
		})
		if f := s.log.fail.Load(); err != nil && stop == nil && f != nil {
			return f
		}
		return err
	case s.found != nil:
		return s.found.Replay(from, fn)
	case s.db != nil:
		return s.replayOld(from, fn)
	}
	return nil // a new store
}

// logError translates an error of the log: when the log has failed, so has the store.
func (s *Store) logError(err error) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, wal.ErrClosed):
		return ErrClosed
	}
	return s.log.failed(err)
}

// loadLog checks the log, and that the log vouches for the manifest: it detects that Pebble has
// lost the last manifest.
func (s *Store) loadLog() error {
	if s.version == 1 {
		return s.loadOldLog()
	}
	if s.found != nil { // by an earlier Load
		return nil
	}
	found, err := wal.Scan(s.fs, s.logPath(), s.manifest.LogSeq)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return corrupt.At(corrupt.New(-1, "missing; an index has one with at least one file"), s.logPath())
	case err != nil:
		return wrap(err, "log")
	case found.ID() != s.logID:
		err = corrupt.New(-1, "the log %016x of another index, want %016x", found.ID(), s.logID)
		return corrupt.At(err, s.logPath())
	}
	if v := found.Vouch(); !v.Allows(s.manifestSum) {
		err = corrupt.New(-1, "out of date: checksum %08x, the log says %08x", s.manifestSum, v.Is)
		return corrupt.At(err, KeyString(manifestKey))
	}
	if found.Torn != nil {
		s.log.log("a crash tore the end of the log, which was not acknowledged: " + found.Torn.Error())
	}
	s.found, s.nextSeq = found, found.NextSeq()
	return nil
}

// startLog prepares the log for writing, and makes it vouch for the manifest that was found.
func (s *Store) startLog() error {
	if s.version == 1 {
		return s.upgrade()
	}
	l, err := s.found.Start(s.logOptions())
	if err != nil {
		return wrap(err, "log")
	}
	s.wal = l
	if v := s.found.Vouch(); !v.HasIs || v.Is != s.manifestSum || v.HasNext {
		return s.confirm()
	}
	return nil
}

// confirm makes the log vouch for the manifest in force, and releases the records that it covers.
func (s *Store) confirm() error {
	return s.logError(s.wal.Confirm(context.Background(), s.manifestSum, s.Manifest().LogSeq))
}

// formatPayload is the value of the meta key "format": the version, and from
// version 2 on the id of the log.
func formatPayload(logID uint64) []byte {
	return binary.LittleEndian.AppendUint64(binary.AppendUvarint(nil, FormatVersion), logID)
}
