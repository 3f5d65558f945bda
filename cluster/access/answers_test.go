package access_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/riffle-search/riffle/cluster"
	"github.com/riffle-search/riffle/cluster/remote"
)

// TestAnswers: a reader lets a server and a node send answers into a log, and a writer appends a byte. Replicas go on
// behind them.
func TestAnswers(t *testing.T) {
	g := newGuarded(t)
	n := g.books()
	epoch := n.Status()[0].Epoch
	reader, _ := g.connect("reader")
	stream, lane := fmt.Sprintf("RIFFLE_books_%d_0", epoch), fmt.Sprintf("riffle.books.w.%d.0.x", epoch)
	js, err := jetstream.New(reader)
	if err != nil {
		t.Fatal(err)
	}
	for i, deed := range []string{"$JS.API.STREAM.INFO." + stream, remote.Subject("books", epoch, 0, "a")} {
		if err := reader.PublishRequest(deed, lane, []byte(`{"v":1,"verb":"ping"}`)); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			s, err := js.Stream(t.Context(), stream)
			if err != nil {
				t.Fatal(err)
			}
			if s.CachedInfo().State.LastSeq == uint64(i+1) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("no answer came to the log from %s: the comment of package access may be put right", deed)
			}
		}
	}
	writer, _ := g.connect("writer")
	if err := writer.Publish(lane, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := writer.Flush(); err != nil {
		t.Fatal(err)
	}
	x := g.index("both")
	written, err := x.Write(t.Context(), put("moby", map[string]any{"text": "whale"}))
	if err != nil || written.Err() != nil || written.Token.Sequences[0] != 4 {
		t.Fatal(err, written)
	}
	if _, err := x.Get(t.Context(), "moby", cluster.GetOptions{Token: written.Token}); err != nil {
		t.Error(err)
	}
	if st := n.Status()[0]; st.Refused != 3 || st.Err != nil {
		t.Errorf("%+v", st)
	}
}
