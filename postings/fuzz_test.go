package postings

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// A fuzzSource adds valid checksums to the fuzzer's bytes and stretches the rows to the size that
// the directory requires. So the fuzzer reaches the decoders, which run after these checks.
type fuzzSource struct {
	directory, rows []byte
	list            *List
}

func (s *fuzzSource) Directory(part int) ([]byte, error) {
	if part > 0 {
		return nil, errMissing
	}
	return sealPart(slices.Clone(s.directory)), nil
}

func (s *fuzzSource) Chunk(i int) ([]byte, error) {
	if s.list.bits {
		return sealPart(slices.Clone(s.rows)), nil
	}
	value := make([]byte, RowBytes*int(s.list.rowOf[i+1]-s.list.rowOf[i])+GuardBytes-4)
	for at := 0; at < len(value) && len(s.rows) > 0; {
		at += copy(value[at:], s.rows)
	}
	return sealPart(value), nil
}

// FuzzOpen starts after the checksums, which the fuzzer would rarely get right. Each input must be
// reported as corrupt, or yield a list that keeps all promises and survives another round trip and
// being taken block by block.
func FuzzOpen(f *testing.F) {
	rng := rand.New(rand.NewPCG(31, 32))
	add := func(enc Encoded, guard int) {
		var directory, rows []byte
		if len(enc.Directory) > 0 {
			directory = enc.Directory[0][:len(enc.Directory[0])-4]
			rows = enc.Chunks[0][:len(enc.Chunks[0])-guard]
		}
		f.Add(enc.Entry[:len(enc.Entry)-1], directory, rows)
	}
	for _, size := range []int{1, 4, 128} {
		for _, n := range []int{1, 2, 20, 300, 5000} {
			add(build(size, random(rng, n)).Encode(), GuardBytes)
			add(buildBy(Interpolative, size, random(rng, n)).Encode(), 4)
			add(oldForm(f, buildBy(Interpolative, size, random(rng, n)).Encode()), 4)
		}
	}
	for _, codec := range codecs {
		guard := GuardBytes
		if codec == Interpolative {
			guard = 4
		}
		add(buildBy(codec, 0, skewed(rng, 1000)).Encode(), guard)
	}
	f.Fuzz(func(t *testing.T, entry, directory, rows []byte) {
		src := &fuzzSource{directory: directory, rows: rows}
		sealed := sealEntry(slices.Clone(entry))
		l, err := Open(sealed, src)
		checkShort(t, sealed, l, err)
		if err != nil {
			mustBeCorrupt(t, err)
			return
		}
		src.list = l
		scanErr := checkScan(t, l)
		codes, codesErr := readCodes(l)
		ps, err := read(l)
		if err != nil {
			mustBeCorrupt(t, err)
			return
		}
		if scanErr != nil {
			return // only the best pairs are damaged
		}
		if codesErr != nil {
			t.Fatalf("without rows: %v", codesErr)
		}
		checkCodes(t, l, codes, ps)
		checkPromises(t, l, ps)
		again, err := read(reopen(t, build(l.BlockSize, ps)))
		if err != nil || !slices.Equal(again, ps) {
			t.Fatalf("another round: %v, %v, want %v", again, err, ps)
		}
	})
}

func mustBeCorrupt(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, corrupt.Err) && !errors.Is(err, errMissing) {
		t.Fatalf("not reported as corruption: %v", err)
	}
}

// checkPromises checks what executors rely on.
func checkPromises(t *testing.T, l *List, ps []posting) {
	t.Helper()
	prev := int64(-1)
	for i, p := range ps {
		if int64(p.doc) <= prev || p.doc >= MaxDoc || p.tf == 0 {
			t.Fatalf("posting %d is %v, behind document %d", i, p, prev)
		}
		if b := i / l.BlockSize; p.doc > l.Last[b] || b > 0 && p.doc <= l.Last[b-1] {
			t.Fatalf("document %d lies outside block %d", p.doc, b)
		}
		prev = int64(p.doc)
	}
	if len(ps) != l.Count {
		t.Fatalf("%d postings, Count is %d", len(ps), l.Count)
	}
	impacts, err := l.BlockImpacts()
	if err != nil {
		t.Fatal(err)
	}
	for b := range l.Blocks() {
		if len(impacts.Of(b)) == 0 {
			t.Fatalf("block %d has no impacts", b)
		}
	}
}
