package document

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/format"
)

// The log of documents holds what Apply acknowledged and no sealed segment has yet. A record is a
// run of operations; a batch is one record or, when it is large, several that the store writes
// atomically. The store compresses them and adds checksums (package store/wal). An operation is
//
//	'P'  length of the id (uvarint), id, length of the values (uvarint), values (see AppendValues)
//	'D'  length of the id (uvarint), id
//	'U'  length of the id (uvarint), id, length of the values (uvarint), values; number of fields that
//	     lose their values (uvarint), for each the length of its name (uvarint), name
//	'@'  length of the position (uvarint), position
//
// From version 2 on a record begins with its version (1 byte, below 0x20: no operation has such a
// code). An operation that older builds do not know needs a new version (format.Record), a kind of
// value one of the document (format.Document).
//
//	1  'P' and 'D'; written without the byte
//	2  '@', the position of a batch. Batches without one are written as version 1.
//	3  'U', an update. Batches without one are written as version 1 or 2.
//
// A position ends the last record of its batch, so it counts only once the whole batch is replayed.
//
// Replaying operations that a sealed segment already holds does no harm: a document replaces the
// one with its id, and an update sets values that it has set before.

// versionBytes: a version is a byte below it, which differs from anything else that may begin a
// record, or follow an empty name.
const versionBytes = 0x20

// The versions of the records of a batch that has a position, and of one that has an update.
const (
	recordWithPosition = 2
	recordWithUpdate   = 3
)

// maxRecordBytes is where a batch's record is cut.
const maxRecordBytes = 1 << 20

// yieldOps is after how many operations EncodeRecords lets others have its core.
const yieldOps = 32

// EncodeRecords turns the operations of a batch and its position, which may be empty, into log
// records. They are slices of buf, or of a larger buffer, which it returns for the next call. Cuts are
// the first operation of each record but the first one.
func EncodeRecords(buf []byte, ops []Operation, position string) (records [][]byte, cuts []int, _ []byte) {
	buf = buf[:0]
	begin := 0 // of the record
	newest := byte(1)
	if position != "" {
		newest = recordWithPosition
	}
	if slices.ContainsFunc(ops, func(op Operation) bool { return op.Update }) {
		newest = recordWithUpdate
	}
	version := func() {
		if newest > 1 {
			buf = append(buf, newest)
		}
	}
	var ends []int
	version()
	for i := range ops {
		if i%yieldOps == yieldOps-1 {
			runtime.Gosched() // a megabyte takes most of a millisecond, and searches may wait for the core
		}
		buf = appendOperation(buf, &ops[i])
		if len(buf)-begin >= maxRecordBytes {
			begin = len(buf)
			ends = append(ends, begin)
			cuts = append(cuts, i+1)
			version()
		}
	}
	if position != "" {
		buf = append(buf, '@')
		buf = binary.AppendUvarint(buf, uint64(len(position)))
		buf = append(buf, position...)
	}
	if len(buf) > begin+int(min(newest-1, 1)) { // more than a version
		ends = append(ends, len(buf))
	}
	begin = 0
	for _, end := range ends {
		records = append(records, buf[begin:end:end])
		begin = end
	}
	return records, cuts, buf
}

func appendOperation(dst []byte, op *Operation) []byte {
	code := byte('P')
	switch {
	case op.Delete:
		code = 'D'
	case op.Update:
		code = 'U'
	}
	dst = append(dst, code)
	dst = binary.AppendUvarint(dst, uint64(len(op.ID)))
	dst = append(dst, op.ID...)
	if !op.Delete {
		dst = appendSized(dst, op.Values)
	}
	if op.Update {
		dst = binary.AppendUvarint(dst, uint64(len(op.Clear)))
		for _, name := range op.Clear {
			dst = binary.AppendUvarint(dst, uint64(len(name)))
			dst = append(dst, name...)
		}
	}
	return dst
}

// AppendRecord appends the record of one operation.
func AppendRecord(dst []byte, op *Operation) []byte {
	if op.Update {
		dst = append(dst, recordWithUpdate)
	}
	return appendOperation(dst, op)
}

// appendSized appends the length of some values and the values.
func appendSized(dst []byte, vals []Value) []byte {
	const most = binary.MaxVarintLen64
	at := len(dst)
	dst = append(dst, make([]byte, most)...)
	dst = AppendValues(dst, vals)
	size := len(dst) - at - most
	n := binary.PutUvarint(dst[at:], uint64(size))
	copy(dst[at+n:], dst[at+most:])
	return dst[:at+n+size]
}

// DecodeRecord reads the operations of one record, and the position at its end, if it has one.
func DecodeRecord(data []byte) (ops []Operation, position string, err error) {
	r := byteReader{data: data}
	version := uint64(1)
	if len(data) > 0 && data[0] < versionBytes {
		version = uint64(r.byte())
		if err := format.Record.Check(version); err != nil {
			return nil, "", err
		}
	}
	for r.off < len(data) {
		var op Operation
		switch code := r.byte(); {
		case code == '@' && version >= recordWithPosition:
			position = r.text()
			if n := len(position); r.err == nil && (n == 0 || n > MaxPositionBytes || r.off < len(data)) {
				r.fail("a position of %d bytes, with %d behind it", n, len(data)-r.off)
			}
			if r.err != nil {
				return nil, "", r.err
			}
			return ops, position, nil
		case code == 'D':
			op.Delete = true
			op.ID = r.text()
		case code == 'P', code == 'U' && version >= recordWithUpdate:
			op.ID = r.text()
			n := r.uvarint()
			if n > uint64(len(data)) {
				r.fail("values of %d bytes in a record of %d", n, len(data))
			}
			at := r.off
			vals, err := ParseValues(r.take(int(min(n, uint64(len(data))))))
			if err != nil {
				return nil, "", shifted(err, at)
			}
			op.Values = vals
			if op.Update = code == 'U'; op.Update {
				for n := r.uvarint(); n > 0 && r.err == nil; n-- {
					op.Clear = append(op.Clear, r.text())
				}
			}
		default:
			r.off--
			r.fail("unknown operation %#x", code)
		}
		if r.err != nil {
			return nil, "", r.err
		}
		ops = append(ops, op)
	}
	return ops, "", nil
}

// AtRecord adds the number of the log record to an error.
func AtRecord(seq uint64, err error) error {
	at := fmt.Sprintf("log record %d", seq)
	if errors.Is(err, format.Err) {
		return fmt.Errorf("%s: %w", at, err)
	}
	return corrupt.At(err, at)
}

// shifted moves a fault inside a part of a record to its place in the record.
func shifted(err error, by int) error {
	if c, ok := err.(*corrupt.Error); ok {
		c.Offset += by
	}
	return err
}
