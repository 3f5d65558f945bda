package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/internal/jsonl"
	"github.com/riffle-search/riffle/internal/memlimit"
)

// besideBudget is how much more than its budget a command lets Go hold: what has no budget, and
// garbage. The program itself takes some 20 MB more of the system's memory.
const besideBudget = 40 << 20

// A memoryLimit is a limit for Go's collector that a command has set.
type memoryLimit struct {
	before int64 // the limit before; 0 if none was set
	raised sync.Once
}

// limitMemory makes Go's collector keep the process near a budget, unless GOMEMLIMIT is set. Without
// a limit the heap grows to twice of what is in use. A library must not set one, a command may.
func limitMemory(budget int64) *memoryLimit {
	l := new(memoryLimit)
	if budget > 0 && memlimit.Go() == 0 {
		l.before = debug.SetMemoryLimit(budget + besideBudget)
	}
	return l
}

func (l *memoryLimit) undo() {
	if l.before > 0 {
		debug.SetMemoryLimit(l.before)
	}
}

// look raises the limit if input begins like Zstandard's, whose decoder may hold a window that no
// budget covers.
func (l *memoryLimit) look(begin []byte) {
	if l.before > 0 && len(begin) >= 4 && jsonl.IsZstd(begin[:4]) {
		l.raised.Do(func() { debug.SetMemoryLimit(memlimit.Go() + jsonl.MaxWindow + jsonl.MaxWindow/4) })
	}
}

// lookAtFiles looks at the beginning of files. One that cannot be read will fail later.
func (l *memoryLimit) lookAtFiles(paths []string) {
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			var begin [4]byte
			n, _ := io.ReadFull(f, begin[:])
			l.look(begin[:n])
		}
		f.Close()
	}
}

// lookAt returns a reader of the same input, which looks at its beginning.
func (l *memoryLimit) lookAt(r io.Reader) io.Reader { return &watched{Reader: r, limit: l} }

type watched struct {
	io.Reader
	limit *memoryLimit // nil after the first bytes
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.Reader.Read(b)
	if w.limit != nil && n > 0 {
		w.limit.look(b[:n])
		w.limit = nil
	}
	return n, err
}

// cacheFigures say what searches had at hand.
type cacheFigures struct {
	HitRate   float64         `json:"hit_rate"`  // of lists
	ByteRate  float64         `json:"byte_rate"` // the same by bytes: see riffle.Stats
	ReadBytes int64           `json:"read_bytes"`
	Resident  residentFigures `json:"resident"`
	PeakBytes int64           `json:"peak_bytes"` // of the process, so far; 0 if not known
}

// residentFigures are riffle.ResidentStats.
type residentFigures struct {
	Heads int64 `json:"heads"`
	Code  int64 `json:"code"`
	Rows  int64 `json:"rows"`

	Positions int64 `json:"positions"`

	Ranges   int64 `json:"ranges"`
	Bitmaps  int64 `json:"bitmaps"`
	Columns  int64 `json:"columns"`
	Values   int64 `json:"values"`
	Filters  int64 `json:"filters"`
	Segments int64 `json:"segments"`
	Trigrams int64 `json:"trigrams"`
	Blocks   int64 `json:"blocks"`
	Stored   int64 `json:"stored"`
}

func cacheFiguresOf(e *riffle.Engine) (*cacheFigures, error) {
	st, err := e.Stats()
	if err != nil {
		return nil, err
	}
	rate := func(hits, misses int64) float64 { return round2(100*float64(hits)/float64(max(1, hits+misses))) / 100 }
	return &cacheFigures{
		HitRate: rate(st.CacheHits, st.CacheMisses), ByteRate: rate(st.CacheHitBytes, st.CacheReadBytes),
		ReadBytes: st.CacheReadBytes, Resident: residentFigures(st.Resident), PeakBytes: memlimit.Peak(),
	}, nil
}

func (f *cacheFigures) print(w io.Writer) error {
	r := &f.Resident
	_, err := fmt.Fprintf(w, "lists at hand   %.1f %%, by bytes %.1f %%; %d bytes read\n"+
		"resident        heads %d, code %d, rows %d, positions %d, ranges %d,\n"+
		"                bitmaps %d, columns %d, values %d, filters %d, segments %d,\n"+
		"                trigrams %d, blocks %d, stored %d\n"+
		"peak            %d bytes\n",
		100*f.HitRate, 100*f.ByteRate, f.ReadBytes, r.Heads, r.Code, r.Rows, r.Positions, r.Ranges, r.Bitmaps, r.Columns,
		r.Values, r.Filters, r.Segments, r.Trigrams, r.Blocks, r.Stored, f.PeakBytes)
	return err
}
