package wal

// Spans record how many bytes records take, from the oldest on, in steps of some kilobytes. So the
// size of the log is known from any record on, even if a file has records on both sides of it.
type spans []span

type span struct {
	last  uint64 // the last record
	bytes int64  // of the frames, headers included
}

// spanBytes is where a span ends.
const spanBytes = 4 << 10

// add notes frames whose last record is last.
func (s *spans) add(last uint64, bytes int64) {
	if n := len(*s); n > 0 && (*s)[n-1].bytes+bytes <= spanBytes {
		(*s)[n-1].last = last
		(*s)[n-1].bytes += bytes
		return
	}
	*s = append(*s, span{last, bytes})
}

// cover drops records up to covered.
func (s *spans) cover(covered uint64) {
	n := 0
	for n < len(*s) && (*s)[n].last <= covered {
		n++
	}
	*s = append((*s)[:0], (*s)[n:]...)
}

func (s spans) sum() (n int64) {
	for _, p := range s {
		n += p.bytes
	}
	return n
}
