package postings

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/riffle-search/riffle/internal/corrupt"
)

func TestVerify(t *testing.T) {
	ps := random(rand.New(rand.NewPCG(33, 34)), 1000)
	lens := make([]uint8, ps[len(ps)-1].doc+1)
	for _, p := range ps {
		lens[p.doc] = p.length
	}
	l := reopen(t, build(0, ps))
	if err := l.Verify(lens); err != nil {
		t.Error(err)
	}
	if err := l.Verify(lens[:len(lens)-1]); !errors.Is(err, corrupt.Err) {
		t.Errorf("a document behind the segment's last: %v", err)
	}
	best := l.BlockImpacts.Of(3)[0]
	for i, p := range ps[3*BlockSize : 4*BlockSize] {
		if p.length == best.Len && p.tf == best.TF {
			lens[ps[3*BlockSize+i].doc]++
		}
	}
	var fault *corrupt.Error
	if err := l.Verify(lens); !errors.As(err, &fault) || fault.Block != 3 {
		t.Errorf("a changed length: %v", err)
	}

	for i := range ps {
		ps[i].length = 1
	}
	if err := reopen(t, build(0, ps)).Verify(nil); err != nil {
		t.Errorf("without lengths: %v", err)
	}
}
