package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// A report is what a run has done, and found.
type report struct {
	settings  *settings
	took      time.Duration // of the load
	begun     time.Duration // until all replicas ran
	missed    int
	converged time.Duration   // after the load
	cpu       []time.Duration // of each node
	compared  int             // searches with one index
	entries   int             // of the logs
	changes   int
	sessions  int // reads with tokens that were checked

	mu     sync.Mutex
	events []*event
	failed []finding
	known  map[finding]int

	unfinished map[kind]int // operations that other faults hindered

	actions map[action]*tally
	during  map[kind]*tally // by faults that were under way; "" for none
	alone   map[kind]*tally // by the only fault that was near, and what was waited for
}

// An event is a fault that has happened.
type event struct {
	fault
	nodes                   []int
	began, ended, recovered time.Duration // since the run began; 0 for not yet
	gap                     time.Duration // the longest time in which a shard took no write
	alone                   bool          // no other fault was near
	own                     time.Duration // the longest such time until it had recovered, if it was alone
}

// A finding is something that must not be.
type finding struct{ check, text string }

// A tally counts operations.
type tally struct {
	outcomes map[outcome]int
	partial  int
	times    []time.Duration // of those that are done
}

// findingsOfCheck is how many findings of a check are kept.
const findingsOfCheck = 10

// fail adds a finding.
func (r *report) fail(check, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = map[finding]int{}
	}
	n := finding{check: check}
	if r.known[n]++; r.known[n] <= findingsOfCheck {
		r.failed = append(r.failed, finding{check, fmt.Sprintf(format, args...)})
	}
}

// found reports whether a check has failed.
func (r *report) found(check string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[finding{check: check}] > 0
}

// hindered counts an operation that was not finished.
func (r *report) hindered(k kind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unfinished == nil {
		r.unfinished = map[kind]int{}
	}
	r.unfinished[k]++
}

func (r *report) begin(e *event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// print prints the report, and says whether nothing was found.
func (r *report) print(out io.Writer) (ok bool) {
	fmt.Fprintf(out, "seed %d: %v, %d nodes, %d shards, %d replicas, %d faults\n\n", r.settings.seed, r.took.Round(time.Second), r.settings.nodes, r.settings.shards, r.settings.replicas, len(r.events))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "operation\tdone\trefused\tunknown\tfailed\tpartial\tp50 ms\tp99 ms\tmost ms\t")
	for _, a := range slices.Sorted(maps.Keys(r.actions)) {
		r.actions[a].print(w, string(a))
	}
	w.Flush()
	fmt.Fprintln(out, "\nwhile there was (others at the same time count, too):")
	w = tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "fault\ttimes\tseconds\treads done\tfailed\tlongest ms\twrites done\trefused\tunknown\tlongest gap s\trecovery s\t")
	for _, k := range append([]kind{""}, kinds...) {
		r.printKind(w, k)
	}
	w.Flush()
	fmt.Fprintln(out, "\nwhile there was one alone, until 5 s after its nodes had recovered; reads without a token, with one, and linearizable:")
	w = tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "fault\ttimes\tdone\tfailed\tmost ms\tdone\tfailed\tmost ms\tdone\tfailed\tmost ms\tlongest gap s\t")
	for _, k := range kinds {
		r.printAlone(w, k)
	}
	w.Flush()
	cpu := make([]string, len(r.cpu))
	for i, d := range r.cpu {
		cpu[i] = fmt.Sprintf("%.0f", d.Seconds())
	}
	fmt.Fprintf(out, "\n%d entries, %d changes; CPU s of the nodes: %s; %d operations did not begin; replicas ran after %.1f s, and were at the end of the logs %.1f s after the load\n",
		r.entries, r.changes, strings.Join(cpu, ", "), r.missed, r.begun.Seconds(), r.converged.Seconds())
	fmt.Fprintf(out, "%d reads with tokens checked, %d searches compared with one index\n", r.sessions, r.compared)
	for _, k := range slices.Sorted(maps.Keys(r.unfinished)) {
		fmt.Fprintf(out, "%s was hindered %d times\n", k, r.unfinished[k])
	}
	for _, f := range r.failed {
		fmt.Fprintf(out, "FOUND %s: %.2000s\n", f.check, f.text)
	}
	for _, k := range slices.SortedFunc(maps.Keys(r.known), func(a, b finding) int { return strings.Compare(a.check, b.check) }) {
		fmt.Fprintf(out, "FOUND %s %d times\n", k.check, r.known[k])
	}
	if len(r.failed) == 0 {
		fmt.Fprintln(out, "nothing found")
	}
	return len(r.failed) == 0
}

func (t *tally) print(w io.Writer, name string) {
	slices.Sort(t.times)
	at := func(share float64) float64 {
		if len(t.times) == 0 {
			return 0
		}
		return t.times[min(len(t.times)-1, int(share*float64(len(t.times))))].Seconds() * 1e3
	}
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%.1f\t%.1f\t%.0f\t\n", name, t.outcomes[done], t.outcomes[refused], t.outcomes[unknown],
		t.outcomes[failed], t.partial, at(0.5), at(0.99), at(1))
}

// A window is how a kind of fault went.
type windows struct {
	times    int
	total    time.Duration
	gap      time.Duration
	recovery time.Duration
}

func (r *report) printKind(w io.Writer, k kind) {
	var all windows
	for _, e := range r.events {
		if e.Kind == k {
			all.times++
			all.total += e.ended - e.began
			all.gap, all.recovery = max(all.gap, e.gap), max(all.recovery, e.recovered-e.ended)
		}
	}
	reads, writes := r.during["read "+k], r.during["write "+k]
	if reads == nil || writes == nil {
		return
	}
	name := string(k)
	if k == "" {
		name = "none"
	}
	var most time.Duration
	if len(reads.times) > 0 {
		most = slices.Max(reads.times)
	}
	fmt.Fprintf(w, "%s\t%d\t%.0f\t%d\t%d\t%.0f\t%d\t%d\t%d\t%.1f\t%.1f\t\n", name, all.times, all.total.Seconds(),
		reads.outcomes[done], reads.outcomes[failed], most.Seconds()*1e3, writes.outcomes[done], writes.outcomes[refused], writes.outcomes[unknown],
		all.gap.Seconds(), all.recovery.Seconds())
}

func (r *report) printAlone(w io.Writer, k kind) {
	times, gap := 0, time.Duration(0)
	for _, e := range r.events {
		if e.Kind == k && e.alone {
			times, gap = times+1, max(gap, e.own)
		}
	}
	if times == 0 {
		return
	}
	fmt.Fprintf(w, "%s\t%d\t", k, times)
	for _, by := range []kind{byReplica, byToken, byBarrier} {
		t := tallyOf(r.alone, by+k)
		most := time.Duration(0)
		if len(t.times) > 0 {
			most = slices.Max(t.times)
		}
		fmt.Fprintf(w, "%d\t%d\t%.0f\t", t.outcomes[done], t.outcomes[failed], most.Seconds()*1e3)
	}
	fmt.Fprintf(w, "%.1f\t\n", gap.Seconds())
}
