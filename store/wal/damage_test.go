package wal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/format"
)

// killed returns the disk of a process that was killed when every append had been acknowledged.
func killed(t *testing.T, o *Options, appends, batch int) (*vfs.MemFS, *tester) {
	t.Helper()
	fsys := vfs.NewCrashableMem()
	w := create(t, fsys, o)
	rng := rand.New(rand.NewPCG(1, 2))
	for range appends {
		var rs [][]byte
		for range batch {
			rs = append(rs, text(rng, 20+rng.IntN(60)))
		}
		w.append(true, rs...)
	}
	disk := fsys.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rng})
	w.close()
	return disk, w
}

// frames returns the contents of a file before the zeroes written ahead.
func frames(file []byte) []byte { return bytes.TrimRight(file, "\x00") }

// TestBitFlips flips a bit in every byte of the log of a killed process. No acknowledged record is
// ever lost without an error: in appends of a single record, in those of hundreds, and in files
// that others follow.
func TestBitFlips(t *testing.T) {
	for _, c := range []struct {
		name           string
		appends, batch int
		o              *Options
	}{
		{"single records", 40, 1, nil},
		{"batches of 300", 3, 300, nil},
		{"several files", 40, 5, &Options{FileBytes: 2000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			intact, w := killed(t, c.o, c.appends, c.batch)
			end := w.l.NextSeq()
			numbers, _, err := folder{intact, testDir}.numbers()
			if err != nil {
				t.Fatal(err)
			}
			told, harmless := 0, 0
			for _, n := range numbers {
				path := folder{intact, testDir}.path(n)
				data, err := intact.UnsafeGetFileDataBuffer(path)
				if err != nil {
					t.Fatal(err)
				}
				stride := 1
				if testing.Short() {
					stride = 7
				}
				for off := 0; off < len(frames(data))+frameHeaderBytes && off < len(data); off += stride {
					data[off] ^= 1 << (off % 8)
					s, err := Scan(intact, testDir, 0)
					switch {
					case errors.Is(err, corrupt.Err) && strings.Contains(err.Error(), fileName(n)), off == 7 && errors.Is(err, corrupt.Err):
						told++
					case err != nil:
						t.Fatalf("file %d, byte %d: error of no kind: %v", n, off, err)
					default:
						harmless++
						if err := w.check(s.Replay, 1, end); err != nil {
							t.Fatalf("file %d, byte %d flipped: silent loss: %v", n, off, err)
						}
					}
					data[off] ^= 1 << (off % 8)
				}
			}
			t.Logf("%d flips reported, %d without effect, in %d files", told, harmless, len(numbers))
			if harmless > 5*frameHeaderBytes*len(numbers) { // marks at the ends of files, and zeroes
				t.Errorf("%d flips had no effect; %d were reported", harmless, told)
			}
		})
	}
}

// TestNewerVersion: a file of a newer version is distinguished from damage.
func TestNewerVersion(t *testing.T) {
	if format.LogFile.Newest != version {
		t.Errorf("%+v, want %d", format.LogFile, version)
	}
	intact, _ := killed(t, nil, 1, 1)
	path := folder{intact, testDir}.path(1)
	data, err := intact.UnsafeGetFileDataBuffer(path)
	if err != nil {
		t.Fatal(err)
	}
	h, _, err := decodeFileHeader(data)
	if err != nil {
		t.Fatal(err)
	}
	magic := fileMagic
	fileMagic[7]++
	copy(data, h.encode())
	fileMagic = magic
	if _, err := Scan(intact, testDir, 0); !errors.Is(err, ErrFormat) || errors.Is(err, corrupt.Err) {
		t.Errorf("a log of a newer version: %v", err)
	}
}

// TestTornTail cuts the last file at every length, and zeroes what follows. Whole appends from the
// front survive, at least those acknowledged before the cut, and the log continues from there.
func TestTornTail(t *testing.T) {
	intact, w := killed(t, &Options{FileBytes: 1200}, 14, 3)
	numbers, _, err := folder{intact, testDir}.numbers()
	if err != nil {
		t.Fatal(err)
	}
	path := folder{intact, testDir}.path(numbers[len(numbers)-1])
	data, err := intact.UnsafeGetFileDataBuffer(path)
	if err != nil {
		t.Fatal(err)
	}
	whole := frames(data)
	if len(numbers) < 2 || len(whole) < 500 {
		t.Fatalf("%d files, the last of %d bytes: the test tests nothing", len(numbers), len(whole))
	}
	last := uint64(1)
	for n := fileHeaderBytes; n <= len(whole); n++ {
		for _, zeroed := range []bool{false, true} {
			disk := intact.CrashClone(vfs.CrashCloneCfg{})
			data := append([]byte(nil), whole[:n]...)
			if zeroed {
				data = append(data, make([]byte, len(whole)-n+5000)...)
			}
			if err := replace(disk, path, data); err != nil {
				t.Fatal(err)
			}
			s, err := Scan(disk, testDir, 0)
			if err != nil {
				t.Fatalf("cut to %d bytes: %v", n, err)
			}
			if s.next != w.l.NextSeq() && !slices.Contains(w.groups, s.next) {
				t.Fatalf("cut to %d bytes: the log goes on with record %d, in the middle of an append", n, s.next)
			}
			if s.next < last {
				t.Fatalf("cut to %d bytes: the log goes on with record %d, with fewer bytes with %d", n, s.next, last)
			}
			last = s.next
			if err := goOn(s, w); err != nil {
				t.Fatalf("cut to %d bytes: %v", n, err)
			}
		}
	}
	if last != w.l.NextSeq() {
		t.Errorf("the whole log ends before %d, want %d", last, w.l.NextSeq())
	}
}

// goOn starts a log, appends a record, and requires the earlier records and the new one.
func goOn(s *State, w *tester) error {
	next := s.next
	l, err := s.Start(nil)
	if err != nil {
		return err
	}
	own := &tester{t: w.t, l: l, records: map[uint64][]byte{next: record(next)}}
	for seq, r := range w.records {
		if seq < next {
			own.records[seq] = r
		}
	}
	own.append(true, record(next))
	if err := own.check(l.Replay, s.covered+1, next+1); err != nil {
		return err
	}
	// As if killed: no Close.
	again, err := Scan(s.fs, s.dir, s.covered)
	if err == nil {
		if again.Torn != nil || !again.clean {
			err = fmt.Errorf("torn again: %v", again.Torn)
		} else {
			err = own.check(again.Replay, s.covered+1, next+1)
		}
	}
	return errors.Join(err, l.Close())
}

func replace(fsys vfs.FS, path string, data []byte) error {
	f, err := fsys.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// TestLostFiles: a file of the log that is missing, empty, truncated, or from another log is an
// error, unless it is not needed.
func TestLostFiles(t *testing.T) {
	intact, w := killed(t, &Options{FileBytes: 1200}, 40, 3)
	other, _ := killed(t, &Options{FileBytes: 1200}, 40, 3)
	d := folder{intact, testDir}
	numbers, _, err := d.numbers()
	if err != nil {
		t.Fatal(err)
	}
	if len(numbers) < 4 {
		t.Fatalf("only %d files", len(numbers))
	}
	for i, n := range numbers {
		for _, how := range []string{"removed", "emptied", "halved", "of another log", "of another number"} {
			disk := intact.CrashClone(vfs.CrashCloneCfg{})
			data, err := disk.UnsafeGetFileDataBuffer(d.path(n))
			switch how {
			case "removed":
				err = errors.Join(err, disk.Remove(d.path(n)))
			case "emptied":
				err = errors.Join(err, replace(disk, d.path(n), nil))
			case "halved":
				err = errors.Join(err, replace(disk, d.path(n), frames(data)[:len(frames(data))/2]))
			case "of another log":
				data, err = other.UnsafeGetFileDataBuffer(d.path(n))
				err = errors.Join(err, replace(disk, d.path(n), data))
			case "of another number":
				data, err = disk.UnsafeGetFileDataBuffer(d.path(numbers[(i+1)%len(numbers)]))
				err = errors.Join(err, replace(disk, d.path(n), data))
			}
			if err != nil {
				t.Fatal(err)
			}
			s, err := Scan(disk, testDir, 0)
			if i == len(numbers)-1 {
				if how == "halved" && err == nil && s.Torn != nil {
					continue // which a crash may have left, too
				}
				if how == "of another log" && err == nil && s.id != w.l.id {
					continue // the store knows the id
				}
			}
			if !errors.Is(err, corrupt.Err) {
				t.Errorf("file %d of %d %s: %v", n, len(numbers), how, err)
			}
		}
	}
	disk := intact.CrashClone(vfs.CrashCloneCfg{})
	s, err := Scan(disk, testDir, 0)
	if err != nil {
		t.Fatal(err)
	}
	first := s.parts[1].first
	if err := disk.Remove(d.path(numbers[0])); err != nil {
		t.Fatal(err)
	}
	if _, err := Scan(disk, testDir, first-2); !errors.Is(err, corrupt.Err) {
		t.Errorf("scan from record %d, with the log beginning with %d: %v", first-1, first, err)
	}
	if s, err = Scan(disk, testDir, first-1); err != nil {
		t.Fatalf("a file that is not needed is missing: %v", err)
	}
	if err := goOn(s, w); err != nil {
		t.Error(err)
	}
	if _, err := Scan(disk, testDir, w.l.NextSeq()+1); !errors.Is(err, corrupt.Err) {
		t.Errorf("a manifest that covers more than there is: %v", err)
	}
}

// TestStartCleans: Start removes leftovers of the log, and nothing else.
func TestStartCleans(t *testing.T) {
	disk, w := killed(t, &Options{FileBytes: 1200}, 40, 3)
	for _, name := range []string{"00000007.log.tmp", "notes.txt", "7.log", "x.log.tmp"} {
		if err := replace(disk, disk.PathJoin(testDir, name), []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Scan(disk, testDir, w.l.NextSeq()-1)
	if err != nil {
		t.Fatal(err)
	}
	before := disk.String()
	if _, err := Scan(disk, testDir, 0); err != nil || disk.String() != before {
		t.Errorf("a scan wrote, or %v", err)
	}
	if err := goOn(s, w); err != nil {
		t.Fatal(err)
	}
	names, err := disk.List(testDir)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	want := []string{fileName(s.parts[0].number), "7.log", "notes.txt", "x.log.tmp"}
	if strings.Join(names, " ") != strings.Join(want, " ") {
		t.Errorf("files %v, want %v", names, want)
	}
	if _, err := disk.Stat(disk.PathJoin(testDir, "00000007.log.tmp")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a temporary file stays")
	}
}
