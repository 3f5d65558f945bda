package gpuexec

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/riffle-search/riffle/gpuexec/listcache"
	"github.com/riffle-search/riffle/postings"
)

// blocksOf is the first block of extent e, and the one after its last.
func blocksOf(l *postings.List, e int) (from, to int) {
	return e * extentBlocks, min((e+1)*extentBlocks, l.Blocks())
}

// A pieceWriter writes the pieces of lists that a batch copies. When there are many, several
// goroutines share the work: together they saturate the link to the device, which one cannot.
type pieceWriter struct {
	lists *lists
	to    []byte // from row first on
	first uint32

	mu      sync.Mutex
	damaged []uint64 // keys of lists
}

// piecesAtOnce is how many pieces a goroutine takes at a time, some 50 µs of work.
const piecesAtOnce = 64

// writePieces writes the pieces to copy into to, which begins at row first. It returns the keys of
// damaged lists.
func (l *lists) writePieces(to []byte, first uint32) (damaged []uint64) {
	w := &pieceWriter{lists: l, to: to, first: first}
	share(runtime.GOMAXPROCS(0), len(l.placed.Copies), piecesAtOnce, func(_, from, to int) {
		for _, c := range l.placed.Copies[from:to] {
			w.write(c)
		}
	})
	return w.damaged
}

func (w *pieceWriter) write(c listcache.Copy) {
	to := w.to[rowBytes*int(c.At-w.first):][:rowBytes*int(c.Rows)]
	e := &w.lists.entries[c.List]
	if c.Piece < 0 {
		writeHead(to, e.term, int(-1-c.Piece))
		return
	}
	x := int(c.Piece)
	err := error(nil)
	if !e.known.isChecked(x) {
		if err = checkExtent(e.term.List, x); err == nil {
			e.known.setChecked(x)
		}
	}
	if err == nil {
		err = writeExtent(to, e.term.List, x)
	}
	if err != nil {
		w.mu.Lock()
		w.damaged = append(w.damaged, e.known.key)
		w.mu.Unlock()
	}
}

// isChecked reports whether extent e has passed its check. It remains so when the list is opened
// again, since loading a chunk compares its checksum.
func (k *knownList) isChecked(e int) bool {
	return atomic.LoadUint64(&k.checked[e/64])>>(e%64)&1 == 1
}

func (k *knownList) setChecked(e int) {
	atomic.OrUint64(&k.checked[e/64], 1<<(e%64))
}

// checkExtent decodes every block of extent e. Kernels trust what they read, so no damaged byte may
// reach them.
func checkExtent(l *postings.List, e int) error {
	var values [postings.BlockSize]uint32
	from, end := blocksOf(l, e)
	for b := from; b < end; b++ {
		if _, err := l.Docs(b, &values); err != nil {
			return err
		}
		if _, err := l.Freqs(b, &values); err != nil {
			return err
		}
	}
	return nil
}

// writeHead writes the directory of extent e.
func writeHead(to []byte, t *term, e int) {
	h := view[devHead](to)
	*h = devHead{}
	l := t.List
	from, end := blocksOf(l, e)
	t.Bounds.Need(from, end)
	for b := from; b < end; b++ {
		i := b - from
		h.last[i] = l.Last[b]
		h.off[i] = uint16(l.Off[b] - l.Off[from])
		h.encoding[i] = uint16(l.Enc[b])
		h.bound[i] = t.Bounds.Block[b]
	}
}

// writeExtent writes the payload of extent e.
func writeExtent(to []byte, l *postings.List, e int) error {
	from, end := blocksOf(l, e)
	for b := from; b < end; b++ {
		rows, err := l.Payload(b)
		if err != nil {
			return err
		}
		copy(to[rowBytes*int(l.Off[b]-l.Off[from]):], rows)
	}
	return nil
}
