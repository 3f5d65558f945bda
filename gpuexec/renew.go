package gpuexec

// When the mean length of a field changes, all of its lists get another version, with other impacts
// (knownList.before). If queries over them went block by block until a kernel has made the lists flat
// anew, for which a list must come three times, a batch would take several times as long for a while,
// and the queries behind it wait. So a batch that first has a list in a new version makes it flat
// before it scores.

// renewing is the pass whose struct has the lists to be renewed.
const renewing = andRest

// renew chooses the lists that the batch makes flat before it scores, and gives them the places of the
// versions before. All of their blocks are on the device; heads, which have bounds, are copied at most. It
// is called before it is decided how queries go.
func (b *batch) renew() {
	if b.lists.lose != nil || !b.algorithm.byStrips() {
		return
	}
	room := b.staging.free() / 4 // for heads: the rest is for what other lists lack
	for i := range b.lists.entries {
		e := &b.lists.entries[i]
		if heads := rowBytes * headRows * len(e.known.extents); heads <= room && b.renews(e) {
			room -= heads
			b.flat.flats.take(e.known, b.shape.flatLayout(e.known.count, e.tiles).rows)
			b.flat.lists = append(b.flat.lists, e.known)
			e.renewed, e.all = true, true
		}
	}
}

// renews reports whether a list should be made flat before it is scored: its last version was flat, no
// query of the batch needs that one any more, and all blocks are resident.
func (b *batch) renews(e *listEntry) bool {
	k, f := e.known, b.flat.flats
	last := k.before.Load()
	if last == nil || f.has(k) || !f.has(last) || last.count != k.count || last.in[b.lists.slot].batch == b.lists.batch {
		return false
	}
	rows := int64(0)
	for _, n := range k.extents {
		rows += int64(n)
	}
	return b.lists.cache.Resident(k.key) >= rows*rowBytes
}

// putRenewed writes the structs of the lists to be renewed, whose own have addresses now.
func (b *batch) putRenewed() {
	for i := range b.lists.entries {
		if e := &b.lists.entries[i]; e.renewed {
			l := b.shape.flatLayout(e.known.count, e.tiles)
			b.flat.renewed = append(b.flat.renewed, l.flattening(e))
		}
	}
}
