package document

import (
	"errors"
	"reflect"
	"testing"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// TestVersionsOfValues: a value may state a version that this build has; a version that no build
// has is damage.
func TestVersionsOfValues(t *testing.T) {
	vals := []Value{Text("s", "a"), Int("i", 7), Float("f", 0.5)}
	if got, err := ParseValues(append([]byte{0, 1}, AppendValues(nil, vals)...)); err != nil || !reflect.DeepEqual(got, vals) {
		t.Errorf("a document with its version: %v, %v", got, err)
	}
	ops := []Operation{{ID: "a", Values: vals}, {ID: "b", Delete: true}}
	records, _, _ := EncodeRecords(nil, ops, "")
	if got, _, err := DecodeRecord(append([]byte{1}, records[0]...)); err != nil || !reflect.DeepEqual(got, ops) {
		t.Errorf("a record with its version: %v, %v", got, err)
	}
	for _, data := range []string{"\x00\x00", "\x00\x00\x02"} {
		if _, err := ParseValues([]byte(data)); !errors.Is(err, corrupt.Err) {
			t.Errorf("values %q: %v, want ErrCorrupt", data, err)
		}
	}
	if _, _, err := DecodeRecord([]byte("\x00P")); !errors.Is(err, corrupt.Err) {
		t.Errorf("a record of version 0: %v, want ErrCorrupt", err)
	}
}
