package datemath

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

const form = "2006-01-02T15:04:05.999999999Z07:00"

// TestParse: the examples of Elasticsearch's documentation, calendars, and the changes of clocks.
func TestParse(t *testing.T) {
	berlin, err := Zone("Europe/Berlin")
	if err != nil {
		t.Skip("this machine has no time zones:", err)
	}
	zone := func(name string) *time.Location {
		z, err := Zone(name)
		if err != nil {
			t.Fatal(err)
		}
		return z
	}
	for _, c := range []struct {
		now, text string
		zone      *time.Location
		up        bool
		want      string
	}{
		// https://www.elastic.co/guide/en/elasticsearch/reference/current/common-options.html#date-math
		{"2001-01-01T12:00:00Z", "now+1h", time.UTC, false, "2001-01-01T13:00:00Z"},
		{"2001-01-01T12:00:00Z", "now-1h", time.UTC, false, "2001-01-01T11:00:00Z"},
		{"2001-01-01T12:00:00Z", "now-1h/d", time.UTC, false, "2001-01-01T00:00:00Z"},
		{"2001-01-01T12:00:00Z", "2001-02-01||+1M/d", time.UTC, false, "2001-03-01T00:00:00Z"},
		// Rounding in a range: gt and lte go up, gte and lt down.
		{"2020-01-01T00:00:00Z", "2014-11-18||/M", time.UTC, true, "2014-11-30T23:59:59.999999999Z"},
		{"2020-01-01T00:00:00Z", "2014-11-18||/M", time.UTC, false, "2014-11-01T00:00:00Z"},

		{"2026-11-25T10:30:45.5Z", "now", time.UTC, true, "2026-11-25T10:30:45.5Z"},
		{"2026-11-25T10:30:45.5Z", "now/s", time.UTC, false, "2026-11-25T10:30:45Z"},
		{"2026-11-25T10:30:45.5Z", "now/m", time.UTC, true, "2026-11-25T10:30:59.999999999Z"},
		{"2026-11-25T10:30:45.5Z", "now/h", time.UTC, false, "2026-11-25T10:00:00Z"},
		{"2026-11-25T10:30:45.5Z", "now/H", time.UTC, true, "2026-11-25T10:59:59.999999999Z"},
		{"2026-11-25T10:30:45.5Z", "now/d", time.UTC, true, "2026-11-25T23:59:59.999999999Z"},
		{"2026-11-25T10:30:45.5Z", "now/w", time.UTC, false, "2026-11-23T00:00:00Z"},
		{"2026-11-22T10:30:45.5Z", "now/w", time.UTC, false, "2026-11-16T00:00:00Z"}, // a Sunday
		{"2026-11-25T10:30:45.5Z", "now/w", time.UTC, true, "2026-11-29T23:59:59.999999999Z"},
		{"2026-11-25T10:30:45.5Z", "now/M", time.UTC, false, "2026-11-01T00:00:00Z"},
		{"2026-11-25T10:30:45.5Z", "now/y", time.UTC, true, "2026-12-31T23:59:59.999999999Z"},
		{"2026-11-25T10:30:45.5Z", "now-y", time.UTC, false, "2025-11-25T10:30:45.5Z"},
		{"2026-11-25T10:30:45.5Z", "now-1w+2d-3h+4m-5s", time.UTC, false, "2026-11-20T07:34:40.5Z"},
		{"2026-01-30T10:00:00Z", "now/d+1M", time.UTC, true, "2026-02-28T23:59:59.999999999Z"},
		{"2026-11-25T10:30:45.5Z", "now-23M", time.UTC, false, "2024-12-25T10:30:45.5Z"},
		{"2026-11-25T10:30:45.5Z", "now+14M", time.UTC, false, "2028-01-25T10:30:45.5Z"},
		{"2026-11-25T10:30:45.5Z", "2024-02-29||+1y", time.UTC, false, "2025-02-28T00:00:00Z"},
		{"2026-11-25T10:30:45.5Z", "2024-01-31||+1M", time.UTC, false, "2024-02-29T00:00:00Z"},
		{"2026-11-25T10:30:45.5Z", "2024||", time.UTC, true, "2024-01-01T00:00:00Z"},
		{"2026-11-25T10:30:45.5Z", "2024-03||/y", time.UTC, false, "2024-01-01T00:00:00Z"},
		{"2026-11-25T10:30:45.5Z", "2024-03-01T10:20||", time.UTC, false, "2024-03-01T10:20:00Z"},
		{"2026-11-25T10:30:45.5Z", "2024-03-01T10:20:30.5+01:00||/d", time.UTC, false, "2024-03-01T00:00:00Z"},
		{"1969-12-31T23:59:58.5Z", "now/s", time.UTC, false, "1969-12-31T23:59:58Z"},
		{"1969-12-31T23:59:58.5Z", "now/h", time.UTC, false, "1969-12-31T23:00:00Z"},

		// Zones: the day begins there, and a date without an offset is there.
		{"2026-11-25T23:30:00Z", "now/d", berlin, false, "2026-11-26T00:00:00+01:00"},
		{"2026-11-25T23:30:00Z", "2026-07-01||/M", berlin, false, "2026-07-01T00:00:00+02:00"},
		{"2026-11-25T23:30:00Z", "now/d", zone("-05:30"), false, "2026-11-25T00:00:00-05:30"},
		{"2026-11-25T23:40:00Z", "now/h", zone("+0530"), false, "2026-11-26T05:00:00+05:30"},
		// Clocks go forward at 2:00 on March 29, 2026, and back at 3:00 on October 25.
		{"2026-03-28T12:00:00Z", "now+1d", berlin, false, "2026-03-29T13:00:00+02:00"},
		{"2026-03-28T12:00:00Z", "now+24h", berlin, false, "2026-03-29T14:00:00+02:00"},
		{"2026-03-29T12:00:00Z", "now/d", berlin, false, "2026-03-29T00:00:00+01:00"},
		{"2026-03-29T12:00:00Z", "now/d", berlin, true, "2026-03-29T23:59:59.999999999+02:00"},
		{"2026-03-28T01:30:00Z", "now+1d", berlin, false, "2026-03-29T03:30:00+02:00"}, // 2:30 is left out
		{"2026-10-25T00:30:00Z", "now/h", berlin, false, "2026-10-25T02:00:00+02:00"},
		{"2026-10-25T01:30:00Z", "now/h", berlin, false, "2026-10-25T02:00:00+01:00"},
		{"2026-10-25T01:30:00Z", "now/m", berlin, true, "2026-10-25T02:30:59.999999999+01:00"},
		{"2026-10-24T00:30:00Z", "now+1d", berlin, false, "2026-10-25T02:30:00+02:00"}, // the first of two
		{"2026-10-25T01:30:00Z", "now-1d", berlin, false, "2026-10-24T02:30:00+02:00"},
		{"2026-10-25T12:00:00Z", "now/d", berlin, true, "2026-10-25T23:59:59.999999999+01:00"},
		{"2018-11-04T12:00:00Z", "now/d", zone("America/Sao_Paulo"), false, "2018-11-04T01:00:00-02:00"}, // no midnight
		{"2026-10-25T12:00:00Z", "2026-10-25T02:30||", berlin, false, "2026-10-25T02:30:00+02:00"},
	} {
		now, err := time.Parse(time.RFC3339Nano, c.now)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse(c.text, now, c.zone, c.up)
		if err != nil || got.Format(form) != c.want {
			t.Errorf("%s at %s, up %v: %s, %v, want %s", c.text, c.now, c.up, got.Format(form), err, c.want)
		}
		if !Is(c.text) {
			t.Errorf("%s is not taken for one", c.text)
		}
	}
	for _, text := range []string{"", "nowhere", "2024-01-05", "a|b", "now1d", "Now-1d"} {
		if Is(text) {
			t.Errorf("%q is taken for a relative date", text)
		}
	}
}

// TestErrors name the place.
func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"now-":              `"now-" is no date: byte 3: a unit is missing`,
		"now-1":             "byte 3: a unit is missing",
		"now-1x":            `byte 3: 'x' is none of the units`,
		"now/2d":            "byte 3: only a single unit",
		"now+1d d":          "byte 6: +, - or / must begin a step",
		"now+1234567890s":   "byte 3: a number has at most 9 digits",
		"now+999999999y":    "byte 3: it is more than a million years away",
		"tomorrow||+1d":     `"tomorrow" is no date such as`,
		"||+1d":             `"" is no date such as`,
		"2024-13-01||":      `"2024-13-01" is no date`,
		"now||+1d":          "byte 3: +, - or / must begin a step",
		"2024-01-01||||+1d": "byte 12: +, - or /",
	} {
		_, err := Parse(text, time.Unix(0, 0), time.UTC, false)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for _, name := range []string{"Local", "+25", "+1:00", "Atlantis/Poseidonis", "../etc/passwd", "+99:00"} {
		if z, err := Zone(name); err == nil {
			t.Errorf("the zone %q is %v", name, z)
		}
	}
}

// TestUnits: for random instants and zones, a unit begins at or before the instant and ends at or after
// it, the next begins a nanosecond after the end, and rounding twice changes nothing.
func TestUnits(t *testing.T) {
	zones := []*time.Location{time.UTC, time.FixedZone("", 20700)}
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "America/Sao_Paulo", "Pacific/Apia"} {
		if z, err := Zone(name); err == nil {
			zones = append(zones, z)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		now := time.Unix(rng.Int64N(4e9)-1e9, rng.Int64N(1e9))
		zone := zones[rng.IntN(len(zones))]
		text := "now/" + string("yMwdhms"[rng.IntN(7)])
		first, err1 := Parse(text, now, zone, false)
		last, err2 := Parse(text, now, zone, true)
		if err1 != nil || err2 != nil || first.After(now) || last.Before(now) {
			t.Fatalf("%s in %v of %v: %v to %v; %v, %v", text, zone, now, first, last, err1, err2)
		}
		next, _ := Parse(text, last.Add(1), zone, false)
		again, _ := Parse(text, first, zone, false)
		if !again.Equal(first) || !next.Equal(last.Add(1)) {
			t.Fatalf("%s in %v of %v: %v to %v, the next is %v; again %v", text, zone, now, first, last, next, again)
		}
	}
}

// FuzzParse: no text makes it panic, and one that is read gives an instant within a million years.
func FuzzParse(f *testing.F) {
	f.Add("now-1d/d", int64(0))
	f.Add("2026-11-24||+1M/d", int64(1e9))
	f.Fuzz(func(t *testing.T, text string, now int64) {
		now %= 1e12
		for _, up := range []bool{false, true} {
			got, err := Parse(text, time.Unix(now, 0), time.UTC, up)
			if err == nil && text != "now" && (got.Year() < -1e6 || got.Year() > 1e6) {
				t.Errorf("%q: %v", text, got)
			}
		}
	})
}
