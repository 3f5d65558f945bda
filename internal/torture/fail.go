package main

import (
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"syscall"
)

// A single trouble is one operation that fails, once.
type single struct{ happened atomic.Bool }

func (s *single) over() bool { return s.happened.Load() }
func (s *single) failed()    {}

// failPart makes each operation of a life fail once.
func failPart(r *round) {
	l := shortLife(r.seed)
	for k := 0; r.wants(k) || r.only > k || r.from > k; k++ {
		reached := true
		r.do(k, fmt.Sprintf("operation %d fails", k), func() error {
			d, t := newDisk(), new(single)
			var failed op
			d.setRule(func(o op) verdict {
				if o.n != k {
					return verdict{}
				}
				failed = o
				t.happened.Store(true)
				return verdict{err: &fs.PathError{Op: o.kind.String(), Path: o.path, Err: errInjected}}
			})
			err := l.begin(d).endureOn(d, t, r.seed)
			reached = t.over()
			if reached {
				r.count("operations failed", 1)
			}
			return when(err, "%v", failed)
		})
		if !reached {
			return
		}
	}
}

// endureOn leads a life on a disk with a trouble, and then checks the disk: as it is, and as
// crashes leave it.
func (v *living) endureOn(d *disk, t trouble, seed uint64) error {
	l, before := v.life, takeInventory()
	err := v.endure(t)
	d.setRule(nil)
	if err != nil {
		return err
	}
	if err := errors.Join(d.allClosed(), before.compare()); err != nil {
		return err
	}
	p := v.promises()
	p.copies = nil // a failed copy may exist or not, and its directory is reused
	for _, percent := range []int{0, 100} {
		if err := l.inspect(d.crash(percent, newRandom(seed, percent).Rand), p, true); err != nil {
			return when(err, "after a crash with %d %% kept", percent)
		}
	}
	if err := l.inspect(d, p, true); err != nil {
		return when(err, "at the end")
	}
	return nil
}

// tornPart tears each write of a life once: a part of it reaches the file, and the call fails. Some
// lives stop there, others continue.
func tornPart(r *round) {
	l := shortLife(r.seed)
	for k := 0; r.wants(k) || r.only > k || r.from > k; k++ {
		reached := true
		r.do(k, fmt.Sprintf("write %d is torn", k), func() error {
			d, t := newDisk(), new(single)
			rng := newRandom(r.seed, k)
			var torn op
			var left *disk
			var promised promises
			v := l.begin(d)
			n := 0
			d.setRule(func(o op) verdict {
				if t.over() && left == nil {
					promised = v.promises()
					left = d.crash(100, rng.Rand)
					promised.most = v.promises().most
				}
				if o.kind != opWrite || t.over() {
					return verdict{}
				}
				if n++; n <= k {
					return verdict{}
				}
				torn = o
				t.happened.Store(true)
				return verdict{err: &fs.PathError{Op: "write", Path: o.path, Err: errInjected}, tear: rng.IntN(256)}
			})
			err := v.endureOn(d, t, r.seed)
			reached = t.over()
			if reached {
				r.count("writes torn", 1)
			}
			if err == nil && left != nil {
				promised.copies = nil
				err = when(l.inspect(left, promised, true), "after a crash in the write")
			}
			return when(err, "%v", torn)
		})
		if !reached {
			return
		}
	}
}

// A full is a disk that is full until some calls have failed.
type full struct {
	began, ended atomic.Bool
	calls        atomic.Int64 // calls that are still to fail
}

func (f *full) over() bool { return f.ended.Load() }

func (f *full) failed() {
	if f.began.Load() && f.calls.Add(-1) <= 0 {
		f.ended.Store(true)
	}
}

// takesSpace reports whether an operation may fail on a full disk.
func (k opKind) takesSpace() bool {
	switch k {
	case opCreate, opLink, opReuse, opMkdir, opWrite, opAllocate, opRename:
		return true
	}
	return false
}

var errNoSpace = fmt.Errorf("%w (injected)", syscall.ENOSPC)

// fullPart fills the disk at some point of a life, until a few calls have failed.
func fullPart(r *round) {
	l := shortLife(r.seed)
	for k := 0; r.wants(k) || r.only > k || r.from > k; k++ {
		reached := true
		r.do(k, fmt.Sprintf("the disk is full from write %d on", k), func() error {
			rng := newRandom(r.seed, k)
			d, t := newDisk(), new(full)
			t.calls.Store(int64(1 + rng.IntN(5)))
			n := 0
			var first op
			d.setRule(func(o op) verdict {
				if !o.kind.takesSpace() || t.over() {
					return verdict{}
				}
				if n++; n <= k {
					return verdict{}
				}
				if t.began.CompareAndSwap(false, true) {
					first = o
				}
				return verdict{err: &fs.PathError{Op: o.kind.String(), Path: o.path, Err: errNoSpace}, tear: rng.IntN(64)}
			})
			err := l.begin(d).endureOn(d, t, r.seed)
			reached = t.began.Load()
			if reached {
				r.count("disks filled", 1)
			}
			return when(err, "%v", first)
		})
		if !reached {
			return
		}
	}
}
