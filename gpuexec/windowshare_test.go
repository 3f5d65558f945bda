package gpuexec

import (
	"math"
	"testing"

	"github.com/riffle-search/riffle/gpuexec/listcache"
)

// swept are thousand OR queries a second in batches of 1,024 on an H200 (bench/results/2026-11-26-gpu.md),
// by the share of the lists that stays, in per cent, and the memory of windows: 206, 412, 825 and
// 1,650 MiB.
var swept = []struct {
	share int
	rates [4]float64
}{
	{42, [4]float64{17.487, 27.684, 50.021, 60.889}},
	{20, [4]float64{17.343, 27.510, 47.460, 55.720}},
	{5, [4]float64{16.790, 25.993, 37.680, 43.576}},
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
		for i, rate := range s.rates {
			window := float64(int64(216268800) << i)
			volume := m.Volume.At(sweptLists * float64(s.share) / 100)
			got := 1e6 / m.QueryTime(0, window, volume)
			off := 100 * (got/rate - 1)
			if math.Abs(off) > 8 {
				t.Errorf("%d %%, windows of %.0f bytes: %.1f thousand queries a second, measured %.1f", s.share, window, got, rate)
			}
			t.Logf("%d %%, windows of %.0f MB: %.1f, measured %.1f, %+.1f %%", s.share, window/1e6, got, rate, off)
		}
	}
}

// TestBestWindows: with little memory most goes to windows, with more of it a growing part to lists.
func TestBestWindows(t *testing.T) {
	m := sweptModel()
	for _, test := range []struct {
		memory      int64
		least, most float64 // share of windows
	}{{500 << 20, 0.8, 1}, {1000 << 20, 0.7, 1}, {1900 << 20, 0.4, 0.8}, {4000 << 20, 0.2, 0.45}} {
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
