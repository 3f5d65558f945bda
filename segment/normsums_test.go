package segment

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/corrupt"
)

// A partStore lends values part by part and notes which bytes were read.
type partStore struct {
	lendingStore
	read *[]bool // of the last value lent so
	fail bool    // reads fail
}

func (s partStore) LendUnread(key []byte) ([]byte, func(from, to int) bool, bool) {
	value, ok := s.Lend(key)
	*s.read = make([]bool, len(value))
	read := *s.read
	return value, func(from, to int) bool {
		for i := from; i < to; i++ {
			read[i] = true
		}
		return !s.fail || to == 1
	}, ok
}

// TestNormSums asks for tiles of a column: only these are read, and a flipped bit in one of them is an
// error that names it.
func TestNormSums(t *testing.T) {
	const docs = 40*blockmax.TileDocs + 77
	m, codes := wholeModel(docs)
	_, _, s := merge(t, []Input{{Reader: m.View()}}, MergeOptions{})
	source := partStore{lendingStore: lendingStore{s}, read: new([]bool)}
	Check(t.Context(), source, func(err error) { t.Error(err) })

	open := func() Norms {
		t.Helper()
		d, err := Open(source)
		if err != nil {
			t.Fatal(err)
		}
		n, err := d.LazyNorms("whole")
		if err != nil || n.Lazy() == nil || n.Lazy().Complete() || !n.lent || len(n.Column()) != docs {
			t.Fatalf("lazy norms: %v, %v", n.Lazy(), err)
		}
		return n
	}
	n := open()
	if err := n.Lazy().Need([]uint32{5, 9 * blockmax.TileDocs, docs - 1}); err != nil {
		t.Fatal(err)
	}
	window := func(i int) int { return (i - 1) / (readWindow * blockmax.TileDocs) }
	for i, read := range *source.read {
		if want := i == 0 || i <= docs && window(i) != 1; read != want {
			t.Fatalf("byte %d is read: %v", i, read)
		}
	}
	if err := n.Lazy().NeedAll(docs); err != nil || !n.Lazy().Complete() {
		t.Fatalf("complete: %v, %v", n.Lazy().Complete(), err)
	}
	requireNorms(t, n, codes["whole"])

	d, _ := Open(source)
	field, _ := findField(d.meta.fields, "whole")
	key := normsKey(Version, uint32(field), 0)
	for _, tile := range []uint32{0, 17, 40} {
		at := 1 + tile*blockmax.TileDocs + 70
		s.values[string(key)][at] ^= 4
		n := open()
		for other := range uint32(41) {
			err := n.Lazy().Need([]uint32{other * blockmax.TileDocs})
			if bad := errors.Is(err, corrupt.Err); bad != (other == tile) {
				t.Errorf("tile %d is damaged; tile %d: %v", tile, other, err)
			}
			if other == tile && !strings.Contains(err.Error(), `norms of field "whole"`) {
				t.Errorf("the error does not name the place: %v", err)
			}
		}
		d, _ := Open(source)
		if _, err := d.Norms("whole"); !errors.Is(err, corrupt.Err) {
			t.Errorf("all norms with damage in tile %d: %v", tile, err)
		}
		s.values[string(key)][at] ^= 4
	}

	source.fail = true
	n = open()
	if err := n.Lazy().Need([]uint32{0}); err == nil {
		t.Error("pages that cannot be read are no error")
	}
}

// TestDamagedNormSums changes the checksums: an error where they are needed, and one for Check.
func TestDamagedNormSums(t *testing.T) {
	const docs = 17 * blockmax.TileDocs
	m, _ := wholeModel(docs)
	_, _, s := merge(t, []Input{{Reader: m.View()}}, MergeOptions{})
	source := partStore{lendingStore: lendingStore{s}, read: new([]bool)}
	d, err := Open(source)
	if err != nil {
		t.Fatal(err)
	}
	field, _ := findField(d.meta.fields, "whole")
	key := string(normSumsKey(Version, uint32(field)))
	sound := s.values[key]
	for what, value := range map[string][]byte{
		"missing":         nil,
		"too short":       endSealed(append(startSealed(nil), sound[1:1+16*normSumBytes]...)),
		"of another tile": endSealed(append(startSealed(nil), append(slices.Clone(sound[1+normSumBytes:1+17*normSumBytes]), sound[1:1+normSumBytes]...)...)),
	} {
		s.values[key] = value
		if value == nil {
			delete(s.values, key)
		}
		d, err := Open(source)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Norms("whole"); !errors.Is(err, corrupt.Err) {
			t.Errorf("checksums are %s: %v", what, err)
		}
		for _, checked := range []Source{s, source} {
			found := false
			Check(t.Context(), checked, func(err error) {
				found = found || strings.Contains(err.Error(), `norms of field "whole"`)
			})
			if !found {
				t.Errorf("checksums are %s: Check finds nothing", what)
			}
		}
	}
	s.values[key] = sound
}

// TestWithoutNormSums reads a segment that a build before the feature has written.
func TestWithoutNormSums(t *testing.T) {
	m, codes := wholeModel(2*normChunkDocs + 500)
	_, _, s := merge(t, []Input{{Reader: m.View()}}, MergeOptions{})
	changeMeta(t, s, func(v *meta) {
		v.features = slices.DeleteFunc(v.features, func(f feature) bool { return f.name == normSums })
	})
	for key := range s.values {
		if Kind(key[0]) == kindNormSums {
			s.delete(key)
		}
	}
	source := partStore{lendingStore: lendingStore{s}, read: new([]bool)}
	Check(t.Context(), source, func(err error) { t.Error(err) })
	d, err := Open(source)
	if err != nil {
		t.Fatal(err)
	}
	n, err := d.LazyNorms("whole")
	if err != nil || n.Lazy() != nil {
		t.Fatalf("lazy norms: %v, %v", n.Lazy(), err)
	}
	requireNorms(t, n, codes["whole"])
}
