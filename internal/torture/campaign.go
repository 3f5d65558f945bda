package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A campaign runs rounds of parts, each in a process of its own, until its time is over. A process
// that dies or hangs is a failed case; another one continues after it.
type campaign struct {
	seed    uint64
	time    time.Duration
	only    int // the one case to run; -1 for all
	first   int // number of cases of each round to run; 0 for all
	hang    time.Duration
	keep    string
	verbose bool
	workers int
	out     io.Writer // progress and failures

	mu     sync.Mutex
	states []*state
}

// A state is how far the campaign has come with a part.
type state struct {
	*part
	busy   bool
	seed   uint64 // of the current round
	from   int    // the next case
	report partReport
	groups map[string]*failure // by the text of the error, without its numbers
}

// A partReport is what the campaign has done for one part.
type partReport struct {
	Part     string         `json:"part"`
	Cases    int            `json:"cases"`
	Rounds   int            `json:"rounds"` // completed
	Seconds  float64        `json:"seconds"`
	Counts   map[string]int `json:"counts"`
	Failures []*failure     `json:"failures,omitempty"`
}

// A failure is a failed case, together with others that failed alike.
type failure struct {
	Seed    uint64 `json:"seed"`
	Case    int    `json:"case"`
	Name    string `json:"name"`
	Error   string `json:"error"`
	Times   int    `json:"times"`
	Command string `json:"command"` // repeats the case
}

// childFlag makes a process run one round of a campaign and report in JSON.
const childFlag = "-round"

func newCampaign(parts []*part, seed uint64) *campaign {
	c := &campaign{seed: seed, only: -1, out: io.Discard, workers: 1}
	for _, p := range parts {
		c.states = append(c.states, &state{part: p, seed: seed, report: partReport{Part: p.name, Counts: map[string]int{}}, groups: map[string]*failure{}})
	}
	return c
}

// run runs the campaign and reports whether no case failed.
func (c *campaign) run(ctx context.Context) bool {
	began := time.Now()
	slice := max(2*time.Second, min(time.Minute, c.time*time.Duration(c.workers)/time.Duration(len(c.states))))
	var workers sync.WaitGroup
	for range min(c.workers, len(c.states)) {
		workers.Go(func() {
			for ctx.Err() == nil {
				left := c.time - time.Since(began)
				if c.only < 0 && left <= 0 {
					return
				}
				s := c.take()
				c.runRound(ctx, s, min(slice, left))
				c.give(s)
				if c.only >= 0 {
					return
				}
			}
		})
	}
	workers.Wait()
	return !slices.ContainsFunc(c.states, func(s *state) bool { return len(s.groups) > 0 })
}

// take chooses the idle part that has had the least time.
func (c *campaign) take() *state {
	c.mu.Lock()
	defer c.mu.Unlock()
	var least *state
	for _, s := range c.states {
		if !s.busy && (least == nil || s.report.Seconds < least.report.Seconds) {
			least = s
		}
	}
	least.busy = true
	return least
}

func (c *campaign) give(s *state) {
	c.mu.Lock()
	s.busy = false
	c.mu.Unlock()
}

// runRound runs cases of a part for some time.
func (c *campaign) runRound(ctx context.Context, s *state, slice time.Duration) {
	began := time.Now()
	if c.only >= 0 {
		slice = 0
	}
	cmd := exec.CommandContext(ctx, os.Args[0], childFlag, s.name, strconv.FormatUint(s.seed, 10), strconv.Itoa(s.from),
		strconv.Itoa(c.only), strconv.Itoa(c.first), slice.String(), c.hang.String(), c.keep)
	tail := new(tailWriter)
	cmd.Stderr = tail
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		c.fail(s, event{Error: "cannot start a process: " + err.Error()})
		c.stop(s)
		return
	}
	base, last, ended := maps.Clone(s.report.Counts), event{Case: s.from - 1}, false
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var ev event
		if err := json.Unmarshal(line, &ev); err != nil {
			c.fail(s, event{Case: last.Case, Name: last.Name, Error: fmt.Sprintf("the process says %q", line)})
			continue
		}
		c.mu.Lock()
		for what, n := range ev.Counts {
			s.report.Counts[what] = base[what] + n
		}
		c.mu.Unlock()
		switch {
		case ev.Begin:
			last = ev
			s.report.Cases++
			if c.verbose {
				fmt.Fprintf(c.out, "%s: seed %d, case %d: %s\n", s.name, s.seed, ev.Case, ev.Name)
			}
		case ev.Error != "":
			last = ev
			c.fail(s, ev)
		case ev.End:
			ended = true
			s.from = ev.Case
			if !ev.Cut {
				s.report.Rounds++
				s.from = 0
				s.seed++
			}
		}
	}
	err = cmd.Wait()
	s.report.Seconds += time.Since(began).Seconds()
	if !ended && ctx.Err() == nil {
		if last.Error == "" {
			c.fail(s, event{Case: max(0, last.Case), Name: last.Name, Error: fmt.Sprintf("the process died: %v\n%s", err, tail.text())})
		}
		s.from = last.Case + 1
	}
}

// stop keeps a part that cannot run at all from running again.
func (c *campaign) stop(s *state) {
	c.mu.Lock()
	s.report.Seconds = 1 << 30
	c.mu.Unlock()
	time.Sleep(time.Second)
}

// fail records a failed case, and prints it unless others have failed alike.
func (c *campaign) fail(s *state, ev event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind := ev.Kind
	if kind == "" {
		kind = kindOf(errors.New(ev.Error))
	}
	if f := s.groups[kind]; f != nil {
		f.Times++
		return
	}
	f := &failure{Seed: s.seed, Case: ev.Case, Name: ev.Name, Error: ev.Error, Times: 1}
	f.Command = fmt.Sprintf("go run ./internal/torture -only %s -seed %d -case %d", s.name, s.seed, ev.Case)
	if len(ev.Keep) > 0 {
		f.Command += " -keep " + strings.Trim(strings.ReplaceAll(fmt.Sprint(ev.Keep), " ", ","), "[]")
	}
	s.groups[kind] = f
	s.report.Failures = append(s.report.Failures, f)
	text := f.Error
	if lines := strings.SplitAfter(text, "\n"); !c.verbose && len(lines) > 12 {
		text = strings.Join(lines[:12], "") + "...\n"
	}
	fmt.Fprintf(c.out, "FAILED %s: %s: %s\n    %s\n", s.name, f.Name, strings.TrimSpace(text), f.Command)
}

// A tailWriter keeps the beginning and the end of its input.
type tailWriter struct {
	mu         sync.Mutex
	head, tail []byte
}

const tailBytes = 16 << 10

func (w *tailWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(len(p), tailBytes-len(w.head))
	w.head = append(w.head, p[:n]...)
	w.tail = append(w.tail, p[n:]...)
	if len(w.tail) > 2*tailBytes {
		w.tail = append(w.tail[:0], w.tail[len(w.tail)-tailBytes:]...)
	}
	return len(p), nil
}

func (w *tailWriter) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(bytes.Join([][]byte{w.head, w.tail}, nil))
}

// child is one round in a process of its own: args are those that runRound passes.
func child(args []string) error {
	if len(args) != 8 {
		return errors.New("a round is started by a campaign")
	}
	seed, err1 := strconv.ParseUint(args[1], 10, 64)
	from, err2 := strconv.Atoi(args[2])
	only, err3 := strconv.Atoi(args[3])
	first, err4 := strconv.Atoi(args[4])
	slice, err5 := time.ParseDuration(args[5])
	hang, err6 := time.ParseDuration(args[6])
	keep, err7 := parseKeep(args[7])
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7); err != nil {
		return err
	}
	p := findPart(args[0])
	if p == nil {
		return fmt.Errorf("there is no part %q", args[0])
	}
	var mu sync.Mutex
	r := &round{seed: seed, from: from, only: only, first: first, hang: hang, keep: keep, tell: func(ev event) {
		mu.Lock()
		defer mu.Unlock()
		line, err := json.Marshal(ev)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		_, _ = os.Stdout.Write(append(line, '\n'))
	}}
	if slice > 0 {
		r.until = time.Now().Add(slice)
	}
	r.run(p)
	return nil
}

func parseKeep(text string) (keep []int, err error) {
	if text == "" {
		return nil, nil
	}
	for f := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(f)
		if err != nil {
			return nil, fmt.Errorf("-keep: %w", err)
		}
		keep = append(keep, n)
	}
	return keep, nil
}
