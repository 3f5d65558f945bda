package cluster_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/node"
)

// TestWiped: a replica that has lost its documents reads the log again, and answers no search before it has what the
// log had.
func TestWiped(t *testing.T) {
	w := newWorld(t, "a", "b")
	x := w.createOn("a", "b")
	const documents = 400
	w.put(x, 0, documents)
	w.equal(2)
	for range 3 {
		w.stop("a")
		if err := os.RemoveAll(filepath.Join(w.dir, "a", "books")); err != nil {
			t.Fatal(err)
		}
		w.start("a")
		for running := false; !running; {
			for _, s := range w.nodes["a"].Status() {
				running = s.State == node.Running && s.Position.Sequence > 0
			}
			if n, err := x.Count(deadline(t), riffle.All{}, nil); err != nil || n != documents {
				t.Fatalf("%d of %d documents: %v", n, documents, err)
			}
		}
		w.equal(2)
	}
}
