package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"runtime/metrics"
	"slices"
	"strings"

	"github.com/riffle-search/riffle"
)

// A specimen is an index that is damaged again and again: the files of one that was closed, or of
// one whose process was killed.
type specimen struct {
	*life
	files  image
	names  []string // those that are not empty, in order
	state  int
	killed bool
	dear   uint64 // bytes that an intact one allocates when all of it is read

	// mayLose is how many batches at the end of the log may silently be missing. After a kill, a
	// log that was cut cannot be told from one that was never longer. Damage to its last record,
	// and to the mark after it that says it was durable, cannot be told from an incomplete write.
	mayLose int
}

// newSpecimen makes an index with everything: merged segments and fresh ones, deletions, a log. The
// seed determines whether it is closed.
func newSpecimen(seed uint64, killed bool) (*specimen, error) {
	l := newLife(seed, 12, false, []stepKind{stepFlush, stepCompact, stepFlush, stepSchema})
	l.still = true
	d := newDisk()
	v := l.begin(d)
	s := &specimen{life: l, killed: killed}
	if err := v.open(); err != nil {
		return nil, err
	}
	for _, st := range v.steps {
		if err := v.step(st); err != nil {
			return nil, err
		}
	}
	if killed {
		if err := v.e.Sync(background); err != nil {
			return nil, err
		}
		s.files = d.crash(100, newRandom(seed).Rand).image()
	}
	if err := v.close(); err != nil {
		return nil, err
	}
	if !killed {
		s.files = d.image()
	}
	s.state = len(l.states) - 1
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		if len(s.files[name]) > 0 {
			s.names = append(s.names, name)
		}
	}
	return s, s.measure()
}

// measure opens the intact index.
func (s *specimen) measure() error {
	for _, way := range ways {
		before := allocated()
		if noticed, err := s.examine(s.files.disk(), way); err != nil || noticed != nil {
			return fmt.Errorf("the intact index: %w", errors.Join(err, noticed))
		}
		s.dear = max(s.dear, allocated()-before)
	}
	return nil
}

// size is the number of bytes in all files.
func (s *specimen) size() int {
	n := 0
	for _, name := range s.names {
		n += len(s.files[name])
	}
	return n
}

// locate finds a byte in the concatenation of all files.
func (s *specimen) locate(at int) (name string, off int) {
	for _, name = range s.names {
		if at < len(s.files[name]) {
			return name, at
		}
		at -= len(s.files[name])
	}
	panic("BUG: behind the last byte")
}

// A way is one way to use a damaged index.
type way struct {
	name     string
	readOnly bool
	compact  bool
}

var ways = []way{{"read-only", true, false}, {"opened", false, false}, {"compacted", false, true}}

// examine opens an index and reads everything in it. It returns the damage that the index reported,
// and an error if an answer was wrong.
func (s *specimen) examine(d *disk, w way) (noticed, err error) {
	e, err := riffle.Open(indexDir, s.reading(d, w.readOnly))
	if err != nil {
		return err, documented(err)
	}
	defer func() {
		if cerr := e.Close(); cerr != nil {
			noticed, err = errors.Join(noticed, cerr), errors.Join(err, documented(cerr))
		}
	}()
	if w.compact {
		if noticed = e.Compact(background); noticed != nil {
			if err := documented(noticed); err != nil {
				return noticed, when(err, "compact")
			}
		}
	}
	snap, err := e.Snapshot()
	if err != nil {
		return err, documented(err)
	}
	defer snap.Close()
	if answered := s.agrees(snap); answered != nil {
		noticed = errors.Join(noticed, answered)
		if err := documented(answered); err != nil {
			return noticed, err
		}
	}
	if found := check(e); found != nil {
		noticed = errors.Join(noticed, found)
		if err := documented(found); err != nil {
			return noticed, when(err, "check")
		}
	}
	return noticed, nil
}

// agrees compares a snapshot with the state of the index or, if the end of the log may be lost,
// with earlier states.
func (s *specimen) agrees(snap *riffle.Snapshot) error {
	is := func(i int) error {
		m := s.states[i]
		if s.calls[i+1] != nil && i < s.state { // or in the call that follows
			if among, err := s.within(snap, i+1); err == nil {
				m = among
			}
		}
		if err := agrees(snap, m); err != nil {
			return err
		}
		return samePosition(snap, position(i))
	}
	last := is(s.state)
	for i := s.state - 1; i >= s.state-s.mayLose && isMismatch(last); i-- {
		if err := is(i); !isMismatch(err) {
			return err
		}
	}
	return last
}

// allocated returns how many bytes the process has allocated so far.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// allocationSlack is what a damaged index may allocate beyond twice what an intact one does and
// twice its size: messages, stacks, a cache that is filled again.
const allocationSlack = 8 << 20

// try examines a damaged index. Its answers must be right or the damage reported. Allocations must
// depend on the size of the files and not on a number in them. If Open fails, the files must be
// unchanged.
func (s *specimen) try(r *round, files image, w way) error {
	d := files.disk()
	before := allocated()
	noticed, err := s.examine(d, w)
	spent := allocated() - before
	switch {
	case err != nil:
		return when(err, "%s", w.name)
	case spent > 2*s.dear+2*uint64(s.size())+allocationSlack:
		return when(fmt.Errorf("allocates %d bytes, and %d when intact", spent, s.dear), "%s", w.name)
	case w.readOnly || noticed != nil && !opens(noticed):
		if err := d.image().changed(files); err != nil {
			return when(err, "%s: %v", w.name, noticed)
		}
	}
	if noticed != nil {
		r.count("noticed", 1)
	}
	return when(strangersAreThere(d, files), "%s", w.name)
}

// opens reports whether the damage was noticed after Open.
func opens(noticed error) bool { return !strings.HasPrefix(noticed.Error(), "riffle: open ") }

// spread returns the i-th of n numbers in an order in which any run of them is spread over all.
func spread(i, n int) int {
	step := int(float64(n) * 0.6180339887)
	for step = max(step, 1); gcd(step, n) != 1; step++ {
	}
	return i * step % n
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// endOfLog reports whether the last file of the log is damaged.
func (s *specimen) endOfLog(files image) bool {
	last := ""
	for _, name := range s.names {
		if path.Base(path.Dir(name)) == "log" {
			last = name
		}
	}
	return !bytes.Equal(files[last], s.files[last])
}

// everything is a number of batches that no index has.
const everything = 1 << 30

// damagePart makes a part of a kind of damage: harm does the i-th to the files, and describes it.
// Damage to the end of the log may lose up to mayLose batches, if the index was killed.
func damagePart(what string, mayLose int, number func(*specimen) int, harm func(s *specimen, i int, rng random) (image, string)) func(*round) {
	return func(r *round) {
		s, err := newSpecimen(r.seed, r.seed%3 == 2)
		if err != nil {
			r.fail(r.from, "an intact index", err, nil)
			return
		}
		n := number(s)
		for i := range n {
			if !r.wants(i) {
				continue
			}
			files, name := harm(s, spread(i, n), newRandom(r.seed, i))
			if s.killed {
				name += ", of an index that was killed"
			}
			s.mayLose = 0
			if s.killed && s.endOfLog(files) {
				s.mayLose = min(mayLose, s.state)
			}
			r.do(i, name, func() error {
				r.count(what, 1)
				for k, w := range ways {
					if k == 0 || (i+k)%8 == 0 { // the others are slow
						if err := s.try(r, files, w); err != nil {
							return err
						}
					}
				}
				return nil
			})
		}
	}
}

// with returns the files with one of them replaced.
func (im image) with(name string, data []byte) image {
	c := maps.Clone(im)
	c[name] = data
	return c
}

// flipPart flips one bit of each byte.
var flipPart = damagePart("bits flipped", 0, (*specimen).size, func(s *specimen, i int, rng random) (image, string) {
	name, off := s.locate(i)
	data, bit := slices.Clone(s.files[name]), byte(1)<<rng.IntN(8)
	data[off] ^= bit
	return s.files.with(name, data), fmt.Sprintf("bit %#02x of byte %d of %d in %s", bit, off, len(data), path.Base(name))
})

// cutPart cuts each file at each length.
var cutPart = damagePart("files cut", everything, (*specimen).size, func(s *specimen, i int, _ random) (image, string) {
	name, off := s.locate(i)
	return s.files.with(name, s.files[name][:off]), fmt.Sprintf("%s cut at %d of %d", path.Base(name), off, len(s.files[name]))
})

// blockBytes is the unit of damage in blockPart.
const blockBytes = 128

// blockPart zeroes blocks, fills them with noise, and copies one over another.
var blockPart = damagePart("blocks overwritten", 2, func(s *specimen) int { return 4 * (s.size() / blockBytes) }, func(s *specimen, i int, rng random) (image, string) {
	name, off := s.locate(i / 4 * blockBytes)
	old := s.files[name]
	data := slices.Clone(old)
	block := data[off:min(off+blockBytes, len(data))]
	how := [...]string{"zeroed", "noise", "another block of it", "a block of another file"}[i%4]
	switch i % 4 {
	case 0:
		clear(block)
	case 1:
		for i := range block {
			block[i] = byte(rng.Uint32())
		}
	case 2:
		copy(block, old[rng.IntN(len(old)):])
	case 3:
		other, from := s.locate(rng.IntN(s.size()))
		copy(block, s.files[other][from:])
	}
	return s.files.with(name, data), fmt.Sprintf("block at %d of %d in %s: %s", off, len(data), path.Base(name), how)
})

// strangers are files of other programs that must not be removed; likenesses are such files that
// look like ours.
var (
	strangers  = []string{"notes.txt", "000001.txt", "backup.sst.bak", "sub/notes.txt", "tmp", "MANIFEST"}
	likenesses = []string{"building/notes.txt", "CLOSED.tmp", "000999.sst", "000999.log", "MANIFEST-000999", "OPTIONS-000999",
		"temporary.000999.dbtmp", "marker.manifest.000999.MANIFEST-000999"}
	foreign = slices.Concat(strangers, likenesses)
)

// strangersAreThere reports a stranger that is gone or changed.
func strangersAreThere(d *disk, files image) error {
	for _, name := range strangers {
		name = path.Join(indexDir, name)
		data, ok := files[name]
		if !ok {
			continue
		}
		if now, err := d.mem.UnsafeGetFileDataBuffer(name); err != nil || !bytes.Equal(now, data) {
			return fmt.Errorf("%s, which is none of ours, is gone or changed: %v", name, err)
		}
	}
	return nil
}

// filesPart loses, empties, doubles, swaps and adds files.
var filesPart = damagePart("files lost, swapped or added", 0, func(s *specimen) int {
	all := len(s.all())
	return 2*all + all*all + len(foreign)
}, func(s *specimen, i int, rng random) (image, string) {
	all := s.all()
	n := len(all)
	files := maps.Clone(s.files)
	switch {
	case i < n:
		delete(files, all[i])
		return files, all[i] + " is missing"
	case i < 2*n:
		files[all[i-n]] = nil
		return files, all[i-n] + " is empty"
	case i < 2*n+n*n:
		a, b := all[(i-2*n)/n], all[(i-2*n)%n]
		if (i-2*n)/n < (i-2*n)%n {
			files[a], files[b] = files[b], files[a]
			return files, fmt.Sprintf("%s and %s swapped", a, b)
		}
		files[a] = append(slices.Clone(files[a]), files[b]...)
		return files, fmt.Sprintf("%s, with %s behind it", a, b)
	}
	name := path.Join(indexDir, foreign[i-2*n-n*n])
	data := bytes.Repeat([]byte("not ours "), 20)
	if rng.IntN(2) == 0 {
		data = files[s.names[rng.IntN(len(s.names))]]
	}
	files[name] = data
	return files, name + " is none of ours"
})

// all returns the names of all files, including empty ones.
func (s *specimen) all() []string {
	names := slices.Sorted(maps.Keys(s.files))
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, "/") || path.Base(name) == "LOCK" })
}
