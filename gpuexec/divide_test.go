package gpuexec_test

import (
	"math"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/gpuexec"
)

// TestDivideRefuses: parts of the memory that are negative, or larger than all of it, are an error, also if
// their sum overflows.
func TestDivideRefuses(t *testing.T) {
	for _, o := range []gpuexec.Options{
		{BatchBytes: 1 << 62}, {BatchBytes: math.MaxInt64}, {BatchBytes: -1}, {BatchBytes: 1 << 20}, {FlatBytes: -1 << 20}, {ColumnBytes: -1 << 20},
		{FlatBytes: 1 << 62, ColumnBytes: 1 << 62, BatchBytes: 1 << 61}, {Stream: true, WindowBytes: -1 << 20}, {Stream: true, WindowBytes: math.MaxInt64},
	} {
		dev := openDevice(t, 0, 64<<20)
		_, err := gpuexec.New(dev, o)
		if err == nil || !strings.Contains(err.Error(), "do not fit into") {
			t.Errorf("%+v: %v", o, err)
		}
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	}
}
