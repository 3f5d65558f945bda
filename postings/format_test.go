package postings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestFormat spells out the stored form, byte by byte. A change here requires a new format version.
//
//	encode [size=N]   stores the postings given as "document" or "document x tf" with
//	                  "len=code", or as a range "from..to" or "from..to by step", and prints
//	                  every byte; codec=pfor, codec=rice or codec=interpolative stores them by another codec
//	blocks [size=N]   opens what was stored and prints the directory
//	seek doc=D        prints the block where D would lie
func TestFormat(t *testing.T) {
	datadriven.Walk(t, "testdata/format", func(t *testing.T, path string) {
		var l *List
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "encode":
				size := 0
				d.MaybeScanArgs(t, "size", &size)
				name := Packed.String()
				d.MaybeScanArgs(t, "codec", &name)
				codec := slices.IndexFunc(codecs, func(k Kind) bool { return k.String() == name })
				enc := buildBy(codecs[codec], size, parsePostings(t, d.Input)).Encode()
				var err error
				if l, err = Open(enc.Entry, &stored{Encoded: enc}); err != nil {
					d.Fatalf(t, "%v", err)
				}
				return dump(enc)
			case "blocks":
				return describe(t, l)
			case "seek":
				doc := 0
				d.ScanArgs(t, "doc", &doc)
				return fmt.Sprintf("block %d\n", l.Seek(0, uint32(doc)))
			}
			d.Fatalf(t, "unknown command %q", d.Cmd)
			return ""
		})
	})
}

// parsePostings reads lines such as "9 x 3 len=12", "20..40" and "20..40 by 2".
func parsePostings(t *testing.T, input string) []posting {
	number := func(s string) uint32 {
		v, err := strconv.ParseUint(s, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		return uint32(v)
	}
	var ps []posting
	for line := range strings.Lines(input) {
		p, step := posting{tf: 1, length: 10}, uint32(1)
		words := strings.Fields(line)
		for i, w := range words {
			if i > 0 && words[i-1] == "x" {
				p.tf = number(w)
			} else if i > 0 && words[i-1] == "by" {
				step = number(w)
			} else if code, ok := strings.CutPrefix(w, "len="); ok {
				p.length = uint8(number(code))
			}
		}
		from, to, ok := strings.Cut(words[0], "..")
		if !ok {
			to = from
		}
		for p.doc = number(from); p.doc <= number(to); p.doc += step {
			ps = append(ps, p)
		}
	}
	return ps
}

func dump(enc Encoded) string {
	var s strings.Builder
	fmt.Fprintf(&s, "entry: % x\n", enc.Entry)
	for i, p := range enc.Directory {
		fmt.Fprintf(&s, "directory part %d: % x\n", i, p)
	}
	for i, c := range enc.Chunks {
		fmt.Fprintf(&s, "chunk %d:\n", i)
		for row := range slices.Chunk(c, RowBytes) {
			for i, lane := range slices.Collect(slices.Chunk(row, 4)) {
				fmt.Fprintf(&s, "%s% x", strings.Repeat(" ", 2), lane)
				if 4*i+len(lane) == len(row) {
					s.WriteByte('\n')
				}
			}
		}
	}
	return s.String()
}

func describe(t *testing.T, l *List) string {
	var s strings.Builder
	impacts, err := l.BlockImpacts()
	if err != nil {
		t.Fatal(err)
	}
	for b := range l.Blocks() {
		var docs [BlockSize]uint32
		n, err := l.Docs(b, &docs)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&s, "block %d: %d postings, documents %d to %d, %v, at row %d, best %v\n",
			b, n, docs[0], l.Last[b], l.Enc[b], l.Off[b], impacts.Of(b))
	}
	for e := range l.ExtLast {
		fmt.Fprintf(&s, "extent %d: to %d, best %v\n", e, l.ExtLast[e], l.ExtImpacts.Of(e))
	}
	z, err := l.SizeBreakdown()
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&s, "list: %d postings, best %v; bytes: documents %d, frequencies %d, directory %d\n",
		l.Count, l.ListImpacts, z.Docs, z.Freqs, z.Directory)
	return s.String()
}
