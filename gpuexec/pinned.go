package gpuexec

import "github.com/riffle-search/riffle/gpuexec/device"

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
	if m, ok := p.takePinned(rows); ok {
		return m.Bytes()
	}
	return nil
}

// takePinned is take for copies.
func (p *pinnedPool) takePinned(rows uint32) (m device.Pinned, ok bool) {
	bytes := int64(rows) * rowBytes
	for p.chunk < len(p.chunks) && p.used+bytes > p.chunks[p.chunk].Len() {
		p.chunk, p.used = p.chunk+1, 0
	}
	if p.chunk == len(p.chunks) && !p.pin(bytes) {
		return m, false
	}
	p.used += bytes
	return p.chunks[p.chunk].Slice(p.used-bytes, p.used), true
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
