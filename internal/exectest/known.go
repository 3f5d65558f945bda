package exectest

import (
	"slices"
	"sync"

	"github.com/riffle-search/riffle/blockmax"
)

// A known keeps what the oracle has found for a plan, question by question. A plan depends only on its
// seed, round and k, and so do the questions; the oracle takes thirty times as long as most executors,
// and many executors run the same plans. It is for one goroutine.
type known struct {
	key   knownKey
	asked int
}

type knownKey struct {
	name     string
	seed     uint64
	round, k int
}

var (
	knownMu   sync.Mutex
	knownHits = map[knownKey][][]blockmax.Hit{}
)

func knownOf(name string, seed uint64, round, k int) *known {
	return &known{key: knownKey{name, seed, round, k}}
}

// next returns the answer to the next question, which find gives the first time.
func (n *known) next(find func() []blockmax.Hit) []blockmax.Hit {
	n.asked++
	knownMu.Lock()
	answers := knownHits[n.key]
	knownMu.Unlock()
	if len(answers) < n.asked {
		hits := find()
		answers = append(slices.Clip(answers), hits)
		knownMu.Lock()
		knownHits[n.key] = answers
		knownMu.Unlock()
	}
	return slices.Clone(answers[n.asked-1])
}
