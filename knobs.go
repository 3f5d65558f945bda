package riffle

import (
	"fmt"
	"time"

	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/internal/hook"
	"github.com/riffle-search/riffle/internal/shapes"
	"github.com/riffle-search/riffle/store"
)

type privateOptions struct {
	store       store.Options      // the file system, sizes
	memoryBytes int64              // MemoryBytes, below its minimum
	tableBytes  int                // of stored documents; 0 stands for segment.DefaultTableBytes
	layerBytes  int64              // of stored updates of a field from which seals add layers; 0 stands for the default
	codedBytes  int                // of stored documents, from which they are coded; 0 stands for the default
	building    bool               // opened by Build
	accelerator accelerator.Opener // instead of GPUs
	spin        time.Duration      // how long an idle worker looks for a search to help with; 0 stands for cpuexec.DefaultSpin, negative for none
	now         func() time.Time   // instead of time.Now, to pace background work
	maxDocs     uint64             // instead of MaxDocs
	segmentDocs uint64             // instead of a segment's maximum
	replayed    func(bytes int64)  // called after each log record that Open reads, with the bytes held in memory
}

// Test and benchmark programs of riffle reach private options through package hook.
func init() {
	hook.Set = func(opts any, k hook.Knobs) {
		switch o := opts.(type) {
		case *Options:
			o.private.set(k)
		case *BuildOptions:
			o.Index.private.set(k)
			o.private.blockBytes, o.private.runBytes = k.BlockBytes, k.RunBytes
		default:
			panic(fmt.Sprintf("BUG: knobs for %T", opts))
		}
	}
	hook.SetPolicy = func(exec any, p cpuexec.Policy) { exec.(*Exec).baseline = p }
	hook.WithinShape = func(field string, s shapes.Shape, text string) any { return withinShape{field, s, text} }
}

func (p *privateOptions) set(k hook.Knobs) {
	p.store, p.memoryBytes, p.tableBytes, p.codedBytes, p.spin = k.Store, k.MemoryBytes, k.TableBytes, k.CodedBytes, k.Spin
	p.layerBytes = k.LayerBytes
}
