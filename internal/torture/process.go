package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/internal/hook"
)

// processFlag makes a process work on an index next to others: a role, the directory of the index,
// and a seed.
const processFlag = "-process"

// roles are those that such a process can have. It reports what it does, a line each.
var roles = map[string]func(dir string, rng random, say func(format string, args ...any)) error{
	"write":  writeRole,
	"stay":   stayRole,
	"copy":   copyRole,
	"hold":   holdRole,
	"build":  buildRole,
	"second": secondRole,
	"read":   readRole,
}

// process runs this process as one of several, until its parent ends.
func process(args []string) error {
	if len(args) != 3 || roles[args[0]] == nil {
		return errors.New("a process is started by a round")
	}
	seed, err := strconv.ParseUint(args[2], 10, 64)
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	return roles[args[0]](args[1], newRandom(seed, 7), func(format string, args ...any) {
		// Unbuffered. A kill may cut the line, hence the point at its end.
		_, _ = fmt.Fprintf(os.Stdout, format+".\n", args...)
	})
}

// A worker is a process as its parent sees it.
type worker struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	lines  chan string // its output; closed at its end
	errors *tailWriter
}

// startWorker starts a process. change, if not nil, modifies its command first.
func startWorker(ctx context.Context, program, role, dir string, seed uint64, change func(*exec.Cmd)) (*worker, error) {
	w := &worker{lines: make(chan string, 1<<16), errors: new(tailWriter)}
	w.cmd = exec.CommandContext(ctx, program, processFlag, role, dir, strconv.FormatUint(seed, 10))
	w.cmd.Stderr = w.errors
	if change != nil {
		change(w.cmd)
	}
	stdin, err := w.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	w.stdin = stdin
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(w.lines)
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			w.lines <- strings.TrimSuffix(line, ".\n")
		}
	}()
	return w, nil
}

// kill kills a process without warning and returns the rest of its output.
func (w *worker) kill() (said []string) {
	_ = w.cmd.Process.Kill()
	return w.drain()
}

func (w *worker) drain() (said []string) {
	for line := range w.lines {
		said = append(said, line)
	}
	_ = w.cmd.Wait()
	_ = w.stdin.Close()
	return said
}

// finish waits for a process that ends by itself.
func (w *worker) finish() (said []string, err error) {
	for line := range w.lines {
		said = append(said, line)
	}
	err = w.cmd.Wait()
	_ = w.stdin.Close()
	if err != nil {
		err = fmt.Errorf("%v: %w\n%s", w.cmd.Args[1:], err, w.errors.text())
	}
	return said, err
}

// plantedAhead is how many acknowledged batches too many writeRole reports. A test of the campaign
// uses it to check that the loss is found.
var plantedAhead int

// writeRole writes batch after batch to the existing ones, and reports which have been
// acknowledged. Between them it does everything else that can be done to an index.
func writeRole(dir string, rng random, say func(string, ...any)) error {
	return write(dir, rng, say, true)
}

// stayRole writes like writeRole, without ever closing the index.
func stayRole(dir string, rng random, say func(string, ...any)) error {
	return write(dir, rng, say, false)
}

func write(dir string, rng random, say func(string, ...any), reopen bool) error {
	o := windowOptions(rng)
	e, err := riffle.Open(dir, o)
	if err != nil {
		return err
	}
	say("opened")
	last, undone, err := windowState(e)
	if err == nil && undone > 0 {
		err = callWindow(e, dir, last, undone)
	}
	if err == nil && undone > 0 {
		if _, undone, err = windowState(e); err == nil && undone > 0 {
			err = wrongf("a call that was finished has left %d documents", undone)
		}
		say("finished %d", last)
	}
	if err != nil {
		return err
	}
	for i := last + 1; ; i++ {
		if err := applyWindow(e, i, rng); err != nil {
			return err
		}
		say("acknowledged %d", i+plantedAhead)
		if endsWithCall(i) {
			if err := callWindow(e, dir, i, 2*min(window, i+1)); err != nil {
				return err
			}
			say("called %d", i)
		}
		switch rng.IntN(60) {
		case 0:
			err = e.Flush(background)
		case 1:
			err = e.Compact(background)
		case 2:
			to := fmt.Sprintf("%s-copy%d", dir, i)
			if err = e.Checkpoint(background, to); err == nil {
				say("copied %d", i)
			}
		case 3:
			if !reopen {
				break
			}
			if err = e.Close(); err == nil {
				e, err = riffle.Open(dir, o)
			}
		}
		if err != nil {
			return err
		}
	}
}

// copyRole writes like stayRole, and reads all files of its own directory meanwhile, as a
// backup or a virus scanner would.
func copyRole(dir string, rng random, say func(string, ...any)) error {
	return stayRole(dir, rng, func(format string, args ...any) {
		say(format, args...)
		if rng.IntN(20) == 0 {
			to, err := os.MkdirTemp("", "riffle-torture")
			if err == nil {
				_ = os.CopyFS(to, os.DirFS(dir)) // files may disappear meanwhile
				err = os.RemoveAll(to)
			}
			if err != nil {
				panic(err)
			}
		}
	})
}

// holdRole writes a few batches and then keeps the index open, idle.
func holdRole(dir string, rng random, say func(string, ...any)) error {
	o := windowOptions(rng)
	o.Merge.Disabled = true
	e, err := riffle.Open(dir, o)
	if err != nil {
		return err
	}
	for i := range callPeriod - 1 {
		if err := e.Apply(background, windowBatch(i, 0)); err != nil {
			return err
		}
	}
	if err := e.Flush(background); err != nil {
		return err
	}
	say("opened")
	say("acknowledged %d", callPeriod-2)
	select {}
}

// buildRole builds an index in bulk; the seed determines the number of windows.
func buildRole(dir string, rng random, say func(string, ...any)) error {
	last := 100 + rng.IntN(400)
	o := &riffle.BuildOptions{Index: riffle.Options{Schema: windowSchema, AllowUnknownFields: true}, Workers: 2, OneSegment: rng.IntN(2) == 0, Position: windowPosition(last)}
	k := knobs(nil)
	k.Store.FS = nil
	hook.Set(o, k)
	say("opened")
	_, err := riffle.Build(background, dir, windowSource(last), o)
	if err == nil {
		say("acknowledged %d", last)
	}
	return err
}

// secondRole tries to open an index for writing, and reports the result.
func secondRole(dir string, rng random, say func(string, ...any)) error {
	e, err := riffle.Open(dir, windowOptions(rng))
	switch {
	case errors.Is(err, riffle.ErrLocked):
		say("locked")
	case err != nil:
		say("error %v", oneLine(err))
	default:
		say("opened")
		return e.Close()
	}
	return nil
}

// readRole opens an index read-only again and again for a while, reads everything, and reports what
// it finds.
func readRole(dir string, rng random, say func(string, ...any)) error {
	o := windowOptions(rng)
	o.ReadOnly = true
	for began := time.Now(); time.Since(began) < 300*time.Millisecond; {
		e, err := riffle.Open(dir, o)
		switch {
		case errors.Is(err, riffle.ErrLocked):
			say("locked")
			time.Sleep(time.Millisecond)
			continue
		case absent(err):
			say("absent")
			continue
		case err != nil:
			say("error %v", oneLine(err))
			continue
		}
		last, _, err := windowState(e)
		if cerr := e.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			say("error %v", oneLine(err))
			continue
		}
		say("state %d", last)
	}
	return nil
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
