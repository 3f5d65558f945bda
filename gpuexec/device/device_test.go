//go:build cuda

package device

import (
	_ "embed"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// gpuexec/ptx.go says how it is made: go generate passes over files with a tag.
//
//go:embed testdata/meetings.ptx
var meetings string

// words are the arguments of the kernels in meetings.cu.
type words struct {
	in, out uint64
	n, _    uint32
}

// open returns a device with 1 MiB, or skips the test where there is none. Close reports what the
// test did not free.
func open(t *testing.T, n int) *Device {
	t.Helper()
	d, err := Open(n, Options{MemoryBytes: 1 << 20})
	if errors.Is(err, ErrNoDevice) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error("Close:", err)
		}
	})
	return d
}

func onEmulator() bool { return strings.Contains(os.Getenv("RIFFLE_LIBCUDA"), "emulator") }

// emulated skips a test that needs the emulated driver, and sets one of the driver's variables.
func emulated(t *testing.T, name, value string) {
	t.Helper()
	if !onEmulator() {
		t.Skip("this test is for the emulated driver: RIFFLE_LIBCUDA")
	}
	t.Setenv(name, value)
}

// bench is a device with what a launch needs.
type bench struct {
	*Device
	module Module
	stream Stream
	done   Event
	host   Pinned
	args   Memory
	in     Memory
	out    Memory
}

func newBench(t *testing.T, n int) *bench {
	b := &bench{Device: open(t, n)}
	for i, m := range []*Memory{&b.args, &b.in, &b.out} {
		*m = b.Memory().Slice(int64(i)<<14, int64(i+1)<<14)
	}
	if err := b.Do(func(q *Queue) {
		b.module, b.stream, b.done, b.host = q.Load(meetings), q.Stream(), q.Event(), q.Pin(3<<14)
	}); err != nil {
		t.Fatal(err)
	}
	return b
}

// launch runs a kernel over in and returns the first n words of its results.
func (b *bench) launch(kernel string, g Grid, in []uint32, n int) ([]uint32, error) {
	args, input := b.host.Slice(0, 1<<14), b.host.Slice(1<<14, 2<<14)
	output := b.host.Slice(2<<14, 2<<14+int64(4*n))
	copy(View[uint32](input), in)
	View[words](args)[0] = words{in: b.in.Address, out: b.out.Address, n: uint32(len(in))}
	err := b.Do(func(q *Queue) {
		q.ToDevice(b.stream, b.args, args)
		q.ToDevice(b.stream, b.in, input)
		q.Fill(b.stream, b.out, 0)
		q.Launch(b.stream, q.Kernel(b.module, kernel), g, b.args)
		q.ToHost(b.stream, output, b.out.Slice(0, output.Len()))
		q.Record(b.done, b.stream)
	})
	if err == nil {
		err = b.Wait(b.done, 0)
	}
	return slices.Clone(View[uint32](output)), err
}

func TestKernels(t *testing.T) {
	const n = 600
	in, sums, counts := make([]uint32, n), make([]uint32, n), make([]uint32, 256)
	for i := range in {
		in[i] = uint32(i*i%1009 + 1)
		sums[i] = in[i]
		if i%256 > 0 {
			sums[i] += sums[i-1]
		}
		counts[in[i]%256]++
	}
	copied := make([]uint32, 64)
	for i := range copied {
		copied[i] = in[4*(63-i)+3]
	}
	b := newBench(t, 0)
	for _, c := range []struct {
		kernel string
		grid   Grid
		want   []uint32
	}{
		{"scan", Grid{3, 256, 0}, sums},
		{"histogram", Grid{5, 96, 1024}, counts},
		{"collectives", Grid{2, 64, 0}, make([]uint32, 128)},
		{"lock", Grid{3, 96, 0}, []uint32{0, 3 * 96}},
		{"copies", Grid{1, 64, 0}, copied},
		{"scan", Grid{0, 256, 0}, make([]uint32, n)},
	} {
		if got, err := b.launch(c.kernel, c.grid, in, len(c.want)); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s %+v: %v, %v\nwant %v", c.kernel, c.grid, got, err, c.want)
		}
	}
}

func TestInfo(t *testing.T) {
	b := newBench(t, 0)
	list, err := List()
	if err != nil || len(list) == 0 || list[0] != b.Info() {
		t.Fatalf("List: %v, %v; the device says %v", list, err, b.Info())
	}
	i := b.Info()
	if i.Name == "" || i.Memory < 1<<20 || i.Multiprocessors < 1 || i.SharedPerBlock <= 48<<10 ||
		i.SharedPerProcessor < i.SharedPerBlock || i.Major < leastMajor || !strings.Contains(i.String(), i.Name) {
		t.Errorf("%+v", i)
	}
	err = b.Do(func(q *Queue) {
		scan := q.Kernel(b.module, "scan")
		if k := q.KernelInfo(scan); k.Shared != 32 || k.Threads != 256 || k.Registers == 0 || k.Local != 0 {
			t.Errorf("scan: %+v", k)
		}
		if few, many := q.Occupancy(scan, 256, 40<<10), q.Occupancy(scan, 256, 0); few < 1 || few >= many {
			t.Errorf("occupancy: %d with 40 KiB, %d without", few, many)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// TestMost: Most bounds the memory taken, whether it was requested or is a share of what is free.
func TestMost(t *testing.T) {
	for _, asked := range []int64{0, 1 << 20, 4 << 20} {
		d, err := Open(0, Options{MemoryBytes: asked, Most: 2 << 20})
		if errors.Is(err, ErrNoDevice) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		want := int64(2 << 20)
		if asked == 1<<20 {
			want = asked
		}
		if got := d.Memory().Bytes; got != want {
			t.Errorf("of %d bytes that were asked for %d were taken, want %d", asked, got, want)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestEvents(t *testing.T) {
	b := newBench(t, 0)
	out := b.host.Slice(0, 4)
	View[uint32](out)[0] = 7
	err := b.Do(func(q *Queue) {
		other, begun, filled, end := q.Stream(), q.Event(), q.Event(), q.Event()
		q.Record(begun, b.stream)
		q.Fill(b.stream, b.out, 0x11)
		q.Fill(b.stream, b.in, 0x22)
		q.Move(b.stream, b.out.Slice(4, 8), b.in.Slice(0, 4))
		q.Record(filled, b.stream)
		q.After(other, filled) // without it, other would copy stale contents
		q.ToHost(other, out, b.out.Slice(4, 8))
		q.Record(end, other)
		q.Synchronize(other)
		if !q.Reached(begun) || !q.Reached(end) || q.Elapsed(begun, end) < 0 {
			t.Errorf("after Synchronize: %v since the beginning", q.Elapsed(begun, end))
		}
		q.Fill(b.stream, b.out, 0x33)
		q.Record(b.done, b.stream)
		for !q.Reached(b.done) {
			if q.Err() != nil {
				return
			}
		}
	})
	if got := View[uint32](out)[0]; err != nil || got != 0x22222222 {
		t.Errorf("%#x, %v", got, err)
	}
}

func TestOrder(t *testing.T) { // Do from many goroutines: closures do not interleave
	b := newBench(t, 0)
	var wg sync.WaitGroup
	inside := 0
	for range 50 {
		wg.Go(func() {
			err := b.Do(func(*Queue) {
				if inside++; inside != 1 {
					t.Errorf("%d closures at once", inside)
				}
				inside--
			})
			if err != nil {
				t.Error(err)
			}
			if err := b.Wait(b.done, 0); err != nil { // never recorded: nothing to wait for
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
