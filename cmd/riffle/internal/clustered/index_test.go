package clustered

import (
	"errors"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/cluster"
	"github.com/riffle-search/riffle/server"
)

func TestTokens(t *testing.T) {
	a := cluster.Token{Epoch: 7, Sequences: []uint64{3, 0, 9}}
	b := cluster.Token{Epoch: 7, Sequences: []uint64{1, 5, 0}}
	other := cluster.Token{Epoch: 8, Sequences: []uint64{1, 1, 1}}
	all, err := tokenOf(a.String() + "," + b.String() + ",")
	if err != nil || all.Epoch != 7 || !slices.Equal(all.Sequences, []uint64{3, 5, 9}) {
		t.Errorf("both stand for %v: %v", all, err)
	}
	if all, err := tokenOf(""); err != nil || !all.IsZero() {
		t.Errorf("no token: %v, %v", all, err)
	}
	for _, text := range []string{a.String() + "," + other.String(), "x", a.String() + ",x"} {
		if all, err := tokenOf(text); !errors.Is(asServer(err), server.ErrRequest) {
			t.Errorf("%s: %v, %v", text, all, err)
		}
	}
}
