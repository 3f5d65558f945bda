package server

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// withKey returns a request with an idempotency key.
func withKey(t testing.TB, text, key string) *http.Request {
	r := readRequest(t, text)
	r.Header.Set(idempotencyHeader, key)
	return r
}

// TestIdempotency: a request that comes twice with a key is carried out once.
func TestIdempotency(t *testing.T) {
	s := newServer(t, nil)
	prepareBooks(t, s)
	count := func() uint64 {
		st, err := s.host.all()[0].engine.Stats()
		if err != nil {
			t.Fatal(err)
		}
		return st.Docs
	}
	const (
		post = "POST /v1/indexes/books/documents\n{\"title\": \"Omoo\"}"
		bulk = "POST /v1/indexes/books/documents\nContent-Type: application/x-ndjson\n{\"put\": \"b\", \"fields\": {}}\n{\"put\": 7}\n"
	)
	for _, text := range []string{post, bulk, "PUT /v1/indexes/books/documents/c\nIf-None-Match: *\n{}", "DELETE /v1/indexes/books/documents/c", "PUT /v1/indexes/others"} {
		key := "key of " + text[:strings.IndexByte(text+"\n", '\n')] + fmt.Sprint(len(text))
		first := send(s, withKey(t, text, key))
		if first.StatusCode >= 300 {
			t.Fatalf("%s\n%s", text, printAnswer(t, first))
		}
		before := count()
		second := send(s, withKey(t, text, key))
		if first.Header.Get(replayedHeader) != "" || second.Header.Get(replayedHeader) != "true" || count() != before {
			t.Errorf("%s: not the answer of the first request, or carried out again", text)
		}
		for _, name := range []string{"Content-Type", "Location", "X-Content-Type-Options"} {
			if first.Header.Get(name) != second.Header.Get(name) {
				t.Errorf("%s: %s is %q, was %q", text, name, second.Header.Get(name), first.Header.Get(name))
			}
		}
		a, _ := io.ReadAll(first.Body)
		b, _ := io.ReadAll(second.Body)
		if string(a) != string(b) || first.StatusCode != second.StatusCode {
			t.Errorf("%s: %s %s, was %s %s", text, second.Status, b, first.Status, a)
		}
	}

	// Another request with the same key: another body, path, or condition.
	send(s, withKey(t, post, "k"))
	before := count()
	for _, text := range []string{
		"POST /v1/indexes/books/documents\n{\"title\": \"Typee\"}", "POST /v1/indexes/others/documents\n{\"title\": \"Omoo\"}",
		"PUT /v1/indexes/books/documents/d\n{\"title\": \"Omoo\"}", "POST /v1/indexes/books/documents\nContent-Type: application/merge+json\n{\"title\": \"Omoo\"}",
	} {
		if res := send(s, withKey(t, text, "k")); res.StatusCode != http.StatusUnprocessableEntity || count() != before {
			t.Errorf("%s\n%s", text, printAnswer(t, res))
		}
	}
	if res := send(s, withKey(t, post, "another")); res.StatusCode != http.StatusCreated || count() != before+1 {
		t.Errorf("another key: %s", res.Status)
	}

	// A failure is not kept: it has had no effect.
	for range 2 {
		if res := send(s, withKey(t, "POST /v1/indexes/books/documents\n[", "failing")); res.StatusCode != http.StatusBadRequest || res.Header.Get(replayedHeader) != "" {
			t.Errorf("%s", printAnswer(t, res))
		}
	}
	if res := send(s, withKey(t, post, "failing")); res.StatusCode != http.StatusCreated {
		t.Errorf("a corrected request: %s", res.Status)
	}
	for _, key := range []string{strings.Repeat("k", 256), "caf\u00e9", "a\tb"} {
		if res := send(s, withKey(t, post, key)); res.StatusCode != http.StatusBadRequest {
			t.Errorf("the key %q: %s", key, res.Status)
		}
	}
	// Searches have no effect, and take no notice.
	for range 2 {
		if res := send(s, withKey(t, "POST /v1/indexes/books/count\n{}", "k")); res.StatusCode != http.StatusOK || res.Header.Get(replayedHeader) != "" {
			t.Errorf("a count: %s", res.Status)
		}
	}
}

// TestIdempotencyOfClients: clients with different API keys do not get each other's answers.
func TestIdempotencyOfClients(t *testing.T) {
	keys, secrets := newKeys(t, RoleWrite, RoleAdmin)
	s := newServer(t, &Options{Keys: keys})
	prepareBooks(t, s)
	for i, secret := range append(secrets, secrets...) {
		r := withKey(t, "POST /v1/indexes/books/documents\n{}", "k")
		r.Header.Set("Authorization", "Bearer "+secret)
		res := send(s, r)
		if replayed := res.Header.Get(replayedHeader) != ""; res.StatusCode != http.StatusCreated || replayed != (i >= len(secrets)) {
			t.Errorf("request %d: %s, replayed: %v", i, res.Status, replayed)
		}
	}
}

// TestIdempotencyUnderWay: while the first request is under way, a second one is told to come back, however many come.
func TestIdempotencyUnderWay(t *testing.T) {
	s := newServer(t, nil)
	prepareBooks(t, s)
	in, out := io.Pipe()
	r := withKey(t, "POST /v1/indexes/books/documents\nContent-Type: application/x-ndjson", "k")
	r.Body = in
	var all sync.WaitGroup
	first := make(chan *http.Response)
	go func() { first <- send(s, r) }()
	io.WriteString(out, "{\"put\": \"1\", \"fields\": {}}\n") // it has been begun once this has been read
	for range 8 {
		all.Go(func() {
			res := send(s, withKey(t, "POST /v1/indexes/books/documents\nContent-Type: application/x-ndjson\n{\"put\": \"1\", \"fields\": {}}\n", "k"))
			if res.StatusCode != http.StatusConflict || res.Header.Get("Retry-After") == "" {
				t.Error(printAnswer(t, res))
			}
		})
	}
	all.Wait()
	out.Close()
	if res := <-first; res.StatusCode != http.StatusOK {
		t.Error(printAnswer(t, res))
	}
	if res := send(s, withKey(t, "POST /v1/indexes/books/documents\nContent-Type: application/x-ndjson\n{\"put\": \"1\", \"fields\": {}}\n", "k")); res.Header.Get(replayedHeader) != "true" {
		t.Errorf("after it: %s", printAnswer(t, res))
	}
}

// TestKeptAnswers: what is kept is bounded by bytes and by time, and the oldest answers go first.
func TestKeptAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keptAnswers{most: 10 * (keptOverhead + 100), keep: time.Minute}
		put := func(key string, size int) {
			if _, mine := k.begin(key, time.Now()); !mine {
				t.Fatalf("%s is there already", key)
			}
			k.finish(key, &keptAnswer{key: key, done: true, body: make([]byte, size-len(key)), ended: time.Now()})
		}
		has := func(key string) bool {
			_, mine := k.begin(key, time.Now())
			if mine {
				k.finish(key, nil)
			}
			return !mine
		}
		for i := range 100 {
			put(fmt.Sprint(i), 100)
			if k.bytes > k.most {
				t.Fatalf("%d bytes are kept, more than %d", k.bytes, k.most)
			}
		}
		if has("89") || !has("90") || !has("99") {
			t.Errorf("not the last ten are kept, but %d", len(k.byKey))
		}
		time.Sleep(30 * time.Second)
		put("late", 1000)
		if has("90") || !has("99") || !has("late") {
			t.Error("a large answer did not take the place of the oldest ones")
		}
		time.Sleep(30 * time.Second)
		if has("99") || !has("late") {
			t.Error("what is older than a minute is kept, or what is younger is not")
		}
		time.Sleep(time.Hour)
		if has("late") || k.bytes != 0 || len(k.byKey) != 0 || k.order.Len() != 0 {
			t.Errorf("in the end %d bytes of %d answers are kept", k.bytes, len(k.byKey))
		}
	})
}
