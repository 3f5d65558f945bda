package search

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
)

// TestCursorBytes pins the bytes that cursorVersion specifies, because callers hold texts of
// earlier releases.
func TestCursorBytes(t *testing.T) {
	c := Cursor{
		page:    &Page{query: json.RawMessage(`{"all":{}}`), sim: blockmax.DefaultBM25, alpha: 0.25, k: 10, text: "d1d22\x03\x01\x02", statistics: 5},
		segment: 7, local: 300, doc: 1000, score: 70_000, from: 2, to: 5,
	}
	text, err := c.AppendText(nil)
	if err != nil {
		t.Fatal(err)
	}
	data, err := base64.RawURLEncoding.DecodeString(string(text))
	if err != nil {
		t.Fatal(err)
	}
	const want = "01 " + // version
		"f18e91a7cf49ffa1 " + // key
		"f0a204 07 ac02 e807 " + // score, segment, local and global number
		"03 643232 " + // id
		"030102 " + // statistics
		"dd3f4fda" // CRC-32C
	got := fmt.Sprintf("%x %x %x %x %x %x %x %x %x %x", data[:1], data[1:9], data[9:12], data[12:13], data[13:15], data[15:17], data[17:18], data[18:21], data[21:24], data[24:])
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	again, err := ParseCursor(text)
	if err != nil {
		t.Fatal(err)
	}
	if doc, local, score, statistics := Place(again); doc != 1000 || local != 300 || score != 70_000 || statistics != "\x03\x01\x02" || again.ID() != "d22" || again.segment != 7 {
		t.Errorf("%s is %+v", text, again)
	}
}
