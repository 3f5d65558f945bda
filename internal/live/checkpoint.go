package live

import (
	"context"
	"fmt"
)

// Checkpoint writes a complete, durable copy of the current index into dir, which must not exist.
// Where the file system can, the copy consists of hard links and costs no space until the index
// changes. It opens like any other index, also read-only. Changes and searches continue meanwhile.
// When ctx ends during disk work, Checkpoint returns; the copy may still appear, as a whole.
func (ix *Index) Checkpoint(ctx context.Context, dir string) error {
	if ix.opts.Store.ReadOnly {
		return ErrReadOnly
	}
	return ix.apart(ctx, func(ctx context.Context) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := ix.store.Checkpoint(dir); err != nil {
			return fmt.Errorf("riffle: checkpoint: %w", err)
		}
		return nil
	})
}

// Sync makes every batch applied so far durable. It matters only
// without Options.Sync.
func (ix *Index) Sync(ctx context.Context) error {
	if ix.opts.Store.ReadOnly {
		return ErrReadOnly
	}
	return ix.apart(ctx, func(ctx context.Context) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return ix.store.Sync(ctx)
	})
}
