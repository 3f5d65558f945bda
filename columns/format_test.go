package columns

import (
	"encoding/hex"
	"strings"
	"testing"
)

// TestExample encodes the examples of the package comment.
func TestExample(t *testing.T) {
	s := build(t, model{Uint, [][]uint64{{3}, {7}, nil, {15}}})
	if got, want := hex.EncodeToString(s[DirectoryPart]), strings.ReplaceAll("02 02 04 01  00  cd 02  06 02 03  02 00 34", " ", ""); got != want || len(s) != 1 {
		t.Errorf("%d parts, directory %s, want %s", len(s), got, want)
	}
	if got, want := hex.EncodeToString(OfInt(1<<53+1).AppendTerm(nil)), "006ec3400000000000000001"; got != want {
		t.Errorf("term %s, want %s", got, want)
	}
}
