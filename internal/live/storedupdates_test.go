package live

import (
	"errors"
	"fmt"
	"testing"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/format"
)

// examplePatch gives the documents 1 and 3 of 4 a keyword each, and takes those of document 2.
func examplePatch(t testing.TB) *columns.Patch {
	t.Helper()
	u := (*updates)(nil).clone()
	for doc, tag := range []string{"", "b", "", "a"} {
		change := document.FieldUpdate{Field: "tag"}
		if tag != "" {
			change.Values = []columns.Value{columns.OfString(tag)}
		}
		if doc > 0 {
			u.add(nil, 4, uint32(doc), []document.FieldUpdate{change})
		}
	}
	p, _, err := u.fields["tag"].folded()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestStoredUpdates prints the example of storedupdates.go, and finds every place where they end too early.
func TestStoredUpdates(t *testing.T) {
	data, err := marshalUpdates(examplePatch(t), updatesVersion)
	if err != nil {
		t.Fatal(err)
	}
	const want = "01" +
		" 01 ff ff ff ff 0f 0a" + " 02 05 04 01 00 cc 02 02 00 00" +
		" 01 ff ff ff ff 0f 19" + " 02 06 04 01 02 00 07 01 61 00 01 62 00 00 00 be 01 00 00 00 01 01 30 00 00"
	if got := fmt.Sprintf("% x", data); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	p, err := parseUpdates(data, 4, updatesVersion)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := marshalUpdates(p, updatesVersion); err != nil || string(again) != string(data) {
		t.Errorf("written again: %x, %v, want %x", again, err, data)
	}
	for n := range data {
		if _, err := parseUpdates(data[:n], 4, updatesVersion); !errors.Is(err, corrupt.Err) {
			t.Errorf("%d bytes of %d: %v, want ErrCorrupt", n, len(data), err)
		}
	}
	if _, err := parseUpdates(data, 5, updatesVersion); !errors.Is(err, corrupt.Err) {
		t.Errorf("in a segment of 5 documents: %v, want ErrCorrupt", err)
	}
	if _, err := parseUpdates(append([]byte{layerVersion + 1}, data[1:]...), 4, updatesVersion); !errors.Is(err, format.Err) {
		t.Errorf("of a later version: %v, want ErrFormat", err)
	}
	if _, err := parseUpdates(data, 4, layerVersion); !errors.Is(err, corrupt.Err) {
		t.Errorf("a first layer as another: %v, want ErrCorrupt", err)
	}
}
