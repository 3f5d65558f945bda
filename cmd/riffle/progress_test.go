package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestProgressBar: it shows documents a second, megabytes a second and the time left, and leaves
// nothing behind.
func TestProgressBar(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(progressBar, &b, 4000)
	p.update(100, 3_000_000, 1000)
	drawn := b.String()
	for _, want := range []string{"100 documents", "/s, ", " MB/s", "25%", "[0s:"} {
		if !strings.Contains(drawn, want) {
			t.Errorf("the bar does not show %q: %q", want, drawn)
		}
	}
	p.finish()
	rest := strings.TrimRight(b.String(), "\r")
	if line := rest[strings.LastIndex(rest, "\r")+1:]; strings.TrimSpace(line) != "" {
		t.Errorf("the bar stays: %q", line)
	}
}

func TestProgressLog(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(progressLog, &b, -1)
	p.update(100, 1000, 1000)
	p.update(200, 2000, 2000) // within the same second
	p.finish()
	if got := b.String(); !strings.HasPrefix(got, "100 documents, ") || strings.Count(got, "\n") != 1 {
		t.Errorf("got %q", got)
	}
}

// TestProgressAuto: no bar if standard error is no terminal.
func TestProgressAuto(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(progressAuto, &b, 10)
	p.update(1, 1, 10)
	p.finish()
	if b.Len() > 0 {
		t.Errorf("got %q", b.String())
	}
}
