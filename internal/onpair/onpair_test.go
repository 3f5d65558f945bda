package onpair

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// TestExample checks the example of the package comment.
func TestExample(t *testing.T) {
	table, err := Open([]byte("\x61\x00\x62\x00\x00\x01\x63\x00"))
	if err != nil {
		t.Fatal(err)
	}
	e := NewEncoder(table)
	for s, want := range map[string]string{"abcab": "01010001", "xyz": "010078797a", "wxyz": "007778797a", "": "", "x": "010078", "ab": "0001"} {
		text := e.Append(nil, []byte(s))
		if got := hex.EncodeToString(text); got != want {
			t.Errorf("%q is %s, want %s", s, got, want)
		}
		if got, err := table.AppendDecoded([]byte("before "), text); err != nil || string(got) != "before "+s {
			t.Errorf("%s is %q, %v, want %q", want, got, err, s)
		}
	}
}

// words makes strings of a few hundred words, some of them with other bytes.
func words(rng *rand.Rand, n int) (all [][]byte) {
	for range n {
		var b []byte
		for range rng.IntN(200) {
			b = fmt.Appendf(b, "word%d ", rng.IntN(1+rng.IntN(400)))
		}
		for range rng.IntN(3) * rng.IntN(20) {
			b = append(b, byte(rng.Uint32()))
		}
		all = append(all, b)
	}
	return all
}

func trained(sample [][]byte) *Encoder {
	t := NewTrainer()
	for _, s := range sample {
		t.Add(s)
	}
	return t.Encoder()
}

// TestRoundTrip checks that strings survive, also those unlike the sample, that a table survives, and
// that text is compressed.
func TestRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	sample := words(rng, 300)
	e := trained(sample)
	again, err := Open(e.Table().Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(trained(sample).Table().Bytes(), again.Bytes()) {
		t.Error("the same sample makes another table")
	}
	symbols := map[string]bool{}
	for i := range again.symbols {
		symbols[string(again.symbols[i].bytes())] = true
	}
	if len(symbols) != len(again.symbols) || len(symbols) < 1000 {
		t.Errorf("%d symbols, of them %d distinct", len(again.symbols), len(symbols))
	}
	of, size := 0, 0
	for i, s := range append(words(rng, 300), []byte(strings.Repeat("word1 ", 50_000)), make([]byte, 5001)) {
		text, other := e.Append(nil, s), NewEncoder(again).Append(nil, s)
		if !bytes.Equal(text, other) {
			t.Fatalf("string %d: the table that was read codes it otherwise", i)
		}
		if len(text) > len(s)+2 {
			t.Fatalf("string %d: %d bytes of %d", i, len(text), len(s))
		}
		got, err := again.AppendDecoded(nil, text)
		if err != nil || !bytes.Equal(got, s) {
			t.Fatalf("string %d: %q, %v, want %q", i, got, err, s)
		}
		of, size = of+len(s), size+len(text)
	}
	if size > of/3 {
		t.Errorf("%d bytes take %d", of, size)
	}
}

// TestFull checks that a table ends at MaxSymbols.
func TestFull(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	tr := NewTrainer()
	b := make([]byte, 2<<20)
	for i := range b {
		b[i] = byte('a' + rng.IntN(26))
	}
	tr.Add(b)
	e := tr.Encoder()
	if n := len(e.table.symbols); n != MaxSymbols {
		t.Fatalf("%d symbols", n)
	}
	table, err := Open(e.table.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := table.AppendDecoded(nil, e.Append(nil, b)); err != nil || !bytes.Equal(got, b) {
		t.Fatal(err)
	}
}

func TestDamage(t *testing.T) {
	table, err := Open([]byte("\x61\x00\x62\x00"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"\x01\x01", "ab\xff\xff", "\x02xy", "\x01"} {
		if _, err := table.AppendDecoded(nil, []byte(text)); !errors.Is(err, corrupt.Err) {
			t.Errorf("%q: %v", text, err)
		}
	}
	long := "\x61\x00\x61\x00\x00\x01\x00\x01\x01\x01\x01\x01\x02\x01\x02\x01" // 2, 4, 8, 16 bytes
	for _, data := range []string{"abc", "\x61\x00\x00\x01", long, strings.Repeat("a\x00b\x00", MaxSymbols)} {
		if _, err := Open([]byte(data)); !errors.Is(err, corrupt.Err) {
			t.Errorf("table of %d bytes: %v", len(data), err)
		}
	}
}

// FuzzDecode decodes any text by any table.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("\x61\x00\x62\x00\x00\x01\x63\x00"), []byte("\x01\x01\x00\x01"))
	f.Add([]byte(""), []byte("\x01\x00xyz"))
	f.Fuzz(func(t *testing.T, pairs, text []byte) {
		table, err := Open(pairs)
		if err != nil {
			if !errors.Is(err, corrupt.Err) {
				t.Fatal(err)
			}
			return
		}
		s, err := table.AppendDecoded(nil, text)
		if err != nil {
			if !errors.Is(err, corrupt.Err) {
				t.Fatal(err)
			}
			return
		}
		e := NewEncoder(table)
		again, err := table.AppendDecoded(nil, e.Append(nil, s))
		if err != nil || !bytes.Equal(again, s) {
			t.Fatalf("round trip: %q, %v, want %q", again, err, s)
		}
	})
}

// BenchmarkDecode decodes strings of about 1 KB of 4 MB, in turn.
func BenchmarkDecode(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	all := words(rng, 4000)
	e := trained(all[:1000])
	var texts [][]byte
	size := 0
	for _, s := range all {
		texts, size = append(texts, e.Append(nil, s)), size+len(s)
	}
	b.SetBytes(int64(size / len(all)))
	var dst []byte
	n := 0
	for b.Loop() {
		dst, _ = e.table.AppendDecoded(dst[:0], texts[n%len(texts)])
		n++
	}
}

// BenchmarkEncode trains and encodes, strings of about 1 KB.
func BenchmarkEncode(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	all := words(rng, 4000)
	size := 0
	for _, s := range all {
		size += len(s)
	}
	b.Run("train", func(b *testing.B) {
		b.SetBytes(int64(size))
		for b.Loop() {
			trained(all)
		}
	})
	e := trained(all)
	b.Run("append", func(b *testing.B) {
		b.SetBytes(int64(size))
		var dst []byte
		for b.Loop() {
			for _, s := range all {
				dst = e.Append(dst[:0], s)
			}
		}
	})
}
