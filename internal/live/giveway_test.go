package live

import (
	"context"
	"testing"
	"time"
)

// TestGiveWay checks that a merge goes on at once without a seal, and at the latest when the seal or
// its context ends.
func TestGiveWay(t *testing.T) {
	ix := &Index{}
	ix.giveWay(context.Background())
	for _, byContext := range []bool{false, true} {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		ix.sealing.Store(&done)
		end := time.AfterFunc(20*time.Millisecond, func() {
			if byContext {
				cancel()
			} else {
				close(done)
			}
		})
		for range 3 {
			ix.giveWay(ctx) // in the merge's own time, or until its next
		}
		end.Stop()
		cancel()
		ix.giveWay(ctx)
		ix.sealing.Store(nil)
	}
}
