package aggregate

import (
	"fmt"
	"math"
	"math/big"
	"time"

	"github.com/riffle-search/riffle/columns"
)

// A Unit is a unit of a calendar.
type Unit uint8

const (
	Fixed Unit = iota // Calendar.Every
	Second
	Minute
	Hour
	Day
	Week // from Monday on
	Month
	Quarter
	Year
)

// Calendar is buckets of times. With Every, bucket i begins at 1970-01-01 UTC + Offset + i*Every. With
// a unit, buckets begin where the clock or the calendar of the zone, moved by Offset, begins one. A
// day begins with the first instant that has its date or a later one. Where a clock is changed in the
// midst of a second, minute or hour, another one begins.
type Calendar struct {
	Unit   Unit
	Every  time.Duration // with Fixed
	Offset time.Duration
	Zone   *time.Location
	Fill
}

func (Calendar) class() class { return times }

// timeOf returns the time of a value of class times.
func timeOf(v columns.Value) time.Time { return v.Any().(time.Time) }

// StepOf implements scale.
func (c Calendar) StepOf(v columns.Value) (int64, error) {
	if c.Unit != Fixed {
		return c.unitOf(timeOf(v)), nil
	}
	if v.Kind == columns.Time {
		ns := columns.KeyInt(v.Key)
		if moved := ns - int64(c.Offset); (moved < ns) == (c.Offset > 0) {
			return floorDiv(moved, int64(c.Every)), nil
		}
	}
	t := timeOf(v)
	ns := new(big.Int).Mul(big.NewInt(t.Unix()), big.NewInt(1e9))
	ns.Add(ns, big.NewInt(int64(t.Nanosecond())))
	ns.Sub(ns, big.NewInt(int64(c.Offset)))
	ns.Div(ns, big.NewInt(int64(c.Every))) // floors, as Every is positive
	if !ns.IsInt64() {
		return 0, fmt.Errorf("the time %v is too many intervals of %v away from 1970", t, c.Every)
	}
	return ns.Int64(), nil
}

// unitOf returns the step of a time: for seconds, minutes and hours that of the Unix time of its
// beginning, else the number of the day, week and so on since 1970.
func (c Calendar) unitOf(t time.Time) int64 {
	t = t.Add(-c.Offset).In(c.zone())
	if c.Unit < Day {
		return c.clock(t)
	}
	step := c.date(t)
	if !c.begin(step + 1).After(t) {
		step++
	}
	return step
}

func (c Calendar) zone() *time.Location {
	if c.Zone == nil {
		return time.UTC
	}
	return c.Zone
}

var clockSeconds = [...]int64{Second: 1, Minute: 60, Hour: 3600}

// clock returns the Unix time at which the second, minute or hour of a time began.
func (c Calendar) clock(t time.Time) int64 {
	_, offset := t.Zone()
	unix, unit := t.Unix(), clockSeconds[c.Unit]
	begin := unix - (unix + int64(offset) - floorDiv(unix+int64(offset), unit)*unit)
	if changed, _ := t.ZoneBounds(); !changed.IsZero() && begin < changed.Unix() {
		if _, before := changed.Add(-time.Nanosecond).Zone(); before != offset {
			return changed.Unix()
		}
	}
	return begin
}

// date returns the number of the day, week, month, quarter or year that a time's date has.
func (c Calendar) date(t time.Time) int64 {
	year, month, day := t.Date()
	switch c.Unit {
	case Day, Week:
		days := floorDiv(time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix(), 86400)
		if c.Unit == Day {
			return days
		}
		return floorDiv(days+3, 7) // 1970 began on a Thursday
	case Month:
		return int64(year-1970)*12 + int64(month) - 1
	case Quarter:
		return int64(year-1970)*4 + (int64(month)-1)/3
	}
	return int64(year) - 1970
}

// begin returns the first instant whose date is that of a step's first day, or later.
func (c Calendar) begin(step int64) time.Time {
	var first time.Time // by the clock of the zone
	switch n := int(step); c.Unit {
	case Day:
		first = time.Unix(step*86400, 0).UTC()
	case Week:
		first = time.Unix((step*7-3)*86400, 0).UTC()
	case Month:
		first = time.Date(1970, time.Month(n+1), 1, 0, 0, 0, 0, time.UTC)
	case Quarter:
		first = time.Date(1970, time.Month(3*n+1), 1, 0, 0, 0, 0, time.UTC)
	default:
		first = time.Date(1970+n, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	zone := c.zone()
	if zone == time.UTC {
		return first
	}
	// Zones are less than 16 hours away from UTC.
	for t := first.Add(-16 * time.Hour).In(zone); ; {
		_, offset := t.Zone()
		begin := first.Add(-time.Duration(offset) * time.Second)
		if begin.Before(t) {
			begin = t // the clock was put forward over the beginning
		}
		_, end := t.ZoneBounds()
		// On the last days of a leap year, package time may say that a period of its rules has ended.
		if end.IsZero() || !end.After(t) || begin.Before(end) {
			return begin
		}
		t = end
	}
}

// next implements scale.
func (c Calendar) next(step int64) int64 {
	switch {
	case c.Unit == Day && c.zone() != time.UTC && !c.begin(step+2).After(c.begin(step+1)):
		return step + 2 // a zone has left out a day, to cross the date line
	case c.Unit == Fixed || c.Unit >= Day:
		return step + 1
	}
	// The clock may change before the unit ends.
	t := time.Unix(step, 0).In(c.zone())
	after := step + clockSeconds[c.Unit]
	if _, end := t.ZoneBounds(); !end.IsZero() && end.Unix() < after {
		if n := c.clock(end); n > step {
			return n
		}
	}
	return c.clock(time.Unix(after, 0).In(c.zone()))
}

// start returns the first instant of a step.
func (c Calendar) start(step int64) time.Time {
	switch {
	case c.Unit == Fixed && math.Abs(float64(step)*float64(c.Every))+math.Abs(float64(c.Offset)) < 1<<62:
		return time.Unix(0, step*int64(c.Every)+int64(c.Offset))
	case c.Unit == Fixed:
		ns := new(big.Int).Mul(big.NewInt(step), big.NewInt(int64(c.Every)))
		ns.Add(ns, big.NewInt(int64(c.Offset)))
		sec, rest := new(big.Int).DivMod(ns, big.NewInt(1e9), new(big.Int))
		return time.Unix(sec.Int64(), rest.Int64())
	case c.Unit < Day:
		return time.Unix(step, 0).Add(c.Offset)
	}
	return c.begin(step).Add(c.Offset)
}

// first implements scale.
func (c Calendar) first(_ columns.Kind, step int64) uint64 {
	key, ok := columns.TimeKey(c.start(step))
	if !ok && step > 0 {
		return math.MaxUint64
	}
	return key
}

// key implements scale.
func (c Calendar) key(step int64) any { return c.start(step).In(c.zone()) }
