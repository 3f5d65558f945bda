package wal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// A State is a log as Scan found it. It is read-only.
type State struct {
	folder
	id      uint64
	vouch   Vouch
	covered uint64
	parts   []part // the needed files
	old     []string
	end     int64  // of the last file's whole frames
	durable int64  // if it is clean, where what is durable ends: the mark that says so may not be
	size    int64  // of the last file; if it is clean, zeroes follow the frames
	next    uint64 // number of the next record
	spans   spans
	clean   bool // the last file ends there, and all of it is durable

	// Torn says where a write begins that a crash cut short; nil if there is none. It is not an
	// error: nothing after it was ever acknowledged as durable.
	Torn error
}

// A part describes a needed file.
type part struct {
	number uint64
	first  uint64 // the next record when the file was begun
	bytes  int64
}

// Scan reads the log in dir and checks every needed frame: those with records after covered, the
// last record that the manifest covers. It writes nothing.
//
// Errors: fs.ErrNotExist without a log; ErrFormat; corrupt.Err with file and offset for damage, a
// missing file, or missing records. A tail that a crash tore is no error; see State.Torn.
func Scan(fsys vfs.FS, dir string, covered uint64) (*State, error) {
	s := &State{folder: folder{fsys, dir}, covered: covered}
	numbers, temps, err := s.numbers()
	if err == nil && len(numbers) == 0 {
		err = fmt.Errorf("log: no files in %s: %w", dir, fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	s.old = temps
	if err := s.scan(numbers, covered); err != nil {
		return nil, err
	}
	return s, nil
}

// Last returns the last file's Vouch of the log in dir, or fs.ErrNotExist without a log.
func Last(fsys vfs.FS, dir string) (Vouch, error) {
	s := &State{folder: folder{fsys, dir}}
	numbers, _, err := s.numbers()
	if err == nil && len(numbers) == 0 {
		err = fs.ErrNotExist
	}
	if err != nil {
		return Vouch{}, err
	}
	r, err := s.openFile(numbers[len(numbers)-1], -1)
	if err != nil {
		return Vouch{}, err
	}
	s.vouch = r.head.vouch
	err = errors.Join(s.scanLast(r), r.close())
	return s.vouch, err
}

// Present reports whether dir has files with the names of a log's.
func Present(fsys vfs.FS, dir string) bool {
	numbers, temps, err := folder{fsys, dir}.numbers()
	return err == nil && len(numbers)+len(temps) > 0
}

// scan goes from the last file back to the first that is needed.
func (s *State) scan(numbers []uint64, covered uint64) error {
	last := len(numbers) - 1
	r, err := s.openFile(numbers[last], -1)
	if err != nil {
		return err
	}
	s.id, s.vouch = r.head.id, r.head.vouch
	if err := errors.Join(s.scanLast(r), r.close()); err != nil {
		return err
	}
	s.parts, s.spans = []part{{r.head.number, r.head.first, s.end}}, r.spans
	if s.next <= covered {
		return r.at(s.end, "log record %d is missing: the manifest covers those up to %d, and the log ends before %d", s.next, covered, s.next)
	}
	head := r.head
	at := last
	for head.first > covered+1 {
		at--
		if at < 0 || numbers[at] != head.number-1 {
			return corrupt.At(corrupt.New(-1, "missing; the next log record there is is %d, and the manifest covers those up to %d", head.first, covered), s.fs.PathJoin(s.fs.PathBase(s.dir), fileName(head.number-1)))
		}
		p, err := s.openFile(numbers[at], int64(head.prev))
		if err != nil {
			return err
		}
		if err := errors.Join(s.scanWhole(p, head), p.close()); err != nil {
			return err
		}
		s.parts = append([]part{{p.head.number, p.head.first, int64(head.prev)}}, s.parts...)
		s.spans = append(p.spans, s.spans...)
		head = p.head
	}
	for _, n := range numbers[:at] {
		s.old = append(s.old, fileName(n))
	}
	s.spans.cover(covered)
	return nil
}

// scanWhole checks a file that another one follows: it was durable before that one began.
func (s *State) scanWhole(r *fileReader, next fileHeader) error {
	if r.head.id != s.id {
		return r.at(8, "file of log %016x, want %016x", r.head.id, s.id)
	}
	more := false
	for {
		h, _, err := r.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		more = h.more()
		r.count(&h)
	}
	if r.off != int64(next.prev) || r.seq != next.first || more {
		return r.at(r.off, "the file ends before record %d, want %d bytes that end before record %d", r.seq, next.prev, next.first)
	}
	return nil
}

// scanLast finds the end of the last file.
func (s *State) scanLast(r *fileReader) error {
	s.end, s.size, s.next, s.clean = r.off, r.size, r.head.first, true // a header is durable
	s.durable = s.end
	for {
		begin := r.off
		h, payload, err := r.next()
		if err == io.EOF {
			if r.off > s.end {
				s.Torn = r.at(s.end, "the file ends in the middle of an append")
			}
			s.clean = s.clean && s.Torn == nil
			return nil
		}
		if errors.Is(err, corrupt.Err) {
			return s.tornAt(r, begin, err)
		}
		if err != nil {
			return err
		}
		switch h.kind {
		case kindEnd:
			return corrupt.At(corrupt.New(-1, "missing: the log goes on there with record %d", r.seq), s.fs.PathJoin(s.fs.PathBase(s.dir), fileName(r.head.number+1)))
		case kindVouch:
			if s.vouch, err = decodeVouch(payload); err != nil {
				return corrupt.At(err, r.name)
			}
		case kindRecords, kindDurable:
		default:
			return r.at(begin, "a frame of unknown kind %#x", h.kind)
		}
		r.count(&h)
		if !h.more() {
			s.end, s.next = r.off, r.seq
		}
		s.clean, s.durable = h.kind == kindDurable && int64(h.durable) == begin, begin
	}
}

// tornAt classifies an offset without a whole frame. If only zeroes follow, the log ends there. If
// no later frame says that the file was durable beyond it, a crash tore the tail. Otherwise the
// file is damaged.
func (s *State) tornAt(r *fileReader, off int64, found error) error {
	durable, zero, err := r.resync(off)
	if err != nil {
		return err
	}
	if zero && off == s.end {
		s.size = r.size
		return nil
	}
	if s.clean = false; durable <= s.end {
		s.Torn = found
		return nil
	}
	var c *corrupt.Error
	errors.As(found, &c)
	return r.at(off, "log record %d cannot be read: %s; the file was durable up to offset %d", s.next, c.Reason, durable)
}

// ID returns the random number that identifies the log.
func (s *State) ID() uint64 { return s.id }

// Vouch says which manifests the store may have.
func (s *State) Vouch() Vouch { return s.vouch }

// NextSeq returns the number of the next record.
func (s *State) NextSeq() uint64 { return s.next }

// Bytes returns the size of the records that the manifest does not cover.
func (s *State) Bytes() int64 { return s.spans.sum() }

// DiskBytes returns the size of the files, including what follows the frames of the last.
func (s *State) DiskBytes() int64 { return sum(s.parts) + s.size - s.end }

// Replay calls fn for each record from the number from on, in order. The record is lent until fn
// returns. An error of fn ends the replay and is returned.
func (s *State) Replay(from uint64, fn func(seq uint64, record []byte) error) error {
	return s.replay(s.parts, from, s.next, fn)
}

func sum(parts []part) (n int64) {
	for _, p := range parts {
		n += p.bytes
	}
	return n
}

// replay reads the records in [from, to) from files that have been checked.
func (d folder) replay(parts []part, from, to uint64, fn func(seq uint64, record []byte) error) error {
	for i, p := range parts {
		end := to
		if i+1 < len(parts) {
			end = min(to, parts[i+1].first)
		}
		if max(from, p.first) >= end {
			continue
		}
		if err := d.replayFile(p.number, from, end, fn); err != nil {
			return err
		}
	}
	return nil
}

func (d folder) replayFile(number, from, to uint64, fn func(seq uint64, record []byte) error) (err error) {
	r, err := d.openFile(number, -1)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := r.close(); err == nil { // fn's error is returned as it is
			err = cerr
		}
	}()
	var u unpacker
	for r.seq < to || u.open {
		begin := r.off
		h, payload, err := r.next()
		if err == io.EOF {
			return r.at(begin, "the file ends, want record %d", r.seq)
		}
		if err != nil {
			return err
		}
		// A frame before another one may begin a wanted record.
		if h.kind != kindRecords || r.seq <= from && !u.open && !h.more() {
			continue
		}
		var stop error
		err = u.unpack(&h, payload, func(seq uint64, record []byte) error {
			if seq >= from && seq < to {
				stop = fn(seq, record)
			}
			return stop
		})
		if stop != nil {
			return stop
		}
		if err != nil {
			var c *corrupt.Error
			errors.As(err, &c)
			return r.at(begin, "frame with record %d: %s", h.first, c.Reason)
		}
	}
	return nil
}
