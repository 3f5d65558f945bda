package emulator_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The emulator is C++, as are the kernels. These tests build testdata/check.cpp with the kernels of
// meetings.cu and wrong.cu, with each installed compiler and once with the address sanitizer, and
// check the output.

type check struct {
	kernel          string
	blocks, threads int
	shared, seed    int
	in              []int
	results         int // words of out
}

// run returns what the check printed and, if it aborted, what the sanitizer wrote.
func (c check) run(t *testing.T, binary string) string {
	t.Helper()
	cmd := exec.Command(binary, c.kernel, fmt.Sprint(c.blocks), fmt.Sprint(c.threads),
		fmt.Sprint(c.shared), fmt.Sprint(c.seed), fmt.Sprint(len(c.in)), fmt.Sprint(c.results))
	cmd.Stdin = strings.NewReader(strings.Trim(fmt.Sprint(c.in), "[]"))
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(string(out), "AddressSanitizer") {
		t.Fatalf("%s: %v\n%s", c.kernel, err, out)
	}
	return string(out)
}

func words(n []int) string {
	var b strings.Builder
	for _, v := range n {
		fmt.Fprintln(&b, v)
	}
	return b.String()
}

// build compiles the check, or skips the test when the machine lacks the compiler. Only kernels are
// compiled with kernelFlags.
func build(t *testing.T, compiler string, flags, kernelFlags []string) string {
	t.Helper()
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skipf("there is no %s", compiler)
	}
	dir := t.TempDir()
	flags = append([]string{"-std=c++17", "-O1", "-g", "-ffp-contract=off"}, flags...)
	run := func(args ...string) {
		if out, err := exec.Command(compiler, append(slices.Clone(flags), args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", compiler, err, out)
		}
	}
	objects := []string{"-o", filepath.Join(dir, "check")}
	for _, kernels := range []string{"../device/testdata/meetings.cu", "testdata/wrong.cu"} {
		object := filepath.Join(dir, filepath.Base(kernels)+".o")
		run(append(kernelFlags, "-c", "-o", object, "-x", "c++", kernels)...)
		objects = append(objects, object)
	}
	sources, err := filepath.Glob("src/*.cpp")
	if err != nil {
		t.Fatal(err)
	}
	sources = slices.DeleteFunc(sources, func(s string) bool {
		return strings.HasPrefix(s, "src/driver") || s == "src/race.cpp" && kernelFlags == nil
	})
	run(append(objects, append(sources, "testdata/check.cpp", "-ldl")...)...)
	return filepath.Join(dir, "check")
}

func TestEmulator(t *testing.T) {
	for _, c := range []struct {
		name, compiler     string
		flags, kernelFlags []string
	}{
		{"gcc", "g++", nil, nil},
		{"clang", "clang++-14", nil, nil},
		{"sanitizer", "g++", []string{"-fsanitize=address,undefined"}, nil},
		{"races", "g++", nil, strings.Fields("-fsanitize=thread --param tsan-distinguish-volatile=1 --param tsan-instrument-func-entry-exit=0")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			binary := build(t, c.compiler, c.flags, c.kernelFlags)
			for _, seed := range []int{0, 1, 4711} {
				t.Run(fmt.Sprintf("right/%d", seed), func(t *testing.T) { testRight(t, binary, seed) })
				t.Run(fmt.Sprintf("wrong/%d", seed), func(t *testing.T) { testWrong(t, binary, seed) })
			}
			switch c.name {
			case "sanitizer":
				testSanitized(t, binary)
			case "races":
				testRaces(t, binary)
			}
		})
	}
}

func testRight(t *testing.T, binary string, seed int) {
	const n = 600
	in, sums, counts := make([]int, n), make([]int, n), make([]int, 256)
	for i := range in {
		in[i] = i*i%1009 + 1
		sums[i] = in[i]
		if i%256 > 0 {
			sums[i] += sums[i-1]
		}
		counts[in[i]%256]++
	}
	copied := make([]int, 64)
	for i := range copied {
		copied[i] = in[4*(63-i)+3]
	}
	for _, c := range []struct {
		check
		want []int
	}{
		{check{"scan", 3, 256, 0, seed, in, n}, sums},
		{check{"histogram", 5, 96, 1024, seed, in, 256}, counts},
		{check{"collectives", 2, 64, 0, seed, nil, 128}, make([]int, 128)},
		{check{"lock", 3, 96, 0, seed, nil, 2}, []int{0, 3 * 96}},
		{check{"copies", 1, 64, 0, seed, in, 64}, copied},
	} {
		if got := c.run(t, binary); got != words(c.want) {
			t.Errorf("%s: got\n%swant\n%s", c.kernel, got, words(c.want))
		}
	}
}

func testWrong(t *testing.T, binary string, seed int) {
	for _, c := range []struct {
		kernel  string
		threads int
		want    []string // parts of the report
	}{
		{"divergent_barrier", 64, []string{"divergent barrier", "__syncthreads at wrong.cu:"}},
		{"missing_lane", 64, []string{"threads wait for one another", "thread 7 waits in __syncthreads at wrong.cu:",
			"threads 0-6, 8-31 wait in __ballot_sync(0xffffffff) at wrong.cu:"}},
		{"forever", 64, []string{"a loop at wrong.cu:", "waits for what no other thread of the block does"}},
		{"closed_gate", 64, []string{"a loop at wrong.cu:", "waits for what no other thread of the block does"}},
		{"absent_source", 32, []string{"reads lane 9, which does not take part"}},
		{"trapped", 64, []string{"thread 33 hit __trap at wrong.cu:"}},
		{"not_waited", 1, []string{"thread 0 ends before its copy_async has been waited for"}},
	} {
		got := check{c.kernel, 2, c.threads, 0, seed, []int{1, 2, 3, 4}, 64}.run(t, binary)
		for _, part := range append(c.want, "kernel "+c.kernel+", block (") {
			if !strings.Contains(got, part) {
				t.Errorf("%s: the report does not say %q:\n%s", c.kernel, part, got)
			}
		}
	}
}

func testSanitized(t *testing.T, binary string) {
	if got := (check{"out_of_bounds", 1, 64, 256, 0, nil, 1}).run(t, binary); got != "1\n" {
		t.Errorf("within bounds: %s", got)
	}
	words := make([]int, 32)
	for _, c := range []struct {
		check
		want []string
	}{
		{check{"out_of_bounds", 1, 64, 252, 0, nil, 1}, []string{"heap-buffer-overflow", "in out_of_bounds"}},
		{check{"misaligned", 1, 1, 0, 0, words, 1}, []string{"misaligned address"}},
		{check{"far_shift", 1, 1, 0, 0, words, 1}, []string{"shift exponent 32 is too large"}},
	} {
		got := c.run(t, binary)
		for _, part := range c.want {
			if !strings.Contains(got, part) {
				t.Errorf("%s was not found out:\n%s", c.kernel, got)
			}
		}
	}
}

func testRaces(t *testing.T, binary string) {
	for _, c := range []struct {
		kernel          string
		blocks, threads int
		races           int
		want            []string
	}{
		{"no_barrier", 1, 64, 2, []string{"in shared memory: thread ", " writes at wrong.cu:", "and in no order with it thread ", " reads at wrong.cu:"}},
		{"no_order", 1, 32, 1, []string{"in shared memory: ", " reads at wrong.cu:"}},
		{"two_blocks", 2, 1, 1, []string{"in global memory: thread 0 writes at wrong.cu:", "thread 0 writes at wrong.cu:", ", of another block"}},
		{"no_fence", 1, 64, 1, []string{"in global memory: thread 40 writes at wrong.cu:", "thread 0 reads at wrong.cu:"}},
	} {
		got := check{c.kernel, c.blocks, c.threads, 0, 0, nil, 64}.run(t, binary)
		for _, part := range append(c.want, "kernel "+c.kernel+": races") {
			if !strings.Contains(got, part) {
				t.Errorf("%s: the report does not say %q:\n%s", c.kernel, part, got)
			}
		}
		if n := strings.Count(got, "in no order"); n != c.races {
			t.Errorf("%s: %d races in the report:\n%s", c.kernel, n, got)
		}
	}
}

func TestMain(m *testing.M) {
	// Linux only: fibers need mmap, and the emulator's sections need ELF.
	if _, err := os.Stat("/proc/self/exe"); err != nil {
		fmt.Println("skipped: the emulator runs on Linux")
		return
	}
	os.Exit(m.Run())
}
