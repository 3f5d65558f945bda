package main

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// A part is one kind of torture.
type part struct {
	name  string
	about string
	round func(*round)
}

// A round is one pass of a part over its cases; the part determines their number. All its
// randomness comes from its seed. It runs in a process of its own.
type round struct {
	seed  uint64
	from  int       // first case to run
	only  int       // the one case to run; -1 for all
	first int       // number of cases to run; 0 for all
	until time.Time // no case begins after it; zero for no limit
	hang  time.Duration
	keep  []int // steps to keep of a list of steps; nil for all
	tell  func(event)

	mu     sync.Mutex
	next   int  // case after the last one run
	begun  int  // cases so far
	cut    bool // the time was over before the last case
	failed bool
	counts map[string]int
	told   time.Time
}

// An event is what a round tells the campaign.
type event struct {
	Begin  bool           `json:",omitempty"` // a case begins
	End    bool           `json:",omitempty"` // the round ends; if not Cut, with its last case
	Cut    bool           `json:",omitempty"`
	Case   int            // its number; at the end, that of the next one
	Name   string         `json:",omitempty"`
	Error  string         `json:",omitempty"` // the case failed
	Kind   string         `json:",omitempty"` // shared by failures that look alike
	Keep   []int          `json:",omitempty"` // steps with which it still fails
	Counts map[string]int `json:",omitempty"` // of the round so far
}

// run runs the round of a part and checks what it has left behind.
func (r *round) run(p *part) {
	r.counts = map[string]int{}
	if r.hang == 0 {
		r.hang = time.Minute
	}
	before := takeInventory()
	p.round(r)
	if !r.failed {
		if err := before.compare(); err != nil {
			r.fail(max(0, r.next-1), "end of the round", err, nil)
		}
	}
	r.tell(event{End: true, Cut: r.cut, Case: r.next, Counts: r.counts})
}

// over reports whether the time of the round is over.
func (r *round) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	over := !r.until.IsZero() && time.Now().After(r.until) || r.first > 0 && r.begun >= r.first
	r.cut = r.cut || over
	return over
}

// wants reports whether a case should run.
func (r *round) wants(n int) bool {
	if r.only >= 0 {
		return n == r.only
	}
	return n >= r.from && !r.over()
}

// count adds to a figure of the report.
func (r *round) count(what string, n int) {
	r.mu.Lock()
	r.counts[what] += n
	r.mu.Unlock()
}

// do runs a case, if it should run. A panic is a failure. A case that takes too long ends the
// process, because nothing can be trusted then.
func (r *round) do(n int, name string, run func() error) {
	if !r.wants(n) {
		return
	}
	r.mu.Lock()
	ev := event{Begin: true, Case: n, Name: name}
	if time.Since(r.told) > time.Second/4 {
		r.told, ev.Counts = time.Now(), maps.Clone(r.counts)
	}
	r.next = max(r.next, n+1)
	r.begun++
	r.mu.Unlock()
	r.tell(ev)
	watchdog := time.AfterFunc(r.hang, func() {
		r.tell(event{Case: n, Name: name, Error: fmt.Sprintf("hangs for %v; goroutines:\n%s", r.hang, stacks())})
		os.Exit(1)
	})
	defer watchdog.Stop()
	if err := caught(run); err != nil {
		r.fail(n, name, err, nil)
	}
}

// fail reports a failed case.
func (r *round) fail(n int, name string, err error, keep []int) {
	r.mu.Lock()
	r.failed = true
	r.mu.Unlock()
	r.tell(event{Case: n, Name: name, Error: err.Error(), Kind: kindOf(err), Keep: keep})
}

// A during adds to an error when it occurred, which is not part of its kind.
type during struct {
	when string
	error
}

func (d during) Error() string { return d.when + ": " + d.error.Error() }
func (d during) Unwrap() error { return d.error }

// when adds to an error when it occurred.
func when(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return during{fmt.Sprintf(format, args...), err}
}

// kindOf returns what errors that likely come from one fault have in common: the first line,
// without digits and quoted texts, and when it occurred.
func kindOf(err error) string {
	for d, ok := err.(during); ok; d, ok = err.(during) {
		err = d.error
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	var b strings.Builder
	quoted := false
	for _, ch := range text {
		switch {
		case ch == '"':
			quoted = !quoted
		case quoted, ch >= '0' && ch <= '9':
		default:
			b.WriteRune(ch)
		}
	}
	return b.String()
}

// caught turns a panic into an error.
func caught(run func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return run()
}

// An inventory lists what a process holds and must release.
type inventory struct{ goroutines, files int }

func takeInventory() inventory { return inventory{runtime.NumGoroutine(), openFiles()} }

// openFiles counts the descriptors of the process, where the system reports them.
func openFiles() int {
	names, _ := os.ReadDir("/proc/self/fd")
	return len(names)
}

// How many steps stopped goroutines get to end.
const (
	patience     = 150
	patienceStep = 20 * time.Millisecond
)

// compare reports what the process holds in addition to before. Stopped goroutines get some time to
// end.
func (before inventory) compare() error {
	var now inventory
	for range patience {
		if now = takeInventory(); now.goroutines <= before.goroutines && now.files <= before.files {
			return nil
		}
		time.Sleep(patienceStep)
	}
	if now.files > before.files {
		return fmt.Errorf("%d files are open, %d were", now.files, before.files)
	}
	return when(fmt.Errorf("goroutines left:\n%s", stacks()), "%d run, %d did", now.goroutines, before.goroutines)
}

// stacks returns the stacks of all goroutines except this one.
func stacks() string {
	buf := make([]byte, 1<<20)
	all := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
	return strings.Join(all[1:min(len(all), 40)], "\n\n")
}
