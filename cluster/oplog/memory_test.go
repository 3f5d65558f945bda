package oplog_test

import (
	"testing"

	"github.com/riffle-search/riffle/cluster/oplog"
	"github.com/riffle-search/riffle/cluster/oplog/oplogtest"
)

func TestMemory(t *testing.T) {
	oplogtest.Run(t, func(_ *testing.T, limit int) oplog.Log { return oplog.NewMemory(limit) })
}
