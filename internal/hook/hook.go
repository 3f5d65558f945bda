// Package hook gives riffle's own packages what its exported API lacks: test and benchmark programs private
// settings, and compat/bleve a query for shapes of its own. Package riffle fills the hooks in when it is
// initialised, so its exported API does not grow by them.
package hook

import (
	"time"

	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/shapes"
	"github.com/riffle-search/riffle/store"
)

// Knobs are settings below the public options.
type Knobs struct {
	Store       store.Options // the file system and the sizes of the store
	MemoryBytes int64         // replaces Options.MemoryBytes, and may be below its minimum
	TableBytes  int           // size of a table of stored documents
	LayerBytes  int64         // size of the stored updates of a field from which seals add layers to them
	CodedBytes  int           // stored bytes from which they are coded; 1 for always
	BlockBytes  int           // how much input a worker of Build takes at once
	RunBytes    int64         // replaces BuildOptions.MemoryBytes, and may be below its minimum
	Spin        time.Duration // how long an idle worker looks for a search to help with; negative is not at all
}

// Set puts knobs into opts, which is a *riffle.Options or a *riffle.BuildOptions.
var Set func(opts any, k Knobs)

// SetPolicy makes exec, a *riffle.Exec, share the cores by any policy, including those that riffle
// does not offer: cpuexec.FGQP and cpuexec.DOCP, the baselines of Tatikonda 2011.
var SetPolicy func(exec any, p cpuexec.Policy)

// WithinShape returns a riffle.Query for the documents that have a place of a field within a shape. Shapes
// that differ must differ in text, by which answers are cached. Such a query cannot be read back from JSON.
var WithinShape func(field string, s shapes.Shape, text string) any
