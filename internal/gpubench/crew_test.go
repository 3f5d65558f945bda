package main

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestCrew: all queries are asked, by as many clients at a time as may be.
func TestCrew(t *testing.T) {
	for _, most := range []int{0, 4, 6} {
		synctest.Test(t, func(t *testing.T) {
			contexts := []context.Context{context.Background(), context.Background()}
			c := newCrew(contexts, most)
			var asking, asked atomic.Int64
			for i := range 20 {
				c.ask(i, func(context.Context) {
					if n := int(asking.Add(1)); most > 0 && n > most {
						t.Errorf("%d clients ask, %d may", n, most)
					}
					time.Sleep(time.Second)
					asking.Add(-1)
					asked.Add(1)
				})
				if most > 0 && i < most {
					synctest.Wait()
					if n := int(asking.Load()); n != i+1 {
						t.Errorf("%d clients ask, want %d", n, i+1)
					}
				}
			}
			before := time.Now()
			c.end()
			want := time.Second
			if most > 0 {
				want *= time.Duration((20 + most - 1) / most)
			}
			if took := time.Since(before); took != want {
				t.Errorf("with %d clients: %v, want %v", most, took, want)
			}
			if n := asked.Load(); n != 20 {
				t.Errorf("%d queries have been asked, want 20", n)
			}
		})
	}
}
