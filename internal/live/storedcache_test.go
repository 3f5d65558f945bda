package live

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

// TestStoredCache checks that the cache returns what its documents are, stays within its budget,
// keeps what is read often, and forgets a segment that is gone.
func TestStoredCache(t *testing.T) {
	const budget = 64 << 10
	c := newStoredCache(budget)
	rng := rand.New(rand.NewPCG(5, 6))
	content := func(k storedKey) []byte {
		return bytes.Repeat([]byte{byte(k.segment), byte(k.doc), byte(k.doc >> 8)}, int(k.doc%200)+1)
	}
	reads := 0
	get := func(k storedKey) {
		t.Helper()
		block := append([]byte("block"), content(k)...)
		got, err := c.get(k, func() ([]byte, error) { reads++; return block[5:], nil })
		clear(block) // the cache has copied it
		if again, _ := c.get(k, func() ([]byte, error) { reads++; return content(k), nil }); err != nil || !bytes.Equal(again, content(k)) || len(got) != len(again) {
			t.Fatalf("%+v: %x, %v, want %x", k, again, err, content(k))
		}
	}
	often := storedKey{1, 7}
	for range 5000 {
		get(storedKey{1 + rng.Uint64N(3), rng.Uint32N(1000)})
		before := reads
		if get(often); reads > before+1 {
			t.Fatal("a document that has just been read is read again")
		}
		if n := c.counts(); n.Bytes > budget || n.Docs == 0 {
			t.Fatalf("%+v, of %d bytes", n, budget)
		}
	}
	reads = 0
	if get(often); reads > 0 {
		t.Error("a document that is read all the time was evicted")
	}
	for _, segment := range []uint64{1, 2, 3} {
		c.drop(segment)
	}
	if n := c.counts(); n.Docs != 0 || n.Bytes != 0 || n.Hits == 0 || n.Misses == 0 {
		t.Errorf("%+v after all segments are gone", n)
	}
	huge := make([]byte, budget)
	if data, err := c.get(often, func() ([]byte, error) { return huge, nil }); len(data) != budget || err != nil || c.counts().Docs > 0 {
		t.Errorf("a huge document: %d bytes, %v, %+v", len(data), err, c.counts())
	}
	failed := errors.New("failed")
	if _, err := c.get(often, func() ([]byte, error) { return nil, failed }); err != failed || c.counts().Docs > 0 {
		t.Errorf("%v, %+v", err, c.counts())
	}
}
