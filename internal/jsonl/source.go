package jsonl

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// MaxWindow is the largest Zstandard window, which the decoder holds in memory:
// that of zstd --long=27.
const MaxWindow = 1 << 27

// A source decompresses a stream. Its first bytes determine the format.
type source struct {
	raw   *bufio.Reader
	plain io.Reader // nil until the first Read
	zstd  *zstd.Decoder
}

// Read looks at the first bytes only when it is first called, so that making a
// Reader of a terminal or a pipe does not wait for input.
func (s *source) Read(b []byte) (int, error) {
	if s.plain == nil {
		if err := s.open(); err != nil {
			return 0, err
		}
	}
	n, err := s.plain.Read(b)
	if errors.Is(err, zstd.ErrWindowSizeExceeded) {
		err = fmt.Errorf("%w: recompress with a window of at most 128 MiB (zstd --long=27)", err)
	}
	return n, err
}

func (s *source) open() (err error) {
	magic, err := s.raw.Peek(4)
	if err != nil && err != io.EOF {
		return err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		s.plain, err = gzip.NewReader(s.raw)
	case IsZstd(magic):
		s.zstd, err = zstd.NewReader(s.raw, zstd.WithDecoderMaxWindow(MaxWindow), zstd.WithDecoderLowmem(true))
		s.plain = s.zstd
	default:
		s.plain, err = s.raw, nil
	}
	return err
}

// IsZstd recognizes the first four bytes of Zstandard input: the magic numbers of frames and of
// skippable frames, with which some tools begin (RFC 8878, section 3.1).
func IsZstd(magic []byte) bool {
	return bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}) ||
		len(magic) == 4 && magic[0]&0xf0 == 0x50 && bytes.Equal(magic[1:], []byte{0x2a, 0x4d, 0x18})
}

func (s *source) close() {
	if s.zstd != nil {
		s.zstd.Close()
	}
}

// A counter counts the bytes read through it.
type counter struct {
	r io.Reader
	n atomic.Int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n.Add(int64(n))
	return n, err
}
