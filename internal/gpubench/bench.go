package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/internal/collection"
)

// A bench is one run of the command.
type bench struct {
	*settings
	args  []string
	ctx   context.Context
	start time.Time

	c       *collection.Collection
	bytes   int64         // of all lists, in their form on a device
	gpus    []device.Info // of the machine; none without a driver
	machine string
	answers map[plans]*reference // the CPU's, with which all others are compared

	records []record // of all runs
	known   map[string]bool
	file    *os.File
	left    int // measurements that did not fit into the time
}

// A record is one measurement: a line of runs.jsonl.
type record struct {
	Part    string        `json:"part"`
	Name    string        `json:"name"`
	Figures []figure      `json:"figures"`
	Took    time.Duration `json:"took_ns"` // including preparation
	On      string        `json:"collection"`
	Machine string        `json:"machine"`
	Command string        `json:"command"`
	Date    time.Time     `json:"date"`
}

// A figure is one column of a table.
type figure struct {
	Name  string `json:"name"`
	Value any    `json:"value"` // float64, int64 or string
}

func (b *bench) open() error {
	if err := os.MkdirAll(b.out, 0o777); err != nil {
		return err
	}
	if err := b.read(); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(b.out, "runs.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	b.file, b.answers = f, map[plans]*reference{}
	gpus, why := device.List()
	b.gpus = gpus
	b.machine = fmt.Sprintf("%d cores, %s", runtime.GOMAXPROCS(0), processor())
	for _, g := range gpus {
		b.machine += "; " + g.String()
	}
	if len(gpus) == 0 {
		b.machine += "; no GPU"
		b.say("no GPU: %v", why)
	}
	b.say("%s", b.machine)
	return b.collect()
}

// processor is the CPU's name, if the system reports it.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				return strings.TrimSpace(value)
			}
		}
	}
	return runtime.GOARCH
}

// collect makes or reads the collection.
func (b *bench) collect() (err error) {
	start := time.Now()
	switch {
	case b.text != "":
		name := strings.TrimSuffix(filepath.Base(b.text), ".jsonl.zst") + "/" + strings.TrimSuffix(filepath.Base(b.topics), ".tsv")
		b.c, err = collection.FromText(name, strings.Split(b.text, ","), b.topics, b.limit)
	case b.collection == "gov2":
		b.c = b.generate()
	default:
		b.c, err = collection.Read(b.collection)
	}
	if err != nil {
		return err
	}
	const headBytes = 320 // of an extent's directory (gpuexec)
	postings := int64(0)
	for i := range b.c.Lists {
		b.bytes += b.c.PayloadBytes(i) + headBytes*int64(len(b.c.Lists[i].List.ExtLast))
		postings += int64(b.c.Lists[i].List.Count)
	}
	var of []int64 // postings of queries
	for q := range b.c.Queries {
		of = append(of, b.c.Postings(q))
	}
	slices.Sort(of)
	boundGarbage()
	b.say("%s: %d documents, %d lists with %d postings (%d MB on a device), made in %.1f s", b.c.Name, b.c.Docs, len(b.c.Lists),
		postings, b.bytes>>20, time.Since(start).Seconds())
	b.say("%d queries, postings of one: mean %d, median %d, nine of ten below %d", len(of), b.postingsFrom(0)/int64(len(of)), of[len(of)/2], of[len(of)*9/10])
	if b.write != "" {
		return b.c.Write(b.write)
	}
	return nil
}

// read reads earlier measurements.
func (b *bench) read() error {
	b.known = map[string]bool{}
	f, err := os.Open(filepath.Join(b.out, "runs.jsonl"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var r record
		if err := json.Unmarshal(s.Bytes(), &r); err != nil {
			continue // the last line of an interrupted run
		}
		b.records = append(b.records, r)
		b.known[r.On+" "+r.Part+" "+r.Name] = true
	}
	return nil
}

// measure makes a measurement, unless it is already recorded or time is up.
func (b *bench) measure(part, name string, do func() ([]figure, error)) error {
	if b.has(part, name) {
		return nil
	}
	if time.Since(b.start) > b.budget {
		b.left++
		return nil
	}
	if err := b.ctx.Err(); err != nil {
		return err
	}
	start := time.Now()
	stop, err := b.profile(part, name)
	if err != nil {
		return err
	}
	figures, err := do()
	stop()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r := record{
		Part: part, Name: name, Figures: figures, Took: time.Since(start), On: b.c.Name, Machine: b.machine,
		Command: "gpubench " + strings.Join(b.args, " "), Date: start.UTC().Truncate(time.Second),
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	b.records = append(b.records, r)
	b.known[r.On+" "+r.Part+" "+r.Name] = true
	b.say("%-9s %-40s %5.1f s  %s", part, name, r.Took.Seconds(), plain(figures))
	_, err = b.file.Write(append(line, '\n'))
	return err
}

// has reports whether something has been measured.
func (b *bench) has(part, name string) bool { return b.known[b.c.Name+" "+part+" "+name] }

// progress says that something is done that has taken long.
func (b *bench) progress(began time.Time, what string) {
	if took := time.Since(began); took > 5*time.Second {
		b.say("%s: %.1f s", what, took.Seconds())
	}
}

// profile writes a CPU profile of a measurement, with -profile, until it is stopped. Then it writes
// the waits for locks since the start of the command, too: those of a measurement are what pprof
// -diff_base leaves of them without the profile before.
func (b *bench) profile(part, name string) (stop func(), err error) {
	if b.profiles == "" {
		return func() {}, nil
	}
	if err := os.MkdirAll(b.profiles, 0o777); err != nil {
		return nil, err
	}
	path := filepath.Join(b.profiles, strings.NewReplacer(" ", "-", ",", "", "/", "-", "=", "").Replace(b.c.Name+" "+part+" "+name))
	f, err := os.Create(path + ".pprof")
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	runtime.SetMutexProfileFraction(100)
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close()
		if f, err := os.Create(path + "-locks.pprof"); err == nil {
			_ = pprof.Lookup("mutex").WriteTo(f, 0)
			_ = f.Close()
		}
	}, nil
}

// say reports progress.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%6.1f s  %s\n", time.Since(b.start).Seconds(), fmt.Sprintf(format, args...))
}

func (b *bench) close() error {
	if b.left > 0 {
		b.say("no time for %d measurements; the same command goes on with them", b.left)
	}
	err := os.WriteFile(filepath.Join(b.out, "tables.md"), []byte(tables(b.records)), 0o666)
	return errors.Join(err, b.file.Close())
}
