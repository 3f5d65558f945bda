package gpuexec

// A block of the lead, the shortest list of an AND, is a warp's, or all warps of a thread block share it
// (kernels/lead.cuh).
//
// A warp decodes the blocks that its documents fall into, in all other lists, one after the other: some 2 µs
// each on an H100. Of lists that are much longer than the lead each document needs a block of its own. Of 256
// ANDs over 10,000, 60,000, 200,000 and a million documents, the slowest warp decodes 18, 53, 127 and 111
// blocks, long after most others have ended. Four warps take a quarter of that time. But each of them looks at
// the bounds and decodes the block of the lead, so where the device has enough to do, sharing costs more than
// it gains.

// leadWarps is how many warps of and_lead a multiprocessor has at least at once, by its __launch_bounds__.
const leadWarps = 32

// leadDepth is how many blocks of the other lists a block of the lead leads to, at most, if documents are
// spread evenly. Terms are in order of length.
func (b *batch) leadDepth(terms []partTerm) (depth int) {
	lead := b.listOf(terms[0])
	docs := min(lead.count, lead.blockSize)
	for _, t := range terms[1:] {
		depth += int(min(docs, b.listOf(t).blocks/lead.blocks+1))
	}
	return depth
}

// shareLeads decides which parts have their lead's blocks shared: those where one block is more work than
// a warp of the device has on average.
func (b *batch) shareLeads() {
	if !b.shape.sharesLeads() || !b.algorithm.byLead() {
		return
	}
	all := 0
	for i := range b.parts {
		if pt := &b.parts[i]; pt.way == byLeadBlocks {
			all += pt.depth * int(b.listOf(b.terms[pt.from]).blocks)
		}
	}
	for i := range b.parts {
		pt := &b.parts[i]
		pt.shared = pt.way == byLeadBlocks && b.shape.sharesLead(pt.depth, all)
		if pt.shared {
			b.work.sharedLeads++
		}
	}
}

// sharesLeads reports whether the warps of a thread block can share a block of a lead.
func (s Shape) sharesLeads() bool {
	return s.SharedDepth > 0 && (s.LeadThreads == 64 || s.LeadThreads == 128)
}

// sharesLead reports whether a block of a lead that leads to depth others is shared, in a batch whose
// leads lead to so many in all.
func (s Shape) sharesLead(depth, all int) bool {
	return depth >= s.SharedDepth && depth*leadWarps*s.Multiprocessors >= all
}

// groups is how many groups the blocks of a lead make: each is a thread block's work at a time.
func (s Shape) groups(blocks uint32, shared bool) uint32 {
	if shared {
		return blocks
	}
	warps := uint32(s.LeadThreads / 32)
	return (blocks + warps - 1) / warps
}
