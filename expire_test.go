package riffle

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestExpire lets a clock run. Documents are deleted when their time has come, also after a crash, and
// those that are put again or have no date stay.
func TestExpire(t *testing.T) {
	begin := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	var now atomic.Int64 // hours since
	events := make(chan int, 100)
	tu := tuning{memory: tinyMemory, opts: Options{
		Schema:   &Schema{Fields: map[string]Field{"at": {Type: FieldDate}}},
		Expire:   &Expire{Field: "at", After: 2 * time.Hour, Every: time.Millisecond},
		Listener: &Listener{Expired: func(ev ExpireEvent) { events <- ev.Docs }, Failed: func(err error) { t.Error(err) }},
	}}
	tu.opts.private.now = func() time.Time { return begin.Add(time.Duration(now.Load()) * time.Hour) }
	fsys := newCrashFS()
	e, err := tu.open(worldDir, fsys)
	if err != nil {
		t.Fatal(err)
	}
	apply := func(fill func(*Batch)) {
		t.Helper()
		var b Batch
		fill(&b)
		if err := e.Apply(ctx, &b); err != nil {
			t.Fatal(err)
		}
	}
	at := func(hours ...int) map[string]any {
		var dates []time.Time
		for _, h := range hours {
			dates = append(dates, begin.Add(time.Duration(h)*time.Hour))
		}
		return map[string]any{"at": dates, "text": strings.Repeat("word ", 20)}
	}
	ids := func() string {
		t.Helper()
		s, err := e.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var all []string
		for id, err := range s.IDs("") {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, id)
		}
		return strings.Join(all, " ")
	}
	await := func(want string) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); ids() != want; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("documents %q, want %q", ids(), want)
			}
		}
	}
	apply(func(b *Batch) {
		b.Put("a", at(0))
		b.Put("b", at(1))
		b.Put("c", at(7, 1)) // the earliest counts
		b.Put("d", at(5))
		b.Put("none", map[string]any{"text": "no date"})
	})
	if err := e.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * time.Millisecond)
	await("a b c d none")
	now.Store(2)
	await("b c d none")
	if n := <-events; n != 1 {
		t.Errorf("%d documents have expired", n)
	}
	apply(func(b *Batch) { b.Put("b", at(4)) })
	now.Store(3)
	await("b d none")
	if st, err := e.Stats(); err != nil || st.Expired != 2 {
		t.Errorf("%d documents have expired, want 2: %v", st.Expired, err)
	}

	left := fsys.crash(0, rand.New(rand.NewPCG(1, 1)))
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	now.Store(6)
	tu.opts.ReadOnly = true
	if e, err = tu.open(worldDir, left); err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * time.Millisecond)
	await("b d none") // a reader deletes nothing
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	tu.opts.ReadOnly = false
	if e, err = tu.open(worldDir, left); err != nil {
		t.Fatal(err)
	}
	await("d none")
	if err := e.Close(); err != nil {
		t.Error(err)
	}

	for _, x := range []Expire{{Field: "other"}, {Field: "num"}, {Field: "bare"}, {}, {Field: "at", After: -1}, {Field: "at", Every: -1}} {
		tu.opts.Expire = &x
		tu.opts.Schema = &Schema{Fields: map[string]Field{
			"at": {Type: FieldDate}, "num": {Type: FieldNumber}, "bare": {Type: FieldDate, Column: ColumnNone},
		}}
		if e, err := tu.open("other", newCrashFS()); err == nil || !strings.Contains(err.Error(), "Options.Expire.") {
			t.Errorf("%+v: %v", x, err)
			if err == nil {
				e.Close()
			}
		}
	}
}
