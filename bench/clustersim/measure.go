package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/riffle-search/riffle"
)

const (
	measuredShards   = 8
	measuredPassages = 200_000
	measuredQueries  = 200
	measuredRounds   = 15
)

// measure divides passages into shards, as topology.ShardOf would on average, and prints how the times of one query
// differ between shards: each time is the least of some rounds.
func measure(corpus string, out io.Writer) error {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "clustersim")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var engines []*riffle.Engine
	for i := range measuredShards {
		e, err := riffle.Open(filepath.Join(dir, fmt.Sprint(i)), &riffle.Options{Durability: riffle.SyncNone})
		if err != nil {
			return err
		}
		defer e.Close()
		engines = append(engines, e)
	}
	if err := fill(ctx, corpus, engines); err != nil {
		return err
	}
	queries, err := os.ReadFile(filepath.Join(filepath.Dir(corpus), "queries/gutenberg-dev.tsv"))
	if err != nil {
		return err
	}
	var deviations []float64
	for line := range strings.Lines(string(queries)) {
		_, text, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if len(deviations) == measuredQueries {
			break
		}
		var logs []float64
		for _, e := range engines {
			least := time.Hour
			for range measuredRounds {
				began := time.Now()
				if _, err := e.Search(ctx, riffle.Match{Field: "text", Text: text}, nil); err != nil {
					return err
				}
				least = min(least, time.Since(began))
			}
			logs = append(logs, math.Log(float64(least)))
		}
		deviations = append(deviations, deviation(logs))
	}
	slices.Sort(deviations)
	mean := 0.0
	for _, d := range deviations {
		mean += d / float64(len(deviations))
	}
	_, err = fmt.Fprintf(out, "deviation of the logarithm of a query's time over %d shards of %d passages: mean %.3f, median %.3f, p90 %.3f of %d queries\n",
		measuredShards, measuredPassages/measuredShards, mean, deviations[len(deviations)/2], deviations[len(deviations)*9/10], len(deviations))
	return err
}

func deviation(x []float64) float64 {
	mean, sum := 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / float64(len(x)-1))
}

// fill divides passages among engines, and merges the segments of each.
func fill(ctx context.Context, corpus string, engines []*riffle.Engine) error {
	f, err := os.Open(corpus)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		return err
	}
	defer z.Close()
	batches := make([]riffle.Batch, len(engines))
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for n := 0; n < measuredPassages && lines.Scan(); n++ {
		var p struct{ ID, Text string }
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			return err
		}
		b := &batches[n%len(engines)]
		if b.Put(p.ID, map[string]any{"text": p.Text}); b.Len() == 1000 {
			if err := engines[n%len(engines)].Apply(ctx, b); err != nil {
				return err
			}
			b.Reset()
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	for i, e := range engines {
		if err := e.Apply(ctx, &batches[i]); err != nil {
			return err
		}
		if err := e.Compact(ctx); err != nil {
			return err
		}
	}
	return nil
}
