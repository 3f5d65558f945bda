package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/riffle-search/riffle"
)

// TestMain lets campaigns of tests start this program for their rounds.
func TestMain(m *testing.M) {
	parts = append(parts, testParts...)
	if os.Getenv(plantVariable) != "" {
		plantedAhead = 10
	}
	if len(os.Args) > 1 && os.Args[1] == processFlag {
		if err := process(os.Args[2:]); err != nil {
			panic(err)
		}
		return
	}
	if len(os.Args) > 1 && os.Args[1] == childFlag {
		if err := child(os.Args[2:]); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

// plantVariable is the environment variable that plants plantedAhead in processes.
const plantVariable = "RIFFLE_TORTURE_PLANTED"

// testParts fail in every way that a part can.
var testParts = []*part{
	{"test-well", "", func(r *round) {
		for i := range 3 {
			r.do(i, "well", func() error { r.count("things", 2); return nil })
		}
	}},
	{"test-fails", "", func(r *round) {
		for i := range 3 {
			r.do(i, "fails", func() error { return wrongf("answer %d, want %d", i, i+1) })
		}
	}},
	{"test-panics", "", func(r *round) { r.do(0, "panics", func() error { panic("oh") }) }},
	{"test-dies", "", func(r *round) {
		for i := range 2 {
			r.do(i, "dies", func() error {
				if i == 0 {
					go func() { panic("in the background") }()
					select {}
				}
				return nil
			})
		}
	}},
	{"test-hangs", "", func(r *round) { r.do(0, "hangs", func() error { select {} }) }},
	{"test-leaks", "", func(r *round) {
		r.do(0, "leaks", func() error { go func() { select {} }(); return nil })
	}},
}

// TestCampaign runs parts that fail: each failure is found, and none ends the campaign.
func TestCampaign(t *testing.T) {
	c := newCampaign(testParts, 5)
	c.hang = time.Second
	for _, s := range c.states {
		c.runRound(context.Background(), s, time.Minute)
		p := s.report
		want := map[string]string{"test-fails": "answer 0, want 1", "test-panics": "panic: oh", "test-dies": "in the background",
			"test-hangs": "hangs for 1s", "test-leaks": "goroutines left"}[p.Part]
		switch {
		case want == "" && (len(p.Failures) > 0 || p.Cases != 3 || p.Rounds != 1 || p.Counts["things"] != 6):
			t.Errorf("%s: %+v", p.Part, p)
		case want != "" && (len(p.Failures) == 0 || !strings.Contains(p.Failures[0].Error, want)):
			t.Errorf("%s: %+v, want %q", p.Part, p.Failures, want)
		case want != "" && p.Failures[0].Command != "go run ./internal/torture -only "+p.Part+" -seed 5 -case 0":
			t.Errorf("%s: %s", p.Part, p.Failures[0].Command)
		case p.Part == "test-fails" && p.Failures[0].Times != 3:
			t.Errorf("three cases that fail alike: %+v", p.Failures)
		case p.Part == "test-dies":
			c.runRound(context.Background(), s, time.Minute) // continues after the case that died
			if s.report.Cases != 2 || len(s.report.Failures) != 1 {
				t.Errorf("after a death: %+v", s.report)
			}
		}
	}
}

// TestCommand runs a campaign as from the command line.
func TestCommand(t *testing.T) {
	for name, want := range map[string]bool{"test-well": true, "test-fails": false} {
		var out, progress bytes.Buffer
		ok, err := command([]string{"-only", name, "-time", "100ms", "-seed", "5", "-json"}, &out, &progress)
		if err != nil || ok != want {
			t.Errorf("%s: %v %v", name, ok, err)
		}
		var r report
		if err := json.Unmarshal(out.Bytes(), &r); err != nil || r.Seed != 5 || len(r.Parts) != 1 || r.Parts[0].Cases == 0 {
			t.Errorf("%s: %v: %s", name, err, out.String())
		}
	}
	for _, args := range [][]string{{"-only", "nothing"}, {"-case", "3"}, {"-workers", "0"}} {
		if _, err := command(args, io.Discard, io.Discard); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}

// TestOneCase repeats one case and no other.
func TestOneCase(t *testing.T) {
	c := newCampaign([]*part{findPart("test-fails")}, 5)
	c.only, c.hang = 2, time.Second
	if c.run(context.Background()) {
		t.Error("nothing failed")
	}
	if p := c.states[0].report; p.Cases != 1 || len(p.Failures) != 1 || p.Failures[0].Case != 2 {
		t.Errorf("%+v", p)
	}
}

// TestParts runs the first cases of each part.
func TestParts(t *testing.T) {
	for _, p := range parts {
		if strings.HasPrefix(p.name, "test-") {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			most := 10
			switch {
			case p.name == "kill", p.name == "beside", p.name == "steps":
				most = 1
			case testing.Short():
				most = 5
			}
			c := newCampaign([]*part{p}, 1)
			c.hang, c.first = time.Minute, most
			c.runRound(context.Background(), c.states[0], time.Hour)
			r := c.states[0].report
			for _, f := range r.Failures {
				t.Errorf("%s\n%s", f.Error, f.Command)
			}
			if r.Cases != most || len(r.Counts) == 0 {
				t.Errorf("%d cases, want %d: %v", r.Cases, most, r.Counts)
			}
		})
	}
}

// faults runs a part in this process until a fault is found, with a maximum of cases.
func faults(p *part, seed uint64, most int) []string {
	var found []string
	r := &round{seed: seed, only: -1, hang: time.Minute}
	cases := 0
	r.tell = func(ev event) {
		if ev.Begin {
			cases++
		}
		if ev.Error != "" {
			found = append(found, ev.Error)
		}
		if len(found) > 0 || cases >= most {
			r.until = time.Now().Add(-time.Hour)
		}
	}
	r.run(p)
	return found
}

// TestFindsDroppedSyncs makes the log's syncs do nothing: a crash then loses acknowledged batches.
func TestFindsDroppedSyncs(t *testing.T) {
	planted = func(o op) verdict { return verdict{lie: o.kind == opSync && strings.HasSuffix(o.path, ".log")} }
	defer func() { planted = nil }()
	if found := faults(findPart("crash"), 1, 2000); len(found) == 0 {
		t.Error("crash finds nothing")
	}
}

// TestFindsLostDocument never puts one document.
func TestFindsLostDocument(t *testing.T) {
	plantedLoss = "right"
	defer func() { plantedLoss = "" }()
	for _, name := range []string{"crash", "fail"} {
		found := faults(findPart(name), 1, 100)
		if !slices.ContainsFunc(found, func(text string) bool { return strings.Contains(text, "want") }) {
			t.Errorf("%s finds %q", name, found)
		}
	}
}

// TestFindsShortSteps never puts one document in a world of steps: a few of them are enough to show
// it.
func TestFindsShortSteps(t *testing.T) {
	plantedLoss = "d5"
	defer func() { plantedLoss = "" }()
	var keep []int
	r := &round{seed: 1, only: 0, hang: time.Minute, tell: func(ev event) {
		if ev.Error != "" {
			keep = ev.Keep
		}
	}}
	r.run(findPart("steps"))
	if len(keep) == 0 || len(keep) > 4 {
		t.Errorf("steps that suffice: %v", keep)
	}
}

// TestFindsLostAcknowledgements makes a process report more acknowledgements than it received.
func TestFindsLostAcknowledgements(t *testing.T) {
	t.Setenv(plantVariable, "1")
	if found := faults(findPart("kill"), 2, 3); len(found) == 0 || !strings.Contains(found[0], "acknowledged") {
		t.Errorf("kill finds %q", found)
	}
}

// TestFindsOtherIndex replaces the expected index by an older one, which no checksum notices.
func TestFindsOtherIndex(t *testing.T) {
	s, err := newSpecimen(1, false)
	if err != nil {
		t.Fatal(err)
	}
	older := *s
	older.state--
	for _, w := range ways {
		if _, err := older.examine(s.files.disk(), w); !isMismatch(err) {
			t.Errorf("%s: %v", w.name, err)
		}
	}
}

// TestFindsChanges changes a disk in ways that a failed Open must not.
func TestFindsChanges(t *testing.T) {
	was := image{"index/a": []byte("a"), "index/b": []byte("b"), "index/LOCK": nil}
	if err := was.disk().image().changed(was); err != nil {
		t.Error(err)
	}
	for what, now := range map[string]image{
		"changed": {"index/a": []byte("c"), "index/b": []byte("b")},
		"gone":    {"index/a": []byte("a")},
		"new":     {"index/a": []byte("a"), "index/b": []byte("b"), "index/c": nil},
	} {
		if err := now.changed(was); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestModel compares the model's matching with an engine.
func TestModel(t *testing.T) {
	r := newRandom(3)
	m := model{}
	var b riffle.Batch
	for range 200 {
		id, d := r.id(100), r.document()
		m[id] = d
		b.Put(id, map[string]any(d))
	}
	e, err := riffle.Open(indexDir, newLife(3, 1, false, nil).options(newDisk(), 0))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.Apply(background, &b); err != nil {
		t.Fatal(err)
	}
	s, err := e.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := agrees(s, m); err != nil {
		t.Fatal(err)
	}
	for range 300 {
		if err := sameAnswer(s, m, r.query(2)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDisk tests the disk's effects on operations.
func TestDisk(t *testing.T) {
	d := newDisk()
	if err := (image{"dir/file": []byte("old")}).write(d, "dir/file", []byte("old")); err != nil {
		t.Fatal(err)
	}
	f, err := d.Create("dir/new", "")
	if err != nil {
		t.Fatal(err)
	}
	d.setRule(func(o op) verdict {
		if o.kind == opWrite {
			return verdict{err: errInjected, tear: 128}
		}
		return verdict{lie: o.kind == opSync && path.Base(o.path) == "dir"}
	})
	if n, err := f.Write([]byte("12345678")); n != 4 || !errors.Is(err, errInjected) {
		t.Errorf("torn write: %d %v", n, err)
	}
	dir, err := d.OpenDir("dir")
	if err == nil {
		err = errors.Join(f.Sync(), dir.Sync(), f.Close(), dir.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := string(d.image()["dir/new"]); got != "1234" {
		t.Errorf("torn write left %q", got)
	}
	if _, ok := d.crash(0, nil).image()["dir/new"]; ok {
		t.Error("a sync that lied has made a file durable")
	}
}

// TestSpread goes through all numbers once.
func TestSpread(t *testing.T) {
	for n := 1; n < 200; n++ {
		seen := map[int]bool{}
		for i := range n {
			seen[spread(i, n)] = true
		}
		if len(seen) != n {
			t.Errorf("%d of %d numbers", len(seen), n)
		}
	}
}
