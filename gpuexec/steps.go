package gpuexec

import (
	"fmt"
	"runtime"
)

// A batch processes its windows in steps: with more windows to a step there are fewer launches, and
// fewer times that a kernel waits for its last thread blocks. They take more memory, so a batch of
// many lists has one window to a step.
//
// The first step has one window, and each further one at most twice as many as the one before:
// blocks are chosen by thresholds, which are good once a window has been scored.

// A need is the memory that a window takes on the device.
type need struct {
	marks, units int  // bytes of marks, and units of blocks
	flat         int  // bytes of flat postings and their directories
	other        int  // bytes of all else
	mayStay      bool // some records may come to stay, which are counted in other
}

func (n *need) add(m need) {
	n.marks += m.marks
	n.units += m.units
	n.flat += m.flat
	n.other += m.other
	n.mayStay = n.mayStay || m.mayStay
}

// exceeds reports whether n is more than m.
func (n need) exceeds(m need) bool { return n.flat > m.flat || n.other > m.other }

// has reports whether the list has postings in a window.
func (k *keptList) has(window int) bool { return window < len(k.windows) && k.windows[window].rows > 0 }

// divide chooses the track of a batch, and divides its windows into steps. It returns an error if a
// window needs more memory than there is: nothing has been written then.
func (b *batch) divide() error {
	w := &b.windowed
	count := 1
	for _, kept := range w.lists {
		count = max(count, len(kept.windows))
	}
	w.needs = append(w.needs[:0], make([]need, count)...)
	w.parted.beginParts(count)
	share(runtime.GOMAXPROCS(0), count, 1, func(_, from, to int) {
		for i := from; i < to; i++ {
			w.needs[i] = b.needOf(i)
		}
	})
	w.track = w.windows.choose(w.needs)
	room := w.track.room(0).need()
	for i := range w.needs {
		if n := &w.needs[i]; n.flat > room.flat || (!n.mayStay || b.mayReadInPlace()) && n.other > room.other {
			return fmt.Errorf("gpuexec: window %d of %d needs %d bytes for flat postings and %d for all else, of %d and %d (Options.WindowBytes)",
				i, count, n.flat, n.other, room.flat, room.other)
		}
	}
	ends := stepsOf(w.needs, room, b.stepWindows())
	w.steps, w.most = w.steps[:0], 1
	from := 0
	for _, to := range ends {
		w.steps = append(w.steps, step{from: from, to: to})
		w.most = max(w.most, to-from)
		from = to
	}
	return nil
}

// needOf is the memory that a window takes at most: as if no further record came to stay.
func (b *batch) needOf(window int) (n need) {
	w := &b.windowed
	for i, kept := range w.lists {
		if !kept.has(window) {
			continue
		}
		r, e := &kept.windows[window], &b.lists.entries[i]
		n.marks += wholeRows(4 * int(b.shape.windowTiles(e.docs, window)))
		n.units += int(r.blocks+sliceUnit-1) / sliceUnit
		n.flat += wholeRows(int(r.flat.bound))
		n.other += wholeRows(int(r.spread))
		if e.kept != nil && !w.windows.residents.has(r) {
			n.other += int(r.rows) * rowBytes
			n.mayStay = n.mayStay || w.windows.residents.admits(e.known)
		}
	}
	n.other += n.marks + 2*pieceBytes*n.units + b.partsNeed(window)
	return n
}

// queueShare is the part of a batch's memory that queues may take.
const queueShare = 4

// stepWindows is how many windows a step may have by the memory of the batch: a scene has a place
// for each tile of each part, in two queues of each of two passes.
func (b *batch) stepWindows() int {
	tiles := 0
	for i := range b.parts {
		pt := &b.parts[i]
		tiles += int(b.shape.windowTiles(b.queries[pt.query].plan.Segments[pt.segment].Docs, 0))
	}
	each := len(b.windowed.scenes) * 4 * itemBytes * tiles
	return max(1, min(b.shape.StepWindows, b.staging.size/queueShare/max(1, each)))
}

// stepsOf returns where steps of windows with these needs end, in room for the need of one step.
// most is how many windows a step may have.
func stepsOf(needs []need, room need, most int) (ends []int) {
	for from, atMost := 0, 1; from < len(needs); atMost = min(2*atMost, most) {
		sum, to := needs[from], from+1
		for ; to < len(needs) && to-from < atMost; to++ {
			sum.add(needs[to])
			if sum.exceeds(room) {
				break
			}
		}
		ends = append(ends, to)
		from = to
	}
	return ends
}
