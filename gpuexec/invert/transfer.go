package invert

import (
	"github.com/riffle-search/riffle/gpuexec/device"
)

// A slab carries bytes between the host and the device: one is on its way while the other is filled
// or emptied.
type slab struct {
	memory device.Pinned
	event  device.Event // recorded after its last copy
	busy   bool         // its last copy has not been waited for
}

func (s *Sorter) await(b *slab) error {
	if !b.busy {
		return nil
	}
	b.busy = false
	return s.dev.Wait(b.event, 0)
}

// A writer writes bytes sequentially to a range of device memory.
type writer struct {
	s    *Sorter
	to   device.Memory
	at   int64 // where in to the current slab goes
	slab int
	used int64 // of the current slab
}

func (w *writer) write(b []byte) error {
	for len(b) > 0 {
		slab := &w.s.slabs[w.slab]
		if w.used == 0 {
			if err := w.s.await(slab); err != nil {
				return err
			}
		}
		n := copy(slab.memory.Bytes()[w.used:], b)
		b = b[n:]
		if w.used += int64(n); w.used == slab.memory.Len() {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush sends what is in the current slab.
func (w *writer) flush() error {
	if w.used == 0 {
		return nil
	}
	slab := &w.s.slabs[w.slab]
	err := w.s.dev.Do(func(q *device.Queue) {
		q.ToDevice(w.s.stream, w.to.Slice(w.at, w.at+w.used), slab.memory.Slice(0, w.used))
		q.Record(slab.event, w.s.stream)
	})
	slab.busy = true
	w.at += w.used
	w.slab, w.used = 1-w.slab, 0
	return err
}

// read returns a copy of a range of device memory, after the work on the stream is done.
func (s *Sorter) read(from device.Memory) ([]byte, error) {
	size := s.slabs[0].memory.Len()
	part := func(i int64) device.Memory { return from.Slice(i*size, min((i+1)*size, from.Bytes)) }
	fetch := func(i int64) error {
		b, m := &s.slabs[i%2], part(i)
		if err := s.await(b); err != nil {
			return err
		}
		b.busy = true
		return s.dev.Do(func(q *device.Queue) {
			q.ToHost(s.stream, b.memory.Slice(0, m.Bytes), m)
			q.Record(b.event, s.stream)
		})
	}
	parts := (from.Bytes + size - 1) / size
	to := make([]byte, 0, from.Bytes)
	for i := int64(-1); i < parts; i++ {
		if i+1 < parts {
			if err := fetch(i + 1); err != nil {
				return nil, err
			}
		}
		if i < 0 {
			continue
		}
		b := &s.slabs[i%2]
		if err := s.await(b); err != nil {
			return nil, err
		}
		to = append(to, b.memory.Bytes()[:part(i).Bytes]...)
	}
	return to, nil
}
