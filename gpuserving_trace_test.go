package riffle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riffle-search/riffle/internal/accelerator"
)

// A servingTrace writes to a folder where the time of BenchmarkGPUServing goes:
//
//	phases.txt    a line for each phase: cores at work, and what batches on the GPU came to
//	events.txt    when segments were written and merged
//	PHASE.pprof   a CPU profile
//	PHASE.mutex   a profile of waits for locks
//	PHASE.trace   of a tenth of a second: what each goroutine does (go tool trace)
//	PHASE.txt     the times of searches sent at random, by tenths of a second
//	slow.trace    what each goroutine did before the end of the first search that took as long as
//	              RIFFLE_SERVING_SLOW says (25ms), while documents were added; none without it
//
// Without a folder it does nothing.
type servingTrace struct {
	dir    string
	mu     sync.Mutex
	slow   atomic.Int64          // how long a search must take, in ns; 0 once one has
	from   time.Time             // earlier ones do not count: the phase begins with full caches of another
	flight *trace.FlightRecorder // until then
}

// record has the next slow search leave a trace.
func (s *servingTrace) record(b *testing.B) {
	b.Helper()
	slow := os.Getenv("RIFFLE_SERVING_SLOW")
	if s.dir == "" || slow == "" {
		return
	}
	took, err := time.ParseDuration(slow)
	s.flight = trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: 2 * tick, MaxBytes: 16 << 20})
	if err = errors.Join(err, s.flight.Start()); err != nil {
		b.Fatal(err)
	}
	s.from = time.Now().Add(2 * time.Second)
	s.slow.Store(int64(took))
}

// searched is called after each search.
func (s *servingTrace) searched(b *testing.B, took time.Duration) {
	slow := s.slow.Load()
	if slow == 0 || int64(took) < slow || time.Now().Before(s.from) || !s.slow.CompareAndSwap(slow, 0) {
		return
	}
	f, err := os.Create(filepath.Join(s.dir, "slow.trace"))
	if err == nil {
		_, err = s.flight.WriteTo(f)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		b.Error(err)
	}
	s.flight.Stop()
}

// tick is the time that a line of PHASE.txt stands for.
const tick = 100 * time.Millisecond

// phase runs do.
func (s *servingTrace) phase(b *testing.B, e *Engine, name string, do func()) {
	b.Helper()
	if s.dir == "" {
		do()
		return
	}
	if err := os.MkdirAll(s.dir, 0o777); err != nil {
		b.Fatal(err)
	}
	f, err := os.Create(filepath.Join(s.dir, name+".pprof"))
	if err != nil {
		b.Fatal(err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		b.Fatal(err)
	}
	defer s.waits(b, name)()
	before, busy, cpu, start := searchesOf(b, e), busyOf(e), cpuSeconds(), time.Now()
	do()
	took := time.Since(start)
	cpuAfter, after, busyAfter := cpuSeconds(), searchesOf(b, e), busyOf(e)
	pprof.StopCPUProfile()
	if err := f.Close(); err != nil {
		b.Error(err)
	}
	st, err := e.Stats()
	if err != nil {
		b.Fatal(err)
	}
	batches, queries := max(1, after.Batches-before.Batches), max(1, after.Queries-before.Queries)
	s.write(b, "phases.txt", fmt.Sprintf("%s %-20s %5.1f s  %d segments  cores: %.1f user, %.1f collector  batches: %d of %d queries, %.1f ms each, kernels %.2f ms, host %.2f ms, %.1f KB a query  completed by the CPU: %.2f\n",
		start.Format("15:04:05.000"), name, took.Seconds(), len(st.Segments),
		(cpuAfter[0]-cpu[0])/took.Seconds(), (cpuAfter[1]-cpu[1])/took.Seconds(),
		batches, queries/batches, float64((after.Device-before.Device).Microseconds())/1000/float64(batches),
		(busyAfter[0]-busy[0]).Seconds()*1000/float64(batches), (busyAfter[1]-busy[1]).Seconds()*1000/float64(batches),
		float64(after.MovedBytes-before.MovedBytes)/1000/float64(queries), float64(after.OnBoth-before.OnBoth)/float64(queries)))
}

// waits profiles waits for locks until the returned function is called, and traces a tenth of a
// second that begins a second from now.
func (s *servingTrace) waits(b *testing.B, name string) (stop func()) {
	before := runtime.SetMutexProfileFraction(20)
	traced := make(chan error, 1)
	go func() {
		time.Sleep(time.Second)
		f, err := os.Create(filepath.Join(s.dir, name+".trace"))
		if err == nil {
			err = trace.Start(f)
		}
		if err == nil {
			time.Sleep(tick)
			trace.Stop()
			err = f.Close()
		}
		traced <- err
	}()
	return func() {
		err := <-traced
		runtime.SetMutexProfileFraction(before)
		var f *os.File
		if err == nil {
			f, err = os.Create(filepath.Join(s.dir, name+".mutex"))
		}
		if err == nil {
			err = errors.Join(pprof.Lookup("mutex").WriteTo(f, 0), f.Close())
		}
		if err != nil {
			b.Error(err)
		}
	}
}

// busyOf is how long kernels and the host have worked on batches of the first device.
func busyOf(e *Engine) [2]time.Duration {
	d := e.accelerator.Stats().Devices[0]
	return [2]time.Duration{d.Kernels, d.Host}
}

// searchesOf are the figures of the dispatcher.
func searchesOf(b *testing.B, e *Engine) accelerator.Searches {
	b.Helper()
	st, err := e.Stats()
	if err != nil {
		b.Fatal(err)
	}
	return st.GPU.Searches
}

// cpuSeconds is how long the program's goroutines and its collector have been on cores.
func cpuSeconds() (seconds [2]float64) {
	samples := []metrics.Sample{{Name: "/cpu/classes/user:cpu-seconds"}, {Name: "/cpu/classes/gc/total:cpu-seconds"}}
	metrics.Read(samples)
	for i := range samples {
		seconds[i] = samples[i].Value.Float64()
	}
	return seconds
}

// times writes what searches took, by when they were sent.
func (s *servingTrace) times(b *testing.B, name string, times []searchTime) {
	b.Helper()
	if s.dir == "" || len(times) == 0 {
		return
	}
	byTick := map[int64][]time.Duration{}
	for _, t := range times {
		at := t.sent.UnixNano() / int64(tick)
		byTick[at] = append(byTick[at], t.took)
	}
	text := ""
	ticks := make([]int64, 0, len(byTick))
	for at := range byTick {
		ticks = append(ticks, at)
	}
	slices.Sort(ticks)
	for _, at := range ticks {
		of := byTick[at]
		slices.Sort(of)
		text += fmt.Sprintf("%s %6d searches, p50 %v, p99 %v, longest %v\n", time.Unix(0, at*int64(tick)).Format("15:04:05.000"), len(of),
			of[len(of)/2].Round(10*time.Microsecond), of[len(of)*99/100].Round(10*time.Microsecond), of[len(of)-1].Round(10*time.Microsecond))
	}
	s.write(b, name+".txt", text)
}

// event notes that something has ended which took so long.
func (s *servingTrace) event(what string, took time.Duration) {
	if s.dir != "" {
		s.write(nil, "events.txt", fmt.Sprintf("%s %s in %v\n", time.Now().Format("15:04:05.000"), what, took.Round(10*time.Microsecond)))
	}
}

// write appends to a file. An event may come before there is a folder, when it is of the build.
func (s *servingTrace) write(b *testing.B, name, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := os.OpenFile(filepath.Join(s.dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err == nil {
		_, err = f.WriteString(text)
		_ = f.Close()
	}
	if err != nil && b != nil {
		b.Error(err)
	}
}
