// Package hook lets riffle's own test programs reach what the public API keeps to
// itself. Package riffle fills the hook in when it is initialised; its exported API
// does not grow by it.
package hook

import "github.com/riffle-search/riffle/store"

// Knobs are settings below the public options.
type Knobs struct {
	Store       store.Options // the file system and the sizes of the store
	MemoryBytes int64         // replaces Options.MemoryBytes, and may be smaller than its least value
	TableBytes  int           // size of a table of stored documents
	BlockBytes  int           // how much input a worker of Build takes at once
	RunBytes    int64         // replaces BuildOptions.MemoryBytes, and may be smaller than its least value
}

// Set puts knobs into opts, which is a *riffle.Options or a *riffle.BuildOptions.
var Set func(opts any, k Knobs)
