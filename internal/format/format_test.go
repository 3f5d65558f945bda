package format

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/internal/corrupt"
)

func TestCheck(t *testing.T) {
	r := Range{What: "segment", Oldest: 4, Newest: 7}
	for v := uint64(0); v < 9; v++ {
		err := r.Check(v)
		switch {
		case v == 0:
			if !errors.Is(err, corrupt.Err) || errors.Is(err, Err) {
				t.Errorf("version 0: %v, want corruption", err)
			}
		case v < 4 || v > 7:
			if !errors.Is(err, Err) || errors.Is(err, corrupt.Err) {
				t.Errorf("version %d: %v, want Err", v, err)
			}
		case err != nil:
			t.Errorf("version %d: %v", v, err)
		}
	}
}

// TestWords: an error says what was found, which release wrote it, what this build reads, and what
// to do.
func TestWords(t *testing.T) {
	r := Range{What: "segment", Oldest: 4, Newest: 7}
	for _, c := range []struct {
		err  *Error
		want string
	}{
		{&Error{Range: r, Version: 3}, `format not supported: segment of version 3; riffle X reads versions 4 to 7; open and compact the index with an older riffle that reads both`},
		{&Error{Range: r, Version: 8}, `format not supported: segment of version 8; riffle X reads versions 4 to 7; open the index with the riffle that wrote it, or a later one`},
		{&Error{Range: r, Version: 8, Writer: "9.1"}, `format not supported: segment of version 8 (written by riffle 9.1); riffle X reads versions 4 to 7; open the index with riffle 9.1 or later`},
		{&Error{Range: r, Version: 6, Writer: "9.1", Feature: "vectors"}, `format not supported: segment of version 6 (written by riffle 9.1) needs the feature "vectors", which riffle X lacks; open the index with riffle 9.1 or later`},
	} {
		if got := strings.ReplaceAll(c.err.Error(), Release, "X"); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// TestRelease: the release is that of the changelog.
func TestRelease(t *testing.T) {
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	heading := regexp.MustCompile(`(?m)^## (\S+)`).FindStringSubmatch(string(text))
	if heading == nil {
		t.Fatal("the changelog has no heading")
	}
	if unreleased := heading[1] == "Unreleased"; unreleased != strings.HasSuffix(Release, "-dev") || !unreleased && heading[1] != Release {
		t.Errorf("this is riffle %s, and the changelog begins with %q", Release, heading[1])
	}
}
