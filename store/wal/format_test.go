package wal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// TestFormat runs testdata/format: appends in, bytes out.
func TestFormat(t *testing.T) {
	datadriven.RunTest(t, "testdata/format", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "log":
			return logLines(t, d)
		case "pack":
			return packLines(t, d)
		}
		d.Fatalf(t, "unknown command %s", d.Cmd)
		return ""
	})
}

// logLines carries out the lines of a life and prints the files.
func logLines(t *testing.T, d *datadriven.TestData) string {
	fsys := vfs.NewMem()
	n := uint64(1)
	l, err := Create(fsys, testDir, 0x1111111111111111, 1, 0xaaaa, &Options{nonce: func() uint64 { n++; return n * 0x1111111111111111 }})
	for line := range strings.Lines(d.Input) {
		if err != nil {
			break
		}
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		sum, _ := strconv.ParseUint(strings.Fields(rest + " 0")[0], 0, 32)
		switch word {
		case "append", "sync":
			var b *Batch
			var rs [][]byte
			for _, r := range strings.Fields(rest) {
				rs = append(rs, []byte(r))
			}
			if b, err = Pack(rs); err == nil {
				if _, err = l.Append(l.NextSeq(), b, false); err == nil && word == "sync" {
					err = l.Sync(ctx)
				}
			}
		case "announce":
			err = l.Announce(ctx, uint32(sum))
		case "confirm":
			err = l.Confirm(ctx, uint32(sum), 0)
		case "roll":
			l.Roll()
		default:
			err = fmt.Errorf("unknown word %s", word)
		}
	}
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	numbers, _, err := l.numbers()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, n := range numbers {
		data, err := fsys.UnsafeGetFileDataBuffer(l.path(n))
		if err != nil {
			t.Fatal(err)
		}
		printFile(&b, fileName(n), data)
	}
	return b.String()
}

func printFile(b *strings.Builder, name string, data []byte) {
	_, seed, _ := decodeFileHeader(data)
	fmt.Fprintf(b, "%s\n", name)
	at := 0
	line := func(n int, what string, args ...any) {
		if n > 0 {
			fmt.Fprintf(b, "%4d  %-16x  %s\n", at, data[at:at+n], fmt.Sprintf(what, args...))
		}
		at += n
	}
	line(8, "magic and version")
	line(8, "id of the log")
	line(8, "nonce of the file")
	line(8, "number of the file")
	line(8, "next record")
	line(4, "end of the file before")
	line(1, "flags: 1 manifest in force, 2 manifest announced")
	line(4, "manifest in force")
	line(4, "manifest announced")
	line(7, "zero")
	line(4, "checksum")
	for at < len(data) {
		h, ok := decodeFrameHeader(data[at:], seed, int64(at))
		if !ok {
			fmt.Fprintf(b, "%4d  zeroes: %v\n", at, len(frames(data[at:])) == 0)
			return
		}
		line(2, "frame")
		line(1, "kind %c", h.kind)
		line(1, "flags: 1 compressed, 2 more")
		line(4, "payload of %d bytes", h.length)
		line(8, "next record %d", h.first)
		line(4, "records %d", h.count)
		line(4, "durable up to %d", h.durable)
		line(4, "checksum of the payload")
		line(4, "checksum of the header")
		line(int(h.length), "payload")
	}
}

// packLines packs records given as "bytes of a kind" and prints their frames.
func packLines(t *testing.T, d *datadriven.TestData) string {
	var rs [][]byte
	rng := rand.New(rand.NewPCG(1, 2))
	for line := range strings.Lines(d.Input) {
		var n int
		var kind string
		if _, err := fmt.Sscanf(line, "%d %s", &n, &kind); err != nil {
			t.Fatal(err)
		}
		if kind == "text" {
			rs = append(rs, text(rng, n))
		} else {
			rs = append(rs, noise(rng, n))
		}
	}
	batch, err := Pack(rs)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range batch.frames {
		var u unpacker
		raw, err := u.inflate(&f.head, batch.data[f.begin+frameHeaderBytes:f.end])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "flags %d: %d records begin, %d bytes, payload %d\n", f.head.flags, f.head.count, len(raw), f.head.length)
	}
	return b.String()
}

// TestAppendTooLarge: an Append that no log could read back is refused before it is written.
func TestAppendTooLarge(t *testing.T) {
	half := make([]byte, MaxAppendBytes/2+1)
	if _, err := Pack([][]byte{half, half}); err == nil || !strings.Contains(err.Error(), "want at most") {
		t.Errorf("pack of more than the limit: %v", err)
	}
}

// FuzzUnpack starts after the checksums: whatever is in a payload, unpacking it ends with records
// or with an error that says corrupt, and takes no more memory than a frame may hold.
func FuzzUnpack(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, rs := range [][][]byte{{record(1), record(2)}, {text(rng, 5000)}, {noise(rng, 100), nil}, nil} {
		b, err := Pack(rs)
		if err != nil {
			f.Fatal(err)
		}
		for _, p := range b.frames {
			f.Add(b.data[p.begin+frameHeaderBytes:p.end], p.head.flags, p.head.count, false)
		}
	}
	f.Add([]byte{5, 1, 2}, flagMore, uint32(1), true)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, byte(0), uint32(1), false)
	f.Add([]byte{0x80, 0x80, 0x80, 0x80, 8, 0}, flagCompressed, uint32(1), false)
	f.Fuzz(func(t *testing.T, payload []byte, flags byte, count uint32, open bool) {
		h := frameHeader{kind: kindRecords, flags: flags, length: uint32(len(payload)), first: 10, count: count}
		u := unpacker{open: open}
		next := h.first
		if open {
			next--
		}
		n := 0
		err := u.unpack(&h, payload, func(seq uint64, r []byte) error {
			if seq != next {
				t.Fatalf("record %d, want %d", seq, next)
			}
			next++
			n += len(r)
			return nil
		})
		if err != nil && !errors.Is(err, corrupt.Err) {
			t.Fatalf("not reported as corruption: %v", err)
		}
		if n > max(maxChunkBytes, len(payload)) {
			t.Fatalf("%d bytes of records from a payload of %d", n, len(payload))
		}
		if cap(u.raw) > maxChunkBytes {
			t.Fatalf("a buffer of %d bytes", cap(u.raw))
		}
	})
}

// FuzzScan passes arbitrary bytes after a valid header to Scan.
func FuzzScan(f *testing.F) {
	h := fileHeader{id: 1, nonce: 2, number: 1, first: 1, vouch: Vouch{Is: 3, HasIs: true}}
	frame := func(kind byte, first uint64, off int64, durable uint32, payload []byte) []byte {
		fh := frameHeader{kind: kind, length: uint32(len(payload)), first: first, durable: durable, sum: checksum(payload)}
		b := make([]byte, frameHeaderBytes)
		fh.encodeInto(b, h.seed(), off)
		return append(b, payload...)
	}
	f.Add([]byte{})
	f.Add(frame(kindDurable, 1, fileHeaderBytes, fileHeaderBytes, nil))
	f.Add(frame(kindEnd, 1, fileHeaderBytes, fileHeaderBytes, nil))
	f.Add(frame(kindVouch, 1, fileHeaderBytes, fileHeaderBytes, h.vouch.append(nil)))
	f.Add(append(make([]byte, 10), frame(kindDurable, 1, fileHeaderBytes+10, fileHeaderBytes+10, nil)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		fsys := vfs.NewMem()
		if err := fsys.MkdirAll(testDir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := replace(fsys, folder{fsys, testDir}.path(1), append(h.encode(), data...)); err != nil {
			t.Fatal(err)
		}
		s, err := Scan(fsys, testDir, 0)
		if err == nil {
			err = s.Replay(1, func(uint64, []byte) error { return nil })
		}
		if err != nil && !errors.Is(err, corrupt.Err) {
			t.Fatalf("not reported as corruption: %v", err)
		}
	})
}
