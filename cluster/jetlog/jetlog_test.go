package jetlog_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/riffle-search/riffle/cluster/embedded"
	"github.com/riffle-search/riffle/cluster/jetlog"
	"github.com/riffle-search/riffle/cluster/oplog"
	"github.com/riffle-search/riffle/cluster/oplog/oplogtest"
)

// serve starts a server in this process and connects to it.
func serve(t testing.TB) jetstream.JetStream {
	t.Helper()
	s, err := embedded.Start(embedded.Options{Name: "test", Dir: t.TempDir(), MaxBytes: 64 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	c, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	js, err := jetstream.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func TestLog(t *testing.T) {
	js := serve(t)
	var shard atomic.Int64
	oplogtest.Run(t, func(t *testing.T, limit int) oplog.Log {
		l, err := jetlog.Create(t.Context(), js, jetlog.Config{
			Index: "books", Shard: int(shard.Add(1)), MaxBytes: int64(limit),
		})
		if err != nil {
			t.Fatal(err)
		}
		return l
	})
}

// unanswered is a JetStream whose first update of a stream is carried out, and is not answered.
type unanswered struct {
	jetstream.JetStream
	updates int
}

func (u *unanswered) UpdateStream(ctx context.Context, c jetstream.StreamConfig) (jetstream.Stream, error) {
	s, err := u.JetStream.UpdateStream(ctx, c)
	if u.updates++; u.updates == 1 && err == nil {
		return nil, nats.ErrTimeout
	}
	return s, err
}

// TestSealUnanswered seals a log although the server does not say that it has.
func TestSealUnanswered(t *testing.T) {
	js := &unanswered{JetStream: serve(t)}
	l, err := jetlog.Create(t.Context(), js, jetlog.Config{Index: "books"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), "a", 0, oplog.Message{ID: "1"}); err != nil {
		t.Fatal(err)
	}
	if last, err := l.Seal(t.Context()); err != nil || last != 1 || js.updates != 1 {
		t.Errorf("the log ends with %d after %d updates: %v", last, js.updates, err)
	}
	if n, err := l.Append(t.Context(), "a", 1, oplog.Message{ID: "2"}); !errors.Is(err, oplog.ErrSealed) {
		t.Errorf("the log took entry %d: %v", n, err)
	}
}

// TestCreatedAgain checks that a log of the same name has another identity. Two faults of the server that do not reach
// a cluster, whose logs never have the name of an earlier one, are kept out: after the only stream is deleted, the
// directory of all goes while the next one is made; and a stream that is deleted again, while the files of the first
// one go, may leave its entries to the third.
func TestCreatedAgain(t *testing.T) {
	js := serve(t)
	if _, err := jetlog.Create(t.Context(), js, jetlog.Config{Index: "papers"}); err != nil {
		t.Fatal(err)
	}
	c := jetlog.Config{Index: "books"}
	var before string
	for i := range 2 {
		l, err := jetlog.Create(t.Context(), js, c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(t.Context(), "a", 0, oplog.Message{ID: "1"}); err != nil {
			t.Fatal(err)
		}
		again, err := jetlog.Create(t.Context(), js, c) // opens it
		if err != nil {
			t.Fatal(err)
		}
		b, err := again.Bounds(t.Context())
		if err != nil || b.Last != 1 || b.Identity == before {
			t.Errorf("log %d: %+v, before it %q: %v", i, b, before, err)
		}
		before = b.Identity
		if err := jetlog.Delete(t.Context(), js, c); err != nil {
			t.Fatal(err)
		}
	}
	if err := jetlog.Delete(t.Context(), js, c); err != nil {
		t.Errorf("deleting what is not there: %v", err)
	}
}

func TestNames(t *testing.T) {
	js := serve(t)
	for i, c := range []jetlog.Config{
		{Index: ""}, {Index: "a.b"}, {Index: "a b"}, {Index: "*"}, {Index: "a", Shard: -1}, {Index: "a", Replicas: 2},
	} {
		if l, err := jetlog.Create(t.Context(), js, c); err == nil {
			t.Errorf("%d: %+v made %v", i, c, l)
		}
	}
	l, err := jetlog.Create(t.Context(), js, jetlog.Config{Index: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for _, lane := range []string{"", "a.b", "*", ">", "a b"} {
		if n, err := l.Append(t.Context(), lane, 0, oplog.Message{ID: "1"}); err == nil {
			t.Errorf("lane %q took entry %d", lane, n)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			js := serve(b)
			l, err := jetlog.Create(b.Context(), js, jetlog.Config{Index: "bench"})
			if err != nil {
				b.Fatal(err)
			}
			var lane atomic.Int64
			b.SetBytes(int64(size))
			b.SetParallelism(4)
			b.RunParallel(func(pb *testing.PB) {
				name, after := fmt.Sprint("lane", lane.Add(1)), uint64(0)
				m := oplog.Message{Data: make([]byte, size)}
				for n := 0; pb.Next(); n++ {
					m.ID = fmt.Sprint(n)
					if after, err = l.Append(b.Context(), name, after, m); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
