package scatter_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/scatter"
	"github.com/riffle-search/riffle/cluster/scatter/scattertest"
)

// A local is a shard of this process.
type local struct{ *riffle.Engine }

func (l local) Session(context.Context, uint64) (scatter.Session, error) { return l.Snapshot() }

func locals(t *testing.T, engines []*riffle.Engine) *scatter.Index {
	t.Helper()
	var shards []scatter.Shard
	for _, e := range engines {
		shards = append(shards, local{e})
	}
	x, err := scatter.New(shards...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func open(t *testing.T, shards, documents int) *scatter.Index {
	t.Helper()
	x, _ := scattertest.Open(t, locals, rand.New(rand.NewPCG(1, 1)), shards, documents)
	return x
}

func TestExact(t *testing.T) { scattertest.Run(t, 300, locals) }

// TestPassages compares queries of gutenberg-dev, with pages to the end.
func TestPassages(t *testing.T) { scattertest.RunPassages(t, 800, 48, locals) }

// TestPatterns: patterns with more terms than an index admits.
func TestPatterns(t *testing.T) { scattertest.RunPatterns(t, 60, locals) }

func TestAggregationsExact(t *testing.T) { scattertest.RunAggregations(t, 60, locals) }

func TestBadCursors(t *testing.T) {
	x := open(t, 2, 50)
	y := open(t, 3, 50)
	r, err := y.Search(t.Context(), riffle.All{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	other, err := r.Hits[3].Cursor()
	if err != nil {
		t.Fatal(err)
	}
	z := open(t, 2, 50)
	z.SetEpoch(1)
	if r, err = z.Search(t.Context(), riffle.All{}, nil); err != nil {
		t.Fatal(err)
	}
	gone, err := r.Hits[3].Cursor()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Search(t.Context(), riffle.All{}, &scatter.Options{After: gone}); err != nil {
		t.Error(err)
	}
	for _, after := range []string{"x", "e30", other, gone} {
		if r, err := x.Search(t.Context(), riffle.All{}, &scatter.Options{After: after}); err == nil {
			t.Errorf("cursor %q: %+v", after, r)
		}
	}
}

// A failing shard fails.
type failing struct{ err error }

func (f failing) Session(context.Context, uint64) (scatter.Session, error) { return nil, f.err }

func TestFailingShard(t *testing.T) {
	boom := errors.New("boom")
	e, err := riffle.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	x, err := scatter.New(local{e}, failing{boom}, local{e})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Search(t.Context(), riffle.All{}, nil); !errors.Is(err, boom) || !strings.Contains(err.Error(), "shard 1") {
		t.Error(err)
	}
}
