package jsonl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// BenchmarkNext reads 4 MiB of passages of 1 KB, the size of those in the
// Gutenberg corpus: split into lines and parsed, on one core. The kinds differ in
// what the text holds. encoding=json is json.Unmarshal into a struct of two
// strings, without reading or splitting.
//
//	BenchmarkNext/text=ascii/riffle      1468 MB/s     BenchmarkNext/text=ascii/json      233 MB/s
//	BenchmarkNext/text=quotes/riffle      406 MB/s     BenchmarkNext/text=quotes/json     122 MB/s
//	BenchmarkNext/text=utf8/riffle        454 MB/s     BenchmarkNext/text=utf8/json       200 MB/s
//	BenchmarkNext/text=escaped/riffle     393 MB/s     BenchmarkNext/text=escaped/json    161 MB/s
//
// (AMD EPYC, go1.26, two cores shared with other work.)
func BenchmarkNext(b *testing.B) {
	for _, text := range []struct{ name, between string }{
		{"ascii", " "},
		{"quotes", ` \"`},       // one escape a word or so, worse than dialogue
		{"utf8", " ü"},          // one character of two bytes a word
		{"escaped", `\u2019s `}, // what Python's json.dump makes of an apostrophe
	} {
		file := passages(text.between)
		b.Run("text="+text.name+"/riffle", func(b *testing.B) {
			b.SetBytes(int64(len(file)))
			var d Document
			for b.Loop() {
				r := NewReader("f", bytes.NewReader(file))
				for err := error(nil); err != io.EOF; {
					if err = r.Next(&d); err != nil && err != io.EOF {
						b.Fatal(err)
					}
				}
			}
		})
		b.Run("text="+text.name+"/json", func(b *testing.B) {
			b.SetBytes(int64(len(file)))
			for b.Loop() {
				for line := range bytes.Lines(file) {
					var d struct{ ID, Text string }
					if err := json.Unmarshal(line, &d); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// passages makes documents whose words are joined by between.
func passages(between string) []byte {
	rng := rand.New(rand.NewPCG(1, 1))
	var b bytes.Buffer
	for i := 0; b.Len() < 4<<20; i++ {
		words := make([]string, 170)
		for j := range words {
			words[j] = "abcdefghijklm"[:2+rng.IntN(7)]
		}
		fmt.Fprintf(&b, `{"id": "pg%d", "text": "%s"}`+"\n", i, strings.Join(words, between))
	}
	return b.Bytes()
}
