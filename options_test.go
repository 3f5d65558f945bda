package riffle

import (
	"io/fs"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/analysis"
)

func TestDefaultsAreValid(t *testing.T) {
	for _, o := range []*Options{nil, {}, {Schema: &Schema{}}, {Listener: &Listener{}}, {Rank: Rank{Field: "r"}}, {MemoryBytes: 64 << 10, CacheBytes: 1}} {
		if err := o.Validate(); err != nil {
			t.Errorf("%v: %v", o, err)
		}
	}
}

// TestValidateReportsEveryFault sets every field wrong at once.
func TestValidateReportsEveryFault(t *testing.T) {
	bad := &Options{
		Schema: &Schema{
			Analyzer: "nope",
			Dynamic:  9,
			Fields: map[string]Field{
				"":  {},
				"a": {Type: 77},
				"b": {Type: FieldNumber, Analyzer: "english"},
				"c": {Analyzer: "klingon"},
				"d": {Type: FieldKeyword, CopyFrom: []string{"c"}},
				"e": {CopyFrom: []string{"f"}},
				"f": {CopyFrom: []string{"c"}},
			},
		},
		Durability:  7,
		MemoryBytes: 64<<10 - 1,
		MaxFields:   -1,
		CacheBytes:  -1, StoredCacheBytes: -1, AggregationBytes: -1, CollapseBytes: -1, TrigramBytes: -2,
		Merge:         MergeOptions{SegmentsPerTier: 1, MaxSegmentBytes: -5, Order: 4, Workers: -1, MemoryBytes: -1},
		Similarity:    &BM25{K1: -1, B: 2},
		SearchWorkers: -2, Exec: Exec{Policy: 9, Delta: -3, Grain: -4},
		Rank:      Rank{Alpha: 1.5},
		Analyzers: map[string]analysis.Analyzer{"x": nil},
	}
	err := bad.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`Schema.Analyzer: analysis: unknown analyzer "nope"`,
		"Schema.Dynamic: unknown rule 9",
		`Schema.Fields[""]: a field needs a name`,
		`Schema.Fields["a"]: unknown type 77`,
		`Schema.Fields["b"]: an analyzer goes with a text field, this one is number`,
		`Schema.Fields["c"]: analysis: unknown analyzer "klingon"`,
		`Schema.Fields["d"]: copy_from makes a text field, this one is keyword`,
		`Schema.Fields["e"]: copies from "f", which is itself a copy`,
		"Options.Durability: must be SyncBatch or SyncNone, not Durability(7)",
		"Options.MemoryBytes: must be at least 64 KiB, not 65535",
		"Options.MaxFields: must lie in [1, 65536], not -1",
		"Options.CacheBytes: must be positive, not -1",
		"Options.AggregationBytes: must be positive, not -1",
		"Options.CollapseBytes: must be positive, not -1",
		"Options.StoredCacheBytes: must be positive, not -1",
		"Options.TrigramBytes: must be positive, or NoTrigrams, not -2",
		"Options.Merge.SegmentsPerTier: must be at least 2, not 1",
		"Options.Merge.MaxSegmentBytes: must be positive, not -5",
		"Options.Merge.Order: must be OrderByArrival, OrderByGlobalScore, OrderByGraph or OrderByField, not DocOrder(4)",
		"Options.Merge.Workers: must be at least 1, not -1",
		"Options.Merge.MemoryBytes: must be positive, not -1",
		"Options.Similarity: ",
		"Options.SearchWorkers: must be at least 1, not -2",
		"Options.Exec: Policy: must be PolicyAdaptive or PolicyInter, not Policy(9)",
		"Delta: must not be negative, not -3",
		"Grain: must not be negative, not -4",
		"k1",
		"Options.Rank.Alpha: must lie in [0, 1], not 1.5",
		"Options.Rank.Field: must name a field when Alpha is set",
		`Options.Analyzers: must map names to analyzers, not "x"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not reported", want)
		}
	}
	if t.Failed() {
		t.Log(err)
	}
}

func TestValidateOneByOne(t *testing.T) {
	for want, o := range map[string]*Options{
		"Rank.Alpha: must lie in [0, 1], not NaN":  {Rank: Rank{Field: "r", Alpha: math.NaN()}},
		"Rank.Alpha: must lie in [0, 1], not -0.1": {Rank: Rank{Field: "r", Alpha: -0.1}},
		"Options.Similarity":                       {Similarity: &BM25{K1: math.Inf(1), B: 0.5}},
		"Options.Schema.Fields":                    {Schema: &Schema{Fields: map[string]Field{"c": {Analyzer: "klingon"}}}},
	} {
		err := o.Validate()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", o, err, want)
		}
	}
}

// TestOpenValidates: bad options leave no trace.
func TestOpenValidates(t *testing.T) {
	dir := t.TempDir() + "/index"
	if _, err := Open(dir, &Options{CacheBytes: -1}); err == nil || !strings.HasPrefix(err.Error(), "riffle: Options.CacheBytes") {
		t.Errorf("open: %v", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory has been made: %v", err)
	}
	if _, err := Open(dir, &Options{ReadOnly: true}); err == nil || !strings.Contains(err.Error(), fs.ErrNotExist.Error()) {
		t.Errorf("a read-only open of nothing: %v", err)
	}
}

func TestOptionsPrint(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(6))             // for the numbers of workers
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(512 << 20)) // for the cache: a quarter
	const defaults = `durability=sync-batch
memory_bytes=67108864
max_fields=10000
log_bytes=67108864
cache_bytes=134217728
aggregation_bytes=268435456
collapse_bytes=268435456
stored_cache_bytes=8388608
codec=interpolative
merge.segments_per_tier=5
merge.max_segment_bytes=5368709120
merge.order=arrival
merge.workers=3
merge.memory_bytes=268435456
merge.disabled=false
search_workers=6
exec.algorithm=auto
exec.policy=adaptive
exec.grain=256
exec.delta=150
similarity.k1=1.2
similarity.b=0.75
similarity.idf=lucene
rank.field=
rank.alpha=0
allow_unknown_fields=false
read_only=false
`
	var none *Options
	for _, o := range []*Options{none, {}} {
		if got := o.String(); got != defaults {
			t.Errorf("%#v prints\n%s", o, got)
		}
	}
	o := &Options{
		Durability: SyncNone, MemoryBytes: 1 << 20, MaxFields: 77, LogBytes: 3 << 20, CacheBytes: 2 << 20, StoredCacheBytes: 3 << 20, Codec: CodecRice, ReadOnly: true,
		Merge:         MergeOptions{SegmentsPerTier: 4, MaxSegmentBytes: 3 << 20, Order: OrderByGlobalScore, Workers: 5, MemoryBytes: 4 << 20, Disabled: true},
		Similarity:    &BM25{K1: 0.9, B: 0.4, IDF: IDFRobertson},
		SearchWorkers: 7, Exec: Exec{Algorithm: AlgorithmBMW, Policy: PolicyInter, Delta: 5, Grain: 64},
		Rank:   Rank{Field: "pr", Alpha: 0.25},
		Schema: &Schema{Dynamic: DynamicRefuse, Fields: map[string]Field{"t": {Analyzer: "english"}}},
	}
	const want = `durability=no-sync
memory_bytes=1048576
max_fields=77
log_bytes=3145728
cache_bytes=2097152
aggregation_bytes=268435456
collapse_bytes=268435456
stored_cache_bytes=3145728
codec=rice
merge.segments_per_tier=4
merge.max_segment_bytes=3145728
merge.order=global-score
merge.workers=5
merge.memory_bytes=4194304
merge.disabled=true
search_workers=7
exec.algorithm=bmw
exec.policy=inter
exec.grain=64
exec.delta=5
similarity.k1=0.9
similarity.b=0.4
similarity.idf=robertson
rank.field=pr
rank.alpha=0.25
allow_unknown_fields=false
read_only=true
schema={"fields":{"t":{"type":"text","analyzer":"english"}},"dynamic":"refuse"}
`
	if got := o.String(); got != want {
		t.Errorf("prints\n%s\nwant\n%s", got, want)
	}
}

func TestUnknownValuesPrint(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Durability(9).String(), "Durability(9)"},
		{DocOrder(9).String(), "DocOrder(9)"},
		{FieldType(9).String(), "FieldType(9)"},
		{Dynamic(9).String(), "Dynamic(9)"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}

// TestOptionsAnalyzers: an analyzer in the options applies to the Engine, and replaces a registered
// one with the same name.
func TestOptionsAnalyzers(t *testing.T) {
	opts := &Options{
		Schema:    &Schema{Fields: map[string]Field{"code": {Analyzer: "commas"}, "std": {Analyzer: "standard"}}},
		Analyzers: map[string]analysis.Analyzer{"commas": commas, "standard": commas},
	}
	ix := newIndex(t, opts)
	ix.put("1", map[string]any{"code": "A b,C", "std": "x y,z"})
	for _, c := range []struct {
		q    Query
		want int
	}{
		{Term{"code", "A b"}, 1},
		{Term{"code", "a"}, 0},
		{Match{Field: "code", Text: "C,D"}, 1},
		{Term{"std", "x y"}, 1},
		{Match{Field: "code", Text: "a b", Analyzer: "english"}, 0},
	} {
		if got := len(ix.ids(c.q)); got != c.want {
			t.Errorf("%v: %d hits, want %d", c.q, got, c.want)
		}
	}
	ix.must(ix.Close())
	if _, err := Open(ix.dir, nil); err == nil || !strings.Contains(err.Error(), `unknown analyzer "commas"`) {
		t.Errorf("opened without its analyzer: %v", err)
	}
	ix.open(opts)
}

// commas is an analyzer whose terms are separated by commas.
var commas = analysis.New("commas", commaTokenizer{})

type commaTokenizer struct{}

func (commaTokenizer) Tokenize(text []byte, b *analysis.Batch) {
	position, start := 0, 0
	for at := 0; at <= len(text); at++ {
		if at == len(text) || text[at] == ',' {
			b.Add(text, start, at, position)
			position, start = position+1, at+1
		}
	}
}
