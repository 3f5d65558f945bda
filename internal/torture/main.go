package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// parts are all kinds of torture.
var parts []*part

func findPart(name string) *part {
	i := slices.IndexFunc(parts, func(p *part) bool { return p.name == name })
	if i < 0 {
		return nil
	}
	return parts[i]
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == childFlag {
		if err := child(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "torture:", err)
			os.Exit(2)
		}
		return
	}
	if len(os.Args) > 1 && os.Args[1] == processFlag {
		if err := process(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		return
	}
	ok, err := command(os.Args[1:], os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// command runs a campaign as its arguments say, and prints its report.
func command(args []string, out, progress io.Writer) (ok bool, err error) {
	flags := flag.NewFlagSet("torture", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.Usage = func() {
		fmt.Fprintln(progress, "usage: go run ./internal/torture [flags]\n\nParts:")
		w := tabwriter.NewWriter(progress, 0, 0, 2, ' ', 0)
		for _, p := range parts {
			fmt.Fprintf(w, "  %s\t%s\n", p.name, p.about)
		}
		_ = w.Flush()
		fmt.Fprintln(progress, "\nFlags:")
		flags.PrintDefaults()
	}
	var (
		duration = flags.Duration("time", time.Minute, "`how long`")
		seed     = flags.Uint64("seed", 0, "seed of the first round of each part; 0 takes the clock")
		only     = flags.String("only", "", "`parts` to run, separated by commas; default all")
		number   = flags.Int("case", -1, "run this one case of the round with this seed")
		keep     = flags.String("keep", "", "`steps` to keep of a list of steps")
		hang     = flags.Duration("hang", time.Minute, "how long a case may take")
		workers  = flags.Int("workers", max(1, runtime.GOMAXPROCS(0)/2), "processes at work at a time")
		asJSON   = flags.Bool("json", false, "print the report as JSON")
		markdown = flags.Bool("markdown", false, "print the report as docs/RELIABILITY.md has it")
		verbose  = flags.Bool("v", false, "print each case, and failures in full")
	)
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	chosen := parts
	if *only != "" {
		chosen = nil
		for name := range strings.SplitSeq(*only, ",") {
			p := findPart(name)
			if p == nil {
				return false, fmt.Errorf("there is no part %q", name)
			}
			chosen = append(chosen, p)
		}
	}
	switch {
	case *seed == 0 && *number >= 0, len(chosen) != 1 && *number >= 0:
		return false, fmt.Errorf("-case goes with -seed and one part")
	case *workers < 1:
		return false, fmt.Errorf("-workers must be at least 1, not %d", *workers)
	case *seed == 0:
		*seed = uint64(time.Now().UnixNano()) % 1e9
	}
	c := newCampaign(chosen, *seed)
	c.time, c.only, c.keep, c.hang, c.verbose, c.workers, c.out = *duration, *number, *keep, *hang, *verbose, *workers, progress
	fmt.Fprintf(progress, "seed %d\n", *seed)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	began := time.Now()
	ok = c.run(ctx)
	r := c.report(time.Since(began))
	if *asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return ok, e.Encode(r)
	}
	if *markdown {
		return ok, r.markdown(out)
	}
	return ok, r.print(out)
}

// A report is what a campaign has done, and found.
type report struct {
	Seed    uint64       `json:"seed"`
	Date    string       `json:"date"`
	Seconds float64      `json:"seconds"`
	Parts   []partReport `json:"parts"`
}

func (c *campaign) report(took time.Duration) *report {
	r := &report{Seed: c.seed, Date: time.Now().UTC().Format(time.DateOnly), Seconds: took.Seconds()}
	for _, s := range c.states {
		r.Parts = append(r.Parts, s.report)
	}
	return r
}

func (p *partReport) figures() string {
	var figures []string
	for _, what := range slices.Sorted(maps.Keys(p.Counts)) {
		figures = append(figures, fmt.Sprintf("%d %s", p.Counts[what], what))
	}
	return strings.Join(figures, ", ")
}

func (r *report) markdown(out io.Writer) error {
	fmt.Fprintf(out, "Figures of %s: %.0f s, seeds from %d on\n\n| part | seeds | cases | figures | faults |\n|---|---:|---:|---|---:|\n", r.Date, r.Seconds, r.Seed)
	for _, p := range r.Parts {
		if _, err := fmt.Fprintf(out, "| %s | %d | %d | %s | %d |\n", p.Part, p.Rounds+1, p.Cases, p.figures(), len(p.Failures)); err != nil {
			return err
		}
	}
	return nil
}

func (r *report) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "part\tcases\trounds\tseconds\tfaults\t\n")
	cases, faults := 0, 0
	for _, p := range r.Parts {
		fmt.Fprintf(w, "%s\t%d\t%d\t%.0f\t%d\t%s\n", p.Part, p.Cases, p.Rounds, p.Seconds, len(p.Failures), p.figures())
		cases, faults = cases+p.Cases, faults+len(p.Failures)
	}
	fmt.Fprintf(w, "all\t%d\t\t%.0f\t%d\tseed %d\n", cases, r.Seconds, faults, r.Seed)
	if err := w.Flush(); err != nil {
		return err
	}
	for _, p := range r.Parts {
		for _, f := range p.Failures {
			if _, err := fmt.Fprintf(out, "%s, %d times: %.200s\n    %s\n", p.Part, f.Times, f.Error, f.Command); err != nil {
				return err
			}
		}
	}
	return nil
}
