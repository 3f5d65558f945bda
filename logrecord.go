package riffle

import (
	"encoding/binary"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// The log of documents holds what Apply acknowledged and no sealed segment has
// yet. A record is a run of operations; a batch is one record or, when it is
// large, several that the store writes atomically. The store compresses them and
// adds checksums (package store/wal). An operation is
//
//	'P'  length of the id (uvarint), id, length of the values (uvarint), values (see appendValues)
//	'D'  length of the id (uvarint), id
//
// Replaying operations that a sealed segment already holds does no harm: a
// document replaces the one with its id.

// maxRecordBytes is where a batch's record is cut.
const maxRecordBytes = 1 << 20

// encodeRecords turns operations into log records.
func encodeRecords(ops []operation) [][]byte {
	var records [][]byte
	var rec, vals []byte
	for _, op := range ops {
		if op.del {
			rec = append(rec, 'D')
			rec = binary.AppendUvarint(rec, uint64(len(op.id)))
			rec = append(rec, op.id...)
		} else {
			vals = appendValues(vals[:0], op.values)
			rec = append(rec, 'P')
			rec = binary.AppendUvarint(rec, uint64(len(op.id)))
			rec = append(rec, op.id...)
			rec = binary.AppendUvarint(rec, uint64(len(vals)))
			rec = append(rec, vals...)
		}
		if len(rec) >= maxRecordBytes {
			records = append(records, rec)
			rec = nil
		}
	}
	if len(rec) > 0 {
		records = append(records, rec)
	}
	return records
}

// decodeRecord reads the operations of one record.
func decodeRecord(data []byte) ([]operation, error) {
	var ops []operation
	r := byteReader{data: data}
	for r.off < len(data) {
		var op operation
		switch code := r.byte(); code {
		case 'D':
			op.del = true
			op.id = r.text()
		case 'P':
			op.id = r.text()
			n := r.uvarint()
			if n > uint64(len(data)) {
				r.fail("values of %d bytes in a record of %d", n, len(data))
			}
			at := r.off
			vals, err := parseValues(r.take(int(min(n, uint64(len(data))))))
			if err != nil {
				return nil, shifted(err, at)
			}
			op.values = vals
		default:
			r.off--
			r.fail("unknown operation %#x", code)
		}
		if r.err != nil {
			return nil, r.err
		}
		ops = append(ops, op)
	}
	return ops, nil
}

// shifted moves a fault inside a part of a record to its place in the record.
func shifted(err error, by int) error {
	if c, ok := err.(*corrupt.Error); ok {
		c.Offset += by
	}
	return err
}
