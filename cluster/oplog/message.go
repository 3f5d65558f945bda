package oplog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"
)

// MessageVersion is the latest version of messages, which this package writes.
const MessageVersion = 1

// A Kind is what a message is for.
type Kind uint8

const (
	Changes Kind = 1 + iota // the body is encoded changes: AppendChange
	Schema                  // the body is the JSON form of a riffle.Schema
	Barrier                 // changes nothing
)

func (k Kind) String() string {
	switch k {
	case Changes:
		return "changes"
	case Schema:
		return "schema"
	case Barrier:
		return "barrier"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// A Record is a message in parts. The package comment has the format.
type Record struct {
	Kind   Kind
	Epoch  uint64 // which generation of shards it is for
	Schema uint64 // version of the schema that the changes were checked against
	Body   []byte
}

// ErrNewer says that a newer release of riffle has written a message. Nothing is wrong with it.
var ErrNewer = errors.New("a newer release has written the message")

// MaxBodyBytes is the longest body of a record before compression.
const MaxBodyBytes = 64 << 20

const checksumBytes = 8

var compressor = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
	if err != nil {
		panic(err) // the options are constants
	}
	return e
})

var decompressor = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(MaxBodyBytes), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err)
	}
	return d
})

// Append appends the message of a record to dst.
func (r *Record) Append(dst []byte) ([]byte, error) {
	if r.Kind < Changes || r.Kind > Barrier {
		return dst, fmt.Errorf("a record of %v", r.Kind)
	}
	if (r.Kind == Barrier) != (len(r.Body) == 0) {
		return dst, fmt.Errorf("a record of kind %v with a body of %d bytes", r.Kind, len(r.Body))
	}
	if len(r.Body) > MaxBodyBytes {
		return dst, fmt.Errorf("a body of %d bytes; at most %d are allowed", len(r.Body), MaxBodyBytes)
	}
	begin := len(dst)
	dst = append(dst, MessageVersion, byte(r.Kind))
	dst = binary.AppendUvarint(dst, r.Epoch)
	dst = binary.AppendUvarint(dst, r.Schema)
	dst = binary.AppendUvarint(dst, uint64(len(r.Body)))
	if len(r.Body) > 0 {
		dst = compressor().EncodeAll(r.Body, dst)
	}
	return binary.LittleEndian.AppendUint64(dst, xxhash.Sum64(dst[begin:])), nil
}

// Parse reads a message. Its error says what is wrong with it.
func Parse(data []byte) (r Record, err error) {
	if len(data) < 2+checksumBytes {
		return r, fmt.Errorf("a message of %d bytes is too short", len(data))
	}
	body, sum := data[:len(data)-checksumBytes], binary.LittleEndian.Uint64(data[len(data)-checksumBytes:])
	if got := xxhash.Sum64(body); got != sum {
		return r, fmt.Errorf("the checksum of a message is %016x, its bytes have %016x", sum, got)
	}
	if v := body[0]; v != MessageVersion {
		if v > MessageVersion {
			return r, fmt.Errorf("%w: it has version %d; this program reads version %d", ErrNewer, v, MessageVersion)
		}
		return r, fmt.Errorf("a message of version %d; this program reads version %d", v, MessageVersion)
	}
	r.Kind, body = Kind(body[1]), body[2:]
	var size uint64
	for _, v := range []*uint64{&r.Epoch, &r.Schema, &size} {
		n := 0
		if *v, n = binary.Uvarint(body); n <= 0 {
			return r, fmt.Errorf("a message has %d bytes where a number is due", len(body))
		}
		body = body[n:]
	}
	switch {
	case r.Kind < Changes || r.Kind > Barrier:
		return r, fmt.Errorf("a message of %v", r.Kind)
	case (r.Kind == Barrier) != (size == 0), size == 0 && len(body) > 0, size > MaxBodyBytes:
		return r, fmt.Errorf("a message of kind %v with a body of %d bytes in %d", r.Kind, size, len(body))
	case size == 0:
		return r, nil
	}
	if r.Body, err = decompressor().DecodeAll(body, make([]byte, 0, size)); err != nil {
		return r, fmt.Errorf("the body of a message: %w", err)
	}
	if uint64(len(r.Body)) != size {
		return r, fmt.Errorf("the body of a message has %d bytes, not %d", len(r.Body), size)
	}
	return r, nil
}

// AppendChange appends an encoded change to the body of a message.
func AppendChange(body, change []byte) []byte {
	return append(binary.AppendUvarint(body, uint64(len(change))), change...)
}

// EachChange iterates over the changes in the body of a message. It yields one error at most, as the
// last pair.
func EachChange(body []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for at := 0; at < len(body); {
			size, n := binary.Uvarint(body[at:])
			if n <= 0 || size > uint64(len(body)-at-n) {
				yield(nil, fmt.Errorf("a change of %d bytes in the last %d of a message", size, len(body)-at))
				return
			}
			end := at + n + int(size)
			if !yield(body[at+n:end:end], nil) {
				return
			}
			at = end
		}
	}
}

// Checksum returns the checksum that a message ends with, or that of all bytes of an entry that is too short to
// be one, as one that is Foreign may be.
func Checksum(data []byte) uint64 {
	if len(data) < checksumBytes {
		return xxhash.Sum64(data)
	}
	return binary.LittleEndian.Uint64(data[len(data)-checksumBytes:])
}
