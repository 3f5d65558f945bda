package aggregate

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/riffle-search/riffle/columns"
)

// TestCalendar checks, around all changes of clocks, that each time lies between the beginnings of its
// step and of the next one, and that the beginning of a step is in it. Clocks of these zones have been
// changed at midnight, a minute after midnight, by half an hour, by seconds, and by a day.
func TestCalendar(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, name := range []string{
		"America/St_Johns", "America/Havana", "Africa/Cairo", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu", "America/Sao_Paulo",
		"Asia/Beirut", "Europe/Dublin", "Africa/Monrovia", "Asia/Pyongyang", "America/Juneau", "Asia/Manila",
	} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for hour := range 96 { // where periods of rules end too soon
			checkStep(t, Calendar{Unit: Day, Zone: zone}, time.Date(2040, 12, 29, hour, 0, 0, 0, time.UTC))
		}
		at := time.Date(1840, 1, 1, 0, 0, 0, 0, zone)
		changes := 0
		for {
			_, end := at.ZoneBounds()
			if end.IsZero() || !end.After(at) {
				break
			}
			changes++
			for range 4 {
				instant := end.Add(time.Duration(rng.Int64N(int64(60*time.Hour))) - 30*time.Hour)
				if rng.IntN(2) == 0 {
					instant = end.Add(time.Duration(rng.Int64N(int64(3*time.Hour))) - 90*time.Minute)
				}
				for unit := Second; unit <= Year; unit++ {
					c := Calendar{Unit: unit, Zone: zone, Offset: []time.Duration{0, 0, 6 * time.Hour, -45 * time.Minute}[rng.IntN(4)]}
					checkStep(t, c, instant)
				}
			}
			at = end
		}
		if changes < 2 {
			t.Errorf("%s has %d changes", name, changes)
		}
	}
	for range 1000 {
		c := Calendar{Every: time.Duration(1 + rng.Int64N(int64(1000*time.Hour))), Offset: time.Duration(rng.Int64N(int64(time.Hour)) - int64(time.Minute)), Zone: time.UTC}
		checkStep(t, c, time.Unix(rng.Int64N(1<<32)-1<<31, rng.Int64N(1e9)))
	}
}

func checkStep(t *testing.T, c Calendar, instant time.Time) {
	t.Helper()
	step, err := c.StepOf(columns.OfTime(instant))
	if err != nil {
		t.Fatal(err)
	}
	next := c.next(step)
	from, to := c.start(step), c.start(next)
	if instant.Before(from) || !instant.Before(to) {
		t.Errorf("%+v: %v in step %d is not from %v to %v, which begins step %d", c, instant.In(c.Zone), step, from.In(c.Zone), to.In(c.Zone), next)
	}
	for _, begin := range []struct {
		at   time.Time
		want int64
	}{{from, step}, {to, next}} {
		if got, err := c.StepOf(columns.OfTime(begin.at)); err != nil || got != begin.want {
			t.Errorf("%+v: %v, the beginning of step %d, is in step %d, %v", c, begin.at.In(c.Zone), begin.want, got, err)
		}
	}
}
