package postings

import (
	"encoding/binary"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// A reader takes numbers off the front of a stored value. Its first error stays, and all later
// reads return zeros. So callers may check once for several reads, but must check before they use a
// number as a size or an index.
type reader struct {
	b   []byte
	at  int // next byte
	err error
}

func (r *reader) uvarint() uint64 {
	if r.err != nil {
		return 0
	}
	if r.at < len(r.b) && r.b[r.at] < 0x80 {
		r.at++
		return uint64(r.b[r.at-1])
	}
	v, n := binary.Uvarint(r.b[r.at:])
	if n <= 0 {
		r.err = corrupt.New(r.at, "number without end")
		return 0
	}
	r.at += n
	return v
}

func (r *reader) byte() byte {
	if r.err != nil {
		return 0
	}
	if r.at == len(r.b) {
		r.err = corrupt.New(r.at, "value ends early")
		return 0
	}
	r.at++
	return r.b[r.at-1]
}

// end returns an error if bytes are left over.
func (r *reader) end() error {
	if r.err == nil && r.at != len(r.b) {
		r.err = corrupt.New(r.at, "%d bytes too many", len(r.b)-r.at)
	}
	return r.err
}
