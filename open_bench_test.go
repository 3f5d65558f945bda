package riffle

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkOpen opens and closes an index of 20,000 documents in two segments, for reading
// and for writing, without and with documents in the log.
func BenchmarkOpen(b *testing.B) {
	for _, logged := range []int{0, 1000} {
		dir := filepath.Join(b.TempDir(), "index")
		e, err := Open(dir, nil)
		if err != nil {
			b.Fatal(err)
		}
		put := func(from, n int) {
			var batch Batch
			for i := from; i < from+n; i++ {
				batch.Put(fmt.Sprint(i), map[string]any{"text": strings.Repeat(fmt.Sprintf("w%d w%d common ", i%977, i%13), 20)})
			}
			if err := e.Apply(ctx, &batch); err != nil {
				b.Fatal(err)
			}
		}
		for i := range 2 {
			put(i*10000, 10000)
			if err := e.Flush(ctx); err != nil {
				b.Fatal(err)
			}
		}
		if logged > 0 {
			put(20000, logged)
		}
		if err := e.Close(); err != nil {
			b.Fatal(err)
		}
		for _, readOnly := range []bool{true, false} {
			b.Run(fmt.Sprintf("logged=%d/readonly=%v", logged, readOnly), func(b *testing.B) {
				for b.Loop() {
					e, err := Open(dir, &Options{ReadOnly: readOnly, Merge: MergeOptions{Disabled: true}})
					if err != nil {
						b.Fatal(err)
					}
					if err := e.Close(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
