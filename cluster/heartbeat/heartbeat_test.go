package heartbeat

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestParts sends a beat in parts, in any order, and some of an older beat between them.
func TestParts(t *testing.T) {
	beat := func(number uint64, replicas int) *Beat {
		b := &Beat{Node: "a", Instance: "x", Number: number}
		for i := range replicas {
			b.Replicas = append(b.Replicas, Replica{Index: "books", Epoch: 7, Shard: i, Digest: fmt.Sprint(number)})
		}
		return b
	}
	for _, replicas := range []int{0, 1, 3, 4, 10} {
		var beats Beats
		old, err := beat(1, 10).messages(3)
		if err != nil {
			t.Fatal(err)
		}
		messages, err := beat(2, replicas).messages(3)
		if err != nil {
			t.Fatal(err)
		}
		add := func(data []byte) bool {
			t.Helper()
			b, err := Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			return beats.Add(b, time.Unix(5, 0))
		}
		if add(old[0]) || add(old[2]) {
			t.Fatal("two parts of four are a beat")
		}
		slices.Reverse(messages)
		for i, m := range messages {
			if add(m) != (i == len(messages)-1) {
				t.Errorf("%d replicas: part %d of %d", replicas, i, len(messages))
			}
		}
		got, ok := beats.Of("a")
		if !ok || len(got.Replicas) != replicas || got.Number != 2 || !got.At.Equal(time.Unix(5, 0)) {
			t.Errorf("%d replicas came as %+v", replicas, got)
		}
		for i, r := range got.Replicas {
			if r.Shard != i || got.Replica("books", 7, i) != &got.Replicas[i] {
				t.Errorf("replica %d is %+v", i, r)
			}
		}
		if got.Replica("books", 7, replicas) != nil || got.Replica("books", 8, 0) != nil {
			t.Error("a replica that is not there")
		}
	}
}

func TestRefused(t *testing.T) {
	for _, bad := range []string{"", "{}", `{"v":2,"node":"a","parts":1}`, `{"v":1,"node":"a","parts":1,"part":1}`, `{"v":1,"parts":1}`} {
		if b, err := Parse([]byte(bad)); err == nil || !strings.HasPrefix(err.Error(), "heartbeat: ") {
			t.Errorf("%q is %+v: %v", bad, b, err)
		}
	}
}
