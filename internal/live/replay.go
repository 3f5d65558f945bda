package live

import (
	"errors"
	"fmt"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/store"
)

// checkLog finds the damage that replay would meet. It decodes the log's records and looks up, in
// sealed segments, the documents that they replace. Open does so before it writes anything. Looking
// ids up twice costs little compared with analysing the documents, which only replay does.
func (ix *Index) checkLog() error {
	sealed := ix.sealed()
	return ix.store.Replay(ix.seq+1, func(seq uint64, record []byte) error {
		ops, _, err := document.DecodeRecord(record)
		if err != nil {
			return document.AtRecord(seq, err)
		}
		if _, err := findSealed(ix.background, nil, sealed, ops); err != nil {
			return fmt.Errorf("log record %d: %w", seq, err)
		}
		return nil
	})
}

// replay brings the log's documents back into memory, and seals them when they exceed its budget.
// So a log that was written under a larger budget takes no more memory than Apply would. A
// read-only Index, which cannot seal, holds them all.
//
// A seal is the same step here as after an Apply: a crash during Open leaves either the records in
// the log or the segment that covers them. If it fails, for example on a full disk, the rest of the
// log stays in memory: the index can be searched, and documents deleted, as long as there is memory
// for it.
func (ix *Index) replay() error {
	seals := !ix.opts.Store.ReadOnly
	for {
		full, err := ix.replaySome(seals)
		if err != nil || !full {
			return err
		}
		switch err := ix.flushMemory(ix.background); {
		case errors.Is(err, store.ErrFailed) || errors.Is(err, corrupt.Err):
			return err
		case err != nil:
			seals = false // the Listener knows why
		}
	}
}

// errMemoryFull ends a part of the replay. The store cannot be written while it reads the log.
var errMemoryFull = errors.New("memory is full")

// replaySome replays records until none is left or, with untilFull, memory is full.
func (ix *Index) replaySome(untilFull bool) (full bool, err error) {
	err = ix.store.Replay(ix.seq+1, func(seq uint64, record []byte) error {
		if err := ix.replayRecord(seq, record); err != nil {
			return err
		}
		if ix.opts.Replayed != nil {
			ix.opts.Replayed(ix.memoryBytes())
		}
		if untilFull && ix.growingBytes() >= ix.opts.MemoryBytes {
			return errMemoryFull
		}
		return nil
	})
	if err == errMemoryFull {
		return true, nil
	}
	return false, err
}

// replayRecord carries out the operations of one record. Nothing else uses the Index yet.
func (ix *Index) replayRecord(seq uint64, record []byte) error {
	ops, position, err := document.DecodeRecord(record)
	if err != nil {
		return document.AtRecord(seq, err)
	}
	chunks, err := ix.invertAll(ix.background, ops)
	if err != nil {
		return fmt.Errorf("log record %d: %w", seq, err)
	}
	changes, err := ix.fieldUpdates(ops, true)
	if err != nil {
		return fmt.Errorf("log record %d: %w", seq, err)
	}
	gone, err := findSealed(ix.background, nil, ix.sealed(), ops)
	if err != nil {
		return fmt.Errorf("log record %d: %w", seq, err)
	}
	ix.fields.TakeAcceptedChunks(chunks)
	ix.insert(ops, chunks, gone, changes, batchVersions{first: versionOf(seq)})
	ix.seq = seq
	ix.moveTo(position)
	return nil
}
