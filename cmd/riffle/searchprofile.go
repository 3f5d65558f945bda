package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/riffle-search/riffle"
)

// profileColumns is how many characters stand for all documents of the index.
const profileColumns = 64

// printProfile prints how a search ran.
func printProfile(b *strings.Builder, p *riffle.Profile) {
	if p == nil {
		return
	}
	fmt.Fprintf(b, "%s\n", p.Choice.Why)
	if c := p.Choice; c.CPU > 0 || c.GPU > 0 {
		fmt.Fprintf(b, "estimated: CPU %v, of which it waits %v; GPU %v; %d searches on the CPU, %d wait for a GPU\n", c.CPU, c.CPUWait, c.GPU, c.Running, c.Queued)
	}
	for _, pass := range p.Passes {
		fmt.Fprintf(b, "%s: %s\n", pass.Algorithm, pass.Why)
	}
	t := p.Times
	for _, phase := range []struct {
		name string
		took time.Duration
	}{{"analyse", t.Analyse}, {"plan", t.Plan}, {"execute", t.Execute}, {"  wait", t.Wait}, {"  CPU", t.CPU}, {"  GPU", t.GPU}, {"fetch", t.Fetch}, {"aggregate", t.Aggregate}} {
		if phase.took > 0 {
			fmt.Fprintf(b, "%-10s %v\n", phase.name, phase.took)
		}
	}
	docs := uint32(1)
	for _, s := range p.Segments {
		docs = max(docs, s.First+s.Docs)
	}
	rows := map[string]*[profileColumns]byte{}
	counts := map[string]*riffle.ProfileBlocks{}
	var names []string
	for i := range p.Lists {
		l := &p.Lists[i]
		name := l.Field + ":" + l.Term
		if rows[name] == nil {
			rows[name], counts[name] = new([profileColumns]byte), new(riffle.ProfileBlocks)
			names = append(names, name)
		}
		for _, r := range l.Runs {
			drawRun(rows[name], r, docs)
		}
		c := counts[name]
		c.Decoded, c.Bounded, c.Skipped = c.Decoded+l.Blocks.Decoded, c.Bounded+l.Blocks.Bounded, c.Skipped+l.Blocks.Skipped
	}
	for _, name := range names {
		c := counts[name]
		fmt.Fprintf(b, "%-16s |%s| %d blocks decoded, %d bounded, %d skipped\n", oneLine(name, 40), drawn(rows[name]), c.Decoded, c.Bounded, c.Skipped)
	}
	if p.Omitted > 0 {
		fmt.Fprintf(b, "and %d shorter lists\n", p.Omitted)
	}
	if p.DeviceBlocks > 0 {
		fmt.Fprintf(b, "the GPU decoded %d blocks; it does not tell which\n", p.DeviceBlocks)
	}
}

// drawRun marks the columns of a run by what was done with most of it. Where several runs fall on a column,
// the one with the most work shows.
func drawRun(row *[profileColumns]byte, r riffle.ProfileRun, docs uint32) {
	state := byte(1)
	switch skipped := r.Blocks - r.Decoded - r.Bounded; {
	case r.Decoded > 0 && r.Decoded >= skipped:
		state = 3
	case r.Decoded+r.Bounded >= skipped:
		state = 2
	}
	from, to := uint64(r.First)*profileColumns/uint64(docs), uint64(r.Last)*profileColumns/uint64(docs)
	for i := from; i <= to; i++ {
		row[i] = max(row[i], state)
	}
}

// drawn returns a row as a text.
func drawn(row *[profileColumns]byte) string {
	text := *row
	for i, state := range text {
		text[i] = " .:#"[state]
	}
	return string(text[:])
}
