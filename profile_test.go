package riffle

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// checkProfile returns an error unless the profile of an answer is complete.
func checkProfile(res *Result, o *SearchOptions) error {
	p := res.Profile
	if p == nil {
		return fmt.Errorf("there is no profile")
	}
	var sum ProfileBlocks
	runs, last := 0, -1
	for i := range p.Lists {
		l := &p.Lists[i]
		sum.add(l.Blocks)
		if l.Segment < last {
			return fmt.Errorf("lists are not in the order of segments")
		}
		last = l.Segment
		seg := &p.Segments[l.Segment]
		var of ProfileBlocks
		for j, r := range l.Runs {
			if r.First > r.Last || r.First < seg.First || r.Last >= seg.First+seg.Docs || j > 0 && r.First != l.Runs[j-1].Last+1 {
				return fmt.Errorf("run %d of %s:%s is %+v, in segment %+v", j, l.Field, l.Term, r, *seg)
			}
			if r.Bound > l.Bound {
				return fmt.Errorf("run %d of %s:%s has the bound %v, the list %v", j, l.Field, l.Term, r.Bound, l.Bound)
			}
			of.Decoded, of.Bounded, of.Skipped = of.Decoded+r.Decoded, of.Bounded+r.Bounded, of.Skipped+r.Blocks-r.Decoded-r.Bounded
		}
		runs += len(l.Runs)
		if of.Decoding = l.Blocks.Decoding; of != l.Blocks || (l.Postings+127)/128 > of.Decoded+of.Bounded+of.Skipped {
			return fmt.Errorf("the runs of %s:%s have %+v, the list %+v for %d postings", l.Field, l.Term, of, l.Blocks, l.Postings)
		}
	}
	if p.Omitted == 0 && sum != p.Blocks {
		return fmt.Errorf("the lists have %+v, the profile %+v", sum, p.Blocks)
	}
	if got := p.Blocks.Decoding + p.DeviceBlocks; !o.NoHits && got != res.Work.BlocksDecoded {
		return fmt.Errorf("the profile has %d decoded blocks, the work %d", got, res.Work.BlocksDecoded)
	}
	if most := o.Profile.Lists; most > 0 && (len(p.Lists) > most || p.Omitted > 0 && len(p.Lists) < most) {
		return fmt.Errorf("%d lists and %d omitted, at most %d are wanted", len(p.Lists), p.Omitted, most)
	}
	if most := o.Profile.Runs; most > 0 && runs > max(most, len(p.Lists)) {
		return fmt.Errorf("%d runs of %d lists, at most %d are wanted", runs, len(p.Lists), most)
	}
	for _, pass := range p.Passes {
		if pass.Algorithm == "" || pass.Why == "" {
			return fmt.Errorf("a pass without a reason: %+v", p.Passes)
		}
	}
	t := p.Times
	for _, d := range []time.Duration{t.Analyse, t.Plan, t.Execute, t.Fetch, t.Aggregate, t.Wait, t.CPU, t.GPU} {
		if d < 0 || d > res.Duration {
			return fmt.Errorf("times %+v of %v", t, res.Duration)
		}
	}
	if t.Execute == 0 || t.CPU == 0 || p.Choice.Why == "" {
		return fmt.Errorf("times %+v, %+v", t, p.Choice)
	}
	return nil
}

// profileIndex has 20,000 documents, half of them in memory: "a" is in each, "b" in every second one and
// more often in few, and so on; the last are rare.
func profileIndex(t testing.TB) *testIndex {
	ix := newIndex(t, &Options{Durability: SyncNone, SearchWorkers: 2, Schema: &Schema{Fields: map[string]Field{
		"text": {Type: FieldText}, "tag": {Type: FieldKeyword}, "size": {Type: FieldNumber},
	}}})
	words := []struct {
		text  string
		every int
	}{{"a", 1}, {"b", 2}, {"c", 7}, {"d", 40}, {"e", 900}, {"f", 6000}}
	const docs = 20_000
	var b Batch
	for i := range docs {
		var text strings.Builder
		for n, w := range words {
			if (i+n)%w.every == 0 {
				text.WriteString(strings.Repeat(w.text+" ", 1+(i/509+n)%4))
			}
		}
		b.Put(fmt.Sprint(i), map[string]any{"text": text.String(), "tag": fmt.Sprint("t", i%20), "size": i * 7919 % docs})
		if i%4000 == 3999 {
			ix.must(ix.Apply(t.Context(), &b))
			b.Reset()
		}
		if i == docs/2 {
			ix.must(ix.Compact(t.Context()))
		}
	}
	ix.must(ix.Delete(t.Context(), "17"))
	return ix
}

// TestProfile: answers are the same with a profile, and it has all blocks that they count, whatever a
// search asks for.
func TestProfile(t *testing.T) {
	ix := profileIndex(t)
	queries := []Query{
		Match{Field: "text", Text: "a f"}, Match{Field: "text", Text: "b c e", Mode: ModeAnd}, Match{Field: "text", Text: "d e f", Mode: ModeAndOr},
		Match{Field: "text", Text: "none"}, All{}, Phrase{Field: "text", Text: "b c"}, Prefix{Field: "tag", Prefix: "t1"},
		Bool{Must: []Query{Match{Field: "text", Text: "a e"}}, Filter: []Query{Term{Field: "tag", Value: "t3"}}},
		Bool{Must: []Query{Term{Field: "text", Value: "c"}}, Should: []Query{Term{Field: "text", Value: "e"}}, MustNot: []Query{Term{Field: "tag", Value: "t4"}}},
	}
	options := []SearchOptions{
		{}, {K: 1}, {K: 500, ExactTotal: true}, {Sort: []SortKey{{Field: "size"}}}, {Collapse: &Collapse{Field: "tag"}}, {NoHits: true},
		{Deadline: time.Hour}, {From: 5, Load: []string{"*"}, Highlight: &HighlightOptions{}}, {Exec: &Exec{Policy: PolicyInter}},
		{Exec: &Exec{Algorithm: AlgorithmBMW}}, {Exec: &Exec{Algorithm: AlgorithmWAND}}, {Exec: &Exec{Algorithm: AlgorithmMaxScore}}, {Exec: &Exec{Algorithm: AlgorithmExhaustive}},
		{Aggregations: map[string]Aggregation{"tags": TermsAggregation{Field: "tag"}}},
	}
	states := ProfileBlocks{}
	for _, q := range queries {
		for _, o := range options {
			want, err := ix.Search(t.Context(), q, &o)
			ix.must(err)
			o.Profile = &ProfileOptions{}
			got, err := ix.Search(t.Context(), q, &o)
			ix.must(err)
			if err := checkProfile(got, &o); err != nil {
				t.Errorf("%v %+v: %v", q, o, err)
			}
			batch, err := ix.SearchBatch(t.Context(), []Query{q}, &o)
			ix.must(err)
			states.add(got.Profile.Blocks)
			for _, got := range []*Result{got, batch[0]} {
				if !reflect.DeepEqual(plainHits(got.Hits), plainHits(want.Hits)) || got.TotalExact && want.TotalExact && got.Total != want.Total || got.Groups != want.Groups ||
					!reflect.DeepEqual(got.Aggregations, want.Aggregations) {
					t.Errorf("%v %+v: another answer than without a profile", q, o)
				}
			}
			if want.Profile != nil {
				t.Errorf("%v: a profile that nobody asked for", q)
			}
		}
	}
	if states.Decoded == 0 || states.Bounded == 0 || states.Skipped == 0 {
		t.Errorf("no block was in some state: %+v", states)
	}
}

// plainHits are hits without what differs from search to search.
func plainHits(hits []Hit) []Hit {
	hits = slices.Clone(hits)
	for i := range hits {
		hits[i].Cursor = Cursor{}
	}
	return hits
}

// TestProfileSays: the reasons, the algorithms and the states of one search.
func TestProfileSays(t *testing.T) {
	ix := profileIndex(t)
	ix.must(ix.Compact(t.Context()))
	search := func(q Query, o SearchOptions) *Profile {
		t.Helper()
		if o.Profile == nil {
			o.Profile = &ProfileOptions{}
		}
		res, err := ix.Search(t.Context(), q, &o)
		ix.must(err)
		return res.Profile
	}
	words := Match{Field: "text", Text: "a f"}
	for _, c := range []struct {
		q       Query
		o       SearchOptions
		why     string
		pass    string
		passWhy string
	}{
		{words, SearchOptions{}, "Options.GPU", "bmm", "fastest"},
		{words, SearchOptions{Processor: ProcessorCPU}, "SearchOptions.Processor", "bmm", "fastest"},
		{words, SearchOptions{Exec: &Exec{Algorithm: AlgorithmBMW}}, "Options.GPU", "bmw", "Exec.Algorithm asks"},
		{words, SearchOptions{Sort: []SortKey{{Field: "size"}}}, "Options.GPU", "sort", "order of values"},
		{Match{Field: "text", Text: "a f", Mode: ModeAnd}, SearchOptions{}, "Options.GPU", "and", "rarest list leads"},
		{Phrase{Field: "text", Text: "a b"}, SearchOptions{}, "Options.GPU", "tree", "boolean"},
		{words, SearchOptions{NoHits: true}, "Options.GPU", "count", "without scores"},
	} {
		p := search(c.q, c.o)
		if !strings.Contains(p.Choice.Why, c.why) || len(p.Passes) != 1 || p.Passes[0].Algorithm != c.pass || !strings.Contains(p.Passes[0].Why, c.passWhy) {
			t.Errorf("%v: %q, %+v", c.q, p.Choice.Why, p.Passes)
		}
	}
	p := search(words, SearchOptions{K: 2, Exec: &Exec{Algorithm: AlgorithmBMW}})
	if len(p.Segments) != 1 || len(p.Lists) != 2 || p.Segments[0].Docs < 19_999 || p.Segments[0].Accepted != 19_999 || p.Segments[0].Number == 0 {
		t.Fatalf("%+v", p.Segments)
	}
	if a, f := p.Lists[0], p.Lists[1]; a.Term != "a" || a.Field != "text" || f.Term != "f" || a.Blocks.Skipped == 0 || f.Blocks.Decoded != 1 || a.Weight >= f.Weight {
		t.Errorf("the lists of a and f: %+v, %+v", a.Blocks, f.Blocks)
	}
	if n := len(p.Threshold); n == 0 || p.Threshold[n-1].Score <= 0 {
		t.Errorf("the threshold rises %v", p.Threshold)
	}
	if few := search(words, SearchOptions{Profile: &ProfileOptions{Lists: 1, Runs: 3}}); len(few.Lists) != 1 || few.Lists[0].Term != "a" || few.Omitted != 1 || len(few.Lists[0].Runs) > 3 {
		t.Errorf("one list of three runs: %+v", few)
	}
	if late := search(words, SearchOptions{Deadline: time.Minute}); late.Choice.Why == "" || late.Times.CPU == 0 {
		t.Errorf("with a deadline: %+v %+v", late.Choice, late.Times)
	}
	for _, o := range []ProfileOptions{{Lists: -1}, {Runs: -1}} {
		if _, err := ix.Search(t.Context(), words, &SearchOptions{Profile: &o}); err == nil || !strings.Contains(err.Error(), "SearchOptions.Profile") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestProfileJSON pins the names of members.
func TestProfileJSON(t *testing.T) {
	p := Profile{
		Choice:   ProfileChoice{Why: "w", CPU: 1, CPUWait: 2, GPU: 3, Running: 4, Queued: 5, Missing: 6},
		Times:    ProfileTimes{Analyse: 1, Plan: 2, Execute: 3, Fetch: 4, Aggregate: 5, Wait: 6, CPU: 7, GPU: 8},
		Passes:   []ProfilePass{{"bmm", "w"}},
		Segments: []ProfileSegment{{Engine: "e", Number: 1, First: 2, Docs: 3, Accepted: 4}},
		Lists: []ProfileList{{Segment: 0, Field: "f", Term: "t", Weight: 1.5, Bound: 2.5, Postings: 3, Blocks: ProfileBlocks{1, 2, 3, 4},
			Runs: []ProfileRun{{First: 1, Last: 2, Blocks: 3, Decoded: 1, Bounded: 2, Bound: 0.5}}}},
		Omitted: 1, Blocks: ProfileBlocks{5, 6, 7, 8}, DeviceBlocks: 9, Threshold: []ProfileThreshold{{1, 2.5}},
	}
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"choice":{"why":"w","cpu_ns":1,"cpu_wait_ns":2,"gpu_ns":3,"running":4,"queued":5,"missing_bytes":6},` +
		`"times":{"analyse_ns":1,"plan_ns":2,"execute_ns":3,"fetch_ns":4,"aggregate_ns":5,"wait_ns":6,"cpu_ns":7,"gpu_ns":8},` +
		`"passes":[{"algorithm":"bmm","why":"w"}],"segments":[{"engine":"e","number":1,"first":2,"docs":3,"accepted":4}],` +
		`"lists":[{"segment":0,"field":"f","term":"t","weight":1.5,"bound":2.5,"postings":3,"blocks":{"decoded":1,"bounded":2,"skipped":3,"decoding":4},` +
		`"runs":[{"first":1,"last":2,"blocks":3,"decoded":1,"bounded":2,"bound":0.5}]}],` +
		`"omitted":1,"blocks":{"decoded":5,"bounded":6,"skipped":7,"decoding":8},"device_blocks":9,"threshold":[{"decoding":1,"score":2.5}]}`
	if string(data) != want {
		t.Errorf("%s\nwant\n%s", data, want)
	}
	var back Profile
	if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(back, p) {
		t.Errorf("read back as %+v, %v", back, err)
	}
}
