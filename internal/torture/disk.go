package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A disk is a file system in memory that consults a rule before every operation, which decides
// whether it succeeds. It can produce what a crash would leave.
type disk struct {
	mem *vfs.MemFS

	// Pebble's file system deadlocks if it is cloned during a Link or a ReuseForWrite (v2.1.7 locks
	// cloneMu for reading twice), hence links.
	links sync.Mutex

	mu   sync.Mutex
	rule func(op) verdict // nil: everything succeeds
	ops  int              // operations so far

	open sync.Map // *diskFile of each file that is open
}

// An op is one operation of a file system.
type op struct {
	n    int // number of the operation, from 0
	kind opKind
	path string
}

func (o op) String() string { return fmt.Sprintf("%v %s", o.kind, path.Base(o.path)) }

type opKind uint8

const (
	opCreate opKind = iota
	opLink
	opRemove
	opRemoveAll
	opRename
	opReuse
	opMkdir
	opWrite
	opSync
	opSyncTo
	opAllocate
	opLock
	opOpen
	opOpenDir
	opList
	opStat
	opUsage
	opRead
)

var opNames = [...]string{"create", "link", "remove", "remove all", "rename", "reuse", "mkdir", "write", "sync",
	"sync to", "allocate", "lock", "open", "open directory", "list", "stat", "usage", "read"}

func (k opKind) String() string { return opNames[k] }

// writes reports whether an operation of this kind changes the contents of the disk.
func (k opKind) writes() bool { return k <= opAllocate }

// A verdict is the outcome of an operation. With the zero verdict it succeeds.
type verdict struct {
	err  error // it fails with this error and does nothing; but
	tear int   // a write first writes this many 256ths of its bytes
	lie  bool  // a sync does nothing and reports success
}

// errInjected is the error of failed operations, unless the disk is full.
var errInjected = errors.New("input/output error (injected)")

// planted is a fault of every disk, with which tests of the campaign check that it is found.
var planted func(op) verdict

func newDisk() *disk { return &disk{mem: vfs.NewCrashableMem()} }

// setRule replaces the rule. The disk calls it for one operation at a time.
func (d *disk) setRule(rule func(op) verdict) {
	d.mu.Lock()
	d.rule = rule
	d.mu.Unlock()
}

func (d *disk) ask(kind opKind, path string) verdict {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.ops
	d.ops++
	var v verdict
	if d.rule != nil {
		v = d.rule(op{n, kind, path})
	}
	if v == (verdict{}) && planted != nil {
		v = planted(op{n, kind, path})
	}
	return v
}

func (d *disk) fails(kind opKind, path string) error { return d.ask(kind, path).err }

// allClosed reports files that are still open. Goroutines that were told to close them get some
// time for it.
func (d *disk) allClosed() error {
	var names []string
	for range patience {
		names = nil
		for f := range d.open.Range {
			names = append(names, path.Base(f.(*diskFile).path))
		}
		if len(names) == 0 {
			return nil
		}
		time.Sleep(patienceStep)
	}
	return when(errors.New("files are left open"), "%q", names)
}

// crash returns a disk as a crash may leave it: what was synced and, of the rest, about the given
// percentage of the blocks and directory entries.
func (d *disk) crash(percent int, rng *rand.Rand) *disk {
	d.links.Lock()
	defer d.links.Unlock()
	return &disk{mem: d.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})}
}

// An image is the content of a disk: files by path. A directory without files ends in a slash.
type image map[string][]byte

// image returns the content of the disk. Nothing may be writing to it.
func (d *disk) image() image {
	im := image{}
	var walk func(dir string)
	walk = func(dir string) {
		names, err := d.mem.List(dir)
		if err != nil {
			panic(fmt.Sprintf("BUG: list %s: %v", dir, err))
		}
		if len(names) == 0 {
			im[dir+"/"] = nil
		}
		for _, name := range names {
			name = path.Join(dir, name)
			info, err := d.mem.Stat(name)
			if err != nil {
				panic(fmt.Sprintf("BUG: stat %s: %v", name, err))
			}
			if info.IsDir() {
				walk(name)
				continue
			}
			data, err := d.mem.UnsafeGetFileDataBuffer(name)
			if err != nil {
				panic(fmt.Sprintf("BUG: read %s: %v", name, err))
			}
			im[name] = slices.Clone(data)
		}
	}
	walk("")
	return im
}

// disk returns a disk with the files of an image, all synced.
func (im image) disk() *disk {
	d := newDisk()
	for name, data := range im {
		if err := im.write(d, name, data); err != nil {
			panic(fmt.Sprintf("BUG: %s: %v", name, err))
		}
	}
	d.mem = d.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(0, 0))})
	return d
}

func (im image) write(d *disk, name string, data []byte) error {
	dir, file := path.Split(name)
	if err := d.mem.MkdirAll(dir, 0o755); err != nil || file == "" {
		return err
	}
	f, err := d.mem.Create(name, vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = f.Write(slices.Clone(data))
	}
	return errors.Join(err, f.Close())
}

// The methods below implement vfs.FS.

func (d *disk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := d.fails(opCreate, name); err != nil {
		return nil, err
	}
	return d.file(name)(d.mem.Create(name, c))
}

func (d *disk) Link(from, to string) error {
	if err := d.fails(opLink, to); err != nil {
		return err
	}
	d.links.Lock()
	defer d.links.Unlock()
	return d.mem.Link(from, to)
}

func (d *disk) Open(name string, _ ...vfs.OpenOption) (vfs.File, error) {
	if err := d.fails(opOpen, name); err != nil {
		return nil, err
	}
	return d.file(name)(d.mem.Open(name))
}

func (d *disk) OpenReadWrite(name string, c vfs.DiskWriteCategory, _ ...vfs.OpenOption) (vfs.File, error) {
	if err := d.fails(opCreate, name); err != nil {
		return nil, err
	}
	return d.file(name)(d.mem.OpenReadWrite(name, c))
}

func (d *disk) OpenDir(name string) (vfs.File, error) {
	if err := d.fails(opOpenDir, name); err != nil {
		return nil, err
	}
	return d.file(name)(d.mem.OpenDir(name))
}

func (d *disk) Remove(name string) error {
	if err := d.fails(opRemove, name); err != nil {
		return err
	}
	return d.mem.Remove(name)
}

func (d *disk) RemoveAll(name string) error {
	if err := d.fails(opRemoveAll, name); err != nil {
		return err
	}
	return d.mem.RemoveAll(name)
}

func (d *disk) Rename(from, to string) error {
	if err := d.fails(opRename, to); err != nil {
		return err
	}
	return d.mem.Rename(from, to)
}

func (d *disk) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := d.fails(opReuse, to); err != nil {
		return nil, err
	}
	d.links.Lock()
	defer d.links.Unlock()
	return d.file(to)(d.mem.ReuseForWrite(from, to, c))
}

func (d *disk) MkdirAll(dir string, perm os.FileMode) error {
	if err := d.fails(opMkdir, dir); err != nil {
		return err
	}
	return d.mem.MkdirAll(dir, perm)
}

func (d *disk) Lock(name string) (io.Closer, error) {
	if err := d.fails(opLock, name); err != nil {
		return nil, err
	}
	return d.mem.Lock(name)
}

func (d *disk) List(dir string) ([]string, error) {
	if err := d.fails(opList, dir); err != nil {
		return nil, err
	}
	names, err := d.mem.List(dir)
	slices.Sort(names) // an order that a seed repeats
	return names, err
}

func (d *disk) Stat(name string) (vfs.FileInfo, error) {
	if err := d.fails(opStat, name); err != nil {
		return nil, err
	}
	return d.mem.Stat(name)
}

func (d *disk) GetDiskUsage(name string) (vfs.DiskUsage, error) {
	if err := d.fails(opUsage, name); err != nil {
		return vfs.DiskUsage{}, err
	}
	return d.mem.GetDiskUsage(name)
}

func (d *disk) PathBase(p string) string       { return d.mem.PathBase(p) }
func (d *disk) PathJoin(elem ...string) string { return d.mem.PathJoin(elem...) }
func (d *disk) PathDir(p string) string        { return d.mem.PathDir(p) }

// Unwrap lets Pebble find the underlying file system.
func (d *disk) Unwrap() vfs.FS { return d.mem }

// file wraps what an operation returns.
func (d *disk) file(name string) func(vfs.File, error) (vfs.File, error) {
	return func(f vfs.File, err error) (vfs.File, error) {
		if err != nil {
			return nil, err
		}
		opened := &diskFile{f, d, name}
		d.open.Store(opened, nil)
		return opened, nil
	}
}

// A diskFile is an open file of a disk. It knows its size and times itself, so Stat is no
// operation.
type diskFile struct {
	vfs.File
	disk *disk
	path string
}

func (f *diskFile) Close() error {
	f.disk.open.Delete(f)
	return f.File.Close()
}

func (f *diskFile) Read(p []byte) (int, error) {
	if err := f.disk.fails(opRead, f.path); err != nil {
		return 0, err
	}
	return f.File.Read(p)
}

func (f *diskFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.disk.fails(opRead, f.path); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

func (f *diskFile) Write(p []byte) (int, error) {
	v := f.disk.ask(opWrite, f.path)
	if v.err == nil {
		return f.File.Write(p)
	}
	n, err := 0, error(nil)
	if part := len(p) * v.tear / 256; part > 0 {
		n, err = f.File.Write(p[:part])
	}
	return n, errors.Join(v.err, err)
}

func (f *diskFile) WriteAt(p []byte, off int64) (int, error) {
	v := f.disk.ask(opWrite, f.path)
	if v.err == nil {
		return f.File.WriteAt(p, off)
	}
	n, err := 0, error(nil)
	if part := len(p) * v.tear / 256; part > 0 {
		n, err = f.File.WriteAt(p[:part], off)
	}
	return n, errors.Join(v.err, err)
}

func (f *diskFile) Preallocate(off, length int64) error {
	if err := f.disk.fails(opAllocate, f.path); err != nil {
		return err
	}
	return f.File.Preallocate(off, length)
}

func (f *diskFile) Sync() error {
	v := f.disk.ask(opSync, f.path)
	if v.err != nil || v.lie {
		return v.err
	}
	return f.File.Sync()
}

func (f *diskFile) SyncData() error { return f.Sync() }

func (f *diskFile) SyncTo(length int64) (fullSync bool, err error) {
	if err := f.disk.fails(opSyncTo, f.path); err != nil {
		return false, err
	}
	return f.File.SyncTo(length)
}
