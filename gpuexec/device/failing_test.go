//go:build cuda

package device

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// isCall reports whether err is an *Error of that call, with one of those codes, that does not lose
// the device. Drivers differ in the code.
func isCall(err error, call string, codes []int) bool {
	var e *Error
	return errors.As(err, &e) && e.Call == call && slices.Contains(codes, e.Code) &&
		strings.HasPrefix(e.Name, "CUDA_ERROR_") && !errors.Is(err, ErrLost)
}

func TestRefused(t *testing.T) {
	b := newBench(t, 0)
	for _, c := range []struct {
		call string
		// Invalid value 1, invalid image 200, invalid PTX 218, not found 500, out of resources 701.
		codes []int
		do    func(q *Queue)
	}{
		{"cuModuleLoadData", []int{200, 218}, func(q *Queue) { q.Load("not PTX") }},
		{"cuModuleGetFunction(nothing)", []int{500}, func(q *Queue) { q.Kernel(b.module, "nothing") }},
		{"cuLaunchKernel", []int{1, 701}, func(q *Queue) {
			q.Launch(b.stream, q.Kernel(b.module, "scan"), Grid{1, 257, 0}, b.args)
		}},
		{"cuLaunchKernel", []int{1, 701}, func(q *Queue) {
			q.Launch(b.stream, q.Kernel(b.module, "histogram"), Grid{1, 32, 48<<10 + 4}, b.args)
		}},
		{"cuFuncSetAttribute", []int{1}, func(q *Queue) {
			q.AllowShared(q.Kernel(b.module, "histogram"), q.Info().SharedPerBlock+4)
		}},
	} {
		after := false
		err := b.Do(func(q *Queue) {
			c.do(q)
			first := q.Err()
			q.Pin(16)
			q.Fill(b.stream, Memory{1, 1}, 0) // would be refused or do harm if it ran
			after = q.Err() == first && q.Event() == Event{}
		})
		if !isCall(err, c.call, c.codes) || !after {
			t.Errorf("%s: %v; quiet afterwards: %v", c.call, err, after)
		}
	}
	// A failed closure leaves the device as it was, and large blocks can still be launched.
	if got, err := b.launch("lock", Grid{1, 32, 0}, nil, 2); err != nil || got[1] != 32 {
		t.Errorf("after all that: %v, %v", got, err)
	}
	err := b.Do(func(q *Queue) {
		k := q.Kernel(b.module, "histogram")
		q.AllowShared(k, 64<<10)
		q.PreferShared(k, 100)
		q.Launch(b.stream, k, Grid{1, 32, 64 << 10}, b.args)
		q.Synchronize(b.stream)
	})
	if err != nil {
		t.Error("64 KiB of shared memory:", err)
	}
}

func TestMemory(t *testing.T) {
	emulated(t, "RIFFLE_EMULATOR_MEMORY", "4000000")
	if _, err := Open(0, Options{MemoryBytes: 5 << 20}); err == nil || errors.Is(err, ErrNoDevice) ||
		!strings.Contains(err.Error(), "5242880 bytes of device memory were asked for; 4000000 of 4000000 are free") {
		t.Errorf("too much: %v", err)
	}
	if _, err := Open(0, Options{MemoryBytes: -1}); err == nil {
		t.Error("less than nothing was given")
	}
	d, err := Open(0, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Memory().Bytes; got%ArenaAlign != 0 || got < 3400000 || got > 3500000+ArenaAlign {
		t.Errorf("%d bytes by default", got)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Error("a second time:", err)
	}
	if err := d.Do(func(*Queue) {}); err != ErrClosed {
		t.Error("Do after Close:", err)
	}
	if err := d.Wait(Event{}, 0); err != ErrClosed {
		t.Error("Wait after Close:", err)
	}
}

func TestSeveral(t *testing.T) {
	emulated(t, "RIFFLE_EMULATOR_DEVICES", "3")
	if list, err := List(); err != nil || len(list) != 3 {
		t.Fatalf("%v, %v", list, err)
	}
	for n := range 3 {
		b := newBench(t, n)
		if got, err := b.launch("lock", Grid{1, 64, 0}, nil, 2); err != nil || got[1] != 64 || b.Info().Number != n {
			t.Errorf("device %d: %v, %v", n, got, err)
		}
	}
	if _, err := Open(3, Options{}); !errors.Is(err, ErrNoDevice) || !strings.Contains(err.Error(), "the machine has 3") {
		t.Errorf("a fourth: %v", err)
	}
}

func TestLost(t *testing.T) {
	emulated(t, "RIFFLE_EMULATOR_DEVICES", "2")
	emulated(t, "RIFFLE_EMULATOR_FAIL", "2@1")
	good, bad := newBench(t, 0), newBench(t, 1)
	for i := range 4 {
		if got, err := good.launch("lock", Grid{1, 32, 0}, nil, 2); err != nil || got[1] != 32 {
			t.Errorf("launch %d of the good device: %v, %v", i, got, err)
		}
		_, err := bad.launch("lock", Grid{1, 32, 0}, nil, 2)
		var e *Error
		switch {
		case i < 2 && err != nil:
			t.Errorf("launch %d of the bad device: %v", i, err)
		case i >= 2 && (!errors.Is(err, ErrLost) || !errors.As(err, &e) || e.Code != 719 || e.Device != 1):
			t.Errorf("launch %d of the bad device: %v", i, err)
		case i >= 2 && bad.Lost() != err:
			t.Errorf("lost by %v, not %v", bad.Lost(), err)
		}
	}
	if bad.Wait(bad.done, 0) != bad.Lost() {
		t.Error("a device that is lost can be waited for")
	}
	if good.Lost() != nil {
		t.Error("the other is lost too:", good.Lost())
	}
}

func TestPanic(t *testing.T) {
	b := newBench(t, 0)
	func() {
		defer func() {
			if r := recover(); r != "oh" {
				t.Errorf("recovered %v", r)
			}
		}()
		_ = b.Do(func(*Queue) { panic("oh") })
	}()
	if _, err := b.launch("lock", Grid{1, 32, 0}, nil, 2); err != nil {
		t.Error("after a panic:", err)
	}
}

// TestNoLibrary runs this binary without a driver or a device. It must start and say so.
func TestNoLibrary(t *testing.T) {
	if os.Getenv("RIFFLE_TEST_NO_LIBRARY") != "" {
		_, err := Open(0, Options{})
		fmt.Printf("<%v> %v\n", err, errors.Is(err, ErrNoDevice))
		return
	}
	for setting, why := range map[string]string{
		"RIFFLE_LIBCUDA=/nonexistent/libcuda.so": "/nonexistent/libcuda.so: cannot open shared object file",
		"RIFFLE_LIBCUDA=libm.so.6":               "the library that was found is no CUDA driver",
		"RIFFLE_EMULATOR_INIT=803":               "cuInit gave error 803",
		"RIFFLE_EMULATOR_DEVICES=0":              "the driver counts none",
	} {
		if strings.Contains(setting, "EMULATOR") && !onEmulator() {
			continue
		}
		cmd := exec.Command(os.Args[0], "-test.run", "^TestNoLibrary$", "-test.v")
		cmd.Env = append(os.Environ(), "RIFFLE_TEST_NO_LIBRARY=1", setting)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), why) || !strings.Contains(string(out), "> true\n") {
			t.Errorf("with %s: %v\n%s", setting, err, out)
		}
	}
}

// TestHold: Close waits for those who hold a device, and nobody can hold it afterwards.
func TestHold(t *testing.T) {
	d := open(t, 0)
	if err := errors.Join(d.Hold(), d.Hold()); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error)
	go func() { closed <- d.Close() }()
	d.Release()
	select {
	case err := <-closed:
		t.Fatal("a device that is held was closed:", err)
	case <-time.After(20 * time.Millisecond):
	}
	if err := d.Do(func(*Queue) {}); err != nil {
		t.Error("a device that is held:", err)
	}
	d.Release()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if err := d.Hold(); err != ErrClosed {
		t.Error("a closed device:", err)
	}
}

// TestAbandon: a device that is given up is lost, and Close frees what it can, which here is all.
func TestAbandon(t *testing.T) {
	emulated(t, "RIFFLE_EMULATOR_MEMORY", fmt.Sprint(1<<20))
	for range 2 { // the second takes the same memory
		b := newBench(t, 0)
		why := errors.New("no answer")
		b.Abandon(why)
		err := b.Do(func(*Queue) { t.Error("a lost device does something") })
		if !errors.Is(err, ErrLost) || !errors.Is(err, why) || b.Lost() != err {
			t.Errorf("the error is %v, the device is lost by %v", err, b.Lost())
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}
