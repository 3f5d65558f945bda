package analysis

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
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

// gutenberg returns about n bytes of English prose, one string a passage.
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

func BenchmarkAnalyze(b *testing.B) {
	texts := gutenberg(b, 4<<20)
	size := 0
	for _, s := range texts {
		size += len(s)
	}
	for _, name := range []string{"whitespace", "standard", "english", "folding"} {
		a, err := Lookup(name)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("analyzer="+name+"/text=gutenberg", func(b *testing.B) {
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
}
