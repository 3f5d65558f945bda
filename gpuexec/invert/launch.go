package invert

import "github.com/riffle-search/riffle/gpuexec/device"

// A step is a sequence of kernels that are launched one after the other with the same arguments.
type step struct {
	args     devArgs
	launches []launch
}

type launch struct {
	kernel string
	blocks int // of 256 threads each
}

const threads = 256

// blocksFor is the number of blocks for n items with a thread each, up to 4096. Beyond that, each
// thread does several.
func blocksFor(n int) int { return min((n+threads-1)/threads, 4096) }

// tilesOf is the number of blocks for n items, a tile each.
func tilesOf(n int) int { return (n + tile - 1) / tile }

// scan is the step that replaces each of n values by the sum of those before it.
func (r *run) scan(values uint64, n int) step {
	a := r.args
	a.values, a.valueCount = values, uint32(n)
	return step{a, []launch{{"sum_tiles", tilesOf(n)}, {"sum_before_each", tilesOf(n)}}}
}

// pass is the step that sorts entries by eight bits.
func (r *run) pass() step {
	a := r.args
	tiles := tilesOf(int(a.count))
	a.valueCount = uint32(tiles * digits)
	scanned := tilesOf(tiles * digits)
	return step{a, []launch{{"count_digits", tiles}, {"sum_tiles", scanned}, {"sum_before_each", scanned}, {"move_entries", tiles}}}
}

// do runs steps and waits for them. It returns the word on the device at an address, unless that is
// 0.
func (r *run) do(word uint64, steps ...step) (uint32, error) {
	s := r.s
	view := device.View[devArgs](s.args)
	for i, t := range steps {
		view[i] = t.args
	}
	bytes := int64(len(steps)) * argsBytes
	result := s.args.Slice(maxSteps*argsBytes, maxSteps*argsBytes+4)
	err := s.dev.Do(func(q *device.Queue) {
		q.ToDevice(s.stream, r.steps.Slice(0, bytes), s.args.Slice(0, bytes))
		for i, t := range steps {
			args := r.steps.Slice(int64(i)*argsBytes, int64(i+1)*argsBytes)
			for _, l := range t.launches {
				q.Launch(s.stream, s.kernels[l.kernel], device.Grid{Blocks: l.blocks, Threads: threads}, args)
			}
		}
		if word != 0 {
			q.ToHost(s.stream, result, device.Memory{Address: word, Bytes: 4})
		}
		q.Record(s.done, s.stream)
	})
	if err == nil {
		err = s.dev.Wait(s.done, 0)
	}
	if err != nil || word == 0 {
		return 0, err
	}
	return device.View[uint32](result)[0], nil
}
