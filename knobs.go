package riffle

import (
	"fmt"

	"github.com/riffle-search/riffle/internal/hook"
)

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
}

func (p *privateOptions) set(k hook.Knobs) {
	p.store, p.memoryBytes, p.tableBytes = k.Store, k.MemoryBytes, k.TableBytes
}
