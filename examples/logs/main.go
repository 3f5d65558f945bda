// Logs searches the lines of a few servers: the newest first, with a histogram of when they came. It
// keeps the last week and deletes what is older.
//
//	go run ./examples/logs                       # ten days of lines, then a search
//	go run ./examples/logs "message:timeout +level:error"
//	go run ./examples/logs -live                 # lines go on coming, and the histogram moves
//
// Times, levels and hosts have columns, which sorting, ranges and histograms read. Documents lie in the
// order of their times (OrderByField), so "the last hour" and "the newest ten" read little else.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/riffle-search/riffle"
)

var options = riffle.Options{
	Schema: &riffle.Schema{Fields: map[string]riffle.Field{
		"at":    {Type: riffle.FieldDate},
		"level": {Type: riffle.FieldKeyword},
		"host":  {Type: riffle.FieldKeyword},
	}},
	Merge: riffle.MergeOptions{Order: riffle.OrderByField, OrderField: "at", OrderDescending: true},
}

func main() {
	live := flag.Bool("live", false, "go on adding lines until interrupted")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := os.MkdirTemp("", "riffle-logs-")
	if err != nil {
		log.Fatal(err)
	}
	query := "message:timeout"
	if flag.NArg() > 0 {
		query = strings.Join(flag.Args(), " ")
	}
	err = run(ctx, dir, query, *live, os.Stdout)
	os.RemoveAll(dir)
	if err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dir, query string, live bool, w io.Writer) error {
	e, err := riffle.Open(dir, &options)
	if err != nil {
		return err
	}
	defer e.Close()
	s := &servers{rng: rand.New(rand.NewPCG(1, 1)), at: time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)}
	for range 10 * 24 {
		if err := s.add(ctx, e, time.Hour); err != nil {
			return err
		}
	}
	if err := forget(ctx, e, s.at); err != nil {
		return err
	}
	for {
		if err := show(ctx, e, query, s.at, w); err != nil || !live {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
		// A second here is an hour of the servers.
		if err := s.add(ctx, e, time.Hour); err != nil {
			return err
		}
		if err := forget(ctx, e, s.at); err != nil {
			return err
		}
		fmt.Fprint(w, "\x1b[H\x1b[2J") // clears the screen
	}
}

// forget deletes lines of more than a week ago, a thousand at a time.
func forget(ctx context.Context, e *riffle.Engine, now time.Time) error {
	old := riffle.Range{Field: "at", To: "now-7d"}
	for {
		res, err := e.Search(ctx, old, &riffle.SearchOptions{K: 1000, Now: now, Sort: []riffle.SortKey{{Field: "at"}}})
		if err != nil || len(res.Hits) == 0 {
			return err
		}
		var b riffle.Batch
		for _, hit := range res.Hits {
			b.Delete(hit.ID)
		}
		if err := e.Apply(ctx, &b); err != nil {
			return err
		}
	}
}

// show prints the newest matches, and when all of them came.
func show(ctx context.Context, e *riffle.Engine, text string, now time.Time, w io.Writer) error {
	q, err := riffle.ParseQuery(text, &riffle.ParseOptions{Fields: []string{"message"}})
	if err != nil {
		return err
	}
	res, err := e.Search(ctx, q, &riffle.SearchOptions{
		K: 5, Now: now, ExactTotal: true, Load: []string{"*"},
		Sort: []riffle.SortKey{{Field: "at", Desc: true}},
		Aggregations: map[string]riffle.Aggregation{
			"days": riffle.DateHistogramAggregation{
				Field: "at", Unit: riffle.CalendarDay,
				Sub: map[string]riffle.Aggregation{"levels": riffle.TermsAggregation{Field: "level"}},
			},
			"hosts": riffle.TermsAggregation{Field: "host", Size: 3},
		},
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: %d lines, the newest of them\n", text, res.Total)
	for _, hit := range res.Hits {
		fmt.Fprintf(w, "  %s %-5s %s  %s\n", hit.Sort[0].(time.Time).Format("Jan 02 15:04:05"), hit.Fields["level"], hit.Fields["host"], hit.Fields["message"])
	}
	fmt.Fprintln(w, "by day (# an error, - another line; one sign for two)")
	for _, day := range res.Aggregations["days"].Buckets {
		failed := 0
		for _, level := range day.Sub["levels"].Buckets {
			if level.Key == "error" {
				failed = level.Count
			}
		}
		fmt.Fprintf(w, "  %s %4d %s%s\n", day.Key.(time.Time).Format("Jan 02"), day.Count, strings.Repeat("#", failed/2), strings.Repeat("-", (day.Count-failed)/2))
	}
	fmt.Fprint(w, "hosts with most:")
	for _, host := range res.Aggregations["hosts"].Buckets {
		fmt.Fprintf(w, " %v %d", host.Key, host.Count)
	}
	fmt.Fprintln(w)
	return nil
}

// servers make up lines.
type servers struct {
	rng   *rand.Rand
	at    time.Time
	lines int
}

var kinds = []struct {
	level, message string
	weight         int // of 100
}{
	{"info", "request served", 80},
	{"warn", "slow query, retrying", 12},
	{"warn", "timeout of the cache, asking the store", 5},
	{"error", "timeout of the store", 3},
}

// add adds the lines of some time as one batch.
func (s *servers) add(ctx context.Context, e *riffle.Engine, d time.Duration) error {
	var b riffle.Batch
	for end := s.at.Add(d); ; {
		if s.at = s.at.Add(time.Duration(s.rng.ExpFloat64() * float64(time.Minute))); s.at.After(end) {
			s.at = end
			return e.Apply(ctx, &b)
		}
		kind := 0
		for n := s.rng.IntN(100) - kinds[0].weight; n >= 0; n -= kinds[kind].weight {
			kind++
		}
		s.lines++
		b.Put(fmt.Sprint(s.lines), map[string]any{
			"at": s.at, "host": fmt.Sprintf("web-%d", 1+s.rng.IntN(9)), "level": kinds[kind].level, "message": kinds[kind].message,
		})
	}
}
