package main

import (
	"os"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// A host is what the process has used up to a time: seconds of CPU, and those that goroutines waited
// for locks. It tells whether the cores or the locks bind where devices wait.
type host struct {
	at         time.Time
	cpu, locks float64
}

func readHost() host {
	sample := []metrics.Sample{{Name: "/sync/mutex/wait/total:seconds"}}
	metrics.Read(sample)
	h := host{at: time.Now(), cpu: processSeconds()}
	if sample[0].Value.Kind() == metrics.KindFloat64 {
		h.locks = sample[0].Value.Float64()
	}
	return h
}

// processSeconds is the CPU time of the process, 0 where the system has no /proc. Linux counts it in
// hundredths of a second.
func processSeconds() float64 {
	text, _ := os.ReadFile("/proc/self/stat")
	// The name of the command is in brackets and may have blanks; the third field follows it.
	_, after, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(after)
	const user, system = 14 - 3, 15 - 3
	if len(fields) <= system {
		return 0
	}
	u, _ := strconv.ParseFloat(fields[user], 64)
	s, _ := strconv.ParseFloat(fields[system], 64)
	return (u + s) / 100
}

// since is what has been used from an earlier time on.
func (h host) since(earlier host) hostUse {
	seconds := h.at.Sub(earlier.at).Seconds()
	return hostUse{cores: (h.cpu - earlier.cpu) / seconds, waiting: (h.locks - earlier.locks) / seconds}
}

// A hostUse is how many cores worked, and how many goroutines waited for locks, on average.
type hostUse struct{ cores, waiting float64 }

func (u hostUse) figures() []figure {
	return []figure{{"cores at work", u.cores}, {"waiting for locks", u.waiting}}
}
