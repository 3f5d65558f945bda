package oplog

import (
	"context"
	"fmt"
	"time"
)

// surePause is how long SureBounds waits before it asks again.
const surePause = 50 * time.Millisecond

// SureBounds returns the bounds of a log as soon as they are sure, so that the last entry is not before one that
// was acknowledged earlier. The error says so if ctx ends before.
func SureBounds(ctx context.Context, l Log) (Bounds, error) {
	for {
		b, err := l.Bounds(ctx)
		if err != nil || b.Sure {
			return b, err
		}
		select {
		case <-time.After(surePause):
		case <-ctx.Done():
			return Bounds{}, fmt.Errorf("oplog: no quorum of the log's servers stands behind its end, entry %d: %w", b.Last, ctx.Err())
		}
	}
}
