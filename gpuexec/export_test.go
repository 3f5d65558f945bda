package gpuexec

// Algorithm is the one that was asked for.
func (x *Executor) Algorithm() Algorithm { return x.options.Algorithm }

// FlatLists is how many lists have become flat so far.
func (x *Executor) FlatLists() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.flats.made
}

// Lose makes those extents missing that lost reports, as if they were not on the device.
func (x *Executor) Lose(lost func(extent int) bool) {
	for range slots {
		s := <-x.free
		s.batch.lists.lose = lost
		x.free <- s
	}
}
