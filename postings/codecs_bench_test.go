package postings_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/internal/jsonl"
	"github.com/riffle-search/riffle/postings"
)

var passages = flag.Int("passages", 50_000, "how many passages of gutenberg BenchmarkCodecs takes")

// BenchmarkCodecs compares the codecs on the lists of real collections: lower-cased words,
// documents in their original order. It uses the lists of more than 128 postings, because shorter
// ones are stored in another way. It groups those of gutenberg by length, as in figure 4 of Ding
// and others (2009): class 4K has lists of 2,001 to 4,000 postings.
//
// bits/posting is the stored size of documents or frequencies, without the directory; for load, it
// is the whole stored size. Mints/s is the rate of decoding lists in memory, block by block as
// executors do: documents (with gaps summed) and frequencies. load opens a list and loads its
// chunks. Lists of the codec interpolative are packed in memory. Billions of integers per second on
// Zen 5 with AVX-512, the best of many short runs while other work ran:
//
//	                 bits/posting                   integers
//	gutenberg    packed   pfor   rice   interp.   packed   pfor   rice
//	docs, all      6.64   6.06   5.63      4.92      4.5    2.7    2.1
//	docs, 1K      10.99   9.86   9.34      7.93      5.2    2.1    1.8
//	docs, 4K       7.41   6.70   5.97      5.59      8.2    3.1    2.2
//	docs, 64K      1.57   1.45   1.57      0.77      7.2    5.0    7.2
//	freqs, all     2.60   2.26   2.19      1.44      8.6    3.7    4.0
//	freqs, 1K      2.05   1.66   1.85      0.70      7.6    3.1    5.1
//	freqs, 4K      2.08   1.70   1.85      0.83     12.5    4.2    7.1
//	freqs, 64K     4.21   4.03   3.60      3.69     13.3    8.5    3.8
//
// So lists are packed in memory and interpolative in the store. Of 9.24 bits, pfor saves 10 % and
// rice 15 %, but a block takes about twice as long to decode. Interpolative saves 31 %, and
// unpacking it takes 6 to 8 ns per posting, once.
func BenchmarkCodecs(b *testing.B) {
	for _, set := range []struct{ name, file string }{
		{"gutenberg", "gutenberg-a.jsonl.zst"},
		{"cranfield", "cranfield/docs.jsonl"},
		{"cisi", "cisi/docs.jsonl"},
		{"med", "med/docs.jsonl"},
		{"nfcorpus", "nfcorpus/docs.jsonl"},
	} {
		b.Run(set.name, func(b *testing.B) {
			lists := invert(b, filepath.Join(corpora(), set.file))
			compareCodecs(b, "all", lists)
			if set.name != "gutenberg" {
				return
			}
			slices.SortFunc(lists, func(x, y []posting) int { return cmp.Compare(len(x), len(y)) })
			for len(lists) > 0 {
				class := lengthClass(len(lists[0]))
				n := slices.IndexFunc(lists, func(l []posting) bool { return lengthClass(len(l)) > class })
				if n < 0 {
					n = len(lists)
				}
				compareCodecs(b, fmt.Sprintf("%dK", class), lists[:n])
				lists = lists[n:]
			}
		})
	}
}

// lengthClass is the length of a list in thousands, rounded up to a power of two.
func lengthClass(n int) int { return 1 << bits.Len(uint((n-1)/1000)) }

func corpora() string {
	if dir := os.Getenv("RIFFLE_CORPORA"); dir != "" {
		return dir
	}
	return "../../shared/corpora"
}

type posting struct{ doc, tf uint32 }

// invert returns the lists of a collection that have more than 128 postings.
func invert(b *testing.B, path string) [][]posting {
	if _, err := os.Stat(path); err != nil {
		b.Skipf("no such collection (RIFFLE_CORPORA names the folder): %v", err)
	}
	docs, err := jsonl.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer docs.Close()
	terms := make(map[string]*[]posting)
	var d jsonl.Document
	for n := range uint32(*passages) {
		if err := docs.Next(&d); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			b.Fatal(err)
		}
		for _, f := range d.Fields {
			if text, ok := f.Value.(string); ok && (f.Name == "text" || filepath.Ext(path) == ".jsonl") {
				addText(terms, n, []byte(text))
			}
		}
	}
	var lists [][]posting
	for _, l := range terms {
		if len(*l) > postings.BlockSize {
			lists = append(lists, *l)
		}
	}
	return lists
}

func addText(terms map[string]*[]posting, doc uint32, text []byte) {
	analysis.Standard().Analyze(text, func(batch []analysis.Token) {
		for _, t := range batch {
			l := terms[string(t.Term)]
			if l == nil {
				l = new([]posting)
				terms[string(t.Term)] = l
			}
			if n := len(*l); n > 0 && (*l)[n-1].doc == doc {
				(*l)[n-1].tf++
			} else {
				*l = append(*l, posting{doc, 1})
			}
		}
	})
}

// compareCodecs runs the benchmarks of one class of lists.
func compareCodecs(b *testing.B, class string, lists [][]posting) {
	for _, codec := range []postings.Kind{postings.Packed, postings.PFor, postings.Rice, postings.Interpolative} {
		var all []*postings.List
		var encoded []loader
		var size postings.Sizes
		count := 0
		for _, l := range lists {
			bld := postings.Builder{Codec: codec}
			for _, p := range l {
				bld.Add(p.doc, p.tf, 0)
			}
			e := loader{bld.Encode()}
			stored := e.open(b)
			s, err := stored.SizeBreakdown()
			if err != nil {
				b.Fatal(err)
			}
			size.Add(s)
			count += len(l)
			all, encoded = append(all, stored), append(encoded, e)
		}
		run := func(what string, size int, step func(list int)) {
			b.Run(fmt.Sprintf("%s/%v/%s", class, codec, what), func(b *testing.B) {
				for b.Loop() {
					for list := range all {
						step(list)
					}
				}
				b.ReportMetric(8*float64(size)/float64(count), "bits/posting")
				b.ReportMetric(float64(count)*float64(b.N)/1e6/b.Elapsed().Seconds(), "Mints/s")
				b.ReportMetric(float64(len(lists)), "lists")
				b.ReportMetric(float64(count), "postings")
				b.ReportMetric(0, "ns/op")
			})
		}
		var dst [postings.BlockSize]uint32
		each := func(decode func(l *postings.List, block int, dst *[postings.BlockSize]uint32) (int, error)) func(int) {
			return func(list int) {
				for block := range all[list].Blocks() {
					if _, err := decode(all[list], block, &dst); err != nil {
						b.Fatal(err)
					}
				}
			}
		}
		run("docs", size.Docs, each((*postings.List).Docs))
		run("freqs", size.Freqs, each((*postings.List).Freqs))
		run("load", size.Docs+size.Freqs+size.Directory, func(list int) {
			l := encoded[list].open(b)
			for block := 0; block < l.Blocks(); block += postings.ExtentBlocks {
				if _, err := l.Payload(block); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A loader serves the stored parts of a list from memory.
type loader struct{ postings.Encoded }

func (l loader) Directory(part int) ([]byte, error) { return l.Encoded.Directory[part], nil }
func (l loader) Chunk(chunk int) ([]byte, error)    { return l.Chunks[chunk], nil }

func (l loader) open(b *testing.B) *postings.List {
	list, err := postings.Open(l.Entry, l)
	if err != nil {
		b.Fatal(err)
	}
	return list
}
