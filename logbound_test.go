package riffle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// noise is text that does not compress.
func noise(rng *rand.Rand, n int) string {
	var b strings.Builder
	for b.Len() < n {
		fmt.Fprintf(&b, "%016x", rng.Uint64())
	}
	return b.String()[:n]
}

// TestLogIsBounded: records that take room in the log and none in memory cause seals, and the log
// stays within its bound: ignored fields, text of few words, long deleted ids.
func TestLogIsBounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	few := strings.Repeat("log lines repeat the same words ", 1000)
	cases := map[string]func(b *Batch, i int){
		"ignored fields": func(b *Batch, i int) { b.Put(fmt.Sprint(i), map[string]any{"t": "word", "raw": noise(rng, 30_000)}) },
		"few words":      func(b *Batch, i int) { b.Put(fmt.Sprint(i), map[string]any{"t": few}) },
		"deletions": func(b *Batch, i int) {
			for range 30 {
				b.Delete(noise(rng, MaxIDBytes))
			}
		},
	}
	for name, add := range cases {
		t.Run(name, func(t *testing.T) {
			mem := vfs.NewMem()
			o := Options{LogBytes: 256 << 10, Durability: SyncNone, Schema: &Schema{NoStore: true, Dynamic: DynamicIgnore, Fields: map[string]Field{"t": {}}}}
			o.private.store.FS = mem
			o.private.store.LogFileBytes = 128 << 10
			e, err := Open(worldDir, &o)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 200 {
				var b Batch
				add(&b, i)
				if err := e.Apply(ctx, &b); err != nil {
					t.Fatal(err)
				}
				// A batch is admitted below twice the bound.
				if n := e.probe().Store().LogBytes(); n > 2*o.LogBytes+40<<10 {
					t.Fatalf("the log has %d bytes, its bound is twice %d", n, o.LogBytes)
				}
			}
			size := int64(0)
			dir := filepath.Join(worldDir, "log")
			names, err := mem.List(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range names {
				st, err := mem.Stat(filepath.Join(dir, n))
				if errors.Is(err, fs.ErrNotExist) {
					continue // a seal has ended
				}
				if err != nil {
					t.Fatal(err)
				}
				size += st.Size()
			}
			if most := 2*o.LogBytes + 2*o.private.store.LogFileBytes + 40<<10; size > most {
				t.Errorf("the files of the log have %d bytes, want at most %d", size, most)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestFullLogWaits: with the log at twice its bound and a seal that cannot end, Apply waits until
// its context ends.
func TestFullLogWaits(t *testing.T) {
	var stop atomic.Bool
	release, held := make(chan struct{}), make(chan struct{}, 1000)
	fsys := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if stop.Load() && op.Kind == errorfs.OpCreate && filepath.Base(filepath.Dir(op.Path)) == "building" {
			held <- struct{}{}
			<-release
		}
		return nil
	}))
	o := Options{LogBytes: 64 << 10, Durability: SyncNone, Schema: &Schema{NoStore: true, Dynamic: DynamicIgnore, Fields: map[string]Field{"t": {}}}}
	o.private.store.FS = fsys
	e, err := Open(worldDir, &o)
	if err != nil {
		t.Fatal(err)
	}
	stop.Store(true)
	rng := rand.New(rand.NewPCG(1, 2))
	put := func(ctx context.Context, i int) error {
		return e.Put(ctx, fmt.Sprint(i), map[string]any{"t": "word", "raw": noise(rng, 20_000)})
	}
	n := 0
	for ; e.probe().Store().LogBytes() < 2*o.LogBytes; n++ {
		if err := put(ctx, n); err != nil {
			t.Fatal(err)
		}
	}
	<-held // the seal is running, and stays so
	c, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- put(c, n) }()
	cancel()
	if err := <-done; err != context.Canceled {
		t.Errorf("put into a full log: %v", err)
	}
	stop.Store(false)
	close(release)
	if err := put(ctx, n); err != nil {
		t.Error(err)
	}
	if lenOf(t, e) != n+1 {
		t.Errorf("%d documents, want %d", lenOf(t, e), n+1)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
