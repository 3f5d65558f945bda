package segment

import (
	"runtime"
	"slices"

	"github.com/riffle-search/riffle/columns"
)

// VersionColumn is the name of the column that has the versions of documents: which change of the index
// each comes from (package live). It is a column like any other, of integers, and follows its documents
// through seals and merges. Documents without a value are older than all others. Versions rise in the
// order of arrival, so most tiles are constant or rising and take a few bytes.
//
// No field has such a name: it is not UTF-8.
const VersionColumn = "\xff\x00version"

// versionsFeature is the feature of a segment with that column. It has no data. A build that knew nothing
// of versions would take new documents for old ones.
const versionsFeature = "versions of documents"

// versionFeature appends the feature if there is such a column.
func (m *merger) versionFeature(features []feature) []feature {
	if !slices.Contains(m.columns, VersionColumn) {
		return features
	}
	return append(features, feature{name: versionsFeature, required: true})
}

// AddVersions gives the documents from first to below end, the last ones that were added, a version. No
// view may have them yet.
func (m *Memory) AddVersions(first, end uint32, version uint64) {
	m.writer.Lock()
	defer m.writer.Unlock()
	v := columns.OfInt(int64(version))
	for first < end {
		some := min(end, first+lockedValues)
		m.mu.Lock()
		g := m.gathered(VersionColumn)
		g.mix.AddKey(v.Kind, v.Key)
		for ; first < some; first++ {
			g.values.add(first, v.Kind, v.Key)
		}
		m.countValues(g)
		m.mu.Unlock()
		runtime.Gosched() // to readers, and rather here than with the lock in hand
	}
}
