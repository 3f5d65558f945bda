package live

import "math/bits"

// Merges are tiered, after Lucene's LogMergePolicy: segments are grouped by size into tiers, each
// SegmentsPerTier times as large as the one below. When SegmentsPerTier segments of one tier are
// neighbors, they become one segment of the next; smaller ones between them or next to them join.
// Only neighbors are merged, so documents keep their order of arrival unless Merge.Order says
// otherwise.
//
// A segment is merged only with as many of its size, so a document is written once for each tier
// that it passes. With n segments of one size written by seals, that is log(n) to the base
// SegmentsPerTier, and one more for the seal. A tier keeps at most SegmentsPerTier-1 segments. More
// accumulate only while a merge runs: merges take turns.

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

// A mergeSize is the size of a segment without its deleted documents.
type mergeSize struct {
	bytes int64
	docs  uint64
}

// pickMerge chooses a merge that is due: neighbors that fill a tier, lowest tier first, or else a
// segment with many deleted documents.
func (ix *Index) pickMerge(all []mergeInput) []mergeInput {
	sizes := make([]mergeSize, len(all))
	for i, in := range all {
		sizes[i] = mergeSize{in.liveBytes(), in.liveDocs()}
	}
	if start, end := ix.opts.Merge.fullTier(sizes); start < end {
		return all[start:end]
	}
	for i, in := range all {
		if in.deleted.count()*deletedShare > uint64(in.s.disk.Docs()) {
			return all[i : i+1]
		}
	}
	return nil
}

// fullTier returns the neighbors that fill the lowest full tier, the last ones if there are
// several: all[start:end], or nothing. Of those that would exceed the maximum of a segment, it
// returns as many as fit.
func (m *Merge) fullTier(all []mergeSize) (start, end int) {
	tiers, highest := make([]int, len(all)), 0
	for i, s := range all {
		tiers[i] = tier(s.bytes, m.SegmentsPerTier)
		highest = max(highest, tiers[i])
	}
	for t := 0; t <= highest; t++ {
		for end := len(all); end > 0; end-- {
			fits, full := end, 0
			var sum mergeSize
			for start := end - 1; start >= 0 && tiers[start] <= t; start-- {
				sum.bytes += all[start].bytes
				sum.docs += all[start].docs
				if sum.bytes <= m.MaxSegmentBytes && sum.docs <= m.MaxSegmentDocs {
					fits = start
				}
				if tiers[start] == t {
					full++
				}
			}
			if full >= m.SegmentsPerTier && end-fits > 1 {
				return fits, end
			}
		}
	}
	return 0, 0
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
