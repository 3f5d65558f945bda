//go:build unix

package remote_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/embedded"
	"github.com/riffle-search/riffle/cluster/remote"
	"github.com/riffle-search/riffle/cluster/scatter"
)

// counted counts the bytes of replies.
type counted struct {
	remote.Caller
	bytes *atomic.Int64
}

func (c counted) Call(ctx context.Context, node string, request []byte) ([]byte, error) {
	reply, err := c.Caller.Call(ctx, node, request)
	c.bytes.Add(int64(len(reply)))
	return reply, err
}

// local is a shard of this process.
type local struct{ *riffle.Engine }

func (l local) Session(context.Context, uint64) (scatter.Session, error) { return l.Snapshot() }

// processorTime is the time of all cores that this process has used.
func processorTime(b *testing.B) (ns int64) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// measure calls a search again and again, and reports its time of all cores.
func measure(b *testing.B, search func() error) {
	began := processorTime(b)
	for b.Loop() {
		if err := search(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(processorTime(b)-began)/float64(b.N), "cpu-ns/op")
}

const (
	benchDocuments = 400_000
	benchShards    = 4
)

var benchSchema = &riffle.Schema{Fields: map[string]riffle.Field{
	"text": {Type: riffle.FieldText}, "ten": {Type: riffle.FieldKeyword}, "product": {Type: riffle.FieldKeyword}, "user": {Type: riffle.FieldKeyword}, "price": {Type: riffle.FieldNumber},
}, NoStore: true}

// benchDocument has a field with one of 10 values, one with one of 100,000 that are alike, and one with one of
// 100,000 that are not.
func benchDocument(rng *rand.Rand) map[string]any {
	n := rng.IntN(100_000)
	words := "all"
	if rng.IntN(100) == 0 {
		words += " few"
	}
	return map[string]any{
		"text": words, "ten": fmt.Sprint("category ", n%10), "product": fmt.Sprintf("product-%06d", n), "price": rng.IntN(100_000),
		"user": fmt.Sprintf("%012x", uint64(n+1)*0x9E3779B97F4A7C15>>16),
	}
}

func benchEngine(b *testing.B, from, to int) *riffle.Engine {
	b.Helper()
	e, err := riffle.Open(filepath.Join(b.TempDir(), "index"), &riffle.Options{Schema: benchSchema, Durability: riffle.SyncNone})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.Close() })
	for ; from < to; from += 10_000 {
		batch := new(riffle.Batch)
		rng := rand.New(rand.NewPCG(1, uint64(from)))
		for i := from; i < from+10_000; i++ {
			batch.Put(fmt.Sprintf("%08d", i), benchDocument(rng))
		}
		if err := e.Apply(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	if err := e.Compact(b.Context()); err != nil {
		b.Fatal(err)
	}
	return e
}

// BenchmarkAggregations computes facets of one index, of four shards of this process, and of four that are
// asked over NATS.
func BenchmarkAggregations(b *testing.B) {
	one := benchEngine(b, 0, benchDocuments)
	s, err := embedded.Start(embedded.Options{Name: "test", Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	c, err := s.Connect()
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	var bytes atomic.Int64
	var near, far []scatter.Shard
	for i := range benchShards {
		e := benchEngine(b, i*benchDocuments/benchShards, (i+1)*benchDocuments/benchShards)
		server := remote.NewServer(&fixed{Engine: e}, remote.ServerOptions{})
		defer server.Close()
		stop, err := remote.Listen(c, remote.Subject("bench", 1, i, "node"), server)
		if err != nil {
			b.Fatal(err)
		}
		defer stop()
		near, far = append(near, local{e}), append(far, remote.NewShard(counted{remote.NATS(c, "bench", 1, i), &bytes}, "node"))
	}
	for name, a := range map[string]riffle.Aggregation{
		"terms=10":                 riffle.TermsAggregation{Field: "ten"},
		"terms=100000,alike":       riffle.TermsAggregation{Field: "product"},
		"terms=100000,unlike":      riffle.TermsAggregation{Field: "user"},
		"terms=100000,alike,stats": riffle.TermsAggregation{Field: "product", Order: "-price.mean", Sub: map[string]riffle.Aggregation{"price": riffle.StatsAggregation{Field: "price"}}},
		"cardinality=100000,alike": riffle.CardinalityAggregation{Field: "product"},
		"percentiles=100000":       riffle.PercentilesAggregation{Field: "price"},
	} {
		for _, text := range []string{"all", "few"} {
			o := riffle.SearchOptions{NoHits: true, Aggregations: map[string]riffle.Aggregation{"a": a}}
			q := riffle.Match{Field: "text", Text: text}
			b.Run(fmt.Sprintf("%s/of=%s/index=one", name, text), func(b *testing.B) {
				measure(b, func() error {
					_, err := one.Search(b.Context(), q, &o)
					return err
				})
			})
			for where, shards := range map[string][]scatter.Shard{"local": near, "nats": far} {
				x, err := scatter.New(shards...)
				if err != nil {
					b.Fatal(err)
				}
				b.Run(fmt.Sprintf("%s/of=%s/index=4,%s", name, text, where), func(b *testing.B) {
					bytes.Store(0)
					measure(b, func() error {
						_, err := x.Search(b.Context(), q, &scatter.Options{SearchOptions: o})
						return err
					})
					if where == "nats" {
						b.ReportMetric(float64(bytes.Load())/float64(b.N), "wire-bytes/op")
					}
				})
			}
		}
	}
}
