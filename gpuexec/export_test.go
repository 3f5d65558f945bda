package gpuexec

// Algorithm is the requested one.
func (x *Executor) Algorithm() Algorithm { return x.options.Algorithm }

// StripTiles is how many tiles of flat lists the last batches had.
func (x *Executor) StripTiles() (n uint32) {
	for range slots {
		s := <-x.free
		n += s.batch.work.and.strips + s.batch.work.or.strips
		x.free <- s
	}
	return n
}

// Lose makes the extents missing that lost reports, as if they were not resident.
func (x *Executor) Lose(lost func(extent int) bool) {
	for range slots {
		s := <-x.free
		s.batch.lists.lose = lost
		x.free <- s
	}
}

// ForgetFlats drops all flat lists, as happens after one found no room.
func (x *Executor) ForgetFlats() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.flats.forget()
}

// LongestStep is the most windows that a step of the last batches had, with Options.Stream.
func (x *Executor) LongestStep() (n int) {
	for range slots {
		s := <-x.free
		n = max(n, s.batch.windowed.most)
		x.free <- s
	}
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
	for range slots {
		s := <-x.free
		n += s.batch.common.countUnits
		x.free <- s
	}
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
	for range slots {
		s := <-x.free
		n += len(s.batch.flat.renewed)
		s.batch.flat.renewed = s.batch.flat.renewed[:0]
		x.free <- s
	}
	return n
}
