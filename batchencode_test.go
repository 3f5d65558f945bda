package riffle

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

// TestEncode sends batches through their encoded changes: their JSON is the same afterwards.
func TestEncode(t *testing.T) {
	var b Batch
	b.Put("moby", map[string]any{
		"title": "Moby Dick", "year": 1851, "ratio": 0.1, "big": uint64(math.MaxUint64), "true": true,
		"at": time.Date(1851, 10, 18, 0, 0, 0, 7, time.UTC), "where": Point{Lat: 41.3, Lon: -70.1}, "raw": []byte{0xff, 0},
		"tags": []string{"whale", "sea"}, "author": map[string]any{"name": "Melville"},
	})
	b.Delete("nautilus")
	b.Update("moby", map[string]any{"sold": 17, "offer": nil})
	b.Put("\xff\x00", map[string]any{})
	b.Position = []byte("7")
	changes, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var got Batch
	for i, c := range changes {
		if want := []string{"moby", "nautilus", "moby", "\xff\x00"}[i]; c.ID != want {
			t.Errorf("change %d is of %q", i, c.ID)
		}
		data := bytes.Clone(c.Data)
		if err := got.AddEncoded(data); err != nil {
			t.Fatal(err)
		}
		clear(data) // the batch must not refer to it
	}
	b.Position = nil
	text := func(b *Batch) string {
		j, err := json.Marshal(b)
		if err != nil {
			return err.Error()
		}
		return string(j)
	}
	if text(&got) != text(&b) || got.Size() != b.Size() {
		t.Errorf("%s\n%s", text(&got), text(&b))
	}
}

func TestEncodeRefuses(t *testing.T) {
	for want, fill := range map[string]func(*Batch){
		"change 1 depends on a version": func(b *Batch) { b.Delete("a"); b.DeleteIf("a", 7) },
		"must not be empty":             func(b *Batch) { b.Delete("") },
	} {
		var b Batch
		fill(&b)
		if _, err := b.Encode(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	var b Batch
	b.Put("moby", map[string]any{"title": "Moby Dick"})
	changes, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	whole := changes[0].Data
	var to Batch
	for n := range whole {
		if err := to.AddEncoded(whole[:n]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
	if err := to.AddEncoded(append(bytes.Clone(whole), whole...)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("two changes: %v", err)
	}
	if err := to.AddEncoded(append([]byte{0x1f}, whole...)); !errors.Is(err, ErrFormat) {
		t.Errorf("a version of the future: %v", err)
	}
	if to.Len() != 0 {
		t.Errorf("the batch has %d changes", to.Len())
	}
}
