package segment

import "bytes"

// A walk steps through sorted iterators together: it is always at the smallest key, and among equal
// keys at the first input. It is a binary heap. Merges have a handful of inputs, bulk loads a
// hundred.
type walk[I stepper] struct {
	key   func(I) []byte
	heap  []walker[I]
	begun []I // every iterator that was added, to be closed
	pace  pace
}

// A stepper has the methods common to TermIterator and IDIterator.
type stepper interface {
	Next() bool
	Err() error
	Close() error
}

type walker[I stepper] struct {
	input int
	it    I
}

// add takes over an iterator and steps to its first key.
func (w *walk[I]) add(input int, it I) error {
	w.begun = append(w.begun, it)
	if !it.Next() {
		return it.Err()
	}
	w.heap = append(w.heap, walker[I]{input, it})
	for i := len(w.heap) - 1; i > 0 && w.less(i, (i-1)/2); i = (i - 1) / 2 {
		w.heap[i], w.heap[(i-1)/2] = w.heap[(i-1)/2], w.heap[i]
	}
	return nil
}

func (w *walk[I]) done() bool { return len(w.heap) == 0 }

// first is the smallest key, valid until next.
func (w *walk[I]) first() []byte { return w.key(w.heap[0].it) }

// top is the iterator at the smallest key, and the number of its input.
func (w *walk[I]) top() (input int, it I) { return w.heap[0].input, w.heap[0].it }

// next steps the iterator at the smallest key.
func (w *walk[I]) next() error {
	w.pace.add(paceTerm)
	it := w.heap[0].it
	if !it.Next() {
		if err := it.Err(); err != nil {
			return err
		}
		last := len(w.heap) - 1
		w.heap[0] = w.heap[last]
		w.heap = w.heap[:last]
	}
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(w.heap); c++ {
			if w.less(c, least) {
				least = c
			}
		}
		if least == i {
			return nil
		}
		w.heap[i], w.heap[least] = w.heap[least], w.heap[i]
		i = least
	}
}

func (w *walk[I]) less(i, j int) bool {
	a, b := w.heap[i], w.heap[j]
	if c := bytes.Compare(w.key(a.it), w.key(b.it)); c != 0 {
		return c < 0
	}
	return a.input < b.input
}

// close closes every iterator.
func (w *walk[I]) close() {
	for _, it := range w.begun {
		it.Close()
	}
}
