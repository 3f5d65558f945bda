package server

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/internal/hook"
	"github.com/riffle-search/riffle/store"
)

// A slowDisk lets no sync of a log end while it is held.
type slowDisk struct {
	mu      sync.RWMutex
	waiting atomic.Int32 // syncs that have begun and not ended
}

func (d *slowDisk) MaybeError(op errorfs.Op) error {
	if op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo {
		d.waiting.Add(1)
		defer d.waiting.Add(-1)
		d.mu.RLock()
		defer d.mu.RUnlock()
	}
	return nil
}

func (d *slowDisk) String() string { return "a slow disk" }

// TestPending: a change that was under way when its time ended is carried out once. Requests with the same key get its
// outcome as soon as it is known.
func TestPending(t *testing.T) {
	s, disk := newServer(t, nil), new(slowDisk)
	o := &riffle.Options{}
	hook.Set(o, hook.Knobs{Store: store.Options{FS: errorfs.Wrap(vfs.Default, disk)}})
	e, err := riffle.Open(filepath.Join(t.TempDir(), "m"), o)
	must(t, err)
	defer e.Close()
	must(t, s.Mount("books", e))
	count := func() int {
		n, err := e.Count(t.Context(), riffle.All{})
		must(t, err)
		return n
	}
	for i, text := range []string{
		"POST /v1/indexes/books/documents?timeout=50ms\n{\"title\": \"Omoo\"}",
		"PUT /v1/indexes/books/documents/moby?timeout=50ms\n{\"title\": \"Moby Dick\"}",
		"POST /v1/indexes/books/documents?timeout=50ms\n[{\"put\": \"a\", \"fields\": {}}, {\"put\": \"b\", \"fields\": {}}]",
		"DELETE /v1/indexes/books/documents/moby?timeout=50ms\n",
	} {
		disk.mu.Lock()
		for n := 0; n < 2 || disk.waiting.Load() == 0; n++ { // on a busy machine the time may end before the change begins
			if res := send(s, withKey(t, text, fmt.Sprint("key ", i))); res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Location") != "" {
				t.Errorf("%s: while the disk is slow: %s", text, printAnswer(t, res))
			}
		}
		disk.mu.Unlock()
		want := []string{"201 Created\nIdempotency-Replayed: true\nLocation: documents/…", "200 OK\nIdempotency-Replayed: true\n{\n  \"id\": \"moby\"", "200 OK\nIdempotency-Replayed: true\n{\n  \"changes\": 2", "204 No Content\nIdempotency-Replayed: true"}[i]
		for range 2 {
			// With the same timeout, since that is part of the request: it may take several.
			got := ""
			for range 100 {
				if got = printAnswer(t, send(s, withKey(t, text, fmt.Sprint("key ", i)))); !strings.HasPrefix(got, "503") {
					break
				}
			}
			if !strings.HasPrefix(strings.ReplaceAll(got, "/v1/indexes/books/documents", "documents"), want) {
				t.Errorf("%s: afterwards:\n%s\nwant %s", text, got, want)
			}
		}
		if n := count(); n != []int{1, 2, 4, 3}[i] {
			t.Errorf("%s: %d documents", text, n)
		}
	}
}

// TestPendingBulk: a bulk whose time ends is not kept, and can be sent again.
func TestPendingBulk(t *testing.T) {
	s, disk := newServer(t, nil), new(slowDisk)
	o := &riffle.Options{}
	hook.Set(o, hook.Knobs{Store: store.Options{FS: errorfs.Wrap(vfs.Default, disk)}})
	e, err := riffle.Open(filepath.Join(t.TempDir(), "m"), o)
	must(t, err)
	defer e.Close()
	must(t, s.Mount("books", e))
	text := "POST /v1/indexes/books/documents?timeout=50ms\nContent-Type: application/x-ndjson\n{\"put\": \"1\", \"fields\": {}}\n{\"put\": \"2\", \"fields\": {}}\n"
	disk.mu.Lock()
	if res := send(s, withKey(t, text, "k")); res.StatusCode != http.StatusServiceUnavailable {
		t.Error(printAnswer(t, res))
	}
	disk.mu.Unlock()
	got := ""
	for range 100 {
		if got = printAnswer(t, send(s, withKey(t, text, "k"))); !strings.HasPrefix(got, "503") {
			break
		}
	}
	if !strings.HasPrefix(got, "200 OK\n{") || !strings.Contains(got, `"changes": 2`) {
		t.Errorf("sent again: %s", got)
	}
}
