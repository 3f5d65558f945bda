// Package datemath reads instants that are relative to another one, in the form that Elasticsearch
// made known:
//
//	now             the moment of the search
//	now-1h          an hour before
//	now-1d/d        the beginning of yesterday; as the last instant of a range, the end of yesterday
//	2026-11-24||+1M/d   a date, and then steps
//
// A step is + or -, a number (1 if it is left out) and a unit, or / and a unit, which rounds. Steps
// apply from left to right. Units are
//
//	y  years      M  months     w  weeks, which begin on Monday     d  days
//	h  hours, also H            m  minutes                          s  seconds
//
// Years to days are those of a calendar in a time zone: +1d is the same time of the next day, however
// many hours that has, and +1M of January 31 is the last day of February. A time that a zone leaves
// out, as clocks go forward, moves forward by as much. Of a time that a zone has twice, the one with
// the offset of the time before the step is meant, else the first.
package datemath

import (
	"fmt"
	"strings"
	"time"
)

// separator stands between a date and its steps.
const separator = "||"

// Is reports whether a text begins as one that Parse reads, and as no date alone does.
func Is(text string) bool {
	rest, now := strings.CutPrefix(text, "now")
	return now && (rest == "" || strings.IndexByte("+-/|", rest[0]) >= 0) || strings.Contains(text, separator)
}

// mostShown is how many bytes of a text an error shows.
const mostShown = 64

func shown(text string) string {
	if len(text) > mostShown {
		return text[:mostShown/2] + "…"
	}
	return text
}

// Parse returns the instant of a text, in the time zone of zone. With up, each rounding goes to the
// last nanosecond of the unit instead of the first. The number of a step has at most 9 digits.
func Parse(text string, now time.Time, zone *time.Location, up bool) (time.Time, error) {
	t := now.In(zone)
	steps, isNow := strings.CutPrefix(text, "now")
	if !isNow {
		date, rest, _ := strings.Cut(text, separator)
		var err error
		if t, err = ParseDate(date, zone); err != nil {
			return t, err
		}
		t, steps = t.In(zone), rest
	}
	for steps != "" {
		at := len(text) - len(steps)
		fail := func(reason string) (time.Time, error) {
			return t, fmt.Errorf("%q is no date: byte %d: %s", shown(text), at, reason)
		}
		op := steps[0]
		steps = steps[1:]
		if op != '+' && op != '-' && op != '/' {
			return fail("+, - or / must begin a step, as in now-1d/d")
		}
		digits := 0
		n := int64(0)
		for digits < len(steps) && steps[digits] >= '0' && steps[digits] <= '9' {
			n = 10*n + int64(steps[digits]-'0')
			if digits++; digits > 9 {
				return fail("a number has at most 9 digits")
			}
		}
		if digits == 0 {
			n = 1
		} else if op == '/' && n != 1 {
			return fail("only a single unit can be rounded to, as in now/d")
		}
		if digits == len(steps) {
			return fail("a unit is missing: y, M, w, d, h, m or s")
		}
		unit := steps[digits]
		steps = steps[digits+1:]
		if strings.IndexByte("yMwdhHms", unit) < 0 {
			return fail(fmt.Sprintf("%q is none of the units y, M, w, d, h, m and s", unit))
		}
		if op == '-' {
			n = -n
		}
		switch {
		case op != '/':
			t = add(t, n, unit)
		case up:
			t = next(t, unit).Add(-1)
		default:
			t = floor(t, unit)
		}
		if y := t.Year(); y < -1e6 || y > 1e6 {
			return fail("it is more than a million years away")
		}
	}
	return t, nil
}

// dateLayouts are those of a date, with and without a zone of its own.
var dateLayouts = [...]string{
	"2006-01-02T15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999", "2006-01-02",
	"2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02T15Z07:00", "2006-01-02T15",
	"2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", "2006-01-02 15:04", "2006-01", "2006",
}

// ParseDate reads a date and a time of RFC 3339, or a first part of one from the year on. Without an
// offset it is in the time zone of zone.
func ParseDate(text string, zone *time.Location) (time.Time, error) {
	for _, layout := range dateLayouts {
		t, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		if !strings.HasSuffix(layout, "Z07:00") {
			t = local(t.Unix(), t.Nanosecond(), zone, 0, false)
		}
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%q is no date such as 2024-01-05 or 2024-01-05T10:00:00Z, nor relative to now, such as now-1d/d", shown(text))
}

// Zone returns a time zone: one by its name, such as Europe/Berlin, or an offset such as +02:00. No
// name is UTC.
func Zone(name string) (*time.Location, error) {
	if name == "" || name == "Z" || name == "UTC" {
		return time.UTC, nil
	}
	if c := name[0]; c == '+' || c == '-' {
		for _, layout := range [...]string{"-07:00", "-0700", "-07"} {
			if t, err := time.Parse(layout, name); err == nil {
				_, offset := t.Zone()
				return time.FixedZone(name, offset), nil
			}
		}
		return nil, fmt.Errorf("%q is no offset such as +02:00", shown(name))
	}
	if name == "Local" {
		return nil, fmt.Errorf("%q depends on the machine; name the time zone, such as Europe/Berlin", name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%q is no time zone that this machine knows, such as Europe/Berlin, nor an offset such as +02:00: %w", shown(name), err)
	}
	return zone, nil
}

// seconds of the units whose length is fixed.
func seconds(unit byte) int64 {
	switch unit {
	case 'h', 'H':
		return 3600
	case 'm':
		return 60
	}
	return 1
}

// add moves a time by n units.
func add(t time.Time, n int64, unit byte) time.Time {
	y, month, d := t.Date()
	switch unit {
	case 'y':
		return onDay(t, y+int(n), month, d)
	case 'M':
		months := int64(y)*12 + int64(month) - 1 + n
		y = int((months - (months%12+12)%12) / 12)
		return onDay(t, y, time.Month((months%12+12)%12)+1, d)
	case 'w':
		return atDays(t, 7*n)
	case 'd':
		return atDays(t, n)
	}
	return time.Unix(t.Unix()+n*seconds(unit), int64(t.Nanosecond())).In(t.Location())
}

// wall returns the date and time of day that clocks show, as if they showed UTC.
func wall(t time.Time) int64 {
	_, offset := t.Zone()
	return t.Unix() + int64(offset)
}

// atDays returns the same time of day, some days later.
func atDays(t time.Time, days int64) time.Time {
	_, offset := t.Zone()
	return local(wall(t)+days*86400, t.Nanosecond(), t.Location(), offset, true)
}

// onDay returns the same time of another day, or of the last one of the month.
func onDay(t time.Time, y int, month time.Month, d int) time.Time {
	last := time.Date(y, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
	day := time.Date(y, month, min(d, last), 0, 0, 0, 0, time.UTC).Unix()
	of := wall(t)
	_, offset := t.Zone()
	return local(day+(of%86400+86400)%86400, t.Nanosecond(), t.Location(), offset, true)
}

// floor returns the beginning of a unit.
func floor(t time.Time, unit byte) time.Time {
	y, month, d := t.Date()
	_, offset := t.Zone()
	switch unit {
	case 'y':
		month, d = 1, 1
	case 'M':
		d = 1
	case 'w':
		d -= (int(t.Weekday()) + 6) % 7
	case 'd':
	default:
		size := seconds(unit)
		over := wall(t) % size
		return time.Unix(t.Unix()-(over+size)%size, 0).In(t.Location())
	}
	return local(time.Date(y, month, d, 0, 0, 0, 0, time.UTC).Unix(), 0, t.Location(), offset, true)
}

// next returns the beginning of the next unit.
func next(t time.Time, unit byte) time.Time {
	t = add(floor(t, unit), 1, unit)
	if strings.IndexByte("yMwd", unit) >= 0 {
		t = floor(t, unit) // where a day begins later than at midnight, the next one need not
	}
	return t
}

// local returns the time at which the clocks of a zone show a date and a time of day, given as if
// they showed UTC. With prefer, it takes that with the offset if there are two.
func local(wall int64, nanos int, zone *time.Location, offset int, prefer bool) time.Time {
	const reach = 26 * 3600 // no offset is that large
	_, before := time.Unix(wall-reach, 0).In(zone).Zone()
	_, after := time.Unix(wall+reach, 0).In(zone).Zone()
	at := func(offset int) (t time.Time, shows bool) {
		t = time.Unix(wall-int64(offset), int64(nanos)).In(zone)
		_, is := t.Zone()
		return t, is == offset
	}
	if prefer {
		if t, shows := at(offset); shows {
			return t
		}
	}
	first, shows := at(before)
	if shows {
		return first
	}
	if t, shows := at(after); shows {
		return t
	}
	return first // clocks skip it
}
