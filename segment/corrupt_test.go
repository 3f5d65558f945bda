package segment

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/postings"
)

// damaged is a segment with every kind of value, but for those that only large ones have, and
// kindCoded, which excludes kindStored. Its values are small enough to flip every bit.
func damaged(t *testing.T) (*mapStore, model) {
	rng := rand.New(rand.NewPCG(6, 6))
	m := randomModel(rng, 400, "d")
	for i := range m {
		m[i].rank = uint16(i)
		m[i].values = randomValues(rng, len(m), true)
		m[i].stored = m[i].id
		if _, has := m[i].fields["body"]; has {
			m[i].fields["body"].terms["long"] = uint32(1 + i%4)
		}
	}
	_, _, s := merge(t, []Input{{Reader: m.withPositions().View()}}, MergeOptions{})
	seen := make(map[Kind]bool)
	for _, k := range s.keys {
		seen[Kind(k[0])] = true
	}
	for kind := range keyTail {
		if !seen[kind] && kind != kindNormSums && kind != kindPlainPlace && kind != kindCoded {
			t.Fatalf("the segment has no key of kind %#x", kind)
		}
	}
	return s, m
}

// readEverything reads a whole segment. It returns the first error and a digest of what was read
// before it.
func readEverything(s *mapStore) (digest []any, err error) {
	d, err := Open(s)
	if err != nil {
		return nil, err
	}
	note := func(v any, e error) {
		if err == nil {
			err = e
		}
		digest = append(digest, v)
	}
	for _, f := range d.Fields() {
		note(d.Norms(f.Name))
		note(d.Tiles(f.Name))
		note(readLists(d, f.Name))
	}
	for _, name := range d.Columns() {
		note(readColumn(d, name))
	}
	note(d.Rank())
	for doc := range d.Docs() {
		id, e := d.ID(doc)
		note(id, e)
		note(d.Stored(doc))
		if e == nil {
			found, ok, e := d.Lookup(id)
			note(found, e)
			note(ok, nil)
		}
	}
	return digest, err
}

// readColumn returns the values of a column as terms.
func readColumn(d *Disk, field string) (all []string, err error) {
	c, err := d.Column(field)
	if err != nil {
		return nil, err
	}
	var keys []uint64
	for doc := range d.Docs() {
		if keys, err = c.Append(keys[:0], doc); err != nil {
			return nil, err
		}
		for _, k := range keys {
			v, err := c.Value(k)
			if err != nil {
				return nil, err
			}
			all = append(all, fmt.Sprintf("%d %x", doc, v.AppendTerm(nil)))
		}
	}
	return all, nil
}

func readLists(d *Disk, field string) (all []posting, err error) {
	it, err := d.Terms(field, nil)
	if err != nil {
		return nil, err
	}
	defer it.Close()
	var docs, freqs [postings.BlockSize]uint32
	var positions postings.Positions
	for it.Next() {
		l, err := it.List()
		if err != nil {
			return nil, err
		}
		for b := range l.Blocks() {
			n, err := l.Docs(b, &docs)
			if err != nil {
				return nil, err
			}
			if _, err := l.Freqs(b, &freqs); err != nil {
				return nil, err
			}
			if positions.Reset(l); l.HasPositions() {
				if err := positions.Load(b); err != nil {
					return nil, err
				}
			}
			for i := range n {
				all = append(all, posting{docs[i], freqs[i]})
				if l.HasPositions() {
					all = append(all, posting{positions.Append(nil, i)[0], 0})
				}
			}
		}
	}
	return all, it.Err()
}

// TestEveryFlippedBitIsFound flips bits of every stored value. Reading must then end in corrupt.Err
// or never read the value: no panic, and no different answer.
func TestEveryFlippedBitIsFound(t *testing.T) {
	s, _ := damaged(t)
	requireFlipsFound(t, s, func(Kind) bool { return true })
	_, s = mergeCoded(t, []Input{{Reader: codedModel(1500, "d").memory().View()}}, MergeOptions{})
	requireFlipsFound(t, s, func(k Kind) bool { return k == kindCoded })
}

func requireFlipsFound(t *testing.T, s *mapStore, of func(Kind) bool) {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 7))
	const most = 5
	perKind := make(map[Kind]int)
	for _, key := range slices.Clone(s.keys) {
		if !of(Kind(key[0])) {
			continue
		}
		value := s.values[key]
		perKind[Kind(key[0])]++
		if perKind[Kind(key[0])] > most {
			continue
		}
		for range 12 {
			bit := rng.IntN(8 * len(value))
			value[bit/8] ^= 1 << (bit % 8)
			if _, err := readEverything(s); !errors.Is(err, corrupt.Err) {
				t.Errorf("%s: bit %d of %d flipped: %v", KeyString([]byte(key)), bit, 8*len(value), err)
			} else if c := new(corrupt.Error); !errors.As(err, &c) || c.Key == "" {
				t.Errorf("%s: bit %d flipped: the error names no key: %v", KeyString([]byte(key)), bit, err)
			}
			requireFault(t, s, key)
			value[bit/8] ^= 1 << (bit % 8)
		}
	}
	if _, err := readEverything(s); err != nil {
		t.Fatalf("after all bits were put back: %v", err)
	}
}

// TestEveryMissingValueIsFound removes every value, one at a time.
func TestEveryMissingValueIsFound(t *testing.T) {
	s, _ := damaged(t)
	requireMissingFound(t, s)
	_, s = mergeCoded(t, []Input{{Reader: codedModel(1500, "d").memory().View()}}, MergeOptions{})
	requireMissingFound(t, s)
}

func requireMissingFound(t *testing.T, s *mapStore) {
	t.Helper()
	for i, key := range slices.Clone(s.keys) {
		if i > 20 && Kind(key[0]) == kindTerm { // they are all similar
			continue
		}
		value := s.values[key]
		s.delete(key)
		requireFault(t, s, key)
		s.values[key] = value
		s.keys = append(s.keys, key)
		s.sorted = false
	}
}

// TestCheckFindsStrangers adds values that no segment has.
func TestCheckFindsStrangers(t *testing.T) {
	s, _ := damaged(t)
	for _, key := range [][]byte{
		{0x06}, {0x84, 0}, numberKey(kindCoded, 0), {byte(kindMeta), 0}, {byte(kindTerm), 0},
		appendTermKey(nil, Version, 77, []byte("x")), listKey(500, 0), listKey(0, 5), listKey(0, chunkPart|9),
		numberKey(kindID, 5), numberKey(kindHead, 1), numberKey(kindPlace, 1), numberKey(kindRank, 1), normsKey(Version, 0, 1), normsKey(Version, 9, 0), tilesKey(Version, 9), tilesKey(Version, 1<<16),
		valuesKey(0, 5), valuesKey(0, columns.PayloadParts|7), valuesKey(99, columns.DirectoryPart),
	} {
		s.keys, s.sorted = append(s.keys, string(key)), false
		s.values[string(key)] = []byte{0}
		requireFault(t, s, string(key))
		s.delete(string(key))
	}
	Check(context.Background(), s, func(err error) { t.Errorf("after all strangers have left: %v", err) })
}

// requireFault fails the test unless Check finds fault with the segment.
func requireFault(t *testing.T, s *mapStore, key string) {
	t.Helper()
	var faults []error
	Check(context.Background(), s, func(err error) { faults = append(faults, err) })
	if len(faults) == 0 {
		t.Errorf("%s: Check finds nothing", KeyString([]byte(key)))
	}
	for _, err := range faults {
		if !errors.Is(err, corrupt.Err) {
			t.Errorf("%s: not reported as corruption: %v", KeyString([]byte(key)), err)
		}
	}
}

// TestCheckFindsWrongBounds replaces lists, tiles and counts with well-formed but wrong ones.
func TestCheckFindsWrongBounds(t *testing.T) {
	s, _ := damaged(t)
	d, err := Open(s)
	if err != nil {
		t.Fatal(err)
	}
	swap := func(what string, key, value []byte) {
		was := s.values[string(key)]
		if was == nil || slices.Equal(was, value) {
			t.Fatalf("%s: nothing is swapped", what)
		}
		s.values[string(key)] = value
		requireFault(t, s, string(key))
		s.values[string(key)] = was
	}

	// A list whose best pair has another length than the norms.
	body, _ := findField(d.Fields(), "body")
	key := appendTermKey(nil, Version, uint32(body), []byte("t6"))
	l, err := d.openList(key, s.values[string(key)], nil)
	if err != nil {
		t.Fatal(err)
	}
	var b postings.Builder
	for _, p := range readPostings(t, l) {
		b.Add(p.doc, p.tf, 200)
	}
	entry := b.Encode().Entry
	if len(entry) > 0 && entry[0]&longEntry == longEntry {
		t.Fatal("the list should be short")
	}
	swap("bounds of a list", key, entry)

	tiles, err := d.Tiles("body")
	if err != nil {
		t.Fatal(err)
	}
	lower := slices.Clone(tiles)
	lower[0].best = lower[0].best[:len(lower[0].best)-1]
	swap("tiles", tilesKey(Version, uint32(body)), endSealed(appendTiles(startSealed(nil), lower)))

	m := *d.meta
	m.fields = slices.Clone(m.fields)
	m.fields[body].Tokens++
	swap("tokens", []byte{byte(kindMeta)}, endSealed(m.appendTo(startSealed(nil))))
}

func TestOpenRefusesNewerVersions(t *testing.T) {
	s, _ := damaged(t)
	value := s.values[string([]byte{byte(kindMeta)})]
	value[0] = Version + 1
	copy(value[len(value)-4:], endSealed(slices.Clone(value[:len(value)-4]))[len(value)-4:])
	if _, err := Open(s); !errors.Is(err, ErrFormat) || errors.Is(err, corrupt.Err) {
		t.Errorf("a segment of version %d: %v, want ErrFormat", Version+1, err)
	}
	value[0] = 0
	copy(value[len(value)-4:], endSealed(slices.Clone(value[:len(value)-4]))[len(value)-4:])
	if _, err := Open(s); !errors.Is(err, corrupt.Err) {
		t.Errorf("a segment of version 0: %v, want corruption", err)
	}
}

func TestCancel(t *testing.T) {
	m := randomModel(rand.New(rand.NewPCG(8, 8)), 300, "d")
	in := []Input{{Reader: m.memory().View()}}
	_, _, s := merge(t, in, MergeOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, kind := range []OrderKind{Arrival, ByGlobalScore, ByGraph} {
		opts := MergeOptions{Order: Order{Kind: kind, BM25: blockmax.DefaultBM25}}
		if _, err := Merge(ctx, newMapStore(t), in, opts); !errors.Is(err, context.Canceled) {
			t.Errorf("Merge: %v, want %v", err, context.Canceled)
		}
	}
	var faults []error
	Check(ctx, s, func(err error) { faults = append(faults, err) })
	if len(faults) != 1 || !errors.Is(faults[0], context.Canceled) {
		t.Errorf("Check: %v, want %v", faults, context.Canceled)
	}
}

// failingSink fails at the n-th value.
type failingSink struct{ left int }

var errSink = errors.New("disk full")

func (s *failingSink) Set(_, _ []byte) error {
	if s.left--; s.left < 0 {
		return errSink
	}
	return nil
}

func TestMergeReturnsTheSinksError(t *testing.T) {
	m := randomModel(rand.New(rand.NewPCG(9, 9)), 40, "d")
	in := []Input{{Reader: m.memory().View()}}
	for n := 0; ; n++ {
		_, err := Merge(t.Context(), &failingSink{n}, in, MergeOptions{})
		if err == nil {
			_, _, s := merge(t, in, MergeOptions{})
			if n != len(s.keys) {
				t.Fatalf("%d values written without an error, want %d", n, len(s.keys))
			}
			break
		}
		if !errors.Is(err, errSink) {
			t.Fatalf("value %d failed: %v, want %v", n, err, errSink)
		}
	}
}
