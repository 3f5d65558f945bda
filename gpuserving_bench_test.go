package riffle

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/internal/gpu/link"
	"github.com/riffle-search/riffle/internal/jsonl"
)

// BenchmarkGPUKinds measures what searches cost on a GPU that ask for more than the flat queries of
// one whole segment: several segments, deletions, filters, fields with boosts, trees and counts.
// The CPU is measured beside them. Each goroutine sends batches of 256; counts come one by one, of
// 256 goroutines.
//
//	go test -tags cuda -run xxx -bench GPUKinds -benchtime 2s .
//
// RIFFLE_BUILD_CORPUS and RIFFLE_BUILD_REPEAT are those of BenchmarkBuildRows.
func BenchmarkGPUKinds(b *testing.B) {
	s := newServingCorpus(b)
	top := &SearchOptions{K: 10}
	or := func(text string) Query { return Match{Field: "text", Text: text} }
	whole := []struct {
		name  string
		query func(text string) Query
	}{
		{"or", or},
		{"and", func(text string) Query { return Match{Field: "text", Text: text, Mode: ModeAnd} }},
		{"or filter=10%", func(text string) Query { return Bool{Must: []Query{or(text)}, Filter: []Query{Term{"tag", "t3"}}} }},
		{"or fields=3", func(text string) Query {
			return Match{Fields: []string{"title", "lead", "text"}, Text: text, Boosts: map[string]float64{"title": 3, "lead": 1.5}}
		}},
		{"tree", func(text string) Query {
			words := strings.Fields(text)
			n := (len(words) + 1) / 2
			return Bool{Should: []Query{
				Match{Field: "text", Text: strings.Join(words[:n], " "), Mode: ModeAnd},
				Match{Field: "text", Text: strings.Join(words[n:], " ")},
			}}
		}},
		{"tree must not", func(text string) Query {
			words := strings.Fields(text)
			n := (len(words) + 1) / 2
			return Bool{
				Must:    []Query{Match{Field: "text", Text: strings.Join(words[:n], " ")}},
				Should:  []Query{Match{Field: "text", Text: strings.Join(words[n:], " ")}},
				MustNot: []Query{Bool{Must: []Query{Term{"tag", "t3"}, Term{"text", "said"}}}},
			}
		}},
	}
	e := s.build(b, true)
	for _, kind := range whole {
		queries := s.ask(kind.query)
		kindRate(b, e, "one segment/"+kind.name, queries, top)
		if kind.name == "or" {
			kindRate(b, e, "one segment/or count", queries, &SearchOptions{K: 10, ExactTotal: true})
		}
	}
	s.deleteFifth(b, e)
	kindRate(b, e, "20% deleted/or", s.ask(or), top)
	counted := []int{0, 1, 2, 4} // of the kinds
	for _, i := range counted {
		countRate(b, e, "20% deleted/count "+whole[i].name+"/gpu", s.ask(whole[i].query))
	}
	mustClose(b, e)
	cpu, err := Open(s.built, nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, i := range counted {
		countRate(b, cpu, "20% deleted/count "+whole[i].name+"/cpu", s.ask(whole[i].query))
	}
	mustClose(b, cpu)

	e = s.build(b, false)
	st, err := e.Stats()
	if err != nil {
		b.Fatal(err)
	}
	for _, kind := range whole[:2] {
		kindRate(b, e, fmt.Sprintf("%d segments/%s", len(st.Segments), kind.name), s.ask(kind.query), top)
	}
	mustClose(b, e)
}

// countRate measures counts a second, from enough goroutines to fill batches.
func countRate(b *testing.B, e *Engine, name string, queries []Query) {
	b.Run(name, func(b *testing.B) {
		var next atomic.Int64
		count := func() {
			if _, err := e.Count(context.Background(), queries[int(next.Add(1))%len(queries)]); err != nil {
				b.Error(err)
			}
		}
		before := onDevices(b, e)
		b.SetParallelism(256 / runtime.GOMAXPROCS(0))
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				count()
			}
		})
		b.ReportMetric(float64(next.Load())/b.Elapsed().Seconds()/1000, "kq/s")
		b.ReportMetric(100*float64(onDevices(b, e)-before)/float64(next.Load()), "%onGPU")
	})
}

// onDevices is how many searches GPUs alone have answered.
func onDevices(b *testing.B, e *Engine) int64 {
	b.Helper()
	st, err := e.Stats()
	if err != nil {
		b.Fatal(err)
	}
	if st.GPU == nil {
		return 0
	}
	return int64(st.GPU.Searches.OnGPU)
}

// kindRate measures queries a second, on GPUs and on the CPU.
func kindRate(b *testing.B, e *Engine, name string, queries []Query, o *SearchOptions) {
	const batch = 256
	for i, on := range []string{"gpu", "cpu"} {
		o := *o
		o.Processor = []Processor{ProcessorGPU, ProcessorCPU}[i]
		b.Run(name+"/"+on, func(b *testing.B) {
			var next, onGPU, answered atomic.Int64
			search := func() {
				at := int(next.Add(1)*batch) % (len(queries) - batch)
				results, err := e.SearchBatch(context.Background(), queries[at:at+batch], &o)
				if err != nil {
					b.Error(err)
				}
				for _, r := range results {
					answered.Add(1)
					if strings.HasPrefix(r.Executor, "gpu/") {
						onGPU.Add(1)
					}
				}
			}
			if o.Processor == ProcessorGPU {
				for range 2 * len(queries) / batch {
					search() // lists that come again become flat
				}
				onGPU.Store(0)
				answered.Store(0)
				b.ResetTimer()
			}
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					search()
				}
			})
			b.ReportMetric(float64(answered.Load())/b.Elapsed().Seconds()/1000, "kq/s")
			b.ReportMetric(100*float64(onGPU.Load())/float64(answered.Load()), "%onGPU")
		})
	}
}

// BenchmarkGPUServing measures searches on a GPU while nothing changes, and while 1,000 documents a
// second are added. They are written out every two seconds, so that five small segments become one
// every ten seconds, and five of those one. Saturated: queries a second. At random times, at half of
// the quiet rate or at RIFFLE_SERVING_RATE queries a second: milliseconds.
//
//	go test -tags cuda -run xxx -bench GPUServing -benchtime 1x .
//
// RIFFLE_SERVING_SECONDS (5) is how long each of the four phases lasts. With RIFFLE_SERVING_KEEP the
// GPU answers for small segments, instead of the CPU. The first passages of the corpus are added,
// whose mean length differs from that of the whole, so that the rounded average changes now and then,
// and all bounds and flat lists with it; with RIFFLE_SERVING_EVEN passages from all over the corpus
// are added, and it hardly does. RIFFLE_SERVING_TRACE is a folder for where the time goes
// (servingTrace), RIFFLE_SERVING_SLOW how long a search takes that leaves a trace of its own.
func BenchmarkGPUServing(b *testing.B) {
	s := newServingCorpus(b)
	seconds, _ := strconv.Atoi(os.Getenv("RIFFLE_SERVING_SECONDS"))
	phase := time.Duration(cmp.Or(seconds, 5)) * time.Second
	queries := s.ask(func(text string) Query { return Match{Field: "text", Text: text} })
	for b.Loop() {
		e := s.build(b, true)
		if err := e.Warm(b.Context(), queries, nil); err != nil {
			b.Fatal(err)
		}
		saturate(b, e, queries, time.Second)
		var quiet, changing float64
		var quietTimes, changingTimes []searchTime
		s.trace.phase(b, e, "quiet-saturated", func() { quiet = saturate(b, e, queries, phase) })
		rate := quiet / 2
		if fixed, err := strconv.ParseFloat(os.Getenv("RIFFLE_SERVING_RATE"), 64); err == nil {
			rate = fixed
		}
		s.trace.phase(b, e, "quiet-random", func() { quietTimes = s.atRandom(b, e, queries, rate, phase) })
		before := s.merges.Load()
		stop := s.addDocuments(b, e)
		s.trace.phase(b, e, "changing-saturated", func() { changing = saturate(b, e, queries, phase) })
		s.trace.record(b)
		s.trace.phase(b, e, "changing-random", func() { changingTimes = s.atRandom(b, e, queries, rate, phase) })
		s.trace.times(b, "changing-random", changingTimes)
		added, merges := stop(), s.merges.Load()-before
		b.ReportMetric(quiet, "quiet-q/s")
		b.ReportMetric(changing, "changing-q/s")
		for _, p := range []int{50, 99} {
			at := func(times []searchTime) float64 {
				return float64(times[(len(times)*p+99)/100-1].took.Microseconds()) / 1000
			}
			b.ReportMetric(at(quietTimes), fmt.Sprintf("quiet-p%d-ms", p))
			b.ReportMetric(at(changingTimes), fmt.Sprintf("changing-p%d-ms", p))
		}
		b.ReportMetric(added, "added/s")
		b.ReportMetric(float64(merges), "merges")
		mustClose(b, e)
	}
}

// saturate sends batches of 256 from many goroutines for a while, and returns queries a second.
func saturate(b *testing.B, e *Engine, queries []Query, d time.Duration) float64 {
	const batch = 256
	var answered atomic.Int64
	var all sync.WaitGroup
	start := time.Now()
	for i := range 16 {
		all.Go(func() {
			for at := i * batch; time.Since(start) < d; at += batch {
				at %= len(queries) - batch
				if _, err := e.SearchBatch(context.Background(), queries[at:at+batch], &SearchOptions{K: 10, Processor: ProcessorGPU}); err != nil {
					b.Error(err)
					return
				}
				answered.Add(batch)
			}
		})
	}
	all.Wait()
	return float64(answered.Load()) / time.Since(start).Seconds()
}

// A searchTime is when a search was sent and what it took.
type searchTime struct {
	sent time.Time
	took time.Duration
}

// atRandom sends single searches at random times for a while, and returns what they took, sorted.
func (s *servingCorpus) atRandom(b *testing.B, e *Engine, queries []Query, rate float64, d time.Duration) (times []searchTime) {
	const senders = 4
	var mu sync.Mutex
	var all sync.WaitGroup
	start := time.Now()
	for sender := range senders {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(sender)))
			for due := 0.0; due < d.Seconds(); due += rng.ExpFloat64() / rate * senders {
				time.Sleep(time.Until(start.Add(time.Duration(due * 1e9))))
				q := queries[rng.IntN(len(queries))]
				all.Go(func() {
					sent := time.Now()
					_, err := e.Search(context.Background(), q, &SearchOptions{K: 10, Processor: ProcessorGPU})
					took := time.Since(sent)
					s.trace.searched(b, took)
					if err != nil {
						b.Error(err)
					}
					mu.Lock()
					times = append(times, searchTime{sent, took})
					mu.Unlock()
				})
			}
		})
	}
	all.Wait()
	slices.SortFunc(times, func(a, b searchTime) int { return cmp.Compare(a.took, b.took) })
	return times
}

// A servingCorpus is the passages of a file, each of them several times, and queries.
type servingCorpus struct {
	texts   []string
	times   int
	queries []string
	dir     string // of indexes
	built   string // of the last one
	merges  atomic.Int64
	trace   servingTrace
}

func newServingCorpus(b *testing.B) *servingCorpus {
	if _, err := GPUs(); err != nil {
		b.Skip(err)
	}
	path := os.Getenv("RIFFLE_BUILD_CORPUS")
	if path == "" {
		path = corporaFile(b, "gutenberg-a.jsonl.zst")
	}
	r, err := jsonl.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	s := &servingCorpus{dir: b.TempDir(), times: 1, trace: servingTrace{dir: os.Getenv("RIFFLE_SERVING_TRACE")}}
	for {
		var doc jsonl.Document
		err := r.Next(&doc)
		if err == io.EOF {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
		s.texts = append(s.texts, textOf(&doc).(string))
	}
	if n, err := strconv.Atoi(os.Getenv("RIFFLE_BUILD_REPEAT")); err == nil {
		s.times = n
	}
	s.queries = readQueries(b, "gutenberg-dev", 1<<20)
	return s
}

// document returns the passage number i of the corpus, with its first words as title and lead, and
// one of ten tags.
func (s *servingCorpus) document(id string, i int) Document {
	text := s.texts[i%len(s.texts)]
	words := strings.SplitN(text, " ", 33)
	return Document{ID: id, Fields: map[string]any{
		"title": strings.Join(words[:min(8, len(words))], " "),
		"lead":  strings.Join(words[:min(32, len(words))], " "),
		"text":  text,
		"tag":   fmt.Sprintf("t%d", i*7919%10),
	}}
}

// build builds an index, of one segment or of those that a small memory makes, and opens it.
func (s *servingCorpus) build(b *testing.B, oneSegment bool) *Engine {
	b.Helper()
	text := Field{Positions: PositionsNone}
	o := Options{
		Schema: &Schema{
			Fields:  map[string]Field{"title": text, "lead": text, "text": text, "tag": {Type: FieldKeyword}},
			NoStore: true,
		},
		GPU: &GPUOptions{Required: true, Policy: GPUPolicyGPU},
		Listener: &Listener{
			Merged: func(m MergeEvent) { s.merges.Add(1); s.trace.event("merged", m.Duration) },
			Sealed: func(e SealEvent) { s.trace.event("sealed", e.Duration) },
		},
		private: privateOptions{accelerator: func(o accelerator.Options) (accelerator.Accelerator, error) {
			o.KeepSmall = os.Getenv("RIFFLE_SERVING_KEEP") != ""
			o.Timed = s.trace.dir != ""
			return link.Open(o)
		}},
	}
	memory := int64(0)
	if !oneSegment {
		memory = 64 << 20
		o.Merge.Disabled = true
	}
	dir, err := os.MkdirTemp(s.dir, "")
	if err != nil {
		b.Fatal(err)
	}
	source := func(yield func(Document, error) bool) {
		for i := range s.times * len(s.texts) {
			if !yield(s.document(strconv.Itoa(i), i), nil) {
				return
			}
		}
	}
	s.built = dir
	building := &BuildOptions{Index: o, OneSegment: oneSegment, MemoryBytes: memory}
	if _, err := Build(b.Context(), dir, Documents(source), building); err != nil {
		b.Fatal(err)
	}
	e, err := Open(dir, &o)
	if err != nil {
		b.Fatal(err)
	}
	return e
}

func (s *servingCorpus) ask(query func(text string) Query) (queries []Query) {
	for len(queries) < 4096 {
		for _, text := range s.queries {
			queries = append(queries, query(text))
		}
	}
	return queries
}

func (s *servingCorpus) deleteFifth(b *testing.B, e *Engine) {
	b.Helper()
	var batch Batch
	for i := 0; i < s.times*len(s.texts); i += 5 {
		batch.Delete(strconv.Itoa(i))
	}
	if err := e.Apply(b.Context(), &batch); err != nil {
		b.Fatal(err)
	}
	if err := e.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// addDocuments adds 1,000 documents a second, a hundred at a time, and writes them out every two
// seconds. stop ends that and returns how many it was a second.
func (s *servingCorpus) addDocuments(b *testing.B, e *Engine) (stop func() float64) {
	ctx, cancel := context.WithCancel(b.Context())
	even := os.Getenv("RIFFLE_SERVING_EVEN") != ""
	var added int
	var all sync.WaitGroup
	start := time.Now()
	all.Go(func() {
		for round := 0; ; round++ {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Until(start.Add(time.Duration(round) * 100 * time.Millisecond))):
			}
			var batch Batch
			for range 100 {
				passage := added
				if even {
					passage *= 7919
				}
				doc := s.document(fmt.Sprint("new ", added), passage)
				batch.Put(doc.ID, doc.Fields)
				added++
			}
			if err := e.Apply(context.Background(), &batch); err != nil {
				b.Error(err)
				return
			}
			if round%20 == 19 {
				if err := e.Flush(context.Background()); err != nil {
					b.Error(err)
					return
				}
			}
		}
	})
	return func() float64 {
		cancel()
		all.Wait()
		return float64(added) / time.Since(start).Seconds()
	}
}

func mustClose(b *testing.B, e *Engine) {
	b.Helper()
	if err := e.Close(); err != nil {
		b.Fatal(err)
	}
}
