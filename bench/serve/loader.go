package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A loader sends requests.
type loader struct {
	addr     string
	clients  int
	requests [][]byte
}

// prepare writes all requests, and makes sure that the server answers one.
func (l *loader) prepare(p *peer, queries []string) error {
	for _, text := range queries {
		head, body := p.request(text)
		request := fmt.Appendf(nil, "%s HTTP/1.1\r\nHost: %s\r\n", head, l.addr)
		if body != "" {
			request = fmt.Appendf(request, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
		}
		l.requests = append(l.requests, fmt.Appendf(request, "\r\n%s", body))
	}
	conn, err := net.Dial("tcp", l.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Write(l.requests[0]); err != nil {
		return err
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil || p.hits == nil {
		return err
	}
	if n, err := p.hits(answer); err != nil || res.StatusCode != http.StatusOK || n == 0 {
		return fmt.Errorf("the first query has the answer %s with %d hits: %v: %.200s", res.Status, n, err, answer)
	}
	return nil
}

// profile writes a CPU profile of riffle's server during the time of a measurement, if one is asked for.
func (l *loader) profile(name string) error {
	if *profile == "" || name != "riffle" {
		return nil
	}
	res, err := http.Get(fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", l.addr, max(1, int(length.Seconds())-1)))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("profile: %s: %s", res.Status, data)
	}
	return errors.Join(err, os.WriteFile(*profile, data, 0o666))
}

// A measured is what clients have seen.
type measured struct {
	took      time.Duration
	latencies []time.Duration // in order
}

func (m *measured) perSecond() float64 { return float64(len(m.latencies)) / m.took.Seconds() }

func (m *measured) mean() time.Duration {
	var sum time.Duration
	for _, d := range m.latencies {
		sum += d
	}
	return sum / time.Duration(max(1, len(m.latencies)))
}

func (m *measured) percentile(p float64) time.Duration {
	if len(m.latencies) == 0 {
		return 0
	}
	return m.latencies[min(int(p*float64(len(m.latencies))), len(m.latencies)-1)]
}

// String returns columns of a table.
func (m *measured) String() string {
	mean, p99 := m.mean(), m.percentile(0.99)
	return fmt.Sprintf("%.2f | %.2f | %.2f | %.1f", ms(mean), ms(m.percentile(0.5)), ms(p99), float64(p99)/float64(mean))
}

// run sends requests from all clients. With a rate, they arrive at random times, and a latency counts from then on;
// otherwise each client sends the next one as soon as it has an answer.
func (l *loader) run(d time.Duration, rate float64) (*measured, error) {
	var arrivals chan time.Time
	if rate > 0 {
		arrivals = make(chan time.Time, 1<<16)
		go func() {
			defer close(arrivals)
			// A thread of its own sleeps to the microsecond. time.Sleep has milliseconds where nothing else is to be done,
			// and requests would arrive in bunches.
			runtime.LockOSThread()
			unix.Prctl(unix.PR_SET_TIMERSLACK, 1000, 0, 0, 0)
			for at, end := time.Now(), time.Now().Add(d); at.Before(end); at = at.Add(time.Duration(rand.ExpFloat64() / rate * 1e9)) {
				if wait := time.Until(at); wait > 0 {
					pause := unix.NsecToTimespec(int64(wait))
					unix.Nanosleep(&pause, nil) // to be woken too early does no harm
				}
				arrivals <- at
			}
		}()
	}
	start, next := time.Now(), atomic.Int64{}
	end := start.Add(d)
	var mu sync.Mutex
	m, errs := new(measured), []error{}
	var wg sync.WaitGroup
	for range l.clients {
		wg.Go(func() {
			mine, err := l.client(func() (time.Time, bool) {
				if arrivals != nil {
					at, ok := <-arrivals
					return at, ok
				}
				now := time.Now()
				return now, now.Before(end)
			}, &next)
			mu.Lock()
			defer mu.Unlock()
			m.latencies = append(m.latencies, mine...)
			if err != nil {
				errs = append(errs, err)
			}
		})
	}
	wg.Wait()
	m.took = time.Since(start)
	slices.Sort(m.latencies)
	return m, errors.Join(errs...)
}

// client sends requests over one connection, at the times that begin returns.
func (l *loader) client(begin func() (time.Time, bool), next *atomic.Int64) (latencies []time.Duration, err error) {
	conn, err := net.Dial("tcp", l.addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	in := bufio.NewReaderSize(conn, 64<<10)
	for {
		at, ok := begin()
		if !ok {
			return latencies, nil
		}
		if _, err := conn.Write(l.requests[int(next.Add(1))%len(l.requests)]); err != nil {
			return latencies, err
		}
		if err := skipAnswer(in); err != nil {
			return latencies, err
		}
		latencies = append(latencies, time.Since(at))
	}
}

// skipAnswer reads an answer, which must be a success, without looking at its body.
func skipAnswer(in *bufio.Reader) error {
	status, err := in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !strings.HasPrefix(string(status), "HTTP/1.1 200 ") {
		return fmt.Errorf("the server answers %q", status)
	}
	length, chunked := -1, false
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		text := strings.TrimSpace(string(line))
		if text == "" {
			break
		}
		name, value, _ := strings.Cut(text, ": ")
		switch strings.ToLower(name) {
		case "content-length":
			if length, err = strconv.Atoi(value); err != nil {
				return err
			}
		case "transfer-encoding":
			chunked = true
		}
	}
	if !chunked {
		if length < 0 {
			return errors.New("an answer without a length")
		}
		_, err := in.Discard(length)
		return err
	}
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(line)), 16, 64)
		if err != nil {
			return err
		}
		if _, err := in.Discard(int(n) + 2); err != nil || n == 0 {
			return err
		}
	}
}
