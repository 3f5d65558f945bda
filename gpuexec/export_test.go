package gpuexec

// Lose makes those extents missing that lost reports, as if they were not on the device.
func (x *Executor) Lose(lost func(extent int) bool) {
	for range slots {
		s := <-x.free
		s.batch.lists.lose = lost
		x.free <- s
	}
}
