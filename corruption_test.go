package riffle

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/invariants"
	"github.com/riffle-search/riffle/store"
)

// damageTuning is the tuning of the index that the tests of this file damage.
var damageTuning = tuning{opts: Options{
	Merge: MergeOptions{Disabled: true, Order: OrderByGlobalScore},
	Rank:  Rank{Field: "rank", Alpha: 0.3},
}}

// damagedIndex writes an index with everything: two segments, one of them merged, deletions, lists
// of several blocks, and a log.
func damagedIndex(t *testing.T, dir string, fsys vfs.FS) {
	t.Helper()
	r := modelQueries{rand.New(rand.NewPCG(7, 7))}
	e, err := damageTuning.open(dir, fsys)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	put := func(first, n int) {
		var b Batch
		for i := first; i < first+n; i++ {
			b.Put(fmt.Sprintf("d%d", i), map[string]any(r.doc()))
		}
		must(e.Apply(ctx, &b))
	}
	put(0, 150)
	must(e.Flush(ctx))
	put(100, 200)
	must(e.Compact(ctx))
	put(290, 60)
	must(e.Flush(ctx))
	put(0, 20)
	must(e.Delete(ctx, "d295"))
	must(e.Compact(ctx)) // all but the next in one segment
	put(340, 40)
	must(e.Flush(ctx))
	put(370, 10)
	must(e.Delete(ctx, "d7"))
	must(e.Delete(ctx, "d345"))
	must(e.Close())
}

// A probe reads everything from an index that a caller can see.
type probe struct {
	answers []any // the answers, or the error
	found   error // reported by Check, or Open
}

var probeQueries = []Query{
	All{},
	Match{Field: "text", Text: "w1 w2 w5 w17 w30"},
	Match{Field: "text", Text: "w1 w3", Mode: ModeAnd},
	Match{Fields: []string{"title", "text"}, Text: "w4 w9"},
	Term{modelKeyword, "Tag 2"},
	Term{"num", 3},
	Bool{Must: []Query{Match{Field: "text", Text: "w2 w3"}}, MustNot: []Query{Term{"flag", true}}, Filter: []Query{Term{"num", 1}}},
}

// probeIndex opens an index and probes it. Errors that are not ErrCorrupt end the test.
func probeIndex(t *testing.T, what string, dir string, fsys vfs.FS, readOnly bool) probe {
	t.Helper()
	tu := damageTuning
	tu.opts.ReadOnly = readOnly
	e, err := tu.open(dir, fsys)
	if err != nil {
		mustBeCorrupt(t, what+": open", err)
		return probe{found: err}
	}
	var p probe
	answer := func(a any, err error) {
		if err != nil {
			mustBeCorrupt(t, what, err)
			a = err
		}
		p.answers = append(p.answers, a)
	}
	for _, q := range probeQueries {
		for _, a := range []Algorithm{AlgorithmAuto, AlgorithmExhaustive} {
			r, err := e.Search(ctx, q, &SearchOptions{K: 20, Exec: &Exec{Algorithm: a}, Load: []string{"*"}})
			if err == nil {
				answer(r.Hits, nil)
			} else {
				answer(nil, err)
			}
		}
		answer(e.Count(ctx, q))
	}
	for i := range 400 {
		doc, err := e.Get(ctx, fmt.Sprintf("d%d", i))
		if errors.Is(err, ErrNotFound) {
			err = nil
		}
		answer(doc, err)
	}
	var faults []error
	if err := e.Check(ctx, func(err error) {
		mustBeCorrupt(t, what+": check", err)
		faults = append(faults, err)
	}); err != nil {
		mustBeCorrupt(t, what+": check", err)
		faults = append(faults, err)
	}
	p.found = errors.Join(faults...)
	if err := e.Close(); err != nil {
		mustBeCorrupt(t, what+": close", err)
	}
	return p
}

// mustBeCorrupt ends the test unless an error reports damage and its position. Damage to a format's
// version may also look like a newer one.
func mustBeCorrupt(t *testing.T, what string, err error) {
	t.Helper()
	var c *corrupt.Error
	switch {
	case errors.As(err, &c):
		if c.Key == "" {
			t.Errorf("%s: the error names no key: %v", what, err)
		}
	case !errors.Is(err, ErrFormat):
		t.Fatalf("%s: error of no kind: %v", what, err)
	}
}

// compare compares the answers of a damaged index with those of the intact one. silent means that
// some damage shows only in Check, and not in answers.
func (p probe) compare(intact probe, silent bool) error {
	if p.answers == nil {
		return nil
	}
	for i, a := range p.answers {
		if _, isErr := a.(error); isErr || reflect.DeepEqual(a, intact.answers[i]) {
			continue
		}
		if silent && p.found != nil {
			continue
		}
		return fmt.Errorf("answer %d is\n%v\nwant\n%v\nand check reports %v", i, a, intact.answers[i], p.found)
	}
	return nil
}

func (p probe) noticed() bool {
	return p.found != nil || slices.ContainsFunc(p.answers, func(a any) bool { _, isErr := a.(error); return isErr })
}

// TestFlippedBits flips bits all over the files of an index on disk, one at a time. Answers must be
// right, or errors that locate the damage.
func TestFlippedBits(t *testing.T) {
	dir := filepath.Join(t.TempDir(), worldDir)
	damagedIndex(t, dir, nil)
	intact := probeIndex(t, "intact", dir, nil, true)
	if intact.noticed() {
		t.Fatalf("the intact index: %+v", intact)
	}
	rng := rand.New(rand.NewPCG(seedOf(t), 3))
	flips, noticed := 0, 0
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil || len(data) == 0 {
			continue
		}
		for range flipsIn(path) {
			off, bit := rng.IntN(len(data)), byte(1)<<rng.IntN(8)
			what := fmt.Sprintf("%s, byte %d of %d, bit %#x", filepath.Base(path), off, len(data), bit)
			flipOnDisk(t, path, int64(off), bit)
			p := probeIndex(t, what, dir, nil, true)
			flipOnDisk(t, path, int64(off), bit)
			if err := p.compare(intact, false); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if flips++; p.noticed() {
				noticed++
			}
		}
	}
	t.Logf("%d of %d flips noticed; the others hit what nobody reads", noticed, flips)
	if noticed < flips/4 {
		t.Error("that is too few: the test tests little")
	}
	if p := probeIndex(t, "restored", dir, nil, false); p.noticed() {
		t.Error("the index was not restored, the test is wrong")
	}
}

// flipsIn returns how many bits to flip in a file. In option files few bits matter.
func flipsIn(path string) int {
	n := 10
	if brief() {
		n = 4
	}
	if strings.HasPrefix(filepath.Base(path), "OPTIONS") {
		n /= 10
	}
	return n
}

func flipOnDisk(t *testing.T, path string, off int64, bit byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	var b [1]byte
	_, err = f.ReadAt(b[:], off)
	b[0] ^= bit
	if err == nil {
		_, err = f.WriteAt(b[:], off)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// A storedValue is one key in Pebble and its value.
type storedValue struct{ key, value []byte }

// TestDamagedValues damages stored values and renews Pebble's checksums, so that riffle's own must
// detect the damage.
func TestDamagedValues(t *testing.T) {
	fsys := newCrashFS()
	damagedIndex(t, worldDir, fsys)
	intact := probeIndex(t, "intact", worldDir, fsys.crash(0, nil), true)
	var all []storedValue
	err := eachKey(fsys.crash(0, nil), worldDir, func(key, value []byte) error {
		all = append(all, storedValue{slices.Clone(key), slices.Clone(value)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(seedOf(t), 4))
	damaged, noticed := 0, 0
	for _, i := range sample(rng, all) {
		for _, d := range damages {
			if d.silent && invariants.Enabled {
				continue // assertions do not hold for values that only Check finds wrong
			}
			v := all[i]
			value, ok := d.to(rng, v.value, all[rng.IntN(len(all))].value)
			if !ok {
				continue
			}
			what := fmt.Sprintf("%s, %s, %d bytes", store.KeyString(v.key), d.name, len(v.value))
			damagedFS := fsys.crash(0, nil)
			setBelow(t, damagedFS, v.key, value)
			p := probeIndex(t, what, worldDir, damagedFS, false)
			if err := p.compare(intact, d.silent); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if damaged++; p.noticed() {
				noticed++
			} else if d.name != "another's" { // whose value may be the same
				t.Errorf("%s: not noticed", what)
			}
		}
	}
	t.Logf("%d values of %d damaged %d times, %d noticed", len(sample(rng, all)), len(all), damaged, noticed)
}

// A damage changes a value; false means that it does not apply to this one. A silent one may lead
// to wrong answers, but Check must find it.
var damages = []struct {
	name   string
	silent bool
	to     func(rng *rand.Rand, v, other []byte) ([]byte, bool)
}{
	{"one bit flipped", false, func(rng *rand.Rand, v, _ []byte) ([]byte, bool) {
		if len(v) == 0 {
			return nil, false
		}
		v = slices.Clone(v)
		v[rng.IntN(len(v))] ^= 1 << rng.IntN(8)
		return v, true
	}},
	{"cut short", true, func(rng *rand.Rand, v, _ []byte) ([]byte, bool) {
		if len(v) == 0 {
			return nil, false
		}
		return v[:rng.IntN(len(v))], true
	}},
	{"random bytes", true, func(rng *rand.Rand, v, _ []byte) ([]byte, bool) {
		w := make([]byte, rng.IntN(100))
		for i := range w {
			w[i] = byte(rng.Uint32())
		}
		return w, !slices.Equal(v, w)
	}},
	{"another's", true, func(_ *rand.Rand, v, other []byte) ([]byte, bool) {
		return other, !slices.Equal(v, other)
	}},
	{"removed", true, func(*rand.Rand, []byte, []byte) ([]byte, bool) { return nil, true }},
}

// sample returns all short runs of keys, and some keys of the long ones, because there are many
// terms and ids.
func sample(rng *rand.Rand, all []storedValue) []int {
	byKind := map[string][]int{}
	for i, v := range all {
		kind := string(v.key[:1])
		if kind == "S" {
			kind = string(v.key[:10])
		}
		byKind[kind] = append(byKind[kind], i)
	}
	most := 6
	if brief() {
		most = 1
	}
	var picked []int
	for _, list := range byKind {
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		picked = append(picked, list[:min(most, len(list))]...)
	}
	slices.Sort(picked)
	return picked
}
