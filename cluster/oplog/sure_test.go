package oplog_test

import (
	"context"
	"errors"
	"testing"

	"github.com/riffle-search/riffle/cluster/oplog"
)

// A doubtful log has an end that is behind, and not sure, until it has been asked a number of times.
type doubtful struct {
	oplog.Log
	times int
}

func (d *doubtful) Bounds(context.Context) (oplog.Bounds, error) {
	if d.times--; d.times >= 0 {
		return oplog.Bounds{Identity: "a", First: 1, Last: 5}, nil
	}
	return oplog.Bounds{Identity: "a", First: 1, Last: 7, Sure: true}, nil
}

func TestSureBounds(t *testing.T) {
	if b, err := oplog.SureBounds(t.Context(), &doubtful{times: 2}); err != nil || b.Last != 7 {
		t.Errorf("%+v: %v", b, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if b, err := oplog.SureBounds(ctx, &doubtful{times: 2}); !errors.Is(err, context.Canceled) || b.Last != 0 {
		t.Errorf("%+v: %v", b, err)
	}
}
