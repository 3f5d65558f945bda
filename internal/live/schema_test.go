package live

import (
	"errors"
	"testing"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// TestVersionsOfOptions: options without a version have the first, and may state it.
func TestVersionsOfOptions(t *testing.T) {
	for _, kept := range []string{"", "version=1\n", "codec=packed\n", "unheard-of=1\nversion=7\n"} {
		if err := checkKeptOptions([]byte(kept)); err != nil {
			t.Errorf("options %q: %v", kept, err)
		}
	}
	for _, kept := range []string{"version=0\n", "version=x", "version="} {
		if err := checkKeptOptions([]byte(kept)); !errors.Is(err, corrupt.Err) {
			t.Errorf("options %q: %v, want ErrCorrupt", kept, err)
		}
	}
}
