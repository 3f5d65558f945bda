package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
)

// printed prints flattened values as name=value, with a kind before values that are not text.
func printed(vals []Value) string {
	var parts []string
	for _, v := range vals {
		switch v.Kind {
		case KindText:
			parts = append(parts, fmt.Sprintf("%s=%q", v.Name, v.Str))
		case kindTime:
			parts = append(parts, fmt.Sprintf("%s=t:%s", v.Name, v.any().(time.Time).Format(time.RFC3339Nano)))
		default:
			parts = append(parts, fmt.Sprintf("%s=%c:%v", v.Name, v.Kind, v.any()))
		}
	}
	return strings.Join(parts, " ")
}

type (
	testName   string
	testCount  uint8
	testInner  struct{ X, Y int }
	testBase   struct{ Base string }
	testTagged struct {
		Title   string `riffle:"title,analyzer=english"`
		Tag     string `riffle:",keyword"`
		Out     string `riffle:"-"`
		private string
		Inner   testInner `riffle:"in"`
		*testBase
	}
	testEmbedding struct {
		testInner
		TestEmbedded
		*TestPointer
		TestWord
		time.Time
	}
	TestEmbedded struct{ E int }
	TestPointer  struct{ P int }
	TestWord     string
	testID       [2]byte
	testLocked   struct {
		sync.Mutex
		netip.Addr
		Title string
	}
	testTree struct {
		Name        string
		Left, Right *testTree
	}
)

func (id *testID) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "id %d %d", id[0], id[1]), nil
}

func TestFlatten(t *testing.T) {
	at := time.Date(2024, 2, 29, 12, 0, 0, 5, time.FixedZone("x", 3600))
	text := "hi"
	for _, c := range []struct {
		doc  any
		want string
	}{
		{map[string]any{}, ""},
		{struct{}{}, ""},
		{map[string]any{"b": 1, "a": "x"}, `a="x" b=i:1`}, // by name
		{map[testName]testCount{"n": 200}, `n=i:200`},
		{map[string]any{"s": "", "bytes": []byte("\xff\x00"), "name": testName("n")}, `bytes="\xff\x00" name="n" s=""`},
		{map[string]any{"t": true, "f": false}, `f=b:false t=b:true`},
		{map[string]any{"a": int8(-1), "b": uint64(math.MaxInt64), "c": int64(math.MinInt64), "d": uint64(math.MaxUint64)}, `a=i:-1 b=i:9223372036854775807 c=i:-9223372036854775808 d=u:18446744073709551615`},
		{map[string]any{"a": 5.0, "b": 2.5, "c": float32(0.5), "d": math.Copysign(0, -1)}, `a=i:5 b=f:2.5 c=f:0.5 d=i:0`},
		{map[string]any{"a": float64(1 << 62), "b": -0x1p63, "c": 0x1p63, "d": 0x1p64}, `a=i:4611686018427387904 b=i:-9223372036854775808 c=u:9223372036854775808 d=f:1.8446744073709552e+19`},
		{map[string]any{"a": json.Number("12"), "b": json.Number("1e3"), "c": json.Number("0.1"), "d": json.Number("9223372036854775809"), "e": json.Number("18446744073709551616")}, `a=i:12 b=i:1000 c=f:0.1 d=u:9223372036854775809 e=f:1.8446744073709552e+19`},
		{map[string]any{"at": at, "ptr": &at}, `at=t:2024-02-29T11:00:00.000000005Z ptr=t:2024-02-29T11:00:00.000000005Z`},
		{map[string]any{"a": []string{"x", "y"}, "b": [2]int{1, 2}, "c": []any{"z", nil, 3, []bool{true}}, "d": []int{}}, `a="x" a="y" b=i:1 b=i:2 c="z" c=i:3 c=b:true`},
		{map[string]any{"n": nil, "p": (*int)(nil), "m": map[string]any(nil), "s": &text}, `s="hi"`},
		{map[string]any{"o": map[string]any{"i": map[string]int{"x": 1}}, "l": []map[string]int{{"x": 1}, {"x": 2}}}, `l.x=i:1 l.x=i:2 o.i.x=i:1`},
		{&testTagged{Title: "T", Tag: "k", Out: "o", private: "p", Inner: testInner{1, 2}}, `title="T" Tag="k" in.X=i:1 in.Y=i:2`},
		{&testTagged{Inner: testInner{1, 2}, testBase: &testBase{"b"}}, `title="" Tag="" in.X=i:1 in.Y=i:2 Base="b"`},
		{map[string]any{"ip": netip.MustParseAddr("1.2.3.4"), "ips": []net.IP{net.IPv4(1, 2, 3, 4)}, "id": testID{1, 2}}, `id="id 1 2" ip="1.2.3.4" ips="1.2.3.4"`},
		{testLocked{Title: "T", Addr: netip.MustParseAddr("::1")}, `Addr="::1" Title="T"`},
		{testEmbedding{TestEmbedded: TestEmbedded{1}, TestPointer: &TestPointer{2}, TestWord: "w", Time: at}, `X=i:0 Y=i:0 E=i:1 P=i:2 TestWord="w" Time=t:2024-02-29T11:00:00.000000005Z`},
		{testEmbedding{}, `X=i:0 Y=i:0 E=i:0 TestWord="" Time=t:0001-01-01T00:00:00Z`},
		{testTree{Name: "root", Left: &testTree{Name: "leaf"}}, `Name="root" Left.Name="leaf"`},
		{any(&struct{ A any }{A: &text}), `A="hi"`},
	} {
		vals, err := Flatten(c.doc)
		if got := printed(vals); err != nil || got != c.want {
			t.Errorf("%#v:\n got %s, %v\nwant %s", c.doc, got, err, c.want)
		}
	}
}

type testFails struct{}

func (testFails) MarshalText() ([]byte, error) { return nil, errors.New("no text today") }

func TestFlattenRefuses(t *testing.T) {
	cyclic := map[string]any{}
	cyclic["a"], cyclic["b"] = cyclic, []any{cyclic}
	ring := &testTree{}
	ring.Left, ring.Right = ring, ring
	var self any
	self = &self
	// Thirty levels of two references to the next are 2^30 values.
	wide := []any{"x"}
	for range 30 {
		wide = []any{wide, wide}
	}
	for _, c := range []struct {
		doc         any
		field, want string
	}{
		{nil, "", "the document is nil"},
		{(*testInner)(nil), "", "the document is nil"},
		{map[string]any{"a": map[string]any{"b": []any{1, func() {}}}}, "a.b", "a func() cannot be indexed"},
		{"text", "", "a document is a map or a struct, not string"},
		{time.Now(), "", "a document is a map or a struct, not time.Time"},
		{self, "", "nested deeper than 32"},
		{map[int]string{1: "x"}, "", "keys that are not strings"},
		{map[string]any{"m": map[int]int{}}, "m", "a map[int]int has keys that are not strings"},
		{map[string]any{"": 1}, "", "a field needs a name"},
		{map[string]any{"o": map[string]any{"": 1}}, "o", "a field needs a name"},
		{map[string]any{"x": math.NaN()}, "x", "NaN is not a number that can be indexed"},
		{map[string]any{"x": float32(math.Inf(-1))}, "x", "-Inf is not a number"},
		{map[string]any{"x": json.Number("ten")}, "x", `"ten" is not a number`},
		{map[string]any{"x": json.Number("1e999")}, "x", `"1e999" is not a number`},
		{map[string]any{"c": make(chan int)}, "c", "a chan int cannot be indexed"},
		{map[string]any{"c": 1i}, "c", "a complex128 cannot be indexed"},
		{map[string]any{"n": big.NewInt(5)}, "n", "a big.Int cannot be indexed: put it as an int64, a float64 or a string"},
		{map[string]any{"r": []any{*big.NewFloat(5)}}, "r", "a big.Float cannot be indexed"},
		{map[string]any{"e": errors.New("boom")}, "e", "a errors.errorString cannot be indexed: it has neither exported fields nor MarshalText"},
		{map[string]any{"r": strings.NewReader("x")}, "r", "a strings.Reader cannot be indexed"},
		{struct{ Mu sync.Mutex }{}, "Mu", "a sync.Mutex cannot be indexed"},
		{map[string]any{"set": map[string]struct{}{"x": {}}}, "set.x", "a struct {} cannot be indexed"},
		{netip.MustParseAddr("::1"), "", "a document is a map or a struct with exported fields, not netip.Addr"},
		{map[string]any{"ip": netip.AddrPort{}, "z": testFails{}}, "z", "no text today"},
		{struct {
			S string `riffle:"s,stored"`
		}{}, "s", `tag item "stored" is not understood`},
		{cyclic, strings.Repeat("a.", 32) + "a", "nested deeper than 32"},
		{ring, "", "nested deeper than 32"},
		{map[string]any{"w": wide}, "w", "more than 32768 values"},
		{map[string]any{"w": make([]int, MaxFields+1)}, "w", "more than 32768 values"},
	} {
		vals, err := Flatten(c.doc)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: %v, want %q; flattened to %d values", c.doc, err, c.want, len(vals))
			continue
		}
		var de *Error
		if errors.As(err, &de) != (c.field != "") && c.field != "" || de != nil && c.field != "" && de.Field != c.field {
			t.Errorf("%T: %v, want field %q", c.doc, err, c.field)
		}
	}
	if _, err := Flatten(map[string]any{"w": make([]int, MaxFields)}); err != nil {
		t.Errorf("as many values as are allowed: %v", err)
	}
}

// TestOne compares with the field of a document.
func TestOne(t *testing.T) {
	at := time.Date(2024, 2, 29, 12, 0, 0, 5, time.UTC)
	for _, value := range []any{
		"x", 1, int8(-1), int64(math.MinInt64), uint64(math.MaxUint64), 2.5, float32(0.5), 0x1p63, true, json.Number("12"), at, &at,
		[]byte("\xff"), []string{"x", "y"}, []int{}, nil, map[string]any{"i": 1}, map[string]int{"a": 1, "b": 2}, testName("n"), testID{1, 2},
		math.NaN(), math.Inf(1), make(chan int), testFails{},
	} {
		want, wantErr := Flatten(map[string]any{"f": value})
		got, n, err := One("f", value)
		if n != len(want) || fmt.Sprint(err) != fmt.Sprint(wantErr) || n > 0 && printed([]Value{got}) != printed(want[:1]) {
			t.Errorf("%#v:\n got %s of %d, %v\nwant %s, %v", value, printed([]Value{got}), n, err, printed(want), wantErr)
		}
	}
}
