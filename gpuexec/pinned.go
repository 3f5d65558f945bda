package gpuexec

import (
	"slices"

	"github.com/riffle-search/riffle/gpuexec/device"
)

// A pinnedPool is main memory that is pinned as it is needed, and taken from its beginning on. It is
// given back all at once.
type pinnedPool struct {
	dev    *device.Device
	most   int64 // bytes
	each   int64 // bytes that are pinned at a time, unless more are needed at once
	chunks []device.Pinned
	chunk  int   // the one being taken
	used   int64 // bytes of it
	pinned int64 // bytes of all
}

// take returns memory for that many rows, or nil if there is none.
func (p *pinnedPool) take(rows uint32) []byte {
	bytes := int64(rows) * rowBytes
	for p.chunk < len(p.chunks) && p.used+bytes > p.chunks[p.chunk].Len() {
		p.chunk, p.used = p.chunk+1, 0
	}
	if p.chunk == len(p.chunks) && !p.pin(bytes) {
		return nil
	}
	p.used += bytes
	return p.chunks[p.chunk].Slice(p.used-bytes, p.used).Bytes()
}

// pin adds a chunk of at least that many bytes.
func (p *pinnedPool) pin(least int64) bool {
	least = (least + device.ArenaAlign - 1) &^ (device.ArenaAlign - 1)
	bytes := min(max(p.each, least), p.most-p.pinned) &^ (device.ArenaAlign - 1)
	if bytes <= 0 || bytes < least {
		return false
	}
	var chunk device.Pinned
	if err := p.dev.Do(func(q *device.Queue) { chunk = q.Pin(bytes) }); err != nil {
		p.most = p.pinned // the system refuses more
		return false
	}
	p.chunks, p.pinned = append(p.chunks, chunk), p.pinned+bytes
	return true
}

// empty gives all of it back.
func (p *pinnedPool) empty() { p.chunk, p.used = 0, 0 }

// A scratchPool is main memory that is pinned for one batch after the other, as they need it. What a batch
// takes may be of any size, and grows with the segments. Memory that has become too small for it is
// unpinned, so that about twice as much is pinned as a batch has taken at most.
type scratchPool struct {
	dev    *device.Device
	chunks []scratchChunk
	taken  int64 // bytes, by the batch
	pinned int64 // bytes
}

type scratchChunk struct {
	device.Pinned
	used int64 // bytes, from its beginning on
}

// take returns memory for that many rows. It reports false if the system has none.
func (p *scratchPool) take(rows uint32) (m device.Pinned, ok bool) {
	bytes := int64(rows) * rowBytes
	best := -1
	for i := range p.chunks {
		left := p.chunks[i].Len() - p.chunks[i].used
		if left >= bytes && (best < 0 || left < p.chunks[best].Len()-p.chunks[best].used) {
			best = i
		}
	}
	if best < 0 {
		if !p.pin(bytes) {
			return m, false
		}
		best = len(p.chunks) - 1
	}
	c := &p.chunks[best]
	c.used += bytes
	p.taken += bytes
	return c.Slice(c.used-bytes, c.used), true
}

// pin adds a chunk of at least that many bytes. Chunks of which the batch has nothing make way for it.
func (p *scratchPool) pin(least int64) bool {
	bytes := max(scratchBytes, (least+device.ArenaAlign-1)&^(device.ArenaAlign-1))
	var chunk device.Pinned
	err := p.dev.Do(func(q *device.Queue) {
		for i := len(p.chunks) - 1; i >= 0 && p.pinned+bytes > 2*(p.taken+least)+scratchBytes; i-- {
			if c := &p.chunks[i]; c.used == 0 {
				p.pinned -= c.Len()
				q.Unpin(c.Pinned)
				p.chunks = slices.Delete(p.chunks, i, i+1)
			}
		}
		chunk = q.Pin(bytes)
	})
	if err != nil {
		return false
	}
	p.chunks, p.pinned = append(p.chunks, scratchChunk{Pinned: chunk}), p.pinned+bytes
	return true
}

// scratchBytes is how much memory is pinned at a time, unless more is needed at once.
const scratchBytes = 4 << 20

// empty begins with the next batch: the device has done with the one before.
func (p *scratchPool) empty() {
	p.taken = 0
	for i := range p.chunks {
		p.chunks[i].used = 0
	}
}
