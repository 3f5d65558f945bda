package columns

import (
	"bytes"
	"cmp"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/riffle-search/riffle/internal/geo"
)

// special are the numbers at which representations change.
func special() []Value {
	inf := math.Inf(1)
	floats := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 1e300, -1e300, math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64,
		-math.SmallestNonzeroFloat64, 1 << 53, -1 << 53, 1<<53 + 2, 1 << 63, -1 << 63, 1 << 64, 1<<63 - 1024, 1<<63 + 2048, 1<<64 - 2048, -1<<63 - 2048, inf, -inf, math.NaN()}
	ints := []int64{0, 1, -1, 1 << 53, 1<<53 + 1, -1<<53 - 1, math.MaxInt64, math.MaxInt64 - 1, math.MinInt64, math.MinInt64 + 1, 1<<62 + 1, -1<<62 - 1}
	uints := []uint64{0, 1, 1<<53 + 1, math.MaxInt64, 1 << 63, 1<<63 + 1, math.MaxUint64, math.MaxUint64 - 1, 1<<64 - 2048, 1<<64 - 2049}
	var all []Value
	for _, f := range floats {
		all = append(all, OfFloat(f))
	}
	for _, i := range ints {
		all = append(all, OfInt(i))
	}
	for _, u := range uints {
		all = append(all, OfUint(u))
	}
	return all
}

func others() []Value {
	at := time.Date(2026, 11, 25, 18, 0, 0, 123456789, time.UTC)
	return []Value{OfBool(false), OfBool(true), OfTime(at), OfTime(at.Add(1)), OfTime(time.Time{}), OfTime(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)),
		OfTime(time.Unix(0, math.MaxInt64)), OfTime(time.Unix(0, math.MinInt64)), OfTime(time.Unix(0, math.MaxInt64).Add(1)),
		OfTime(time.Unix(0, math.MinInt64).Add(-1)), OfTime(time.Unix(0, -1)),
		OfPlace(geo.Point{}), OfPlace(geo.Point{Lat: -90, Lon: -180}), OfPlace(geo.Point{Lat: 90, Lon: 180}), OfPlace(geo.Point{Lat: 52.52, Lon: 13.405}),
		OfString(""), OfString("\x00"), OfString("\x00n"), OfString("\x00\xff"), OfString("\x01"), OfString("a"), OfString("ab"), OfString("\xff\xff")}
}

// compareExact is the slow twin of Compare: booleans, numbers by arbitrary precision, places,
// instants, strings.
func compareExact(a, b Value) int {
	x, y := a.Any(), b.Any()
	rank := func(v any) int {
		switch v.(type) {
		case bool:
			return 0
		case int64, uint64, float64:
			return 1
		case geo.Point:
			return 2
		case time.Time:
			return 3
		}
		return 4
	}
	if rank(x) != rank(y) {
		return cmp.Compare(rank(x), rank(y))
	}
	switch x := x.(type) {
	case bool:
		return cmp.Compare(BoolKey(x), BoolKey(y.(bool)))
	case geo.Point:
		return cmp.Compare(geo.Key(x), geo.Key(y.(geo.Point)))
	case time.Time:
		return x.Compare(y.(time.Time))
	case string:
		return cmp.Compare(x, y.(string))
	}
	return compareNumbers(x, y)
}

func compareNumbers(x, y any) int {
	size := func(v any) (nan bool, infinite int, exact *big.Float) {
		exact = new(big.Float).SetPrec(2000)
		switch v := v.(type) {
		case int64:
			exact.SetInt64(v)
		case uint64:
			exact.SetUint64(v)
		case float64:
			switch {
			case v != v:
				return true, 0, exact
			case math.IsInf(v, 0):
				return false, int(math.Copysign(1, v)), exact
			}
			exact.SetFloat64(v)
		}
		return false, 0, exact
	}
	nx, ix, ex := size(x)
	ny, iy, ey := size(y)
	if nx || ny {
		return cmp.Compare(b2i(nx), b2i(ny))
	}
	if ix != 0 || iy != 0 {
		return cmp.Compare(ix, iy)
	}
	return ex.Cmp(ey)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestCompare compares all pairs of special values, and random ones near them, with arbitrary
// precision; and terms bytewise.
func TestCompare(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	all := append(special(), others()...)
	for range 300 {
		v := special()[rng.IntN(len(special()))]
		v.Key += uint64(rng.IntN(5000)) - 2500
		if v.Kind == Float {
			v = OfFloat(KeyFloat(v.Key))
		}
		all = append(all, v)
	}
	for _, a := range all {
		term := a.AppendTerm(nil)
		back, err := ParseTerm(term)
		if err != nil || Compare(a, back) != 0 || !bytes.Equal(back.AppendTerm(nil), term) {
			t.Fatalf("%v: term %q gives %v, %v", a.Any(), term, back.Any(), err)
		}
		asTerm := Value{Kind: Terms, Term: string(term)}
		for _, b := range all {
			want := compareExact(a, b)
			if got := Compare(a, b); got != want {
				t.Fatalf("Compare(%v %v, %v %v) = %d, want %d", a.Kind, a.Any(), b.Kind, b.Any(), got, want)
			}
			if got := bytes.Compare(term, b.AppendTerm(nil)); got != want {
				t.Fatalf("terms of %v and %v: %d, want %d", a.Any(), b.Any(), got, want)
			}
			if got := Compare(asTerm, b); got != want {
				t.Fatalf("Compare(term of %v, %v) = %d, want %d", a.Any(), b.Any(), got, want)
			}
		}
	}
}

// TestAny returns what was put in.
func TestAny(t *testing.T) {
	at := time.Date(1, 2, 3, 4, 5, 6, 7, time.UTC)
	for _, c := range []struct {
		v    Value
		want any
	}{
		{OfInt(-5), int64(-5)}, {OfUint(math.MaxUint64), uint64(math.MaxUint64)}, {OfFloat(0.5), 0.5}, {OfBool(true), true},
		{OfTime(at), at}, {OfTime(time.Unix(5, 6)), time.Unix(5, 6).UTC()}, {OfString(""), ""}, {OfString("\x00b"), "\x00b"}, {OfString("x"), "x"},
		{OfPlace(geo.Point{Lat: 52.52, Lon: 13.405}), geo.Point{Lat: 52.52, Lon: 13.405}},
		{Value{Kind: Terms, Term: string(OfPlace(geo.Point{Lat: 1, Lon: -2}).AppendTerm(nil))}, geo.Point{Lat: 1, Lon: -2}},
		{Value{Kind: Terms, Term: string(OfInt(7).AppendTerm(nil))}, int64(7)},
		{Value{Kind: Terms, Term: string(OfFloat(1 << 63).AppendTerm(nil))}, uint64(1 << 63)},
		{Value{Kind: Terms, Term: string(OfFloat(7.5).AppendTerm(nil))}, 7.5},
	} {
		if got := c.v.Any(); got != c.want {
			t.Errorf("%#v: %v, want %v", c.v, got, c.want)
		}
	}
	if f := KeyFloat(FloatKey(math.Copysign(0, -1))); f != 0 || math.Signbit(f) {
		t.Errorf("-0 comes back as %v", f)
	}
}

// TestParseTerm refuses what AppendTerm does not write.
func TestParseTerm(t *testing.T) {
	for _, bad := range []string{"", "\x00", "\x00x", "\x00b", "\x00b\x02", "\x00b\x00\x00", "\x00n1234567", "\x00n\x00\x00\x00\x00\x00\x00\x00\x00",
		string(OfFloat(0.5).AppendTerm(nil)) + "\x00\x01", string(OfInt(5).AppendTerm(nil)) + "\x00\x00", string(OfInt(5).AppendTerm(nil)) + "\x00\x01",
		"\x00t12345678\xff\xff\xff\xff", "\x00t1", "\x00p1234567", "\x00p123456789", "\x00\xffa"} {
		if v, err := ParseTerm([]byte(bad)); err == nil {
			t.Errorf("%q gives %v", bad, v.Any())
		}
	}
}

// TestMix compares kinds with what each kind can hold.
func TestMix(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	pool := append(special(), others()...)
	kinds := map[Kind]int{}
	for range 20000 {
		from := pool
		if rng.IntN(2) == 0 {
			from = special()
		}
		values := make([]Value, rng.IntN(5))
		var m Mix
		for i := range values {
			values[i] = from[rng.IntN(len(from))]
			if rng.IntN(4) == 0 {
				values[i] = Value{Kind: Terms, Term: string(values[i].AppendTerm(nil))}
			}
			m.Add(values[i])
		}
		want := Terms
		for _, kind := range []Kind{Int, Uint, Float, Time, Bool, Place} {
			if len(values) > 0 && !slices.ContainsFunc(values, func(v Value) bool { _, ok := v.In(kind); return !ok }) {
				want = kind
				break
			}
		}
		if got := m.Kind(); got != want {
			var all []any
			for _, v := range values {
				all = append(all, v.Any())
			}
			t.Fatalf("%v: kind %s, want %s", all, got, want)
		}
		kinds[want]++
		for _, v := range values {
			if want == Terms {
				continue
			}
			key, _ := v.In(want)
			if w := (Value{Kind: want, Key: key}); Compare(v, w) != 0 {
				t.Fatalf("%v became %v", v.Any(), w.Any())
			}
		}
	}
	for kind := Int; kind <= Place; kind++ {
		if kinds[kind] == 0 {
			t.Errorf("no set of values had kind %s", kind)
		}
	}
}

// TestKeys compares intervals of values with every value of columns of each kind.
func TestKeys(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	all := append(special(), others()...)
	for kind := Int; kind <= Place; kind++ {
		var values []Value
		for _, v := range all {
			if _, ok := v.In(kind); ok || kind == Terms {
				values = append(values, v)
			}
		}
		var terms []string
		if kind == Terms {
			for _, v := range values {
				terms = append(terms, string(v.AppendTerm(nil)))
			}
			slices.Sort(terms)
			terms = slices.Compact(terms)
		}
		m := model{kind: kind}
		for _, v := range values {
			key, _ := v.In(kind)
			if kind == Terms {
				at, _ := slices.BinarySearch(terms, string(v.AppendTerm(nil)))
				key = uint64(at)
			}
			m.docs = append(m.docs, []uint64{key})
		}
		c := open(t, build(t, m, terms...))
		m.check(t, c, rng)
		checkKeys(t, c, m, values, all)
	}
}

func checkKeys(t *testing.T, c *Column, m model, values, bounds []Value) {
	for i, keys := range m.docs {
		if v, err := c.Value(keys[0]); err != nil || Compare(v, values[i]) != 0 {
			t.Fatalf("%s: value %v, %v, want %v", m.kind, v.Any(), err, values[i].Any())
		}
	}
	for _, lower := range bounds {
		for j := range 4 * len(bounds) {
			from, to := Bound{Value: lower}, Bound{Value: bounds[j/4]}
			from.Exclusive, to.Exclusive = j&1 == 1, j&2 == 2
			if j%11 == 0 {
				to.Open = true
			}
			if j%13 == 0 {
				from.Open = true
			}
			lo, hi, ok, err := c.Keys(from, to)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range values {
				key := m.docs[i][0]
				if got, want := ok && lo <= key && key <= hi, inside(v, from, to); got != want {
					t.Fatalf("%s: %v in %+v %+v: %v, want %v", m.kind, v.Any(), from, to, got, want)
				}
			}
		}
	}
}

// inside is the slow twin of Keys.
func inside(v Value, from, to Bound) bool {
	if from.Open && to.Open {
		return true
	}
	if !from.Open {
		if c := compareExact(v, from.Value); c < 0 || c == 0 && from.Exclusive {
			return false
		}
	} else if v.class() != to.Value.class() {
		return false
	}
	if !to.Open {
		if c := compareExact(v, to.Value); c > 0 || c == 0 && to.Exclusive {
			return false
		}
	} else if v.class() != from.Value.class() {
		return false
	}
	return true
}
