package wal

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"

	"github.com/klauspost/compress/s2"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// MaxAppendBytes bounds the records of one Append.
const MaxAppendBytes = 1 << 30

// chunkBytes is where the payload of a frame is cut, before compression. S2 then keeps a core for
// some 0.2 ms, in which nothing else runs there. Larger chunks save little (0.587 of the text at 64
// KiB, 0.572 at 256 KiB).
const chunkBytes = 64 << 10

// maxChunkBytes bounds the payload of a frame that is read. Earlier releases cut at this size.
const maxChunkBytes = 256 << 10

// maxPayload bounds what a frame may claim to hold.
var maxPayload = uint32(s2.MaxEncodedLen(maxChunkBytes))

// minCompressed is the smallest payload worth compressing.
const minCompressed = 64

// A Batch holds records prepared for the log: cut into frames and compressed. It is made outside
// every lock, and Append takes it over.
type Batch struct {
	frames []frame
	data   []byte // the frames, one after the other, with room for their headers
	count  uint64
}

// A frame is a part of a Batch.
type frame struct {
	head       frameHeader
	begin, end int // in data, header included
}

// Len returns the number of records.
func (b *Batch) Len() uint64 { return b.count }

// Bytes returns the size of the batch in the log.
func (b *Batch) Bytes() int64 { return int64(len(b.data)) }

var (
	batches = sync.Pool{New: func() any { return new(Batch) }}
	chunks  = sync.Pool{New: func() any { return new([]byte) }}
)

// maxPooled is the most memory a Batch keeps when it returns to the pool.
const maxPooled = 4 << 20

func (b *Batch) free() {
	if cap(b.data) <= maxPooled {
		batches.Put(b)
	}
}

// Pack prepares records for Append. The caller may change them as soon as it returns.
func Pack(records [][]byte) (*Batch, error) { return pack(records, chunkBytes) }

// pack is Pack with payloads that are cut at a given size.
func pack(records [][]byte, cut int) (*Batch, error) {
	size := 0
	for _, r := range records {
		size += len(r)
	}
	if size > MaxAppendBytes {
		return nil, fmt.Errorf("log: append of %d bytes, want at most %d", size, MaxAppendBytes)
	}
	b := batches.Get().(*Batch)
	b.frames, b.data, b.count = b.frames[:0], b.data[:0], uint64(len(records))
	chunk := chunks.Get().(*[]byte)
	defer chunks.Put(chunk)
	raw, begun := (*chunk)[:0], uint32(0)
	for _, r := range records {
		begun++
		for {
			// A piece is a varint of its length and whether the record continues, then its bytes.
			room := cut - len(raw) - binary.MaxVarintLen32
			if room < len(r) {
				raw = binary.AppendUvarint(raw, uint64(room)<<1|1)
				raw = append(raw, r[:room]...)
				r = r[room:]
				b.add(raw, begun)
				raw, begun = raw[:0], 0
				continue
			}
			raw = binary.AppendUvarint(raw, uint64(len(r))<<1)
			raw = append(raw, r...)
			break
		}
		if len(raw) > cut-2*binary.MaxVarintLen32 {
			b.add(raw, begun)
			raw, begun = raw[:0], 0
		}
	}
	if len(raw) > 0 {
		b.add(raw, begun)
	}
	*chunk = raw[:0]
	if n := len(b.frames); n > 0 {
		b.frames[n-1].head.flags &^= flagMore
	}
	return b, nil
}

// add appends a frame with the payload raw.
func (b *Batch) add(raw []byte, begun uint32) {
	begin := len(b.data)
	at := begin + frameHeaderBytes
	room := len(raw)
	if len(raw) >= minCompressed {
		room = s2.MaxEncodedLen(len(raw))
	}
	if need := at + room; need > cap(b.data) {
		b.data = append(make([]byte, 0, max(need, 2*cap(b.data))), b.data...)
	}
	runtime.Gosched() // others may wait for the core
	h := frameHeader{kind: kindRecords, flags: flagMore, count: begun}
	payload := raw
	if len(raw) >= minCompressed {
		if c := s2.Encode(b.data[at:at+room], raw); len(c) < len(raw) {
			payload = c
			h.flags |= flagCompressed
		}
	}
	b.data = b.data[:at+len(payload)]
	copy(b.data[at:], payload) // over itself when compressed
	h.length = uint32(len(payload))
	h.sum = checksum(payload)
	b.frames = append(b.frames, frame{h, begin, len(b.data)})
}

// An unpacker reads records from payloads, one after the other.
type unpacker struct {
	raw  []byte // of a compressed payload
	rec  []byte // the pieces so far of a record that spans frames
	open bool   // the last piece was not the end of its record
}

// unpack calls fn for each record that ends in a frame, with its sequence number.
// The record is lent until fn returns. Offsets in errors count from the start of
// the payload before compression.
func (u *unpacker) unpack(h *frameHeader, payload []byte, fn func(seq uint64, record []byte) error) error {
	raw, err := u.inflate(h, payload)
	if err != nil {
		return err
	}
	seq, begun := h.first, uint32(0)
	if u.open {
		seq--
	}
	for pos := 0; pos < len(raw); {
		v, n := binary.Uvarint(raw[pos:])
		if n <= 0 || v>>1 > uint64(len(raw)-pos-n) {
			return corrupt.New(pos, "a piece of %d bytes with %d left in its frame", v>>1, len(raw)-pos)
		}
		if !u.open {
			begun++
			u.rec = u.rec[:0]
		}
		piece := raw[pos+n:][:v>>1]
		pos += n + len(piece)
		goesOn := v&1 != 0
		if goesOn && (pos < len(raw) || !h.more()) {
			return corrupt.New(pos, "record %d goes on in a frame that does not come next", seq)
		}
		if goesOn || u.open {
			if len(u.rec)+len(piece) > MaxAppendBytes {
				return corrupt.New(pos, "record %d has more than %d bytes", seq, MaxAppendBytes)
			}
			u.rec = append(u.rec, piece...)
			piece = u.rec
		}
		u.open = goesOn
		if goesOn {
			continue
		}
		if err := fn(seq, piece); err != nil {
			return err
		}
		seq++
	}
	if begun != h.count {
		return corrupt.New(-1, "%d records begin in a frame that says %d", begun, h.count)
	}
	if u.open && !h.more() {
		return corrupt.New(-1, "record %d does not end", seq)
	}
	return nil
}

// inflate returns the uncompressed payload.
func (u *unpacker) inflate(h *frameHeader, payload []byte) ([]byte, error) {
	if h.flags&flagCompressed == 0 {
		return payload, nil
	}
	n, err := s2.DecodedLen(payload)
	if err != nil || n > maxChunkBytes {
		return nil, corrupt.New(0, "%d compressed bytes say that they are %d, want at most %d", len(payload), n, maxChunkBytes)
	}
	if cap(u.raw) < n {
		u.raw = make([]byte, maxChunkBytes)
	}
	raw, err := s2.Decode(u.raw[:cap(u.raw)], payload)
	if err != nil {
		return nil, corrupt.New(-1, "decompression: %v", err)
	}
	return raw, nil
}
