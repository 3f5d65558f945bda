package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
)

// A shape is rows that are made from a seed, see protocol.Column. Its name is one of -sources.
type shape struct {
	name    string
	columns string // the option "columns"
	does    string // one line for the help
	maker   func(rng *rand.Rand, rows int) func(dst []byte) []byte

	// What queries ask for, by sets.go.
	numbers    []string // columns for ranges and sorts; statistics are those of the first
	facets     []string // columns of strings
	histograms []string // columns of times or numbers
	width      int64    // of a bucket
	place      string   // a column of places, for shapes, distances and scores; "" for none of these
}

// shapes are what open data sets look like: server logs, and catalogs of shops.
var shapes = []shape{
	{
		name:       "@logs",
		columns:    "time:time,level:keyword,host:keyword,latency:int,text:text",
		does:       "log lines of 30 days: time (rising), level, host (1,000 values), latency (µs, long tail), message",
		maker:      logLines,
		numbers:    []string{"latency", "time"},
		facets:     []string{"host"},
		histograms: []string{"time"},
		width:      3600 * 1e9,
	},
	{
		name:       "@products",
		columns:    "price:int,category:keywords,rating:int,place:place,text:text",
		does:       "products: price (cents), a path of categories, rating (tenths), place (near 200 towns), title",
		maker:      products,
		numbers:    []string{"price", "rating"},
		facets:     []string{"category"},
		histograms: []string{"price"},
		width:      1000,
		place:      "place",
	},
}

func findShape(name string) (shape, bool) {
	for _, s := range shapes {
		if s.name == name {
			return s, true
		}
	}
	return shape{}, false
}

func listShapes(w io.Writer) {
	fmt.Fprintln(w, "\nrows with columns (-sources):")
	for _, s := range shapes {
		fmt.Fprintf(w, "  %-12s %s\n", s.name, s.does)
	}
}

// writeRows makes the rows of a shape. The same number gives the same rows.
func writeRows(path string, s shape, rows int) (c corpus, err error) {
	c.path, c.docs, c.columns = path, rows, s.columns
	f, err := os.Create(path)
	if err != nil {
		return c, err
	}
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
	}()
	sum := sha256.New()
	out := bufio.NewWriterSize(io.MultiWriter(f, sum), 1<<20)
	next := s.maker(rand.New(rand.NewPCG(7, 16)), rows)
	var line []byte
	for range rows {
		line = append(next(line[:0]), '\n')
		c.bytes += int64(len(line))
		out.Write(line) // errors stay until Flush
	}
	c.hash = hex.EncodeToString(sum.Sum(nil)[:8])
	if err := out.Flush(); err != nil {
		return c, err
	}
	c.hash = hex.EncodeToString(sum.Sum(nil)[:8])
	return c, nil
}

// Of log lines.
const (
	firstTime  = 1_767_225_600_000_000_000 // 2026-01-01 UTC
	allTime    = 30 * 24 * 3600 * 1e9
	hosts      = 1000
	vocabulary = 20_000
)

// logLines are lines at random times, so that all fill 30 days. Latency is lognormal, and one in a
// hundred is longer by a Pareto factor.
func logLines(rng *rand.Rand, rows int) func(dst []byte) []byte {
	host := rand.NewZipf(rng, 1.1, 4, hosts-1)
	text := newTexts(rng)
	levels := []struct {
		below float64
		name  string
	}{{0.25, "debug"}, {0.9, "info"}, {0.98, "warn"}, {1, "error"}}
	now := int64(firstTime)
	return func(dst []byte) []byte {
		now += int64(rng.ExpFloat64()*allTime/float64(rows)) + 1
		dst = append(strconv.AppendInt(dst, now, 10), '\t')
		at := rng.Float64()
		level := 0
		for at >= levels[level].below {
			level++
		}
		dst = append(append(dst, levels[level].name...), '\t')
		dst = append(fmt.Appendf(dst, "host-%03d", host.Uint64()), '\t')
		latency := math.Exp(8 + 1.2*rng.NormFloat64())
		if rng.IntN(100) == 0 {
			latency *= math.Pow(1-rng.Float64(), -1/1.5)
		}
		dst = append(strconv.AppendInt(dst, int64(min(latency, 1<<40)), 10), '\t')
		return text.append(dst, 6+rng.IntN(15))
	}
}

// products have prices of a lognormal distribution that end in 9 more often than not, one of 1,000 leaves
// of a tree of categories with its ancestors, and places near one of 200 towns.
func products(rng *rand.Rand, _ int) func(dst []byte) []byte {
	leaf := rand.NewZipf(rng, 1.05, 20, 999)
	town := rand.NewZipf(rng, 1.2, 3, 199)
	text := newTexts(rng)
	var towns [200][2]float64
	for i := range towns {
		towns[i] = [2]float64{rng.Float64()*110 - 45, rng.Float64()*360 - 180}
	}
	return func(dst []byte) []byte {
		price := int64(math.Exp(7.5+1.1*rng.NormFloat64())) + 1
		if rng.IntN(10) < 6 {
			price += 9 - price%10
		}
		dst = append(strconv.AppendInt(dst, price, 10), '\t')
		l := leaf.Uint64()
		dst = append(fmt.Appendf(dst, "c%02d|c%02d/%02d|c%02d/%02d/%d", l/50, l/50, l/5%10, l/50, l/5%10, l%5), '\t')
		dst = append(strconv.AppendInt(dst, int64(50-min(40, math.Abs(rng.NormFloat64())*8)), 10), '\t')
		t := towns[town.Uint64()]
		lat, lon := t[0]+0.1*rng.NormFloat64(), math.Mod(t[1]+0.1*rng.NormFloat64()+540, 360)-180
		dst = append(strconv.AppendFloat(dst, math.Trunc(lat*1e6)/1e6, 'f', 6, 64), ',')
		dst = append(strconv.AppendFloat(dst, math.Trunc(lon*1e6)/1e6, 'f', 6, 64), '\t')
		return text.append(dst, 3+rng.IntN(8))
	}
}

// texts are words of a zipfian vocabulary: made of syllables, short ones first.
type texts struct{ pick *rand.Zipf }

func newTexts(rng *rand.Rand) texts { return texts{rand.NewZipf(rng, 1.1, 4, vocabulary-1)} }

const consonants, vowels = "bdfgklmnprstvz", "aeiou"

func (t texts) append(dst []byte, words int) []byte {
	for i := range words {
		if i > 0 {
			dst = append(dst, ' ')
		}
		for n := t.pick.Uint64() + 1; n > 0; n /= uint64(len(consonants) * len(vowels)) {
			syllable := int(n) % (len(consonants) * len(vowels))
			dst = append(dst, consonants[syllable/len(vowels)], vowels[syllable%len(vowels)])
		}
	}
	return dst
}

// rowsOf returns the shape that -sources names, if it names one.
func (s *settings) rowsOf() (shape, bool, error) {
	if !strings.HasPrefix(s.sources, "@") {
		return shape{}, false, nil
	}
	found, ok := findShape(s.sources)
	if !ok {
		return found, false, fmt.Errorf("-sources %s: no rows have this name; run with -help for the list", s.sources)
	}
	if s.docs < 1 || s.copies != 1 {
		return found, false, fmt.Errorf("-sources %s: -docs says how many rows, and there are no copies", s.sources)
	}
	return found, true, nil
}
