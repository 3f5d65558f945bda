package live

import "math/bits"

// Merges are tiered, after Lucene's LogMergePolicy: segments are grouped by size into tiers, each
// SegmentsPerTier times as large as the one below. When enough neighbors are in one tier or below
// it, they become one segment of the next. Only neighbors are merged, so documents keep their order
// of arrival unless Merge.Order says otherwise.

// smallSegmentBytes is the size below which all segments count as one tier.
const smallSegmentBytes = 1 << 20

// deletedShare: a segment is rewritten when more than 1/deletedShare of its documents are deleted.
const deletedShare = 4

// tier returns the size class of a segment by its live bytes.
func tier(bytes int64, perTier int) int {
	t := 0
	for n := bytes / smallSegmentBytes; n > 0; n /= int64(perTier) {
		t++
	}
	return t
}

// maxSegmentDocs is the maximum number of documents of a segment.
const maxSegmentDocs = 1 << 31

// liveDocs counts the documents that are not deleted.
func (in mergeInput) liveDocs() uint64 { return uint64(in.s.disk.Docs()) - in.deleted.count() }

// liveBytes estimates the size of a segment without its deleted documents.
func (in mergeInput) liveBytes() int64 {
	docs := uint64(in.s.disk.Docs())
	hi, lo := bits.Mul64(uint64(in.s.bytes), in.liveDocs())
	q, _ := bits.Div64(hi, lo, max(docs, 1))
	return int64(q)
}

// pickMerge chooses a merge that is due: neighbors that fill a tier, lowest tier first, or else a
// segment with many deleted documents.
func (ix *Index) pickMerge(all []mergeInput) []mergeInput {
	per := ix.opts.Merge.SegmentsPerTier
	highest := 0
	for _, in := range all {
		highest = max(highest, tier(in.liveBytes(), per))
	}
	for t := 0; t <= highest; t++ {
		for end := len(all); end > 0; end-- {
			start := end
			var bytes int64
			var docs uint64
			for start > 0 && tier(all[start-1].liveBytes(), per) <= t {
				bytes += all[start-1].liveBytes()
				docs += all[start-1].liveDocs()
				if bytes > ix.opts.Merge.MaxSegmentBytes || docs > ix.opts.Merge.MaxSegmentDocs {
					break
				}
				start--
			}
			if end-start >= per {
				return all[start:end]
			}
		}
	}
	for i, in := range all {
		if in.deleted.count()*deletedShare > uint64(in.s.disk.Docs()) {
			return all[i : i+1]
		}
	}
	return nil
}

// wholes divides segments into runs, each with at most as many documents as a segment may have.
func (ix *Index) wholes(all []mergeInput) (runs [][]mergeInput) {
	for start, end := 0, 0; start < len(all); start = end {
		docs := uint64(0)
		for end < len(all) && (end == start || docs+all[end].liveDocs() <= ix.opts.Merge.MaxSegmentDocs) {
			docs += all[end].liveDocs()
			end++
		}
		runs = append(runs, all[start:end])
	}
	return runs
}
