package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestMain lets this program be the command, for tests that need a process.
func TestMain(m *testing.M) {
	if os.Getenv("RIFFLE_TEST_IS_THE_COMMAND") != "" {
		main()
	}
	os.Exit(m.Run())
}

// A process is a riffle serve that runs.
type process struct {
	*exec.Cmd
	url string
	log lockedBuffer // standard error
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// startServe starts riffle serve on a free port, and waits until it listens.
func startServe(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0], append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)}
	p.Env = append(os.Environ(), "RIFFLE_TEST_IS_THE_COMMAND=1")
	p.Stderr = &p.log
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.ProcessState == nil {
			p.Process.Kill()
			p.Wait()
		}
	})
	line, _ := bufio.NewReader(out).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "Serving on ")
	if !ok {
		t.Fatalf("riffle serve %v: %s%s", args, line, &p.log)
	}
	p.url = url
	return p
}

// end sends SIGTERM and waits until the process has ended well.
func (p *process) end(t *testing.T) {
	t.Helper()
	p.Process.Signal(syscall.SIGTERM)
	if err := p.Wait(); err != nil {
		t.Errorf("riffle serve: %v\n%s", err, &p.log)
	}
}

// call sends a request and returns the status and the body of the answer.
func (p *process) call(t testing.TB, method, path, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(method, p.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// waitUntil waits until something holds.
func waitUntil(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

// TestStopAnswersAll: SIGTERM during requests cuts none of them off. Some are bodies of which the server has the
// first half. Other clients search on connections that they keep, as long as they are not told that the end is near;
// connections that the system holds when the server stops listening are not the server's yet.
func TestStopAnswersAll(t *testing.T) {
	p := startServe(t, "--dir", t.TempDir(), "--drain", "3s", "--writes", "8")
	if status, text := p.call(t, "PUT", "/v1/indexes/books", ""); status != http.StatusCreated {
		t.Fatal(text)
	}
	const halves, lines = 4, 3000
	text := strings.Repeat("moby dick ", 160) // the server reads 2 MB before it begins to carry out a body
	var bodies [halves]*io.PipeWriter
	results := make(chan error, halves)
	for i := range halves {
		var body *io.PipeReader
		body, bodies[i] = io.Pipe()
		go func() {
			answer, err := http.Post(p.url+"/v1/indexes/books/documents", "application/x-ndjson", body)
			if err == nil {
				defer answer.Body.Close()
				var text []byte
				if text, err = io.ReadAll(answer.Body); err == nil && !strings.HasSuffix(string(text), fmt.Sprintf("{\"changes\":%d,\"failed\":0}\n", lines)) {
					err = fmt.Errorf("%s %.300s", answer.Status, text)
				}
			}
			results <- err
		}()
	}
	send := func(from, to int) {
		for n := from; n < to; n++ {
			for i, w := range bodies {
				fmt.Fprintf(w, `{"put": "%d.%d", "fields": {"text": %q}}`+"\n", i, n, text)
			}
		}
	}
	send(0, lines/2)
	waitUntil(t, "the first halves are read", func() bool {
		_, text := p.call(t, "POST", "/v1/indexes/books/count", "{}")
		return !strings.Contains(text, `"count":0`)
	})
	searches, answers := make(chan error), make([]atomic.Int64, 4)
	for i := range answers {
		go func() {
			c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
			for {
				answer, err := c.Get(p.url + "/v1/indexes/books/search?q=moby")
				if err == nil {
					if _, err = io.ReadAll(answer.Body); err == nil && answer.StatusCode != http.StatusOK {
						err = fmt.Errorf("a search: %s", answer.Status)
					}
					answer.Body.Close()
				}
				if err != nil || answer.Close {
					searches <- err
					return
				}
				answers[i].Add(1)
			}
		}()
	}
	waitUntil(t, "each client has had answers", func() bool {
		for i := range answers {
			if answers[i].Load() == 0 {
				return false
			}
		}
		return true
	})
	p.Process.Signal(syscall.SIGTERM)
	waitUntil(t, "stopping", func() bool { return strings.Contains(p.log.String(), "msg=stopping") })
	if status, text := p.call(t, "GET", "/readyz", ""); status != http.StatusServiceUnavailable {
		t.Errorf("/readyz: %d %s", status, text)
	}
	for range answers {
		if err := <-searches; err != nil {
			t.Error(err)
		}
	}
	waitUntil(t, "new connections are refused", func() bool {
		answer, err := http.Get(p.url + "/healthz")
		if err == nil {
			answer.Body.Close()
		}
		return err != nil
	})
	send(lines/2, lines)
	for _, w := range bodies {
		w.Close()
	}
	for range halves {
		if err := <-results; err != nil {
			t.Errorf("a body: %v", err)
		}
	}
	if err := p.Wait(); err != nil || !strings.Contains(p.log.String(), "msg=stopped") {
		t.Errorf("%v\n%s", err, &p.log)
	}
}
