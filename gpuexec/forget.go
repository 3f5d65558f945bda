package gpuexec

import "github.com/riffle-search/riffle/gpuexec/device"

// giveUp is forgetAll for a batch that the device may still work on.
func (x *Executor) giveUp() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.forgetAll()
}

// forgetAll forgets what is on the device, after a batch was only partly put on the streams. It
// waits for that part, which still reads the batch's memory.
func (x *Executor) forgetAll() {
	x.cache.Reset()
	x.columns.full = true
	x.tables.forget()
	x.flats.forget()
	x.windows.residents.forget()
	_ = x.dev.Do(func(q *device.Queue) { // a lost device refuses, and reads nothing any more
		q.Synchronize(x.in)
		q.Synchronize(x.compute)
		for i := range x.windows.tracks {
			l := &x.windows.tracks[i]
			for _, stream := range []device.Stream{l.up, l.in, l.plan, l.compute, l.whole} {
				q.Synchronize(stream)
			}
		}
		q.Synchronize(x.out)
	})
}
