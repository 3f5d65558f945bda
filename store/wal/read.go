package wal

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// readBufferBytes is the unit of reading.
const readBufferBytes = 256 << 10

// A fileReader reads the frames of one file from front to back.
type fileReader struct {
	name string // for errors
	f    vfs.File
	r    *bufio.Reader
	head fileHeader
	seed uint32 // of the checksums
	size int64
	off  int64 // of the next frame
	seq  uint64
	buf  []byte // of a payload

	spans spans // of the frames that were counted
}

// count notes the size of the frame that was read last.
func (r *fileReader) count(h *frameHeader) {
	if h.kind == kindRecords {
		r.spans.add(r.seq-1, frameHeaderBytes+int64(h.length))
	}
}

// openFile opens a file and reads its header. limit is where to stop; negative
// stands for the end of the file.
func (d folder) openFile(number uint64, limit int64) (_ *fileReader, err error) {
	name := d.fs.PathJoin(d.fs.PathBase(d.dir), fileName(number))
	f, err := d.fs.Open(d.path(number))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = corrupt.At(errors.Join(err, f.Close()), name)
		}
	}()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	r := &fileReader{name: name, f: f, size: st.Size(), off: fileHeaderBytes}
	if limit >= 0 {
		if r.size < limit {
			return nil, corrupt.New(int(r.size), "the file ends, want at least %d bytes", limit)
		}
		r.size = limit
	}
	r.r = bufio.NewReaderSize(io.NewSectionReader(f, 0, r.size), int(min(r.size, readBufferBytes)))
	var b [fileHeaderBytes]byte
	n, err := io.ReadFull(r.r, b[:])
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return nil, err
	}
	if r.head, r.seed, err = decodeFileHeader(b[:n]); err != nil {
		return nil, err
	}
	if r.head.number != number {
		return nil, corrupt.New(24, "the header is that of file %d", r.head.number)
	}
	r.seq = r.head.first
	return r, nil
}

func (r *fileReader) close() error { return r.f.Close() }

// at returns an error about the bytes at off.
func (r *fileReader) at(off int64, format string, args ...any) error {
	return corrupt.At(corrupt.New(int(off), format, args...), r.name)
}

// next reads and checks a frame. The payload is lent until the next call. It returns io.EOF at the
// end. An error that matches corrupt.Err means that there is no whole frame; only resync may follow
// it. Other errors mean that the file cannot be read.
func (r *fileReader) next() (h frameHeader, payload []byte, err error) {
	left := r.size - r.off
	if left == 0 {
		return h, nil, io.EOF
	}
	b, err := r.r.Peek(int(min(left, frameHeaderBytes)))
	if err != nil {
		return h, nil, r.readError(err)
	}
	h, ok := decodeFrameHeader(b, r.seed, r.off)
	if !ok {
		return h, nil, r.at(r.off, "no frame, want one with record %d", r.seq)
	}
	left -= frameHeaderBytes
	switch {
	case h.first != r.seq:
		return h, nil, r.at(r.off, "the frame begins with record %d, want %d", h.first, r.seq)
	case h.length > maxPayload:
		return h, nil, r.at(r.off, "a frame of %d bytes, want at most %d", h.length, maxPayload)
	case int64(h.length) > left:
		return h, nil, r.at(r.off, "the frame with record %d has %d bytes, and the file ends after %d", h.first, h.length, left)
	}
	if _, err := r.r.Discard(frameHeaderBytes); err != nil {
		return h, nil, r.readError(err)
	}
	if cap(r.buf) < int(h.length) {
		r.buf = make([]byte, h.length)
	}
	payload = r.buf[:h.length]
	if _, err := io.ReadFull(r.r, payload); err != nil {
		return h, nil, r.readError(err)
	}
	if got := checksum(payload); got != h.sum {
		return h, nil, r.at(r.off, "checksum %08x in the frame with record %d, want %08x", got, h.first, h.sum)
	}
	r.off += frameHeaderBytes + int64(h.length)
	r.seq += uint64(h.count)
	return h, payload, nil
}

// readError translates a failed read: if the file is shorter than it was at its opening, something
// truncated it meanwhile.
func (r *fileReader) readError(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return r.at(r.off, "the file has become shorter than %d bytes", r.size)
	}
	return err
}

// resync looks for frames after an offset without a whole one. It returns the highest offset up to
// which any of them says that the file was durable, and whether only zeroes follow, which are
// written ahead.
func (r *fileReader) resync(from int64) (durable int64, zero bool, err error) {
	zero = true
	buf := make([]byte, max(0, min(readBufferBytes, r.size-from)))
	var magic [2]byte
	binary.LittleEndian.PutUint16(magic[:], frameMagic)
	for off := from; off < r.size; {
		n, err := r.f.ReadAt(buf[:min(int64(len(buf)), r.size-off)], off)
		if err != nil && err != io.EOF {
			return 0, false, err
		}
		b := buf[:n]
		zero = zero && len(bytes.TrimLeft(b, "\x00")) == 0
		if n < frameHeaderBytes {
			break
		}
		last := n - frameHeaderBytes
		for at := 0; at <= last; at++ {
			i := bytes.Index(b[at:last+len(magic)], magic[:])
			if i < 0 {
				break
			}
			at += i
			if h, ok := decodeFrameHeader(b[at:], r.seed, off+int64(at)); ok {
				durable = max(durable, int64(h.durable))
			}
		}
		off += int64(last) + 1
	}
	return durable, zero, nil
}
