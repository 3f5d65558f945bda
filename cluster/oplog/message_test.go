package oplog

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
)

func TestMessage(t *testing.T) {
	for _, r := range []Record{
		{Kind: Changes, Epoch: 3, Schema: 300, Body: []byte(`[{"delete": "nautilus"}]`)},
		{Kind: Schema, Body: []byte(`{}`)},
		{Kind: Barrier, Epoch: 1 << 60},
		{Kind: Changes, Body: bytes.Repeat([]byte("whale "), 1<<20)},
	} {
		m, err := r.Append([]byte("before"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse(m[len("before"):])
		if err != nil || got.Kind != r.Kind || got.Epoch != r.Epoch || got.Schema != r.Schema || !bytes.Equal(got.Body, r.Body) {
			t.Errorf("%v of %d bytes came back as %v of %d: %v", r.Kind, len(r.Body), got.Kind, len(got.Body), err)
		}
	}
}

// TestMessageBytes spells a barrier out.
func TestMessageBytes(t *testing.T) {
	m, err := (&Record{Kind: Barrier, Epoch: 2, Schema: 300}).Append(nil)
	if want := "0103" + "02" + "ac02" + "00" + "b7a90b34df592070"; err != nil || hex.EncodeToString(m) != want {
		t.Errorf("%x, want %s: %v", m, want, err)
	}
}

// TestDamagedMessage flips every bit of a message and cuts it at every byte.
func TestDamagedMessage(t *testing.T) {
	m, err := (&Record{Kind: Changes, Epoch: 1, Schema: 1, Body: []byte(`[{"delete":"nautilus"}]`)}).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	for bit := range 8 * len(m) {
		damaged := bytes.Clone(m)
		damaged[bit/8] ^= 1 << (bit % 8)
		if r, err := Parse(damaged); err == nil {
			t.Errorf("bit %d flipped: %+v", bit, r)
		}
	}
	for n := range m {
		if r, err := Parse(m[:n]); err == nil {
			t.Errorf("cut to %d bytes: %+v", n, r)
		}
	}
}

func TestChanges(t *testing.T) {
	want := []string{"", "a", strings.Repeat("b", 300)}
	var body []byte
	whole := []int{0} // where changes end
	for _, change := range want {
		body = AppendChange(body, []byte(change))
		whole = append(whole, len(body))
	}
	for n := range len(body) + 1 {
		var got []string
		var failed error
		for change, err := range EachChange(body[:n]) {
			if err != nil {
				failed = err
				break
			}
			got = append(got, string(change))
		}
		i := slices.Index(whole, n)
		if (i >= 0) != (failed == nil) || i >= 0 && !slices.Equal(got, want[:i]) {
			t.Errorf("%d bytes: %q, %v", n, got, failed)
		}
	}
}

func TestRefusedRecord(t *testing.T) {
	for want, r := range map[string]Record{
		"kind 0":             {},
		"kind 9":             {Kind: 9},
		"with a body of 0":   {Kind: Changes},
		"with a body of 2 b": {Kind: Barrier, Body: []byte("{}")},
		"at most":            {Kind: Changes, Body: make([]byte, MaxBodyBytes+1)},
	} {
		if _, err := r.Append(nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, r := range []Record{{Kind: Barrier}, {Kind: Changes, Epoch: 1, Schema: 2, Body: []byte("[]")}} {
		m, err := r.Append(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(m)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		// A checksum that holds lets the fuzzer past the first check.
		sealed, ok := reseal(data)
		if !ok {
			return
		}
		r, err := Parse(sealed)
		if err != nil {
			return
		}
		again, err := r.Append(nil)
		if err != nil {
			t.Fatalf("%+v was read and cannot be written: %v", r, err)
		}
		if got, err := Parse(again); err != nil || got.Kind != r.Kind || !bytes.Equal(got.Body, r.Body) {
			t.Fatalf("%+v came back as %+v: %v", r, got, err)
		}
	})
}

// reseal gives a message the checksum of its bytes.
func reseal(data []byte) ([]byte, bool) {
	if len(data) < checksumBytes {
		return nil, false
	}
	body := data[:len(data)-checksumBytes]
	return binary.LittleEndian.AppendUint64(bytes.Clone(body), xxhash.Sum64(body)), true
}
