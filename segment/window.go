package segment

import (
	"cmp"
	"slices"
)

// A storedWindow fetches stored documents for a merge that changes their order. Reading them in
// their new order would read and decompress a block of 16 KB for each. So it fetches them in the
// order of the inputs, as many at a time as memory allows, and returns them in the new order. A
// window reads no block twice.
type storedWindow struct {
	m     *merger
	order []uint32 // new numbers of the documents, sorted by origin
	spans []span   // of each document of the window, in data
	data  []byte
}

type span struct{ start, end int }

// firstWindowDocs is the size of the first window, which measures the size of documents.
const firstWindowDocs = 1024

// spanBytes is the memory of a document in a window besides its bytes.
const spanBytes = 16 + 4

// eachStored calls f with the stored bytes of every new document, in order. They are valid until f
// returns.
func (m *merger) eachStored(f func(doc int, data []byte) error) error {
	if m.order.Kind == Arrival {
		for i, in := range m.inputs {
			for old, doc := range m.maps[i] {
				if doc == NoDoc {
					continue
				}
				data, err := in.storedOf(uint32(old))
				if err == nil {
					err = f(int(doc), data)
				}
				if err != nil {
					return err
				}
			}
		}
		return nil
	}
	w := storedWindow{m: m}
	n := firstWindowDocs
	for first := 0; first < len(m.from); {
		if err := w.read(first, min(n, len(m.from)-first)); err != nil {
			return err
		}
		for i, s := range w.spans {
			if err := f(first+i, w.data[s.start:s.end]); err != nil {
				return err
			}
		}
		first += len(w.spans)
		n = w.next(len(m.from) - first)
	}
	return nil
}

// read fetches n documents from first, or fewer if they are too large.
func (w *storedWindow) read(first, n int) error {
	for {
		fits, err := w.tryRead(first, n)
		if fits || err != nil {
			return err
		}
		n /= 2
	}
}

// tryRead fetches n documents from first. It gives up when they take too much memory, unless there
// is only one.
func (w *storedWindow) tryRead(first, n int) (fits bool, err error) {
	from := w.m.from[first : first+n]
	w.order = w.order[:0]
	for i := range from {
		w.order = append(w.order, uint32(i))
	}
	slices.SortFunc(w.order, func(i, j uint32) int {
		a, b := from[i], from[j]
		return cmp.Or(cmp.Compare(a.input, b.input), cmp.Compare(a.doc, b.doc))
	})
	w.spans = slices.Grow(w.spans[:0], n)[:n]
	w.data = w.data[:0]
	for steps, i := range w.order {
		if steps%256 == 0 && w.m.ctx.Err() != nil {
			return false, w.m.ctx.Err()
		}
		data, err := w.m.inputs[from[i].input].storedOf(from[i].doc)
		if err != nil {
			return false, err
		}
		if int64(len(w.data)+len(data)+n*spanBytes) > w.m.opts.MemoryBytes && n > 1 {
			return false, nil
		}
		w.spans[i] = span{len(w.data), len(w.data) + len(data)}
		w.data = append(w.data, data...)
	}
	return true, nil
}

// next is the size of the next window, at most left. It uses three quarters of the memory if
// documents are as large as in this window. It also grows the buffer, to avoid copies by append.
func (w *storedWindow) next(left int) int {
	docs := len(w.spans)
	bytes := len(w.data) + docs*spanBytes
	n := int(float64(w.m.opts.MemoryBytes) * 0.75 / float64(bytes) * float64(docs))
	n = min(max(n, 1), left)
	if room := int(float64(len(w.data)) / float64(docs) * float64(n) * 1.1); room > cap(w.data) {
		w.data = nil
		w.data = make([]byte, 0, room)
	}
	return n
}
