//go:build linux

package dictionary

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkGrams seeks literals inside the terms of dictionaries of a million distinct terms, or of the
// millions in RIFFLE_TERMS (such as 1,5,20): random UUIDs, and identifiers made of words. A literal is a
// part of a term, of so many bytes. It reports microseconds
// of CPU time a search with indexes of all pages and
// without any, the time to make an index of a page divided by that of its scan, and the bytes a term that
// the text, and the index, takes.
func BenchmarkGrams(b *testing.B) {
	sizes := os.Getenv("RIFFLE_TERMS")
	if sizes == "" {
		sizes = "1"
	}
	for size := range strings.SplitSeq(sizes, ",") {
		millions, err := strconv.ParseFloat(size, 64)
		if err != nil {
			b.Fatal(err)
		}
		for name, term := range map[string]func(rng *rand.Rand, i int) string{"uuids": uuid, "identifiers": identifier} {
			b.Run(fmt.Sprintf("%s/millions=%s", name, size), func(b *testing.B) { benchmarkGrams(b, int(millions*1e6), term) })
		}
	}
}

// uuid is the i-th of many random UUIDs.
func uuid(rng *rand.Rand, i int) string {
	// The order of i is that of the text: terms need no sorting.
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", uint32(i)*107+rng.Uint32N(107), rng.Uint32N(1<<16), rng.Uint32N(1<<12), 1<<15|rng.Uint32N(1<<14), rng.Uint64N(1<<48))
}

// identifierParts are what identifiers are made of.
var identifierParts = strings.Fields(`account address admin application archive array async backend balance batch block buffer builder
	cache callback channel chunk client cluster codec column command commit config connection consumer container content context controller
	cookie counter cursor customer database decoder default delete device dialog digest directory document domain driver element encoder
	endpoint engine entry error event exception executor factory field filter folder format frame function gateway group handle handler hash
	header helper history host http image index input instance integer interface invoice iterator journal keyboard label layout length
	library list listener loader local lock logger lookup manager mapper market memory message metadata method metric model module monitor
	network node notification number object offset option order output owner package packet page parameter parser partition password path
	payment pipeline plugin policy pool prefix printer process producer product profile property protocol provider proxy publisher query
	queue reader record region register registry remote render report request resource response result router schedule schema scope screen
	search segment selector sender sequence server service session setting shard signal snapshot socket source stack state statistic status
	storage stream string subscriber suffix supplier symbol table target task template thread ticket timeout token topic tracker transaction
	transfer tree trigger update upload user validator value vector version video view visitor watcher widget window worker writer`)

// identifier is the i-th of many identifiers: two or three words and a number.
func identifier(rng *rand.Rand, i int) string {
	n := len(identifierParts)
	// Words by the digits of i, so that they come in order.
	const each = 400 // identifiers for each pair
	first, second := i/(n*each)%n, i/each%n
	third := i % each
	return identifierParts[first] + "_" + identifierParts[second] + "_" + identifierParts[third*n/each] + fmt.Sprintf("%05d", third*100+rng.IntN(100))
}

func benchmarkGrams(b *testing.B, n int, term func(rng *rand.Rand, i int) string) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	terms := make([]string, n)
	for i := range terms {
		terms[i] = term(rng, i)
	}
	slices.Sort(terms)
	terms = slices.Compact(terms)
	sample := make([]string, 0, 256)
	for len(sample) < cap(sample) {
		sample = append(sample, strings.Clone(terms[rng.IntN(len(terms))]))
	}
	var builder Builder
	text := 0
	for _, w := range terms {
		builder.Add([]byte(w))
		text += len(w) + 4
	}
	d := builder.Dictionary()
	terms = nil
	seek := func(length, times int) (each time.Duration, found int) {
		start := threadTime(b)
		for i := range times {
			w := sample[i%len(sample)]
			pattern, err := ParseWildcard("*" + w[len(w)-2-length:len(w)-2] + "*")
			if err != nil {
				b.Fatal(err)
			}
			pattern.Find(d, func(int) bool { found++; return true })
		}
		return (threadTime(b) - start) / time.Duration(times), found / times
	}
	lengths := []int{3, 4, 6, 10}
	var scans [11]time.Duration
	for _, length := range lengths {
		scans[length], _ = seek(length, 4)
	}
	start := threadTime(b)
	indexed(b, d)
	making := threadTime(b) - start
	for b.Loop() {
		for _, length := range lengths {
			each, found := seek(length, len(sample))
			b.ReportMetric(float64(found), fmt.Sprintf("found-%d", length))
			b.ReportMetric(float64(each.Nanoseconds())/1000, fmt.Sprintf("index-%d-µs", length))
			b.ReportMetric(float64(scans[length].Nanoseconds())/1000, fmt.Sprintf("scan-%d-µs", length))
		}
	}
	b.ReportMetric(float64(making)/float64(scans[6]), "scans-to-make")
	b.ReportMetric(float64(making.Nanoseconds())/float64(d.Len()), "make-ns/term")
	b.ReportMetric(float64(d.GramBytes())/float64(d.Len()), "index-B/term")
	b.ReportMetric(float64(text)/float64(d.Len()), "text-B/term")
}

// threadTime is the CPU time of the thread.
func threadTime(b *testing.B) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}
