package columns

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// TestExchangedChunks checks a column of which two chunks of equal shape were exchanged: all keys are within the
// bounds of their tiles, but of other documents.
func TestExchangedChunks(t *testing.T) {
	s := build(t, random(rand.New(rand.NewPCG(53, 54)), shape{key: ofWidth(2)}, densities()[0], 550_000))
	if err := open(t, s).Check(); err != nil {
		t.Fatal(err)
	}
	s[PayloadParts], s[PayloadParts+1] = s[PayloadParts+1], s[PayloadParts]
	if err := open(t, s).Check(); !errors.Is(err, corrupt.Err) || !strings.Contains(err.Error(), "chunk 0") {
		t.Error(err)
	}
}
