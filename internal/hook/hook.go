// Package hook gives riffle's own test and benchmark programs access to private settings. Package
// riffle fills the hooks in when it is initialised, so its exported API does not grow by them.
package hook

import (
	"time"

	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/store"
)

// Knobs are settings below the public options.
type Knobs struct {
	Store       store.Options // the file system and the sizes of the store
	MemoryBytes int64         // replaces Options.MemoryBytes, and may be below its minimum
	TableBytes  int           // size of a table of stored documents
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
