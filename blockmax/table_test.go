package blockmax

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// similarities are parameters to check: the defaults, those of the TREC runs, and the ends of every
// range.
var similarities = []struct {
	m   BM25
	avg float64
}{
	{DefaultBM25, 10}, {DefaultBM25, 183.4567}, {BM25{K1: 0.9, B: 0.4}, 57.31}, {BM25{}, 5}, {BM25{K1: 1000, B: 1}, 0.01},
	{BM25{K1: 1.2, B: 0}, 3}, {BM25{K1: 2, B: 1}, 1 << 30}, {DefaultBM25, 0},
}

// TestImpactMonotone checks the promise on which bounds rest.
func TestImpactMonotone(t *testing.T) {
	tfs := []uint32{1, 2, 3, 14, 15, 16, 17, 18, 255, 256, 1 << 16, 1<<24 - 1, 1 << 24, 1<<24 + 1, 1<<31 - 1, 1<<32 - 1}
	for _, s := range similarities {
		table := NewTable(s.m, s.avg)
		for c := range 256 {
			code := uint8(c)
			for i, tf := range tfs {
				if i > 0 && table.Impact(tf, code) < table.Impact(tfs[i-1], code) {
					t.Errorf("%+v avg %v, code %d: impact falls from tf %d to tf %d", s.m, s.avg, c, tfs[i-1], tf)
				}
				if c > 0 && table.Impact(tf, code) > table.Impact(tf, code-1) {
					t.Errorf("%+v avg %v, tf %d: impact rises from code %d to %d", s.m, s.avg, tf, c-1, c)
				}
			}
			if got := table.Impact(0, code); got != 0 {
				t.Errorf("a frequency of 0 has impact %d", got)
			}
		}
	}
}

// TestImpactIsBM25 compares with tf/(tf+K) in 200-bit arithmetic. The float32 steps may differ by
// one unit of 65536 but no more.
func TestImpactIsBM25(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, s := range similarities {
		table := NewTable(s.m, s.avg)
		for range 2000 {
			tf, code := uint32(1+rng.ExpFloat64()*10), uint8(rng.UintN(256))
			num := new(big.Float).SetPrec(200).SetUint64(uint64(tf) << 16)
			den := new(big.Float).SetPrec(200).SetFloat64(float64(table.k[code]))
			den.Add(den, new(big.Float).SetUint64(uint64(tf)))
			exact, _ := num.Quo(num, den).Float64()
			if got := table.Impact(tf, code); math.Abs(float64(got)-min(exact, 65535)) > 0.51 {
				t.Errorf("%+v avg %v: Impact(%d, %d) = %d, exact is %v", s.m, s.avg, tf, code, got, exact)
			}
		}
	}
}

// TestImpactBits pins impacts to the bit, because vector units and GPUs must compute the same
// values.
func TestImpactBits(t *testing.T) {
	table := NewTable(DefaultBM25, 10)
	for _, c := range []struct {
		tf     uint32
		code   uint8
		impact uint16
	}{{1, 10, 29789}, {3, 10, 46811}, {1, 1, 47148}, {2, 255, 0}, {20, 57, 45291}, {1 << 20, 10, 65535}} {
		if got := table.Impact(c.tf, c.code); got != c.impact {
			t.Errorf("Impact(%d, %d) = %d, want %d", c.tf, c.code, got, c.impact)
		}
	}
}

func TestTableKey(t *testing.T) {
	a, b := NewTable(DefaultBM25, 123.41), NewTable(DefaultBM25, 123.44)
	if a.Key() != b.Key() {
		t.Errorf("averages equal in four digits have keys %+v and %+v", a.Key(), b.Key())
	}
	if c := NewTable(DefaultBM25, 123.46); c.Key() == a.Key() {
		t.Errorf("123.41 and 123.46 share the key %+v", c.Key())
	}
	if k := MakeTableKey(DefaultBM25, 123.44); k != b.Key() {
		t.Errorf("MakeTableKey = %+v, NewTable's key = %+v", k, b.Key())
	}
}

func BenchmarkNewTable(b *testing.B) {
	for b.Loop() {
		NewTable(DefaultBM25, 183)
	}
}

func BenchmarkImpact(b *testing.B) {
	table := NewTable(DefaultBM25, 183)
	for _, tf := range []uint32{2, 40} {
		b.Run(map[uint32]string{2: "tf=small", 40: "tf=large"}[tf], func(b *testing.B) {
			sum := 0
			for b.Loop() {
				for c := range 256 {
					sum += int(table.Impact(tf, uint8(c)))
				}
			}
			if sum == 0 {
				b.Fatal("all impacts are zero")
			}
			b.ReportMetric(256*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mimpacts/s")
		})
	}
}

// TestPrecision checks the promises of the package comment.
func TestPrecision(t *testing.T) {
	const avg = 10
	table := NewTable(DefaultBM25, avg)
	for code := range 256 {
		times := float64(CodeLength(uint8(code))) / avg
		k := DefaultBM25.K1 * (1 - DefaultBM25.B + DefaultBM25.B*times)
		for tf := uint32(1); tf < 40; tf++ {
			want := float64(tf) / (float64(tf) + k)
			off := math.Abs(float64(table.Impact(tf, uint8(code)))/65536 - want)
			if off > 1.0/65536 || times <= 40 && off > 3e-4*want {
				t.Errorf("tf %d, %v times the average: off by %v of %v", tf, times, off, want)
			}
		}
	}
}
