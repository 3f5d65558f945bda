package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/riffle-search/riffle/client"
)

// TestKillServer kills riffle serve while clients write to it, again and again on the same index. What they were told
// has taken effect is there after each start: documents of bodies of NDJSON, single ones, and deletions.
func TestKillServer(t *testing.T) {
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	dir := filepath.Join(t.TempDir(), "indexes")
	acked := &ledger{docs: map[string]int{}}
	deletions := 0
	for round := range rounds + 1 {
		p := startServe(t, "--dir", dir, "--writes", "8")
		if round == 0 {
			if status, text := p.call(t, "PUT", "/v1/indexes/books", ""); status != http.StatusCreated {
				t.Fatal(text)
			}
		}
		there := export(t, p)
		for id, n := range acked.docs {
			switch got, ok := there[id]; {
			case n < 0 && ok:
				t.Errorf("round %d: %s was deleted, and is there", round, id)
			case n < 0:
				deletions++
			case !ok || got != n:
				t.Errorf("round %d: %s has %d (%v), want %d", round, id, got, ok, n)
			}
		}
		t.Logf("round %d: %d documents acknowledged, %d there", round, len(acked.docs), len(there))
		if t.Failed() {
			return
		}
		if round == rounds {
			p.end(t)
			break
		}
		before := len(acked.docs)
		var clients sync.WaitGroup
		for c := range 3 {
			clients.Go(func() { putBulk(p, acked, fmt.Sprintf("bulk.%d.%d", round, c)) })
			clients.Go(func() { putSingle(p, acked, fmt.Sprintf("single.%d.%d", round, c)) })
		}
		waitUntil(t, "clients are told something", func() bool { return acked.len() > before+100 })
		time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
		p.Process.Kill()
		clients.Wait()
		p.Wait()
	}
	if deletions == 0 {
		t.Error("nothing was deleted: half of the test did not run")
	}
}

// A ledger has what clients were told: the number in each document, or -1 for one that was deleted.
type ledger struct {
	mu   sync.Mutex
	docs map[string]int
}

func (l *ledger) note(id string, n int) {
	l.mu.Lock()
	l.docs[id] = n
	l.mu.Unlock()
}

func (l *ledger) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.docs)
}

// putBulk sends bodies of changes until the server is gone. A body counts by its whole answer.
func putBulk(p *process, acked *ledger, name string) {
	const lines = 1500 // more than a batch of the server
	for first := 0; ; first += lines {
		var body strings.Builder
		for n := first; n < first+lines; n++ {
			fmt.Fprintf(&body, `{"put": "%s.%d", "fields": {"n": %d, "text": "call me ishmael"}}`+"\n", name, n, n)
		}
		answer, err := http.Post(p.url+"/v1/indexes/books/documents", "application/x-ndjson", strings.NewReader(body.String()))
		if err != nil {
			return
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		results := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
		if err != nil || len(results) != lines+1 {
			return
		}
		for i, result := range results[:lines] {
			var r client.LineResult
			if json.Unmarshal(result, &r) == nil && r.Status == http.StatusOK {
				acked.note(fmt.Sprintf("%s.%d", name, first+i), first+i)
			}
		}
	}
}

// putSingle puts documents until the server is gone, and deletes every third one again.
func putSingle(p *process, acked *ledger, name string) {
	send := func(method, id, body string) bool {
		r, err := http.NewRequest(method, p.url+"/v1/indexes/books/documents/"+id, strings.NewReader(body))
		if err != nil {
			return false
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		_, err = io.Copy(io.Discard, answer.Body)
		return err == nil && (answer.StatusCode == http.StatusOK || answer.StatusCode == http.StatusNoContent)
	}
	for n := 0; ; n++ {
		id := fmt.Sprintf("%s.%d", name, n)
		if !send("PUT", id, fmt.Sprintf(`{"n": %d, "text": "a damp, drizzly november"}`, n)) {
			return
		}
		if n%3 != 0 {
			acked.note(id, n)
			continue
		}
		if !send("DELETE", id, "") { // may have taken effect or not
			return
		}
		acked.note(id, -1)
	}
}

// export returns the number in each document of an index.
func export(t *testing.T, p *process) map[string]int {
	t.Helper()
	answer, err := http.Get(p.url + "/v1/indexes/books/documents")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	docs := map[string]int{}
	for d := json.NewDecoder(answer.Body); ; {
		var doc struct {
			ID     string
			Fields struct{ N int }
		}
		if err := d.Decode(&doc); err == io.EOF {
			return docs
		} else if err != nil {
			t.Fatal(err)
		}
		docs[doc.ID] = doc.Fields.N
	}
}
