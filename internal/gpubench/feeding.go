package main

import (
	"fmt"
	"os"
	"time"

	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/internal/dispatch"
)

// A feeding is what a station's batches have taken up to a time, and what the process has used.
type feeding struct {
	host
	dispatch.Stats
	times gpuexec.Times // of the first device
}

func (s *station) feeding() feeding {
	f := feeding{host: readHost(), Stats: s.Stats()}
	if len(s.gpus) > 0 {
		f.times = s.gpus[0].Times()
	}
	return f
}

// sayFeeding prints what batches have taken from an earlier time on, and what the dispatcher thinks that
// they take: it forms batches, and chooses processors, by that.
func (s *station) sayFeeding(r *reference, earlier feeding) {
	now := s.feeding()
	used := now.host.since(earlier.host)
	fmt.Fprintf(os.Stderr, "          cores at work %.1f, waiting for locks %.1f", used.cores, used.waiting)
	n, batches := perBatch(earlier.Stats, now.Stats), now.Batches-earlier.Batches
	if ran := now.times.Batches - earlier.times.Batches; batches > 0 && ran > 0 {
		query, f := time.Duration(0), dispatch.Features{}
		moved := (now.MovedBytes - earlier.MovedBytes) / max(1, now.Queries-earlier.Queries) // small lists come with every batch
		for _, p := range r.plans {
			f = dispatch.FeaturesOf(p)
			query += s.Model().GPU(&f, moved) / time.Duration(len(r.plans))
		}
		estimate := s.Model().BatchCost(&f, int(n)) + time.Duration(n*float64(query))
		fmt.Fprintf(os.Stderr, "; ms a batch of %.0f queries: %.2f, estimated %.2f; kernels %.2f, host %.2f, lead %.2f, answers %.2f", n,
			ms((now.Device-earlier.Device)/time.Duration(batches)), ms(estimate),
			ms((now.times.Kernels-earlier.times.Kernels)/time.Duration(ran)), ms((now.times.Host-earlier.times.Host)/time.Duration(ran)),
			ms(s.gpus[0].Lead(int(n))), ms((now.times.Answers-earlier.times.Answers)/time.Duration(ran)))
	}
	fmt.Fprintln(os.Stderr)
}
