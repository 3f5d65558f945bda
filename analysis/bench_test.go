package analysis

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/riffle-search/riffle/internal/impl"
)

// corpora returns the folder of the shared corpora, or skips.
func corpora(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("RIFFLE_CORPORA")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "corpora")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no corpora (set RIFFLE_CORPORA): %v", err)
	}
	return dir
}

// gutenberg returns about n bytes of English prose, one string per passage.
func gutenberg(t testing.TB, n int) []string {
	f, err := os.Open(filepath.Join(corpora(t), "gutenberg-a.jsonl.zst"))
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(1<<28), zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var texts []string
	sc := bufio.NewScanner(z)
	sc.Buffer(nil, 16<<20)
	for total := 0; total < n && sc.Scan(); {
		var doc struct{ Text string }
		if err := json.Unmarshal(sc.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, doc.Text)
		total += len(doc.Text)
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return texts
}

// russian is text for which no ASCII shortcut helps.
var russian = []string{strings.Repeat("Все счастливые семьи похожи друг на друга, каждая несчастливая семья несчастлива по-своему. ", 500)}

// BenchmarkAnalyze, best of three on a shared 2-core Zen 5 machine:
//
//	analyzer=whitespace/text=gutenberg    222 MB/s
//	analyzer=standard/text=gutenberg      352 MB/s    62 Mtokens/s
//	analyzer=english/text=gutenberg       103 MB/s
//	analyzer=folding/text=gutenberg       223 MB/s
func BenchmarkAnalyze(b *testing.B) {
	prose := gutenberg(b, 4<<20)
	for _, name := range []string{"whitespace", "standard", "english", "folding"} {
		a, err := Lookup(name)
		if err != nil {
			b.Fatal(err)
		}
		benchmarkAnalyzer(b, a, "gutenberg", prose)
		benchmarkAnalyzer(b, a, "russian", russian)
	}
}

// BenchmarkAnalyzeTerms, measured like BenchmarkAnalyze:
//
//	analyzer=standard/impl=avx2          870 MB/s     6.5 ns/term
//	analyzer=standard/impl=portable      390 MB/s    14.6 ns/term
//	analyzer=whitespace/impl=avx2        870 MB/s     6.5 ns/term
//	analyzer=whitespace/impl=portable    180 MB/s    31.5 ns/term
func BenchmarkAnalyzeTerms(b *testing.B) {
	var prose [][]byte
	for _, s := range gutenberg(b, 4<<20) {
		prose = append(prose, []byte(s))
	}
	for _, a := range []Analyzer{whitespace, standard} {
		for variant := range impl.Each("analysis") {
			b.Run("analyzer="+a.Name()+"/impl="+variant, func(b *testing.B) {
				size, terms := 0, 0
				count := func(keys []uint64, _ [][]byte) { terms += len(keys) }
				for b.Loop() {
					for _, s := range prose {
						a.(TermAnalyzer).AnalyzeTerms(s, count)
						size += len(s)
					}
				}
				b.ReportMetric(float64(size)/1e6/b.Elapsed().Seconds(), "MB/s")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(terms), "ns/term")
			})
		}
	}
}

func benchmarkAnalyzer(b *testing.B, a Analyzer, textName string, texts []string) {
	b.Run("analyzer="+a.Name()+"/text="+textName, func(b *testing.B) {
		size := 0
		for _, s := range texts {
			size += len(s)
		}
		b.SetBytes(int64(size))
		b.ReportAllocs()
		tokens := 0
		count := func(batch []Token) { tokens += len(batch) }
		for b.Loop() {
			for _, s := range texts {
				AnalyzeString(a, s, count)
			}
		}
		b.ReportMetric(float64(tokens)/b.Elapsed().Seconds()/1e6, "Mtokens/s")
	})
}
