package gpuexec

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/riffle-search/riffle/gpuexec/device"
)

// A scratchTest takes memory for batches.
type scratchTest struct {
	t    *testing.T
	pool scratchPool
}

// batch takes memory of some sizes, in MiB, and checks that no two parts are the same memory.
func (s *scratchTest) batch(sizes ...int) {
	s.t.Helper()
	s.pool.empty()
	var all [][]byte
	for i, size := range sizes {
		m, ok := s.pool.take(uint32(size << 20 / rowBytes))
		if !ok || m.Len() != int64(size)<<20 {
			s.t.Fatalf("%d MiB: %v, %d bytes", size, ok, m.Len())
		}
		part := m.Bytes()
		for at := 0; at < len(part); at += 1 << 19 {
			part[at] = byte(i + 1)
		}
		all = append(all, part)
	}
	for i, part := range all {
		for at := 0; at < len(part); at += 1 << 19 {
			if part[at] != byte(i+1) {
				s.t.Fatalf("part %d of %v shares memory with another", i, sizes)
			}
		}
	}
}

// TestScratch: columns of segments that grow leave no memory behind that is too small for them. Batches that
// take the same sizes in another order pin nothing anew.
func TestScratch(t *testing.T) {
	dev, err := device.Open(0, device.Options{MemoryBytes: 1 << 20})
	if errors.Is(err, device.ErrNoDevice) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := dev.Close(); err != nil { // among others, of memory that is still pinned
			t.Error(err)
		}
	}()
	s := scratchTest{t, scratchPool{dev: dev}}
	for size := 1; size <= 40; size++ {
		if s.batch(size, 1, size/2+1); s.pool.pinned > int64(2*(size+1+size/2+1)<<20+scratchBytes) {
			t.Fatalf("%d bytes are pinned after batches of %d MiB", s.pool.pinned, size+1+size/2+1)
		}
	}
	s.batch(40, 21, 9, 3, 1, 1)
	pinned := s.pool.pinned
	rng := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		sizes := []int{40, 21, 9, 3, 1, 1}
		rng.Shuffle(len(sizes), func(i, j int) { sizes[i], sizes[j] = sizes[j], sizes[i] })
		if s.batch(sizes...); s.pool.pinned != pinned {
			t.Fatalf("%v: %d bytes are pinned, %d before", sizes, s.pool.pinned, pinned)
		}
	}
}
