package wal

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/klauspost/compress/zstd"
)

// benchRecords are n documents of some 1,100 bytes: those of the collection that RIFFLE_CORPUS
// names (JSON lines, zstd), or generated ones.
func benchRecords(b *testing.B, n int) (records [][]byte) {
	rng := rand.New(rand.NewPCG(1, 2))
	name := os.Getenv("RIFFLE_CORPUS")
	if name == "" {
		for range n {
			records = append(records, text(rng, 1100))
		}
		return records
	}
	f, err := os.Open(name)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		b.Fatal(err)
	}
	defer z.Close()
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 64<<20)
	for len(records) < n && lines.Scan() {
		var d struct{ Title, Text string }
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			b.Fatal(err)
		}
		records = append(records, []byte(d.Title+d.Text))
	}
	return records
}

// BenchmarkAppend writes batches to the disk of the machine; log/text is bytes of
// log for a byte of text.
func BenchmarkAppend(b *testing.B) {
	records := benchRecords(b, 10_000)
	for _, batch := range []int{1, 100} {
		for _, sync := range []bool{false, true} {
			b.Run(fmt.Sprintf("batch=%d/sync=%v", batch, sync), func(b *testing.B) {
				l, err := Create(vfs.Default, b.TempDir()+"/log", NewID(), 1, 0, nil)
				if err != nil {
					b.Fatal(err)
				}
				text, n := int64(0), 0
				b.ReportAllocs()
				for b.Loop() {
					at := n * batch % (len(records) - batch + 1)
					rs := records[at:][:batch]
					for _, r := range rs {
						text += int64(len(r))
					}
					p, err := Pack(rs)
					if err != nil {
						b.Fatal(err)
					}
					wait, err := l.Append(l.NextSeq(), p, sync)
					if err == nil {
						err = wait(context.Background())
					}
					if err != nil {
						b.Fatal(err)
					}
					n++
					if n*batch%5000 == 0 { // as a seal does
						l.Roll()
						if err := l.Confirm(context.Background(), 0, l.NextSeq()-1); err != nil {
							b.Fatal(err)
						}
					}
				}
				if err := l.Close(); err != nil {
					b.Fatal(err)
				}
				s := b.Elapsed().Seconds()
				b.ReportMetric(float64(n*batch)/s, "records/s")
				b.ReportMetric(float64(text)/1e6/s, "MB/s")
				b.ReportMetric(float64(l.Written())/float64(text), "log/text")
			})
		}
	}
}

// BenchmarkScan reads a log of 16 MB as Open does: checks it, then replays it.
func BenchmarkScan(b *testing.B) {
	records := benchRecords(b, 10_000)
	dir := b.TempDir() + "/log"
	l, err := Create(vfs.Default, dir, NewID(), 1, 0, nil)
	if err != nil {
		b.Fatal(err)
	}
	text := int64(0)
	for i := 0; i < len(records); i += 100 {
		p, err := Pack(records[i : i+100])
		if err == nil {
			_, err = l.Append(l.NextSeq(), p, false)
		}
		if err != nil {
			b.Fatal(err)
		}
		for _, r := range records[i : i+100] {
			text += int64(len(r))
		}
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(text)
	for b.Loop() {
		s, err := Scan(vfs.Default, dir, 0)
		if err == nil {
			err = s.Replay(1, func(uint64, []byte) error { return nil })
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
