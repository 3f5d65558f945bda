package gpuexec

import (
	"time"

	"github.com/riffle-search/riffle/gpuexec/device"
)

// Times are where the time of batches went. Batches overlap, on the device with one another's copies, on the host on as many
// processors as there are callers of Run, but for about half of Host.
type Times struct {
	Batches int64
	Host    time.Duration // to make batches and to hand them to the device
	Answers time.Duration // to read what came back
	Kernels time.Duration // on the device, by its own clock, from the first kernel of each batch to its last; with Options.Timed
}

// Times returns current figures.
func (x *Executor) Times() Times {
	x.timesMu.Lock()
	defer x.timesMu.Unlock()
	return x.times
}

func (x *Executor) note(t Times) {
	x.timesMu.Lock()
	defer x.timesMu.Unlock()
	x.times.Batches += t.Batches
	x.times.Host += t.Host
	x.times.Answers += t.Answers
	x.times.Kernels += t.Kernels
}

// timeKernels notes the time that the kernels of a batch took, which is done.
func (x *Executor) timeKernels(s *slot) error {
	return x.dev.Do(func(q *device.Queue) {
		x.note(Times{Kernels: q.Elapsed(s.began, s.ready)})
	})
}
