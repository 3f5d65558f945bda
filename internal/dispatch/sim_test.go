package dispatch

import (
	"testing"
	"time"
)

// slower reports whether a time is more than so many times another one. What five wake-ups take
// does not count.
func slower(a, b time.Duration, times float64) bool {
	return float64(a) > times*float64(b) && a-b > 5*simWake
}

// TestAutoNeverLoses compares Auto with the policies that use one kind of processor, from single
// queries to saturation: 0.97 of the better one's throughput, 1.15 of its p50 and p99 (1.25 here, since
// p99 differs by 8 % from run to run). It has 10,000 queries to learn what they cost.
func TestAutoNeverLoses(t *testing.T) {
	for _, w := range workloads {
		t.Run(w.name, func(t *testing.T) {
			compared := []Policy{Processors, Devices, Auto}
			most := map[Policy]float64{}
			for _, p := range compared {
				w.inBubble(t, p, func(m *machine, d *Dispatcher) {
					x := w.saturate(t, m, d, 4096, w.time)
					most[p] = x.rate
					t.Logf("%-5s saturated: %v", p, x)
				})
			}
			best := max(most[Processors], most[Devices])
			batch := 1024 / (w.time / 2).Seconds() // one more or less, as a run ends
			if most[Auto]+batch < 0.97*best {
				t.Errorf("saturated: %.0f queries a second, the best policy %.0f", most[Auto], best)
			}
			loads := []float64{0.002, 0.05, 0.25, 0.5, 0.75, 0.9, 0.95}
			if testing.Short() {
				loads = []float64{0.05, 0.9}
			}
			for _, share := range loads {
				rate := share * best
				p50, p99 := time.Hour, time.Hour
				for _, p := range compared {
					if rate > 0.95*most[p] {
						continue
					}
					w.inBubble(t, p, func(m *machine, d *Dispatcher) {
						learning := min(10_000, max(1_200, int(rate/5)))
						x := w.arrive(t, m, d, rate, learning+min(35_000, max(2_800, int(rate/7))), learning)
						t.Logf("%-5s at %.3f: %v", p, share, x)
						switch {
						case p != Auto:
							p50, p99 = min(p50, x.p50), min(p99, x.p99)
						case slower(x.p50, p50, 1.15) || slower(x.p99, p99, 1.25):
							t.Errorf("at %.3f of the load: p50 %v and p99 %v, the better policies %v and %v", share, x.p50, x.p99, p50, p99)
						}
					})
				}
			}
		})
	}
}

// TestAutoLeavesBusyCores: when queries for the CPU alone keep nearly all cores busy, Auto gives them next to no
// others.
func TestAutoLeavesBusyCores(t *testing.T) {
	w := &workloads[2]
	for _, rate := range []float64{84_000, 88_000} {
		var onCPU float64
		for _, p := range []Policy{Devices, Auto} {
			w.inBubble(t, p, func(m *machine, d *Dispatcher) {
				x := w.arrive(t, m, d, rate, 60_000, 18_000)
				t.Logf("%-5s %v", p, x)
				if p == Devices {
					onCPU = x.onCPU
				} else if x.onCPU > onCPU+0.02 {
					t.Errorf("%.0f queries a second: the CPU answers %.3f of them, with policy gpu %.3f", rate, x.onCPU, onCPU)
				}
			})
		}
	}
}

// TestAutoForgetsTheCrowd: after saturation with cores that were twenty times as slow, because others
// used them, Auto is as fast as the better policy from the 120th single query on. What busy cores
// taught does not hold for idle ones, and a policy that prefers devices for it sees few cores work.
func TestAutoForgetsTheCrowd(t *testing.T) {
	for _, test := range []struct {
		w     *workload
		rates []float64
	}{
		{&workloads[0], []float64{100, 6_000, 30_000}},
		{&workloads[1], []float64{100, 15_000, 75_000, 120_000}},
	} {
		p50, p99 := map[float64]time.Duration{}, map[float64]time.Duration{}
		for _, p := range []Policy{Processors, Devices, Auto} {
			test.w.inBubble(t, p, func(m *machine, d *Dispatcher) {
				if p == Auto {
					m.slowCPU.Store(2000)
					t.Logf("%s %v saturated: %v", test.w.name, p, test.w.saturate(t, m, d, 4096, test.w.time))
					m.slowCPU.Store(100)
				}
				m.calm()
				for _, rate := range test.rates {
					if p == Processors && rate > 100 && test.w == &workloads[0] {
						continue // more than the CPU can bear
					}
					n := min(8_000, max(400, int(rate/8)))
					x := test.w.arrive(t, m, d, rate, n, 3*n/10)
					t.Logf("%s %-5s then: %v", test.w.name, p, x)
					switch {
					case p50[rate] == 0:
						p50[rate], p99[rate] = x.p50, x.p99
					case p != Auto:
						p50[rate], p99[rate] = min(p50[rate], x.p50), min(p99[rate], x.p99)
					case slower(x.p50, p50[rate], 1.15) || slower(x.p99, p99[rate], 1.25):
						t.Errorf("%s, %.0f queries a second after saturation: p50 %v and p99 %v, the better policies %v and %v", test.w.name, rate, x.p50, x.p99, p50[rate], p99[rate])
					}
				}
			})
		}
	}
}

// TestAutoRecovers: when cores are taken away or the device becomes slow, Auto is again near the
// better policy after 6,000 queries. So it is when the machine is as before.
func TestAutoRecovers(t *testing.T) {
	const rate, queries = 20_000, 20_000
	w := &workloads[0]
	phases := []struct {
		name     string
		cpu, gpu int64 // hundredths of the usual cost
	}{{"as usual", 100, 100}, {"slow device", 100, 300}, {"as usual again", 100, 100}, {"slow cores", 400, 100}, {"and again", 100, 100}}
	results := map[Policy][]trial{}
	for _, p := range []Policy{Devices, Auto} { // the CPU alone answers 7,000 queries a second
		inBubble(t, p, func(m *machine, d *Dispatcher) {
			for _, phase := range phases {
				m.slowCPU.Store(phase.cpu)
				m.slowGPU.Store(phase.gpu)
				x := w.arrive(t, m, d, rate, queries, 6_000)
				t.Logf("%-5v %-14s %v", p, phase.name, x)
				results[p] = append(results[p], x)
			}
		})
	}
	for i, phase := range phases {
		auto, gpu := results[Auto][i], results[Devices][i]
		if slower(auto.p50, gpu.p50, 1.15) || slower(auto.p99, gpu.p99, 1.25) {
			t.Errorf("%s: p50 %v and p99 %v, policy gpu %v and %v", phase.name, auto.p50, auto.p99, gpu.p50, gpu.p99)
		}
	}
}
