package segment

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/riffle-search/riffle/blockmax"
)

// Sizes that make lists of one posting, of one block, of several blocks and of several extents, and
// columns of one and two chunks.
var sizes = []int{0, 1, 2, 17, 129, 1500, 6000}

func TestMemoryAndDiskEqualTheModel(t *testing.T) {
	for _, n := range sizes {
		rng := rand.New(rand.NewPCG(1, uint64(n)))
		m := randomModel(rng, n, "doc")
		view := m.memory().View()
		requireEqual(t, m, view)
		d, res, _ := merge(t, []Input{{Reader: view}}, MergeOptions{})
		requireEqual(t, m, d)
		if !slices.Equal(res.fields, d.Fields()) {
			t.Errorf("the merge says fields %v, the segment %v", res.fields, d.Fields())
		}
		d.release()
		requireEqual(t, m, d)
	}
}

func TestMergeEqualsRebuild(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(2, seed))
		var inputs []Input
		var want model
		for i := range 1 + rng.IntN(4) {
			m := randomModel(rng, rng.IntN(700), string(rune('a'+i)))
			in := Input{Reader: m.memory().View()}
			if rng.IntN(2) == 0 {
				in.Reader, _, _ = merge(t, []Input{in}, MergeOptions{})
			}
			if rng.IntN(4) > 0 {
				in.Deleted = randomDeletions(rng, len(m))
				m = m.without(in.Deleted.Contains)
			}
			inputs = append(inputs, in)
			want = append(want, m...)
		}
		d, res, _ := merge(t, inputs, MergeOptions{})
		requireEqual(t, want, d)
		requireMaps(t, inputs, res, d)
	}
}

// randomDeletions deletes nothing, some, nearly all or all of n documents.
func randomDeletions(rng *rand.Rand, n int) *roaring.Bitmap {
	deleted := roaring.New()
	share := []float64{0, 0.1, 0.5, 0.99, 1}[rng.IntN(5)]
	for doc := range n {
		if rng.Float64() < share {
			deleted.Add(uint32(doc))
		}
	}
	return deleted
}

// requireMaps compares the maps of a merge with the ids of both sides.
func requireMaps(t *testing.T, inputs []Input, res *Result, d *Disk) {
	t.Helper()
	left := 0
	for i, in := range inputs {
		for old, doc := range res.Maps[i] {
			deleted := in.Deleted != nil && in.Deleted.Contains(uint32(old))
			if deleted != (doc == NoDoc) {
				t.Fatalf("input %d, document %d: deleted %v, but new number %d", i, old, deleted, doc)
			}
			if deleted {
				continue
			}
			left++
			was, _ := in.Reader.ID(uint32(old))
			if is, _ := d.ID(doc); is != was {
				t.Fatalf("input %d: document %d, %q, is said to be %d, which is %q", i, old, was, doc, is)
			}
		}
	}
	if left != int(res.Docs) {
		t.Fatalf("the maps have %d documents, the segment %d", left, res.Docs)
	}
}

func TestMergeByGlobalScore(t *testing.T) {
	order := Order{Kind: ByGlobalScore, Alpha: 0.3, BM25: blockmax.DefaultBM25}
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(3, seed))
		m := append(randomModel(rng, 900, "a"), randomModel(rng, 300, "b")...)
		plain, _, _ := merge(t, []Input{{Reader: m.memory().View()}}, MergeOptions{})
		inputs := []Input{{Reader: plain, Deleted: randomDeletions(rng, len(m))}}
		d, res, _ := merge(t, inputs, MergeOptions{Order: order})
		requireMaps(t, inputs, res, d)
		if d.Order() != order {
			t.Fatalf("order %+v, want %+v", d.Order(), order)
		}
		sorted := make(model, res.Docs)
		for old, doc := range res.Maps[0] {
			if doc != NoDoc {
				sorted[doc] = m[old]
			}
		}
		requireEqual(t, sorted, d)
		requireSorted(t, order, m, sorted)
	}
}

// requireSorted recomputes every document's best possible score from the model. The average length
// is that of all documents in the merge.
func requireSorted(t *testing.T, order Order, all, sorted model) {
	t.Helper()
	tables := make(map[string]*blockmax.Table)
	for _, name := range all.fieldNames() {
		info, _, _ := all.field(name)
		tables[name] = blockmax.NewTable(order.BM25, float64(info.Tokens)/float64(info.Docs))
	}
	before := 2.0 * 65536
	for i, d := range sorted {
		best := uint16(0)
		for name, f := range d.fields {
			code := uint8(1)
			if f.norms {
				code = blockmax.LengthCode(f.length)
			}
			for _, tf := range f.terms {
				best = max(best, tables[name].Impact(tf, code))
			}
		}
		score := float64(order.Alpha*float64(d.rank)) + float64((1-order.Alpha)*float64(best))
		if score > before {
			t.Fatalf("document %d could score %v, the one before it only %v", i, score, before)
		}
		before = score
	}
}

func TestFieldBeginsToKeepLengths(t *testing.T) {
	doc := func(id string, norms bool, length uint32) modelDoc {
		return modelDoc{id: id, fields: map[string]modelField{"f": {norms, length, map[string]uint32{"x": 3}}}}
	}
	m := model{doc("a", false, 9), doc("b", true, 9), doc("c", false, 9)}
	mem := NewMemory()
	mem.Add(m[0].document())
	early := mem.View()
	mem.Add(m[1].document())
	mem.Add(m[2].document())
	requireEqual(t, m, mem.View())
	requireEqual(t, m[:1], early)
	d, _, _ := merge(t, []Input{{Reader: mem.View()}}, MergeOptions{})
	requireEqual(t, m, d)

	// The same for a merge of both.
	var inputs []Input
	for _, d := range m {
		inputs = append(inputs, Input{Reader: model{d}.memory().View()})
	}
	d, _, _ = merge(t, inputs, MergeOptions{})
	requireEqual(t, m, d)
}

func TestMergeRefusesTwoDocumentsOfOneID(t *testing.T) {
	mem := NewMemory()
	mem.Add(Document{ID: "a"})
	mem.Add(Document{ID: "a"})
	s := newMapStore(t)
	if _, err := Merge(t.Context(), s, []Input{{Reader: mem.View()}}, MergeOptions{}); err == nil {
		t.Error("two live documents with one id were merged")
	}
	merge(t, []Input{{Reader: mem.View(), Deleted: roaring.BitmapOf(0)}}, MergeOptions{})
}
