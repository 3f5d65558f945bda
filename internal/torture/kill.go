package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/riffle-search/riffle"
)

// killPart makes processes write to an index on a real file system and kills them without warning,
// several times on the same index. Everything they reported as acknowledged must survive.
func killPart(r *round) {
	for n := range 50 {
		r.do(n, "processes that write are killed", func() error {
			return inTemp(func(dir string) error { return killCase(r, dir, newRandom(r.seed, n)) })
		})
	}
}

// inTemp runs a case in a directory of its own.
func inTemp(run func(dir string) error) error {
	dir, err := os.MkdirTemp("", "riffle-torture")
	if err != nil {
		return err
	}
	return errors.Join(run(dir), os.RemoveAll(dir))
}

func killCase(r *round, temp string, rng random) error {
	dir := filepath.Join(temp, "index")
	acked := -1
	role := "write"
	if rng.IntN(4) == 0 {
		role = "build"
	}
	for kill := range 3 {
		w, err := startWorker(background, os.Args[0], role, dir, rng.Uint64(), nil)
		if err != nil {
			return err
		}
		before := acked
		said := w.untilKilled(time.Duration(rng.IntN(150)) * time.Millisecond)
		r.count("kills", 1)
		if text := w.errors.text(); text != "" {
			return fmt.Errorf("the writer, before kill %d: %s", kill, text)
		}
		var copies []int
		for _, line := range said {
			var i int
			if n, _ := fmt.Sscanf(line, "acknowledged %d", &i); n == 1 {
				acked = i
			}
			if strings.HasPrefix(line, "called") {
				r.count("calls by query", 1)
			}
			if strings.HasPrefix(line, "finished") {
				r.count("calls finished", 1)
			}
			if n, _ := fmt.Sscanf(line, "copied %d", &i); n == 1 {
				copies = append(copies, i)
			}
		}
		r.count("batches acknowledged", max(0, acked-before))
		state, err := stateOf(dir, kill%2 == 0, rng)
		if role == "build" && (errors.Is(err, riffle.ErrUnfinished) || state == -1) && acked == -1 {
			continue
		}
		if err != nil && !(acked == -1 && absent(err)) {
			return fmt.Errorf("after kill %d, %d acknowledged: %w", kill, acked, err)
		}
		if state < acked {
			return wrongf("after kill %d: state %d, acknowledged %d", kill, state, acked)
		}
		if role == "build" {
			return nil // it ended too soon
		}
		if acked >= 0 && kill == 2 {
			if err := sweptWindow(dir, rng); err != nil {
				return when(err, "after kill %d", kill)
			}
		}
		for _, i := range copies {
			if state, err := stateOf(fmt.Sprintf("%s-copy%d", dir, i), true, rng); err != nil || state != i {
				return fmt.Errorf("copy of batch %d: %d, %w", i, state, err)
			}
		}
	}
	return nil
}

// untilKilled kills a process some time after its first line.
func (w *worker) untilKilled(after time.Duration) (said []string) {
	if line, ok := <-w.lines; ok {
		said = append(said, line)
		time.Sleep(after)
	}
	return append(said, w.kill()...)
}

// stateOf opens an index of windows and returns its state.
func stateOf(dir string, readOnly bool, rng random) (int, error) {
	o := windowOptions(rng)
	o.ReadOnly = readOnly
	e, err := riffle.Open(dir, o)
	if err != nil {
		return -1, err
	}
	state, _, err := windowState(e)
	return state, errors.Join(err, e.Close())
}

// besidePart makes other processes work on the directory of an index while one writes to it: they
// try to write and to read, copy the directory, rename it, and run as other users.
func besidePart(r *round) {
	for n := range 20 {
		r.do(n, "others beside a writer", func() error {
			return inTemp(func(dir string) error {
				if rng := newRandom(r.seed, n); n%4 == 1 {
					return insideCase(r, dir, rng)
				} else {
					return besideCase(r, dir, rng)
				}
			})
		})
	}
}

func besideCase(r *round, temp string, rng random) error {
	dir := filepath.Join(temp, "index")
	role := []string{"stay", "copy", "hold"}[rng.IntN(3)]
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	writer, err := startWorker(ctx, os.Args[0], role, dir, rng.Uint64(), nil)
	if err != nil {
		return err
	}
	defer writer.kill()
	if line := <-writer.lines; line != "opened" {
		return fmt.Errorf("the writer says %q: %s", line, writer.errors.text())
	}
	for range 6 {
		if err := besideStep(ctx, r, temp, dir, rng, role == "hold"); err != nil {
			return err
		}
	}
	said := writer.kill()
	if text := writer.errors.text(); text != "" {
		return fmt.Errorf("the writer: %s", text)
	}
	acked := -1
	for _, line := range said {
		_, _ = fmt.Sscanf(line, "acknowledged %d", &acked)
	}
	state, err := stateOf(dir, false, rng)
	if err != nil || state < acked {
		return fmt.Errorf("at the end, %d acknowledged: %d, %w", acked, state, err)
	}
	return nil
}

// besideStep does one of these things.
func besideStep(ctx context.Context, r *round, temp, dir string, rng random, idle bool) error {
	switch rng.IntN(6) {
	case 0:
		return second(ctx, r, dir, rng)
	case 1:
		return reader(ctx, r, dir, rng, false)
	case 2:
		return reader(ctx, r, dir, rng, true)
	case 3: // within this process, twice: the second must not believe that the first holds the lock
		for range 2 {
			e, err := riffle.Open(dir, windowOptions(rng))
			if err == nil {
				_ = e.Close()
			}
			if !errors.Is(err, riffle.ErrLocked) {
				return wrongf("an Open beside a writer: %v", err)
			}
		}
		return nil
	case 4: // by another path
		if !idle {
			break // the writer would not find its files
		}
		to := filepath.Join(temp, "renamed")
		if err := os.Rename(dir, to); err != nil {
			return err
		}
		err := second(ctx, r, to, rng)
		return errors.Join(err, os.Rename(to, dir))
	}
	return torncopy(r, temp, dir, rng)
}

// insideCase opens an index in this process, reads all its files and renames its directory. Neither
// may admit a second writer, of this process or another.
func insideCase(r *round, temp string, rng random) error {
	dir, to := filepath.Join(temp, "index"), filepath.Join(temp, "renamed")
	e, err := riffle.Open(dir, windowOptions(rng))
	if err != nil {
		return err
	}
	err = func() error {
		if err := e.Apply(background, windowBatch(0, 0)); err != nil {
			return err
		}
		for _, name := range []string{dir, to} {
			if name == to {
				if err := os.Rename(dir, to); err != nil {
					return err
				}
			}
			if err := os.CopyFS(filepath.Join(temp, "copy of "+filepath.Base(name)), os.DirFS(name)); err != nil {
				return err
			}
			if second, err := riffle.Open(name, windowOptions(rng)); !errors.Is(err, riffle.ErrLocked) {
				if err == nil {
					err = second.Close()
				}
				return wrongf("%s, while open in this process: %v", filepath.Base(name), err)
			}
			if err := second(background, r, name, rng); err != nil {
				return when(err, "%s, while open in another process", filepath.Base(name))
			}
		}
		return nil
	}()
	if _, serr := os.Stat(to); serr == nil {
		err = errors.Join(err, os.Rename(to, dir))
	}
	err = errors.Join(err, e.Close())
	if err != nil {
		return err
	}
	state, err := stateOf(dir, false, rng)
	if err == nil && state != 0 {
		err = wrongf("state %d, want 0", state)
	}
	return err
}

// second tries to be a second writer.
func second(ctx context.Context, r *round, dir string, rng random) error {
	w, err := startWorker(ctx, os.Args[0], "second", dir, rng.Uint64(), nil)
	if err != nil {
		return err
	}
	said, err := w.finish()
	if err != nil || len(said) != 1 || said[0] != "locked" {
		return wrongf("a second writer: %q, %v", said, err)
	}
	r.count("second writers", 1)
	return nil
}

// reader reads for a while. What it reads must be consistent, without reports of damage.
func reader(ctx context.Context, r *round, dir string, rng random, otherUser bool) error {
	program, change := os.Args[0], asOtherUser
	if !otherUser {
		change = nil
	} else if program = forOthers(filepath.Dir(dir)); program == "" {
		return nil
	}
	w, err := startWorker(ctx, program, "read", dir, rng.Uint64(), change)
	if err != nil {
		return err
	}
	said, err := w.finish()
	if err != nil {
		return err
	}
	for _, line := range said {
		if strings.HasPrefix(line, "error") && !(otherUser && strings.Contains(line, "permission denied")) {
			return wrongf("a reader (another user: %v) beside a writer: %s", otherUser, line)
		}
	}
	r.count("readers", 1)
	return nil
}

// forOthers copies this program to where other users can run it, and lets them inspect the files
// below dir. It returns "" if this process may not switch users.
func forOthers(dir string) string {
	if !mayBeOthers() {
		return ""
	}
	program := filepath.Join(dir, "torture")
	if _, err := os.Stat(program); err == nil {
		return program
	}
	data, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = errors.Join(os.WriteFile(program, data, 0o755), os.Chmod(dir, 0o755))
	}
	if err != nil {
		return ""
	}
	return program
}

// torncopy copies the directory while the writer writes, and opens the copy. The copy may be torn,
// and must then report it; otherwise it has the state after some batch.
func torncopy(r *round, temp, dir string, rng random) error {
	to := filepath.Join(temp, "torn")
	defer os.RemoveAll(to)
	for {
		err := os.CopyFS(to, os.DirFS(dir))
		if err == nil {
			break
		}
		if !absent(err) { // files disappear while they are copied
			return err
		}
		if err := os.RemoveAll(to); err != nil {
			return err
		}
	}
	for _, readOnly := range []bool{true, false} {
		_, err := stateOf(to, readOnly, rng)
		if absent(err) {
			err = nil
		}
		if err := documented(err); err != nil {
			return when(err, "a copy of a directory in use, read-only %v", readOnly)
		}
	}
	r.count("torn copies", 1)
	return nil
}
