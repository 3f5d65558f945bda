package gpuexec

import (
	"time"
	"unsafe"

	"github.com/riffle-search/riffle/gpuexec/device"
)

// Algorithm is the requested one.
func (x *Executor) Algorithm() Algorithm { return x.options.Algorithm }

// eachBatch does something with the last batch of each slot, when none is under way.
func (x *Executor) eachBatch(do func(*batch)) {
	for range slots {
		s := <-x.free
		do(&s.batch)
		x.free <- s
	}
}

// StripTiles is how many tiles of flat lists the last batches had.
func (x *Executor) StripTiles() (n uint32) {
	x.eachBatch(func(b *batch) { n += b.work.and.strips + b.work.or.strips })
	return n
}

// Unbounded is how many ANDs of the last batches went by blocks without bounds.
func (x *Executor) Unbounded() (n int) {
	x.eachBatch(func(b *batch) { n += b.work.unbounded })
	return n
}

// Seedless is how many of the last batches visited all tiles of ANDs in one pass.
func (x *Executor) Seedless() (n int) {
	x.eachBatch(func(b *batch) {
		if b.work.and != (tileCounts{}) && !b.work.andSeeds {
			n++
		}
	})
	return n
}

// SharedLeads is how many parts of the last batches had the blocks of their shortest list shared by warps, and
// Leads how many went by these blocks.
func (x *Executor) SharedLeads() (n int) {
	x.eachBatch(func(b *batch) { n += b.work.sharedLeads })
	return n
}

func (x *Executor) Leads() (n int) {
	x.eachBatch(func(b *batch) {
		for i := range b.parts {
			if b.parts[i].way == byLeadBlocks {
				n++
			}
		}
	})
	return n
}

// Lose makes the extents missing that lost reports, as if they were not resident.
func (x *Executor) Lose(lost func(extent int) bool) {
	x.eachBatch(func(b *batch) { b.lists.lose = lost })
}

// ForgetFlats drops all flat lists, as happens after one found no room.
func (x *Executor) ForgetFlats() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.flats.forget()
}

// LongestStep is the most windows that a step of the last batches had, with Options.Stream.
func (x *Executor) LongestStep() (n int) {
	x.eachBatch(func(b *batch) { n = max(n, b.windowed.most) })
	return n
}

// Tracks returns the number of the last batch of each track, with Options.Stream.
func (x *Executor) Tracks() (last []int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range x.windows.tracks {
		last = append(last, x.windows.tracks[i].last)
	}
	return last
}

// FlatLists is how many lists are flat.
func (x *Executor) FlatLists() (n int) {
	x.flats.keys.Range(func(any, any) bool { n++; return true })
	return n
}

// CountUnits is how many units of work the last batches had of plans that are counted.
func (x *Executor) CountUnits() (n uint32) {
	x.eachBatch(func(b *batch) { n += b.common.countUnits })
	return n
}

// WindowBytes is the memory of windows, and StayBytes that of lists that stay, with Options.Stream.
func (x *Executor) WindowBytes() int64 { return x.windows.bytes }
func (x *Executor) StayBytes() int64   { return int64(x.windows.residents.rows) * rowBytes }

// WindowTiles is how many tiles a window has.
func (x *Executor) WindowTiles() int { return x.shape.WindowTiles }

// FlatBytes is the memory that flat lists have taken, dropped ones included.
func (x *Executor) FlatBytes() int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return int64(x.flats.used) * rowBytes
}

// Renewed is how many lists the last batches have made flat before they were scored.
func (x *Executor) Renewed() (n int) {
	x.eachBatch(func(b *batch) {
		n += len(b.flat.renewed)
		b.flat.renewed = b.flat.renewed[:0]
	})
	return n
}

// KeepsColumn reports whether the host keeps the parts of a column, with Options.Stream.
func (x *Executor) KeepsColumn(codes []uint8) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.windows.columns.find(columnKey{unsafe.Pointer(&codes[0]), len(codes)}) != nil
}

// RunBoth runs two batches, of which the second is handed to the device before the first is waited for, and
// is waited for before it. It calls between after the first was handed over.
func (x *Executor) RunBoth(first, second []*Plan, between func()) (answers [2][]Answer, err error) {
	var s [2]*slot
	for i, plans := range [][]*Plan{first, second} {
		taken := make([]int, len(plans))
		for j := range taken {
			taken[j] = j
		}
		s[i], answers[i] = <-x.free, make([]Answer, len(plans))
		s[i].batch.byWindows = x.options.Stream
		x.windows.records.begin()
		if became, e := x.start(s[i], plans, taken, answers[i]); e != nil || became != started {
			panic("the batch has not started")
		}
		if i == 0 {
			between()
		}
	}
	for _, i := range []int{1, 0} {
		// Results are copied in the order of batches.
		for _, event := range []device.Event{s[i].ready, s[i].done} {
			if e := x.dev.Wait(event, time.Millisecond); e != nil {
				return answers, e
			}
		}
	}
	for i := range s {
		if e := x.finish(s[i], answers[i]); e != nil {
			return answers, e
		}
		x.windows.records.end()
		s[i].batch.forget()
		x.free <- s[i]
	}
	return answers, nil
}

// ForgetColumns drops all columns, as happens after one found no room.
func (x *Executor) ForgetColumns() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.columns.forgetAll()
}
