package main

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/internal/corrupt"
)

// liars are the files whose syncs lie, by name of the lie.
var liars = []struct {
	name string
	lies func(o op) bool
}{
	{"all syncs", func(op) bool { return true }},
	{"syncs of logs", func(o op) bool { return strings.HasSuffix(o.path, ".log") }},
	{"syncs of directories", func(o op) bool { return !strings.Contains(path.Base(o.path), ".") }},
	{"all syncs but that of the mark", func(o op) bool { return !isMark(o.path) && path.Base(o.path) != indexDir }},
}

// markFile is the file of a clean Close, which tells the next Open what it must find.
const markFile = "CLOSED"

func isMark(name string) bool { return strings.HasPrefix(path.Base(name), markFile) }

// liePart makes syncs report success without doing anything, and then stops the machine. Then no
// index can be guaranteed complete. An index that opens must have the state after some batch. If a
// clean Close has left its mark, it must be the last state.
func liePart(r *round) {
	l := shortLife(r.seed)
	syncs := l.syncs()
	for n := 0; n < syncs*len(liars); n++ {
		k, liar := n/len(liars), liars[n%len(liars)]
		r.do(n, fmt.Sprintf("%s lie from the %dth on", liar.name, k), func() error {
			rng := newRandom(r.seed, n)
			d := newDisk()
			until := k + rng.IntN(syncs-k+1) // where the machine stops
			var left *disk
			var closed bool
			v := l.begin(d)
			i := 0
			d.setRule(func(o op) verdict {
				if o.kind != opSync {
					return verdict{}
				}
				if i++; i == until+1 {
					left = d.crash(50*rng.IntN(3), rng.Rand)
				}
				return verdict{lie: i > k && liar.lies(o)}
			})
			err := v.lead()
			if err != nil {
				return err
			}
			if left == nil {
				closed = true
				left = d.crash(50*rng.IntN(3), rng.Rand)
			}
			r.count("lying disks", 1)
			mark := closed && sameFile(d, left, path.Join(indexDir, markFile))
			return l.inspectDeceived(left, v.promises().most, mark)
		})
	}
}

// syncs counts the syncs of a life.
func (l *life) syncs() int {
	d, n := newDisk(), 0
	d.setRule(func(o op) verdict {
		if o.kind == opSync {
			n++
		}
		return verdict{}
	})
	_ = l.begin(d).lead()
	return n
}

// sameFile reports whether a file is on both disks, with the same content.
func sameFile(a, b *disk, name string) bool {
	x, errX := a.mem.UnsafeGetFileDataBuffer(name)
	y, errY := b.mem.UnsafeGetFileDataBuffer(name)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// inspectDeceived opens what a crash of a lying disk has left.
func (l *life) inspectDeceived(d *disk, most int, marked bool) error {
	for _, readOnly := range []bool{true, false} {
		before := d.image()
		var state int
		e, err := riffle.Open(indexDir, l.reading(d, readOnly))
		if err != nil {
			if !absent(err) && documented(err) != nil {
				return documented(err)
			}
			if changed := d.image().changed(before); changed != nil {
				return when(changed, "%v", err)
			}
			continue
		}
		state, _, err = l.state(e, 0, most)
		if cerr := e.Close(); err == nil {
			err = cerr
		}
		switch {
		case isMismatch(err):
			return err
		case err != nil && documented(err) != nil:
			return documented(err)
		case err == nil && marked && state != most:
			return wrongf("it was closed after batch %d, and opens as after batch %d, without a word", most, state)
		}
	}
	return nil
}

// documented returns an error unless err reports damage as documented.
func documented(err error) error {
	var c *corrupt.Error
	switch {
	case err == nil:
		return nil
	case isMismatch(err):
		return err
	case errors.As(err, &c):
		if c.Key == "" {
			return fmt.Errorf("damage, but not where: %w", err)
		}
		return nil
	case errors.Is(err, riffle.ErrFormat), errors.Is(err, riffle.ErrUnfinished):
		return nil
	}
	return fmt.Errorf("damage that is not called so: %w", err)
}

// changed reports the files that differ from their earlier state. The lock does not count.
func (im image) changed(was image) error {
	var names []string
	for name, data := range was {
		if now, ok := im[name]; !ok {
			names = append(names, name+" is gone")
		} else if !bytes.Equal(now, data) {
			names = append(names, name+" has changed")
		}
	}
	for name := range im {
		if _, ok := was[name]; !ok {
			names = append(names, name+" is new")
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		name, _, _ = strings.Cut(name, " ")
		return path.Base(name) == "LOCK" || strings.HasSuffix(name, "/")
	})
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return when(errors.New("a failed Open changes files"), "%s", strings.Join(names[:min(4, len(names))], ", "))
}
