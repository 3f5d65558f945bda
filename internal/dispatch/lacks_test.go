package dispatch

import (
	"context"
	"math"
	"sync/atomic"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/exectest"
)

// A countingDevice has some lists, and counts how often it is asked for one.
type countingDevice struct {
	heldDevice
	has   map[uint64]int64
	asked atomic.Int64
}

func (c *countingDevice) Resident(key uint64) int64 {
	c.asked.Add(1)
	return c.has[key]
}

// TestLacks: whether devices have lists is asked when a query comes. When batches are formed, they are
// asked again only for lists that one of them lacked, once for each in a batch.
func TestLacks(t *testing.T) {
	var plan *Plan
	for round := 0; plan == nil; round++ {
		exectest.Plans(6, round, func(_ *exectest.Index, p *Plan) bool {
			if p.Tree == nil && len(p.Segments) == 1 && FeaturesOf(p).Terms >= 2 && FeaturesOf(p).Blocks > 4 {
				plan = p
			}
			return plan == nil
		})
	}
	terms := &plan.Segments[0].Terms
	lists := int64(0)
	for i := range *terms {
		if term := &(*terms)[i]; term.Bounds != nil {
			term.Key = uint64(i + 1)
			lists++
		}
	}
	for _, test := range []struct {
		name string
		has  func(key uint64) int64
		more int64 // times asked when the batch is formed
	}{
		{"all are flat", func(uint64) int64 { return math.MaxInt64 }, 0},
		{"none is there", func(uint64) int64 { return 0 }, lists},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &countingDevice{heldDevice: heldDevice{hold: make(chan struct{}), began: make(chan struct{})}, has: map[uint64]int64{}}
			for i := range *terms {
				c.has[uint64(i+1)] = test.has(uint64(i + 1))
			}
			d := New([]Device{c}, Options{Policy: Devices, Depth: 1})
			defer d.Close()
			first, err := d.Submit(Query{Plan: new(Plan)})
			if err != nil {
				t.Fatal(err)
			}
			<-c.began // so that the next two wait for a batch
			var tickets []Ticket
			for range 2 {
				ticket, err := d.Submit(Query{Plan: plan, CPU: noCPU{}})
				if err != nil {
					t.Fatal(err)
				}
				tickets = append(tickets, ticket)
			}
			if got := c.asked.Load(); got != 2*lists {
				t.Errorf("two queries for %d lists asked %d times", lists, got)
			}
			c.hold <- struct{}{}
			<-c.began
			if got := c.asked.Load() - 2*lists; got != test.more {
				t.Errorf("their batch asked %d times, want %d", got, test.more)
			}
			c.hold <- struct{}{}
			for _, ticket := range append(tickets, first) {
				if _, err := ticket.Wait(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// noCPU answers nothing.
type noCPU struct{}

func (noCPU) TopK(context.Context, *Plan) (top blockmax.TopK, err error) { return top, nil }
func (noCPU) Finish(context.Context, *Plan, *blockmax.Partial) (top blockmax.TopK, err error) {
	return top, nil
}
