package document

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/format"
)

// sampleValues has every kind, with its extreme values.
func sampleValues() []Value {
	return []Value{
		Text("s", ""), Text("", "no name"), Text("s", "a\x00\xff"),
		Int("i", 0), Int("i", -1), Int("i", math.MaxInt64), Int("i", math.MinInt64), Uint("i", math.MaxUint64), Uint("i", 1<<63), Uint("i", 1<<63-1),
		Float("f", 0.5), Float("f", -math.MaxFloat64), Float("f", math.SmallestNonzeroFloat64), Float("f", 0x1p63), Float("f", 0x1p64), Float("f", -0x1p70),
		Bool("b", true), Bool("b", false),
		Time("t", time.Time{}), Time("t", time.Unix(0, 999_999_999)), Time("t", time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)),
	}
}

// TestRulesRoundTrip: rules are stored, except those that only a schema can carry out.
func TestRulesRoundTrip(t *testing.T) {
	vals := sampleValues()
	for i := range vals {
		vals[i].rules = rules(i) & 7
	}
	data := AppendValues(nil, vals)
	if got, err := ParseValues(data); err != nil || !reflect.DeepEqual(got, vals) {
		t.Errorf("%v, %v\nwant %v", got, err, vals)
	}
	if !bytes.Equal(data[:2], []byte{0, 3}) {
		t.Errorf("begins with %v", data[:2])
	}
	if got, want := AppendValues(nil, []Value{Uint("u", 1<<63+2)}), "\x00\x03\x01uu\x02\x00\x00\x00\x00\x00\x00\x80"; string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
	v := Text("s", "x")
	v.rules = ruleAnalyzer
	if got := AppendValues(nil, []Value{v}); !bytes.Equal(got, []byte("\x01ss\x01x")) {
		t.Errorf("%q", got)
	}
	v.rules = ruleKeyword | ruleNoStore
	if got := AppendValues(nil, []Value{v}); !bytes.Equal(got, []byte("\x00\x02\x01s\xf3\x06\x01x")) {
		t.Errorf("%q", got)
	}
	for _, bad := range []string{"\x01s\xf3\x06\x01x", "\x00\x02\x01s\xf3\x00\x01x", "\x00\x02\x01s\xf3\x08\x01x", // unknown rules
		"\x00\x02\x01uu\x02\x00\x00\x00\x00\x00\x00\x80", "\x01uu\x02\x00\x00\x00\x00\x00\x00\x80", // of an older version
		"\x00\x03\x01uu\x02\x00\x00\x00\x00\x00\x00\x00"} { // an int64
		if _, err := ParseValues([]byte(bad)); !errors.Is(err, corrupt.Err) {
			t.Errorf("%q: %v, want corruption", bad, err)
		}
	}
}

func TestValuesRoundTrip(t *testing.T) {
	vals := sampleValues()
	data := AppendValues(nil, vals)
	got, err := ParseValues(data)
	if err != nil || !reflect.DeepEqual(got, vals) {
		t.Errorf("%v, %v\nwant %v", got, err, vals)
	}
	// Every prefix of the record is either whole values or a fault with a position.
	whole := 0
	for n := range data {
		got, err := ParseValues(data[:n])
		switch {
		case err == nil:
			whole++
			if !reflect.DeepEqual(got, slices.Clip(vals[:len(got)])) && len(got) > 0 {
				t.Errorf("%d bytes: %v", n, got)
			}
		case !errors.Is(err, corrupt.Err):
			t.Errorf("%d bytes: %v is not corrupt.Err", n, err)
		}
	}
	if whole != len(vals)+1 { // empty, and with a version none, one, ... all but the last
		t.Errorf("%d beginnings are whole values, want %d", whole, len(vals))
	}
}

// TestTermsSortAsValues: terms of one kind are in the order of their values, as range queries will
// need.
func TestTermsSortAsValues(t *testing.T) {
	year := func(y int) Value { return Time("", time.Date(y, 2, 3, 4, 5, 6, 7, time.UTC)) }
	for _, ascending := range [][]Value{
		{Int("", math.MinInt64), Int("", -256), Int("", -1), Int("", 0), Int("", 1), Int("", 255), Int("", 256), Int("", math.MaxInt64)},
		{Float("", -0x1p70), Float("", -1.5), Float("", -1e-300), Float("", 1e-300), Float("", 1.5), Float("", 0x1p70)},
		{Uint("", 1<<63+1), Uint("", 1<<63+255), Uint("", 1<<64-2), Uint("", math.MaxUint64)},
		{Bool("", false), Bool("", true)},
		{year(-44), year(1), year(1969), year(1970), Time("", time.Unix(1<<40, 5)), Time("", time.Unix(1<<40, 6))},
		{Text("", ""), Text("", "a"), Text("", "a\x00"), Text("", "b")},
	} {
		var last []byte
		for i, v := range ascending {
			term := AppendTerm(nil, v)
			if i > 0 && bytes.Compare(last, term) >= 0 {
				t.Errorf("%v: term %x does not come after %x", v.any(), term, last)
			}
			last = term
		}
	}
}

// TestOneTermOfANumber: a number has one term, whatever its type, and that which older releases gave it.
func TestOneTermOfANumber(t *testing.T) {
	old := Value{Kind: kindFloat, num: math.Float64bits(0x1p63 + 0x1p12)}
	want := "\x00f\xc3\xe0\x00\x00\x00\x00\x00\x02"
	for _, v := range []Value{old, Float("", 0x1p63+0x1p12), Uint("", 1<<63+1<<12)} {
		if got := string(AppendTerm(nil, v)); got != want {
			t.Errorf("%#v: term %q, want %q", v.any(), got, want)
		}
	}
	for _, u := range []uint64{1<<63 + 1, 1<<63 + 1<<12 + 1, math.MaxUint64} {
		if got := AppendTerm(nil, Uint("", u)); got[1] != 'u' {
			t.Errorf("%d: term %q", u, got)
		}
	}
}

// TestValuesComeOut checks the public form of values.
func TestValuesComeOut(t *testing.T) {
	zone := time.FixedZone("x", -3600)
	at := time.Date(2024, 5, 6, 7, 8, 9, 10, zone)
	for _, c := range []struct {
		v    Value
		want any
	}{
		{Text("", "x"), "x"},
		{Int("", -5), int64(-5)},
		{Float("", -5), int64(-5)},
		{Uint("", 5), int64(5)},
		{Uint("", math.MaxUint64), uint64(math.MaxUint64)},
		{Float("", 0x1p63), uint64(1 << 63)},
		{Float("", 0x1p64), 0x1p64},
		{Float("", 5.5), 5.5},
		{Bool("", true), true},
		{Time("", at), at.UTC()},
	} {
		if got := c.v.any(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%#v, want %#v", got, c.want)
		}
	}
}

func TestLogRecordsRoundTrip(t *testing.T) {
	ops := []Operation{
		{ID: "a", Values: sampleValues()},
		{ID: "b", Delete: true},
		{ID: "\x00é", Values: nil},
		{ID: "big", Values: []Value{Text("t", string(make([]byte, maxRecordBytes)))}},
		{ID: "c", Values: []Value{Int("n", 1)}},
	}
	for _, position := range []string{"", "at\x00\xff", strings.Repeat("p", MaxPositionBytes)} {
		records, _, _ := EncodeRecords(nil, ops, position)
		if len(records) != 2 { // cut after the big one
			t.Errorf("%d records, want 2", len(records))
		}
		var got []Operation
		for i, rec := range records {
			part, at, err := DecodeRecord(rec)
			if err != nil {
				t.Fatal(err)
			}
			if last := i == len(records)-1; last && at != position || !last && at != "" {
				t.Errorf("record %d has the position %q, that of the batch is %q", i, at, position)
			}
			got = append(got, part...)
		}
		if !reflect.DeepEqual(got, ops) {
			t.Errorf("got %.200v\nwant %.200v", got, ops)
		}
	}
	if records, _, _ := EncodeRecords(nil, nil, ""); len(records) != 0 {
		t.Errorf("nothing makes %d records", len(records))
	}
	if _, _, err := DecodeRecord([]byte("X")); !errors.Is(err, corrupt.Err) {
		t.Errorf("an unknown operation: %v", err)
	}
}

// TestPositionRecord prints the bytes of records with a position, and of one without, which older
// builds read.
func TestPositionRecord(t *testing.T) {
	for _, c := range []struct {
		ops      []Operation
		position string
		want     string
	}{
		{[]Operation{{ID: "a", Delete: true}}, "", "D\x01a"},
		{[]Operation{{ID: "a", Delete: true}}, "p7", "\x02D\x01a@\x02p7"},
		{nil, "p7", "\x02@\x02p7"},
	} {
		records, _, _ := EncodeRecords([]byte("of the batch before"), c.ops, c.position)
		if len(records) != 1 || string(records[0]) != c.want {
			t.Errorf("%v at %q: %q, want %q", c.ops, c.position, records, c.want)
		}
	}
	for _, data := range []string{
		"@\x02p7",                               // in a record of version 1
		"\x02@\x00",                             // empty
		"\x02@\x03p7",                           // cut
		"\x02@\x02p7D\x01a", "\x02@\x01p@\x01q", // not at the end
		"\x02@\x81\x08" + strings.Repeat("p", MaxPositionBytes+1),
	} {
		if _, _, err := DecodeRecord([]byte(data)); !errors.Is(err, corrupt.Err) {
			t.Errorf("%.20q: %v, want ErrCorrupt", data, err)
		}
	}
}

// FuzzDecodeRecord decodes arbitrary bytes as log records, without the store's checksum. A valid
// record must be encoded again with the same meaning.
func FuzzDecodeRecord(f *testing.F) {
	for _, position := range []string{"", "p7"} {
		records, _, _ := EncodeRecords(nil, []Operation{{ID: "a", Values: sampleValues()}, {ID: "b", Delete: true}}, position)
		for _, rec := range records {
			f.Add(rec)
		}
	}
	f.Add([]byte{})
	f.Add([]byte("P\x01a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Add([]byte("\x01D\x01a"))
	f.Add([]byte("\x02@\x02p7"))
	f.Add([]byte("\x03what comes next"))
	f.Add([]byte("P\x01a\x02\x00\x01D\x01b"))
	f.Add([]byte("P\x01a\x03\x00\x02z"))
	f.Fuzz(func(t *testing.T, data []byte) {
		ops, position, err := DecodeRecord(data)
		if err != nil {
			if errors.Is(err, corrupt.Err) == errors.Is(err, format.Err) {
				t.Fatalf("neither corruption nor another format, or both: %v", err)
			}
			return
		}
		var again []Operation
		at := ""
		records, _, _ := EncodeRecords(nil, ops, position)
		for _, rec := range records {
			var part []Operation
			if part, at, err = DecodeRecord(rec); err != nil {
				t.Fatalf("written again: %v", err)
			}
			again = append(again, part...)
		}
		if !reflect.DeepEqual(again, ops) || at != position {
			t.Fatalf("written again: %v at %q\nwant %v at %q", again, at, ops, position)
		}
	})
}

// TestParseFields checks that ParseFields returns what Unflatten makes of the values that have one of
// the names, and finds the same damage.
func TestParseFields(t *testing.T) {
	vals := sampleValues()
	for i := range vals {
		vals[i].rules = rules(i) & 3
	}
	data := AppendValues(nil, vals)
	for _, names := range [][]string{nil, {"*"}, {"s"}, {"", "b", "none"}, {"t", "f", "t"}, {"i", "*"}} {
		var wanted []Value
		for _, v := range vals {
			if slices.Contains(names, "*") || slices.Contains(names, v.Name) {
				wanted = append(wanted, v)
			}
		}
		got, err := ParseFields(bytes.Clone(data), names)
		if want := Unflatten(wanted); err != nil || got == nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, %v\nwant %v", names, got, err, want)
		}
	}
	lent := bytes.Clone(data)
	got, _ := ParseFields(lent, []string{"*"})
	clear(lent)
	if !reflect.DeepEqual(got, Unflatten(vals)) {
		t.Error("fields share the memory of the document")
	}
	for n := range data {
		_, want := ParseValues(data[:n])
		for _, names := range [][]string{nil, {"*"}, {"s"}} {
			if _, err := ParseFields(data[:n], names); !reflect.DeepEqual(err, want) {
				t.Errorf("%d bytes, %q: %v, want %v", n, names, err, want)
			}
		}
	}
}
