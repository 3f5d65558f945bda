package dispatch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
)

// A decided executor asks for decisions and profiles, and compares them with the answer.
type decided struct {
	executor
	t    *testing.T
	whys map[string]int
}

func (e decided) TopK(ctx context.Context, p *Plan) (blockmax.TopK, error) {
	p.Profile = blockmax.NewProfile(p)
	defer func() { p.Profile = nil }()
	var x Decision
	a, err := e.d.TopK(ctx, Query{Plan: p, CPU: cpuexec.Executor{}, Decision: &x})
	if err != nil {
		return a.TopK, err
	}
	e.whys[x.Why]++
	if got := p.Profile.Decoding() + x.DeviceBlocks; got != a.Work.BlocksDecoded {
		e.t.Errorf("the profile and the device have %d decoded blocks, the work %d: %+v", got, a.Work.BlocksDecoded, x)
	}
	if x.Waited < 0 || (x.OnGPU > 0) != (a.By == OnGPU || a.By == OnBoth || x.DeviceBlocks > 0) && a.By != OnCPU || a.By == OnCPU && x.OnCPU == 0 {
		e.t.Errorf("answered by %v after the decision %+v", a.By, x)
	}
	return a.TopK, nil
}

// TestDecision: every answer comes with a reason. With the profile, the decision has all blocks that were
// decoded, whatever the devices leave open.
func TestDecision(t *testing.T) {
	for policy := range policies {
		for _, open := range []float64{0, 0.5, 1} {
			f := newFake()
			f.open = open
			d := start(t, Options{Policy: policy, Delay: 1, Threshold: 4, MaxCount: 3, Cores: 2}, f)
			e := decided{executor{d}, t, map[string]int{}}
			if err := exectest.Check(e, 90+uint64(policy), exectest.Rounds/100); err != nil {
				t.Fatal(err)
			}
			for why := range e.whys {
				if named := strings.Contains(why, "policy "+policy.String()); why == "" || named == (policy == Auto) {
					t.Errorf("policy %v decides because %q", policy, why)
				}
			}
		}
	}
}

// TestDecisionForced: what leaves no choice is the reason.
func TestDecisionForced(t *testing.T) {
	plan := somePlan(t, 0)
	why := func(d *Dispatcher, on Side) string {
		t.Helper()
		var x Decision
		if _, err := d.TopK(t.Context(), Query{Plan: plan, CPU: cpuexec.Executor{}, On: on, Decision: &x}); err != nil {
			t.Fatal(err)
		}
		return x.Why
	}
	f := newFake()
	d := start(t, Options{Delay: time.Microsecond}, f)
	for _, c := range []struct {
		d    *Dispatcher
		on   Side
		want string
	}{
		{d, OnCPU, "the search must run on the CPU"},
		{d, OnGPU, "the search must run on a GPU"},
		{start(t, Options{}), Any, "there is no GPU"},
	} {
		if got := why(c.d, c.on); got != c.want {
			t.Errorf("on %v: %q, want %q", c.on, got, c.want)
		}
	}
	f.fail = func(int) error { return errBroken }
	for range 2 {
		if got := why(start(t, Options{Policy: Devices, Delay: time.Microsecond}, f), Any); got != "the GPU failed to answer its batch" {
			t.Errorf("after a failure: %q", got)
		}
	}
}

// A pickyDevice refuses trees, and says so beforehand.
type pickyDevice struct{ *fakeDevice }

func (pickyDevice) Refuses(p *Plan) error {
	if p.Tree != nil {
		return errors.New("a tree")
	}
	return nil
}

// TestRefused: queries that devices cannot answer are counted, whether a device knows it at once or only in
// its batch; those that the CPU gets for another reason are not.
func TestRefused(t *testing.T) {
	flat, tree := somePlan(t, 0), somePlan(t, 0)
	tree.Tree = &blockmax.Node{Should: []blockmax.Node{{Leaf: true}}}
	for _, c := range []struct {
		policy Policy
		picky  bool
		plan   *Plan
		on     Side
		want   int64
	}{
		{Devices, true, tree, Any, 1}, {Devices, true, tree, OnGPU, 1}, {Devices, true, tree, OnCPU, 0}, {Devices, true, flat, Any, 0},
		{Devices, false, tree, Any, 1}, {Devices, false, tree, OnGPU, 1}, {Devices, false, flat, OnGPU, 0},
		{Auto, true, tree, Any, 1},
		{Processors, true, tree, Any, 0}, {Processors, true, tree, OnGPU, 1}, {Processors, true, flat, Any, 0},
	} {
		var dev Device = newFake()
		if c.picky {
			dev = pickyDevice{newFake()}
		}
		d := New([]Device{dev}, Options{Policy: c.policy, Delay: 1})
		a, err := d.TopK(t.Context(), Query{Plan: c.plan, CPU: cpuexec.Executor{}, On: c.on})
		s := d.Stats()
		d.Close()
		if err != nil || s.Refused != c.want || c.want > 0 && (a.By != OnCPU || s.OnCPU != 1) {
			t.Errorf("policy %v, picky %v, on %v, tree %v: by %v, %v, %+v; want %d refused", c.policy, c.picky, c.on, c.plan.Tree != nil, a.By, err, s, c.want)
		}
	}
}
