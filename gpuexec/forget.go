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
	x.columns.forgetAll()
	x.tables.forget()
	x.flats.forget()
	x.windows.residents.forget()
	for _, s := range x.streams() {
		if err := x.synchronize(s); err != nil {
			x.dev.Abandon(err)
			return
		}
	}
}

// streams are those that batches are put on, each after those that its work may wait for.
func (x *Executor) streams() []device.Stream {
	all := []device.Stream{x.in, x.compute}
	for i := range x.windows.tracks {
		l := &x.windows.tracks[i]
		all = append(all, l.up, l.in, l.plan, l.compute, l.whole)
	}
	return append(all, x.out)
}

// synchronizeTries is how often the driver is asked to wait for a stream. It may refuse that as it
// refused the call that failed. Without an answer it is unknown what the device still reads.
const synchronizeTries = 4

// synchronize waits for the work of a stream. A lost device takes no further batch, so there is no need.
func (x *Executor) synchronize(s device.Stream) (err error) {
	for range synchronizeTries {
		if err = x.dev.Do(func(q *device.Queue) { q.Synchronize(s) }); err == nil || x.dev.Lost() != nil {
			return nil
		}
	}
	return err
}
