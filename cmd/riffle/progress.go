package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// A progressMode says how index shows its progress.
type progressMode uint8

const (
	progressAuto progressMode = iota // a bar if standard error is a terminal
	progressBar
	progressLog // a line a second
	progressNone
)

var progressNames = []string{"auto", "bar", "log", "none"}

func declareProgress(c *cobra.Command, v *choice[progressMode]) {
	*v = choice[progressMode]{text: "auto", names: progressNames, parse: func(s string) (progressMode, error) {
		for i, name := range progressNames {
			if s == name {
				return progressMode(i), nil
			}
		}
		return 0, fmt.Errorf("want one of %v", progressNames)
	}}
	v.declare(c, "progress", "what to show on standard error: a bar, a line a second (log), or none; auto is a bar on a terminal")
}

// progress shows how far a run has come. It counts only documents that are safe in the index.
type progress struct {
	bar   *progressbar.ProgressBar // nil without a bar
	log   io.Writer                // nil without lines
	start time.Time
	last  time.Time // when progress was last shown
}

// newProgress begins to show progress through the bytes of the input; -1 if their number is
// unknown.
func newProgress(mode progressMode, w io.Writer, total int64) *progress {
	p := &progress{start: time.Now()}
	if mode == progressAuto && isTerminal(w) {
		mode = progressBar
	}
	switch mode {
	case progressBar:
		p.bar = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(w),
			progressbar.OptionSetWidth(24),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionClearOnFinish(),
		)
	case progressLog:
		p.log = w
	}
	return p
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colored reports whether what is written to w may have colors: see no-color.org.
func colored(w io.Writer) bool { return isTerminal(w) && os.Getenv("NO_COLOR") == "" }

// update shows how many documents and how many bytes of their text are in the index, and how much
// of the input that is.
func (p *progress) update(docs int, textBytes, inputBytes int64) {
	now := time.Now()
	if !p.due(now) {
		return
	}
	seconds := p.seconds(now)
	p.show(fmt.Sprintf("%d documents, %.0f/s, %.1f MB/s", docs, float64(docs)/seconds, float64(textBytes)/1e6/seconds), inputBytes)
}

// due reports whether it is time to show something again.
func (p *progress) due(now time.Time) bool {
	pause := time.Second
	if p.bar != nil {
		pause = 100 * time.Millisecond
	}
	if p.bar == nil && p.log == nil || now.Sub(p.last) < pause {
		return false
	}
	p.last = now
	return true
}

// changed shows how many of the documents that are to be changed have been.
func (p *progress) changed(docs, of int) {
	now := time.Now()
	if !p.due(now) {
		return
	}
	p.show(fmt.Sprintf("%d of %d documents, %.0f/s", docs, of, float64(docs)/p.seconds(now)), int64(docs))
}

func (p *progress) seconds(now time.Time) float64 { return max(now.Sub(p.start).Seconds(), 1e-3) }

// show shows a text, and how much of the total is done.
func (p *progress) show(text string, done int64) {
	if p.bar != nil {
		p.bar.Describe(text)
		p.bar.Set64(done)
	} else {
		fmt.Fprintln(p.log, text)
	}
}

// interrupt makes room for a message.
func (p *progress) interrupt() {
	if p.bar != nil {
		p.bar.Clear()
	}
}

// finish removes the bar.
func (p *progress) finish() {
	if p.bar != nil {
		p.bar.Finish()
	}
}
