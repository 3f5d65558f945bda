package gpuexec

import (
	"math"
	"testing"

	"github.com/riffle-search/riffle/gpuexec/listcache"
)

// swept are thousand OR queries a second in batches of 2,048 on an H100
// (bench/results/2026-11-26-gpu-scale.md), by the share of the lists that stays, in per cent, and the
// memory of windows in MiB, with as many tiles a window as were best.
var swept = []struct {
	share, window int
	rate          float64
}{
	{42, 412, 57.3},
	{20, 412, 56.7}, {20, 825, 62.9}, {20, 1332, 65.1}, {20, 1650, 64.7},
	{5, 206, 26.6}, {5, 412, 48.2}, {5, 825, 50.4},
}

// Of the collection that was measured.
const (
	sweptPostings, sweptDocs = 2_879_894_365, 25_000_000
	sweptLists               = 3327 << 20
	sweptInWindow            = 128.0 * 16384 / sweptDocs
)

func sweptModel() listcache.Model { return measuredWindows.model(sweptPostings, sweptInWindow) }

// TestWindowModel: the model predicts what was measured.
func TestWindowModel(t *testing.T) {
	m := sweptModel()
	for _, s := range swept {
		volume := m.Volume.At(sweptLists * float64(s.share) / 100)
		got := 1e6 / m.QueryTime(0, float64(s.window)*(1<<20), volume)
		off := 100 * (got/s.rate - 1)
		if math.Abs(off) > 8 {
			t.Errorf("%d %%, windows of %d MiB: %.1f thousand queries a second, measured %.1f", s.share, s.window, got, s.rate)
		}
		t.Logf("%d %%, windows of %d MiB: %.1f, measured %.1f, %+.1f %%", s.share, s.window, got, s.rate, off)
	}
}

// TestBestWindows: with little memory most goes to windows, with more of it a growing part to lists.
func TestBestWindows(t *testing.T) {
	m := sweptModel()
	for _, test := range []struct {
		memory      int64
		least, most float64 // share of windows
	}{{500 << 20, 0.8, 1}, {1000 << 20, 0.4, 0.9}, {1900 << 20, 0.2, 0.8}, {4000 << 20, 0.2, 0.45}} {
		best := m.Best(test.memory, 0)
		share := float64(min(windowBytes, best.Buffer)) / float64(test.memory)
		if share < test.least || share > test.most {
			t.Errorf("windows get %.2f of %d MiB, want %.2f to %.2f: %+v", share, test.memory>>20, test.least, test.most, best)
		}
		quarter := min(windowBytes, test.memory/4)
		before := 1e6 / m.QueryTime(0, float64(quarter), m.Volume.At(float64(test.memory-quarter)))
		t.Logf("%d MiB: %.2f for windows, %.1f thousand queries a second; with a quarter %.1f", test.memory>>20, share, best.QueriesPerSecond/1000, before)
	}
}
