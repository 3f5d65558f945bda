package riffle

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"
)

// sampleValues has every kind, with the values at its ends.
func sampleValues() []value {
	return []value{
		stringValue("s", ""), stringValue("", "no name"), stringValue("s", "a\x00\xff"),
		intValue("i", 0), intValue("i", -1), intValue("i", math.MaxInt64), intValue("i", math.MinInt64),
		floatValue("f", 0.5), floatValue("f", -math.MaxFloat64), floatValue("f", math.SmallestNonzeroFloat64), floatValue("f", 0x1p63),
		boolValue("b", true), boolValue("b", false),
		timeValue("t", time.Time{}), timeValue("t", time.Unix(0, 999_999_999)), timeValue("t", time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)),
	}
}

func TestValuesRoundTrip(t *testing.T) {
	vals := sampleValues()
	data := appendValues(nil, vals)
	got, err := parseValues(data)
	if err != nil || !reflect.DeepEqual(got, vals) {
		t.Errorf("%v, %v\nwant %v", got, err, vals)
	}
	// Every beginning of the record is either whole values or a fault with a place.
	whole := 0
	for n := range data {
		got, err := parseValues(data[:n])
		switch {
		case err == nil:
			whole++
			if !reflect.DeepEqual(got, slices.Clip(vals[:len(got)])) && len(got) > 0 {
				t.Errorf("%d bytes: %v", n, got)
			}
		case !errors.Is(err, ErrCorrupt):
			t.Errorf("%d bytes: %v is not ErrCorrupt", n, err)
		}
	}
	if whole != len(vals) { // with none, one, ... all but the last
		t.Errorf("%d beginnings are whole values, want %d", whole, len(vals))
	}
}

// TestTermsSortAsValues: range queries will walk terms, so terms of one kind are
// in the order of their values.
func TestTermsSortAsValues(t *testing.T) {
	year := func(y int) value { return timeValue("", time.Date(y, 2, 3, 4, 5, 6, 7, time.UTC)) }
	for _, ascending := range [][]value{
		{intValue("", math.MinInt64), intValue("", -256), intValue("", -1), intValue("", 0), intValue("", 1), intValue("", 255), intValue("", 256), intValue("", math.MaxInt64)},
		{floatValue("", -0x1p70), floatValue("", -1.5), floatValue("", -1e-300), floatValue("", 1e-300), floatValue("", 1.5), floatValue("", 0x1p70)},
		{boolValue("", false), boolValue("", true)},
		{year(-44), year(1), year(1969), year(1970), timeValue("", time.Unix(1<<40, 5)), timeValue("", time.Unix(1<<40, 6))},
		{stringValue("", ""), stringValue("", "a"), stringValue("", "a\x00"), stringValue("", "b")},
	} {
		var last []byte
		for i, v := range ascending {
			term := appendTerm(nil, v)
			if i > 0 && bytes.Compare(last, term) >= 0 {
				t.Errorf("%v: term %x does not come after %x", v.any(), term, last)
			}
			last = term
		}
	}
}

// TestValuesComeOut: what callers see of a value.
func TestValuesComeOut(t *testing.T) {
	zone := time.FixedZone("x", -3600)
	at := time.Date(2024, 5, 6, 7, 8, 9, 10, zone)
	for _, c := range []struct {
		v    value
		want any
	}{
		{stringValue("", "x"), "x"},
		{intValue("", -5), int64(-5)},
		{floatValue("", -5), int64(-5)},
		{floatValue("", 5.5), 5.5},
		{boolValue("", true), true},
		{timeValue("", at), at.UTC()},
	} {
		if got := c.v.any(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%#v, want %#v", got, c.want)
		}
	}
}

func TestLogRecordsRoundTrip(t *testing.T) {
	ops := []operation{
		{id: "a", values: sampleValues()},
		{id: "b", del: true},
		{id: "\x00é", values: nil},
		{id: "big", values: []value{stringValue("t", string(make([]byte, maxRecordBytes)))}},
		{id: "c", values: []value{intValue("n", 1)}},
	}
	records := encodeRecords(ops)
	if len(records) != 2 { // cut behind the big one
		t.Errorf("%d records, want 2", len(records))
	}
	var got []operation
	for _, rec := range records {
		part, err := decodeRecord(rec)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, part...)
	}
	if !reflect.DeepEqual(got, ops) {
		t.Errorf("got %.200v\nwant %.200v", got, ops)
	}
	if records := encodeRecords(nil); len(records) != 0 {
		t.Errorf("nothing makes %d records", len(records))
	}
	if _, err := decodeRecord([]byte("X")); !errors.Is(err, ErrCorrupt) {
		t.Errorf("an unknown operation: %v", err)
	}
}

// FuzzDecodeRecord reads log records from any bytes, as they are behind the
// store's checksum. What it takes for a record it must write again unchanged in
// meaning.
func FuzzDecodeRecord(f *testing.F) {
	for _, rec := range encodeRecords([]operation{{id: "a", values: sampleValues()}, {id: "b", del: true}}) {
		f.Add(rec)
	}
	f.Add([]byte{})
	f.Add([]byte("P\x01a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Add([]byte("\x01D\x01a"))
	f.Add([]byte("\x02what comes next"))
	f.Add([]byte("P\x01a\x02\x00\x01D\x01b"))
	f.Add([]byte("P\x01a\x03\x00\x02z"))
	f.Fuzz(func(t *testing.T, data []byte) {
		ops, err := decodeRecord(data)
		if err != nil {
			if errors.Is(err, ErrCorrupt) == errors.Is(err, ErrFormat) {
				t.Fatalf("neither corruption nor another format, or both: %v", err)
			}
			return
		}
		var again []operation
		for _, rec := range encodeRecords(ops) {
			part, err := decodeRecord(rec)
			if err != nil {
				t.Fatalf("written again: %v", err)
			}
			again = append(again, part...)
		}
		if !reflect.DeepEqual(again, ops) {
			t.Fatalf("written again: %v\nwant %v", again, ops)
		}
	})
}
