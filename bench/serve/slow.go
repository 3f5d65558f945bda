package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// slowRequests are the beginnings of what slow clients send, and never end or never read.
var slowRequests = []string{
	"POST /v1/indexes/bench/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{",
	"POST /v1/indexes/bench/documents HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nContent-Length: 1000000\r\n\r\n{\"put\"",
	"GET /v1/indexes/bench/documents HTTP/1.1\r\nHost: localhost\r\n\r\n",
	"GET /v1/indexes/bench/search?q=whale&load=*&k=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n",
	"GET /v1/indexes/bench/sea",
}

// measureSlow opens slow clients of all kinds and prints the memory of riffle's server, and how long searches of another
// client take, before, meanwhile, and after they have gone. Then it sends a body of a gibibyte.
func measureSlow() error {
	s, err := startRole("riffle")
	if err != nil {
		return err
	}
	defer s.stop()
	fmt.Printf("| | resident, MB | most so far | searches | answered | mean, ms | most |\n|---|---:|---:|---:|---:|---:|---:|\n")
	if err := s.reportSearches("before", 5*time.Second); err != nil {
		return err
	}
	var conns []net.Conn
	for i := range *slow {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			return fmt.Errorf("slow client %d: %w", i, err)
		}
		if tcp := conn.(*net.TCPConn); i%len(slowRequests) == 3 {
			tcp.SetReadBuffer(4 << 10)
		}
		if _, err := io.WriteString(conn, slowRequests[i%len(slowRequests)]); err != nil {
			return fmt.Errorf("slow client %d: %w", i, err)
		}
		conns = append(conns, conn)
	}
	for n := range 3 {
		if err := s.reportSearches(fmt.Sprintf("%d slow clients, %d to %d s", *slow, 10*n, 10*n+10), 10*time.Second); err != nil {
			return err
		}
	}
	for _, conn := range conns {
		conn.Close()
	}
	if err := s.reportSearches("after they have gone", 5*time.Second); err != nil {
		return err
	}
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST /v1/indexes/bench/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1073741824\r\n\r\n")
	go io.CopyN(conn, spaces{}, 1<<30) // until the server closes
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	return s.reportSearches("after a body of 1 GiB: "+res.Status, 5*time.Second)
}

// spaces reads as spaces without end.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// reportSearches sends one search after the other and prints a line.
func (p *process) reportSearches(what string, d time.Duration) error {
	client := &http.Client{Timeout: 30 * time.Second}
	defer client.CloseIdleConnections()
	sent, answered := 0, 0
	var sum, most time.Duration
	for end := time.Now().Add(d); time.Now().Before(end); {
		began := time.Now()
		res, err := client.Get("http://" + p.addr + "/v1/indexes/bench/search?q=whale")
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, res.Body)
		if err := errors.Join(err, res.Body.Close()); err != nil {
			return err
		}
		took := time.Since(began)
		sent, sum, most = sent+1, sum+took, max(most, took)
		if res.StatusCode == http.StatusOK {
			answered++
		}
		time.Sleep(time.Millisecond)
	}
	now, peak, err := p.memory()
	fmt.Printf("| %s | %d | %d | %d | %d | %.2f | %.1f |\n", what, now>>10, peak>>10, sent, answered, ms(sum)/float64(sent), ms(most))
	return err
}

// memory returns the resident kilobytes of the process, now and at most.
func (p *process) memory() (now, most int, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(line, ":")
		n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
		switch name {
		case "VmRSS":
			now = n
		case "VmHWM":
			most = n
		}
	}
	return now, most, nil
}
